"""A reassignment keeps enough copies (GEN-11): bad histories, each next to one that comes close to it and breaks nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import ELECTED_UNCLEANLY_ON_REQUEST
from conformance.judging.log.reassignments import reassignment_keeps_enough_copies as LAW
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, judged_by, labels

OLD, MERGED, NEW = (1, 2), (1, 3, 2), (1, 3)
A, B = stamped(0, 0, "a"), stamped(0, 1, "b")


def described(history: LogHistory, replicas: tuple[int, ...], isr: tuple[int, ...], epoch: int = 0) -> LogHistory:
    return history.settled(1, epoch, replicas=replicas, isr=isr)


def begun() -> LogHistory:
    """1 leads, with 2 as follower, and has a record."""
    return described(LogHistory().created(), OLD, OLD).produce(1, "a", at=0)


def requested(history: LogHistory | None = None) -> LogHistory:
    """2 is to be replaced by 3, which is not in the ISR yet."""
    return described((history or begun()).reassigned(*NEW), MERGED, OLD)


def completed(history: LogHistory, isr: tuple[int, ...] = NEW) -> LogHistory:
    return described(history, NEW, isr, 1)


def down(history: LogHistory, broker: int) -> LogHistory:
    return history.kill(broker)


def held(history: LogHistory) -> set[str]:
    assert broken(LAW, history) == []
    return {one.case for one in judged_by(LAW, history)}


# --- replicas leave


def test_a_reassignment_that_waits_for_its_target() -> None:
    assert held(completed(requested())) == {"undisturbed"}
    assert held(begun().reassigned(*NEW)) == set()


def test_a_target_that_is_down() -> None:
    early = completed(requested(down(begun(), 3)), isr=(1,))
    assert broken(LAW, early) == ["target-down"] * 3
    assert labels(LAW, early) == {"too-few-copies"}
    assert held(completed(described(requested(down(begun(), 3)).start(3), MERGED, (1, 2, 3)))) == {"target-down"}


def test_a_target_that_may_have_joined_and_left_meanwhile() -> None:
    """It went down between the two answers; or there was time enough to join the ISR and leave it again."""
    assert held(completed(requested().kill(3), isr=(1,))) == set()
    assert held(completed(requested().later(1), isr=(1,))) == set()
    assert broken(LAW, completed(requested(), isr=(1,))) == ["undisturbed"] * 3


def test_a_source_that_is_down() -> None:
    assert held(completed(requested(down(begun(), 2)))) == {"source-down"}
    assert broken(LAW, completed(requested(down(begun(), 2)), isr=(1,))) == ["source-down"] * 3


def test_a_replica_that_was_one_before_need_not_be_in_sync() -> None:
    """A reassignment shrinks no ISR in 3.3 to 3.7, and again since KAFKA-19975."""
    history = described(LogHistory().created(), (1, 2), (1,)).reassigned(2, 3, 1)
    described(history, (1, 2, 3), (1,)).reassigned(2, 3)
    assert held(described(described(history, (1, 2, 3), (1, 3)), (2, 3), (3,), 1)) == set()


def test_only_replicas_that_are_added_or_only_removed() -> None:
    assert held(described(begun().reassigned(1, 2, 3), (1, 2, 3), OLD)) == set()
    assert held(described(begun().reassigned(1), (1,), (1,), 1)) == set()
    assert held(described(begun().reassigned(2, 1), (2, 1), OLD)) == set()


def test_two_at_once() -> None:
    history = described(LogHistory().created(), (2,), (2,)).reassigned(1)
    described(history, (1, 2), (2,)).reassigned(3)
    assert held(described(described(history, (1, 2, 3), (2, 3)), (3,), (3,), 1)) == {"two-at-once"}
    history = described(LogHistory().created(), (2,), (2,)).reassigned(1)
    described(history, (1, 2), (2,)).reassigned(3)
    assert broken(LAW, described(described(history, (1, 2, 3), (2,)), (3,), (2,), 1)) == ["two-at-once"] * 3


def test_a_target_that_an_earlier_request_may_have_added() -> None:
    """Before 3.8 the second request finds it among the replicas, and waits for it no more (KAFKA-15665)."""
    history = begun().reassigned(*NEW).reassigned(*NEW)
    assert held(completed(described(history, MERGED, OLD), isr=(1,))) == set()
    seen_away = completed(requested())
    described(described(seen_away.reassigned(*OLD), MERGED, NEW, 1), OLD, OLD, 2).reassigned(*NEW)
    assert broken(LAW, described(described(seen_away, MERGED, OLD, 2), NEW, (1,), 3)) == ["undisturbed"] * 3


@pytest.mark.parametrize("asked", ["refused", "none"])
def test_without_a_request_nothing_is_known_of_targets(asked: str) -> None:
    history = begun().reassigned(*NEW, error=Error.INVALID_REPLICA_ASSIGNMENT) if asked == "refused" else begun()
    assert held(completed(described(history, MERGED, OLD), isr=(1,))) == set()


def test_a_request_of_unknown_outcome_may_be_carried_out() -> None:
    history = described(begun().reassigned(*NEW, lost=True), MERGED, OLD)
    assert broken(LAW, completed(history, isr=(1,))) == ["undisturbed"] * 3


# --- what was acknowledged


def read_by_the_target(*batches: object, between: Callable[[LogHistory], object] = lambda _: None) -> LogHistory:
    history = requested().produce(1, "b", at=1).metadata(1, 1, 0, replicas=MERGED, isr=OLD)
    completed(history)
    between(history)
    return history.whole(3, *batches, epoch=1, hw=2)  # type: ignore[arg-type]


def test_what_was_acknowledged_is_on_the_target() -> None:
    assert held(read_by_the_target(A, B)) == {"undisturbed"}
    for batches in ((), (A,)):
        history = read_by_the_target(*batches)
        assert (broken(LAW, history), labels(LAW, history)) == (["undisturbed"], {"lost-write"})


def test_what_may_have_been_acknowledged_after_it() -> None:
    history = completed(requested()).produce(1, "b", at=1).whole(3, A, epoch=1, hw=1)
    assert held(history) == {"undisturbed"}


def test_a_target_that_is_removed_or_damaged_afterwards() -> None:
    assert held(read_by_the_target(between=lambda history: history.reassigned(1))) == {"undisturbed"}
    assert held(read_by_the_target(between=lambda history: history.reassigned(1, lost=True))) == {"undisturbed"}
    damaged = read_by_the_target(between=lambda history: history.hit("cut-tail-above", 3).heal("cut-tail-above", 3))
    assert held(damaged) == {"undisturbed"}
    assert (
        broken(LAW, read_by_the_target(between=lambda history: history.reassigned(1, error=Error.NOT_CONTROLLER))) == []
    )
    refused = Error.INVALID_REPLICA_ASSIGNMENT
    assert broken(LAW, read_by_the_target(between=lambda history: history.reassigned(1, error=refused))) == [
        "undisturbed"
    ]


def test_a_loss_that_an_administrator_permitted() -> None:
    def elect(history: LogHistory) -> None:
        history.elect_uncleanly(1).settled(3, 3, replicas=NEW, isr=(3,))

    history = requested().produce(1, "b", at=1).metadata(1, 1, 0, replicas=MERGED, isr=OLD)
    completed(history)
    elect(history)
    history.whole(3, epoch=3, hw=0)
    assert held(history) == {"undisturbed"}
    assert excused(LAW, history) == [("undisturbed", ELECTED_UNCLEANLY_ON_REQUEST)]


# --- cancelled


def test_a_cancelled_one_leaves_the_old_replicas_as_a_set() -> None:
    old_or_reordered: tuple[tuple[int, ...], ...] = (OLD, (2, 1))
    for replicas in old_or_reordered:
        assert held(described(requested().reassigned(), replicas, OLD, 1)) == {"cancelled"}
    wrong: tuple[tuple[int, ...], ...] = (NEW, (2,), (1,), (3,))
    for replicas in wrong:
        assert broken(LAW, described(requested().reassigned(), replicas, replicas, 1)).count("cancelled") == 1


def test_a_broker_may_tell_the_merged_replicas_for_a_while() -> None:
    history = described(requested().reassigned(), MERGED, OLD)
    assert held(history) == set()
    assert held(described(history, OLD, OLD, 1)) == {"cancelled"}
    rested = described(requested().reassigned().all_healed().at_rest(), MERGED, OLD)
    assert broken(LAW, rested) == ["cancelled"]


@pytest.mark.parametrize(
    "error", [Error.NO_REASSIGNMENT_IN_PROGRESS, Error.INVALID_REPLICA_ASSIGNMENT, Error.NOT_CONTROLLER]
)
def test_a_cancellation_that_was_refused_or_may_have_been(error: Error) -> None:
    """It is refused where the ISR would be empty."""
    assert held(completed(requested().reassigned(error=error))) == {"undisturbed"}


def test_what_else_may_have_moved_the_replicas() -> None:
    """A fault of the kit, a later request, or two reassignments of which only the later one is cancelled."""
    history = requested().hit("reassignment", 2, partition="topic-0").reassigned()
    assert held(described(history, (1,), (1,), 1)) == set()
    assert held(described(requested().reassigned().reassigned(1), (1,), (1,), 1)) == set()
    overlapping = described(begun().reassigned(1, 3), MERGED, OLD).reassigned(2, 1)
    assert held(described(overlapping.reassigned(), MERGED, OLD, 1)) == set()


# --- at rest


def rested(history: LogHistory, replicas: tuple[int, ...]) -> LogHistory:
    return described(history.all_healed().at_rest(), replicas, replicas, 1)


def test_what_the_last_request_names_is_there_at_rest() -> None:
    """2 was to go, and is named again while the first request is under way."""
    again = requested().reassigned(1, 2, 3)
    assert broken(LAW, rested(again, NEW)) == ["acknowledged"]
    assert labels(LAW, rested(again, NEW)) == {"replica-missing"}
    assert "acknowledged" in held(rested(requested().reassigned(1, 2, 3), (1, 2, 3)))
    assert "acknowledged" in held(rested(requested().reassigned(1, 3), (1, 2, 3)))


def test_a_broker_may_tell_former_replicas_at_rest() -> None:
    history = rested(requested().reassigned(1, 2, 3), NEW).metadata(3, 1, 1, replicas=(1, 2, 3), isr=(1, 2, 3))
    assert "acknowledged" in held(history)


def test_a_request_that_may_not_count_names_nothing() -> None:
    """Refused, without an answer, followed by another or by a fault that reassigns; or it is not at rest."""
    refused = requested().reassigned(1, 2, 3, error=Error.INVALID_REPLICA_ASSIGNMENT)
    assert broken(LAW, rested(refused, NEW)) == []
    assert broken(LAW, rested(requested().reassigned(1, 2, 3, lost=True), NEW)) == []
    assert broken(LAW, rested(requested().reassigned(1, 2, 3).reassigned(*NEW), NEW)) == []
    moved = requested().reassigned(1, 2, 3).hit("reassignment", 2, partition="topic-0")
    assert broken(LAW, rested(moved, NEW)) == []
    put_first = requested().reassigned(1, 2, 3).hit("move-leader", 2, partition="topic-0")
    assert broken(LAW, rested(put_first.heal("move-leader", 2), NEW)) == []
    before = requested().hit("move-leader", 2, partition="topic-0").heal("move-leader", 2).reassigned(1, 2, 3)
    assert broken(LAW, rested(before, NEW)) == ["acknowledged"]
    assert broken(LAW, described(requested().reassigned(1, 2, 3), NEW, NEW, 1)) == []
