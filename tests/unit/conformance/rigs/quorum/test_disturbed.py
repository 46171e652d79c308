"""The duties of a healed quorum: it agrees, catches up, and stays in its epoch."""

from __future__ import annotations

from itertools import islice

import pytest

from conformance.core.checks import ObservationClaim
from conformance.rigs.quorum.disturbed import (
    accepts_a_write,
    all_run,
    brokers_agree,
    controllers_catch_up,
    epochs_spent,
    settles,
    stays_calm,
)
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica
from tests.support.disturbed_quorum import CONTROLLERS, FakeDisturbed, as_disturbed, results

LED, LATER = LeaderAndEpoch(101, 4), LeaderAndEpoch(101, 5)


def described(*ends: int, error: Error = Error.NONE) -> QuorumAnswer:
    voters = tuple(QuorumReplica(replica_id=101 + n, log_end_offset=end) for n, end in enumerate(ends))
    return QuorumAnswer(
        version=1,
        topic=METADATA_TOPIC,
        partition=0,
        error=error,
        leader_id=101,
        leader_epoch=4,
        high_watermark=9,
        current_voters=voters,
    )


@pytest.mark.parametrize(("ends", "result"), [((9, 9, 9), "held"), ((9, 9, 4), "violated"), ((9, -1, 9), "violated")])
def test_all_logs_reach_the_leaders_end(ends: tuple[int, ...], result: str) -> None:
    fake = FakeDisturbed(described=described(*ends))
    assert results(controllers_catch_up(as_disturbed(fake))) == [("log", result)]


def test_without_a_leader_nothing_is_caught_up() -> None:
    fake = FakeDisturbed(described=described(9, 9, 9, error=Error.NOT_LEADER_OR_FOLLOWER))
    assert results(controllers_catch_up(as_disturbed(fake))) == [("log", "violated")]


@pytest.mark.parametrize(
    ("known", "late", "result"), [(LED, 0.0, "held"), (LATER, 0.0, "violated"), (LATER, 1.0, "kit-starved")]
)
def test_the_epoch_stays(known: LeaderAndEpoch, late: float, result: str) -> None:
    fake = FakeDisturbed(known=dict.fromkeys(CONTROLLERS, known), late=late)
    assert results(stays_calm(as_disturbed(fake), LED, 0.0)) == [("calm", result)]


def test_a_controller_that_does_not_run_ends_the_example() -> None:
    assert results([all_run(as_disturbed(FakeDisturbed()))]) == []
    fake = FakeDisturbed(known={"controller-101": LED})
    assert results([all_run(as_disturbed(fake))]) == [("unmet", "all controllers running")]


def test_a_write_is_acknowledged_in_time() -> None:
    for outcome, result in (("acknowledged", "held"), ("refused", "violated"), ("unknown", "violated")):
        fake = FakeDisturbed(writes=outcome)  # type: ignore[arg-type]  # one of the three
        assert results(accepts_a_write(as_disturbed(fake), "KIP595-LIVE-02", "write")) == [("write", result)]


def test_controllers_that_never_name_one_leader_end_the_example() -> None:
    apart = {"controller-101": LED, "controller-102": LATER, "controller-103": LATER}
    found = results(islice(settles(as_disturbed(FakeDisturbed(known=apart))), 3))
    assert found == [("agreement", "violated"), ("unmet", "all controllers naming one leader")]


@pytest.mark.parametrize(
    ("looks", "shown", "same"),
    [([(), ("a",)], {"a"}, True), ([()], set(), False), ([("a", "b"), ("a",)], {"a", "b"}, True)],
)
def test_brokers_have_time_to_apply_what_was_acknowledged(
    looks: list[tuple[str, ...]], shown: set[str], same: bool
) -> None:
    fake = FakeDisturbed(kept=["a"])
    fake.writer.looks = [*looks]
    brokers_agree(as_disturbed(fake))
    assert [{*topics} for topics in fake.shown.values()] == [shown] * 2
    assert fake.same.outcome is same


@pytest.mark.parametrize(
    ("before", "after", "variant"),
    [(LED, LED, "0 epochs"), (LED, LATER, "1 epoch"), (LeaderAndEpoch(102, 1), LATER, "4 epochs")],
)
def test_the_epochs_that_faults_cost_are_recorded(before: LeaderAndEpoch, after: LeaderAndEpoch, variant: str) -> None:
    claim = epochs_spent(before, after)
    assert isinstance(claim, ObservationClaim)
    assert (claim.observation.result, claim.observation.variant) == ("recorded", variant)
