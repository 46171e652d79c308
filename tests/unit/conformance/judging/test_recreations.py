"""Topics that are deleted and created again under one name: judges take each for itself, and forgive nothing before or after."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from conformance.judging.excuses import TOPIC_DOUBTED
from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory
from conformance.judging.log.written_records import every_fact_is_looked_at
from conformance.judging.reading import Reading
from conformance.judging.recreations import DELETION_TIMEOUT
from conformance.judging.timeline import NEVER
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import BROKERS, LogHistory, stamped
from tests.support.judging import excused

ONE, TWO, THREE = (UUID(int=n) for n in (1, 2, 3))
COMPACTED = {"cleanup_policy": "compact"}
FORMER = stamped(5, 0, "former")
NEW = stamped(0, 0, "new")


def violated(history: LogHistory) -> set[str]:
    return {o.requirement for o in judge_all(JUDGES, history.history) if o.result == "violated"}


def stories(history: LogHistory) -> list[PartitionStory]:
    reading = Reading(history.example, [PartitionStory])
    reading.feed(history.events)
    return [story for story in reading.stories(PartitionStory) if isinstance(story, PartitionStory)]


def begun() -> LogHistory:
    """A topic at epoch 5, with one record."""
    history = LogHistory().created_as(ONE, {"min_insync_replicas": "2"}).settled(1, 5).produce(1, "former", at=0)
    return history.whole(1, FORMER, epoch=5, hw=1)


def recreated(history: LogHistory | None = None) -> LogHistory:
    """It is deleted and created again, and begins at epoch 0; all brokers know of it."""
    return (history or begun()).deleted().created_as(TWO).settled(1, 0).later(DELETION_TIMEOUT + 1)


def written(history: LogHistory) -> LogHistory:
    return history.settled(1, 0).produce(1, "new", at=0).whole(1, NEW, epoch=0, hw=1)


def finished(history: LogHistory) -> LogHistory:
    """At rest all replicas of the new topic hold its record."""
    history.all_healed().settled(1, 0).at_rest().settled(1, 0)
    for broker in BROKERS:
        history.whole(broker, NEW, epoch=0, hw=1)
    return history


def test_a_topic_of_the_same_name_is_another_one() -> None:
    history = finished(written(recreated()))
    assert violated(history) == set()
    assert [(story.number, story.is_known_from_start, len(story.full_reads)) for story in stories(history)] == [
        (0, True, 1),
        (1, True, 4),
    ]
    again = written(history.deleted().created_as(THREE).settled(1, 0).later(DELETION_TIMEOUT + 1))
    assert violated(again) == set()
    assert [story.number for story in stories(again)] == [0, 1, 2]


def forged(history: LogHistory, epoch: int) -> LogHistory:
    return history.whole(1, stamped(epoch, 0, "forged"), epoch=epoch, hw=1)


BROKEN: dict[str, tuple[Callable[[], LogHistory], str]] = {
    "a record that no request sent, before": (lambda: recreated(forged(begun(), 5)), "GEN-16"),
    "a record that no request sent, afterwards": (lambda: forged(recreated(), 0), "GEN-16"),
    "a record of the former topic": (lambda: recreated().whole(1, FORMER, epoch=0, hw=1), "GEN-16"),
    "a write to the former id": (
        lambda: recreated().produce(1, "new", at=0, id=ONE).whole(1, NEW, epoch=0, hw=1),
        "GEN-16",
    ),
    "an acknowledged record that is lost": (
        lambda: written(recreated()).settled(2, 1).whole(2, epoch=1, hw=0),
        "KIP101-INV-05",
    ),
    "an epoch that falls": (lambda: recreated().settled(1, 2).settled(1, 1), "KIP101-INV-10"),
    "a log start that nothing explains": (
        lambda: written(recreated(begun().trim(1, 1))).whole(1, epoch=0, hw=1, start=1),
        "GEN-15",
    ),
    "a topic whose deletion was refused": (
        lambda: forged(begun().deleted(error=Error.TOPIC_AUTHORIZATION_FAILED), 5),
        "GEN-16",
    ),
    "a topic that was spared by a deletion of the former id": (
        lambda: forged(written(recreated()).deleted(id=ONE, error=Error.UNKNOWN_TOPIC_ID), 0),
        "GEN-16",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_topic_of_the_name_is_judged(name: str) -> None:
    history, row = BROKEN[name]
    assert row in violated(history())


LEGAL: dict[str, Callable[[], LogHistory]] = {
    "a broker that has not heard of the new topic": (
        lambda: begun().deleted().created_as(TWO).metadata(2, 1, 5, id=ONE).later(3).whole(2, FORMER, epoch=5, hw=1)
    ),
    "a broker that never told an id": (
        lambda: (
            begun()
            .deleted()
            .created_as(TWO)
            .whole(2, FORMER, epoch=5, hw=1)
            .produce(1, "new", at=0)
            .whole(2, epoch=5, hw=0)
        )
    ),
    "a write between the two": (
        lambda: (
            begun()
            .deleted()
            .produce(1, "new", at=0)
            .created_as(TWO)
            .settled(1, 0)
            .later(3)
            .whole(1, NEW, epoch=0, hw=1)
        )
    ),
    "a write to the former that was not answered": (
        lambda: recreated(begun().produce(1, "new", lost=True)).whole(1, NEW, epoch=0, hw=1)
    ),
    "a write of unknown outcome that did not arrive": lambda: (
        recreated().produce(1, "x", lost=True).whole(1, epoch=0, hw=0)
    ),
    "a trim of the former that was not answered": (
        lambda: written(recreated(begun().trim(1, 1, error=Error.REQUEST_TIMED_OUT))).whole(1, epoch=0, hw=1, start=1)
    ),
    "a deletion of unknown outcome": lambda: begun().deleted(lost=True).settled(1, 0, id=TWO).whole(1, epoch=0, hw=0),
    "a creation that was refused": (
        lambda: written(recreated()).created_as(None, COMPACTED, error=Error.TOPIC_ALREADY_EXISTS)
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_may_be_of_either_topic_breaks_nothing(name: str) -> None:
    assert violated(LEGAL[name]()) == set()


def test_a_broker_may_serve_the_former_log_until_it_has_applied_its_metadata() -> None:
    history = begun().deleted().created_as(TWO).settled(1, 0).whole(1, FORMER, epoch=0, hw=1)
    assert violated(history) == set()
    assert violated(history.later(DELETION_TIMEOUT + 1).whole(1, FORMER, epoch=0, hw=1)) == {"GEN-16"}


def test_a_broker_that_served_the_new_id_does_not_serve_the_former_log_any_more() -> None:
    def serves(id: UUID, error: Error = Error.NONE) -> LogHistory:
        history = begun().deleted().created_as(TWO).settled(1, 0).produce(1, "new", id=id, error=error)
        return history.whole(1, FORMER, epoch=0, hw=1)

    assert violated(serves(TWO)) == {"GEN-16"}
    assert violated(serves(TWO, Error.NOT_LEADER_OR_FOLLOWER)) == set()


def test_a_host_that_slept_leaves_it_open_which_log_a_broker_serves() -> None:
    history = begun().deleted().created_as(TWO).settled(1, 0).asleep(60)
    assert violated(history.whole(1, FORMER, epoch=0, hw=1)) == set()
    assert violated(history.later(DELETION_TIMEOUT + 1).whole(1, FORMER, epoch=0, hw=1)) == {"GEN-16"}


def test_a_deletion_by_the_former_id_spares_the_new_topic() -> None:
    history = written(recreated()).deleted(id=ONE, lost=True)
    assert "GEN-16" in violated(forged(history, 0))
    assert violated(written(recreated()).deleted(id=TWO, lost=True).whole(1, epoch=0, hw=0)) == set()


class TestADeletionOfUnknownOutcome:
    """A record that no request sent is read after it; then a broker tells an id of the topic."""

    def read_before_metadata(self, by: int, id: UUID, *, restarts: bool = False) -> LogHistory:
        history = forged(begun().deleted(lost=True), 5)
        return (history.restart(by) if restarts else history).metadata(by, 1, 5, id=id)

    def test_it_did_not_happen_if_the_broker_tells_the_same_id_afterwards(self) -> None:
        assert "GEN-16" in violated(self.read_before_metadata(1, ONE))
        assert [len(story.full_reads) for story in stories(self.read_before_metadata(1, ONE))] == [2]

    @pytest.mark.parametrize(
        ("by", "id", "restarts"),
        [(2, ONE, False), (1, TWO, False), (1, ONE, True)],
        ids=["another broker", "another id", "another process"],
    )
    def test_else_the_read_is_left_out_and_counted(self, by: int, id: UUID, restarts: bool) -> None:
        history = self.read_before_metadata(by, id, restarts=restarts)
        assert violated(history) == set()
        assert ("leader", TOPIC_DOUBTED) in excused(every_fact_is_looked_at, history)

    def test_after_a_lost_quorum_state_it_is_left_out(self) -> None:
        """From then on facts of partitions are counted only, whatever is told of the topic."""
        lost = Effects(process="down", disk=("quorum-state",))
        history = begun().deleted(lost=True).hit("lose-quorum-state", 100, effects=lost)
        [story] = stories(history.produce(1, "kept", at=1).metadata(1, 1, 5, id=ONE))
        assert (len(story.produced), story.doubted) == (1, 0)
        assert story.left_out > 0

    def test_the_id_of_the_next_topic_tells_nothing_of_the_former_one(self) -> None:
        history = forged(begun().deleted(lost=True), 5).deleted().created_as(TWO).settled(1, 0)
        former, _ = stories(history.deleted(lost=True).metadata(1, 1, 0, id=TWO))
        assert (len(former.full_reads), former.doubted) == (1, 2)

    def test_a_write_takes_the_place_of_the_one_of_unknown_outcome(self) -> None:
        history = begun().deleted(lost=True).produce(1, "kept", at=1)
        [doubted] = stories(history)
        [settled] = stories(history.metadata(1, 1, 5, id=ONE))
        assert [one.offset for one in doubted.produced] == [0, -1]
        assert [one.offset for one in settled.produced] == [0, 1]


# --- settings


def test_only_a_creation_that_may_have_succeeded_gives_a_topic_its_settings() -> None:
    refused = LogHistory().created_as(ONE).created_as(None, COMPACTED, error=Error.TOPIC_ALREADY_EXISTS).settled(1, 0)
    validated = LogHistory().created_as(ONE).created_as(None, COMPACTED, validate_only=True).settled(1, 0)
    found = [may_be_compacted(story, NEVER) for history in (refused, validated) for story in stories(history)]
    assert found == [False, False]
    [story] = stories(LogHistory().created_as(ONE, COMPACTED).settled(1, 0))
    assert may_be_compacted(story, NEVER)


@pytest.mark.parametrize(
    ("value", "compacts"), [("compact", True), ("compact,delete", True), ("delete", False), (None, False)]
)
def test_a_cleanup_policy_that_is_altered(value: str | None, compacts: bool) -> None:
    [story] = stories(LogHistory().created().settled(1, 0).altered("cleanup.policy", value))
    assert may_be_compacted(story, NEVER) is compacts


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(6, set(), id="of a coordinator that may not know the new topic"),
        pytest.param(5, set(), id="of the one that does"),
        pytest.param(7, {"KIP101-INV-19"}, id="of none"),
    ],
)
def test_a_commit_at_a_broker_that_may_mean_the_former_topic_may_be_shown(shown: int, expected: set[str]) -> None:
    begins_again = begun().deleted().created_as(TWO).settled(1, 0).produce(1, "new", id=TWO)
    history = begins_again.commit(1, 5, 0).commit(2, 6, 0).committed(1, shown, 0)
    assert violated(history) & {"KIP101-INV-19"} == expected
