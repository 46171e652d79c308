"""A late copy changes nothing that began later (GEN-02): bad histories, each next to a legal one that comes close to it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from conformance.judging.excuses import (
    ELECTED_UNCLEANLY_ON_REQUEST,
    PRODUCER_STATE_DELETED,
    PRODUCER_STATE_EXPIRED,
    PRODUCER_STATE_LOST,
    TOPIC_DOUBTED,
    Evidence,
)
from conformance.judging.log import late_copies
from conformance.judging.log.written_records import every_fact_is_looked_at
from conformance.judging.recreations import DELETION_TIMEOUT
from conformance.judging.topics.late_copies import late_copy_of_a_deletion_deletes_nothing
from history.effects import Effects
from history.events import Answer, Call
from protocol.codes import Error
from tests.support.histories import LogHistory, Producer
from tests.support.judging import broken, excused, judged_by, labels

PRODUCE, DELETE = (
    late_copies.late_copy_of_a_produce_appends_nothing,
    late_copy_of_a_deletion_deletes_nothing,
)
ONE, TWO = UUID(int=1), UUID(int=2)
SNAPSHOTS_LOST = Effects(process="down", disk=("producer-snapshots",), every_partition=True)
FIRST, NEXT, NEW_EPOCH = Producer(7, 0, 0), Producer(7, 0, 1), Producer(7, 1, 0)


def written(**configs: str) -> LogHistory:
    """Two batches of an idempotent producer."""
    history = LogHistory().created(min_insync_replicas="2", **configs).settled(1, 0)
    return history.produce(1, "a", at=0, producer=FIRST).produce(1, "b", at=1, producer=NEXT)


def results(history: LogHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judged_by(PRODUCE, history)]


# --- batches of idempotent producers


def test_a_copy_is_answered_with_the_offset_of_the_original_or_refused() -> None:
    assert results(written()) == []
    assert results(written().produce(1, "a", at=0, producer=FIRST)) == [("produce", "held")]
    for error in (Error.DUPLICATE_SEQUENCE_NUMBER, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.INVALID_PRODUCER_EPOCH):
        assert results(written().produce(1, "a", error=error, producer=FIRST)) == [("produce", "held")]
    assert results(written().produce(1, "a", lost=True, producer=FIRST)) == []


@pytest.mark.parametrize("error", [Error.UNKNOWN_SERVER_ERROR, Error.NOT_LEADER_OR_FOLLOWER, Error.CORRUPT_MESSAGE])
def test_an_error_that_says_nothing_of_the_producer_shows_nothing(error: Error) -> None:
    assert results(written().produce(1, "a", error=error, producer=FIRST)) == []


def test_a_copy_that_is_appended_again() -> None:
    again = written().produce(1, "a", at=2, producer=FIRST)
    assert (broken(PRODUCE, again), labels(PRODUCE, again)) == (["produce"], {"late-copy-acted"})
    assert broken(PRODUCE, written().move(1, 2).settled(2, 1).produce(2, "a", at=2, producer=FIRST)) == ["produce"]


def test_what_is_no_copy() -> None:
    for producer in (NEW_EPOCH, Producer(8, 0, 0), Producer(-1, -1, -1)):
        assert results(written().produce(1, "a", at=2, producer=producer)) == []
    assert results(written().produce(1, "c", at=2, producer=Producer(7, 0, 2))) == []
    lost = LogHistory().created().settled(1, 0).produce(1, "a", lost=True, producer=FIRST)
    assert results(lost.produce(1, "a", at=3, producer=FIRST)) == []
    by_leader_alone = LogHistory().created().settled(1, 0).produce(1, "a", at=0, acks=1, producer=FIRST)
    assert results(by_leader_alone.settled(2, 1).produce(2, "a", at=3, producer=FIRST)) == []


def clocked(history: LogHistory, unix_ms: int) -> LogHistory:
    """Let producers expire after 3 s, and look at the kit's clock; records are stamped with the first millisecond after 1970."""
    history.started_with(producer_id_expiration_ms="3000")
    call, answer = len(history.events), {"seconds": 1.0, "unix_ms": unix_ms}
    history.events.append(Call(n=call, t=call / 100, op="now", node="kit", request={}))
    history.events.append(Answer(n=call + 1, t=call / 100, call=call, outcome="ok", value=answer))
    return history


UNDECIDED: dict[str, tuple[Callable[[LogHistory], LogHistory], Evidence]] = {
    "deleted": (lambda history: history.trim(1, 1), PRODUCER_STATE_DELETED),
    "deleted, as far as is known": (
        lambda history: history.trim(1, 1, error=Error.REQUEST_TIMED_OUT),
        PRODUCER_STATE_DELETED,
    ),
    "retention": (lambda history: history.altered("retention.ms", "1"), PRODUCER_STATE_DELETED),
    "files lost": (
        lambda history: history.hit("cut-tail-above", 1, partition="topic-0").heal("cut-tail-above", 1),
        PRODUCER_STATE_LOST,
    ),
    "producers' snapshots lost": (
        lambda history: history.hit("remove-rebuilt-file", 1, effects=SNAPSHOTS_LOST).heal("remove-rebuilt-file", 1),
        PRODUCER_STATE_LOST,
    ),
    "idle for longer than brokers remember it": (
        lambda history: history.started_with(producer_id_expiration_ms="3000").later(3.1),
        PRODUCER_STATE_EXPIRED,
    ),
    "idle for longer by the timestamp of its batch": (
        lambda history: clocked(history, 700).later(2.5),
        PRODUCER_STATE_EXPIRED,
    ),
    "the same in a release without a setting of its own": (
        lambda history: history.started_with(transactional_id_expiration_ms="3000").later(3.1),
        PRODUCER_STATE_EXPIRED,
    ),
    "unclean election": (
        lambda history: history.elect_uncleanly(1).settled(2, 1),
        ELECTED_UNCLEANLY_ON_REQUEST,
    ),
}
KEPT: dict[str, Callable[[LogHistory], LogHistory]] = {
    "a trim that was refused": lambda history: history.trim(1, 1, error=Error.OFFSET_OUT_OF_RANGE),
    "a trim up to the batch": lambda history: history.trim(1, 0),
    "another setting": lambda history: history.altered("max.message.bytes", "1000"),
    "files of another partition": lambda history: history.hit("cut-tail-above", 2, partition="other-0"),
    "indexes and epochs, which say nothing of producers": lambda history: (
        history.hit("remove-index-files", 2, partition="topic-0")
        .heal("remove-index-files", 2)
        .hit("remove-epoch-checkpoint", 2, partition="topic-0")
        .heal("remove-epoch-checkpoint", 2)
    ),
    "idle, but not for so long": lambda history: history.started_with(producer_id_expiration_ms="3000").later(2.5),
    "idle, but not for so long by the timestamp either": lambda history: clocked(history, 100).later(2.5),
    "idle without such a setting": lambda history: history.started_with(log_roll_ms="3000").later(9),
    "a restart": lambda history: history.restart(1),
    "a clean election": lambda history: history.move(1, 2).settled(2, 1),
    "an unclean election that was refused": lambda history: history.elect_uncleanly(
        1, error=Error.ELECTION_NOT_NEEDED
    ).settled(2, 1),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_the_state_of_the_producer_may_be_gone(name: str) -> None:
    change, excuse = UNDECIDED[name]
    history = change(written()).produce(1, "a", at=2, producer=FIRST)
    assert results(history) == []
    assert excused(PRODUCE, history) == [("produce", excuse)]


@pytest.mark.parametrize("name", KEPT)
def test_the_state_of_the_producer_is_kept(name: str) -> None:
    assert broken(PRODUCE, KEPT[name](written()).produce(1, "a", at=2, producer=FIRST)) == ["produce"]


# --- topics that were deleted and created again


def recreated(*, wait: float = DELETION_TIMEOUT + 1) -> LogHistory:
    history = LogHistory().created_as(ONE).settled(1, 0).produce(1, "a", at=0, producer=FIRST, id=ONE)
    return history.deleted(id=ONE).created_as(TWO).settled(1, 0).later(wait)


def test_the_next_topic_knows_no_producer_of_the_former() -> None:
    assert results(recreated().produce(1, "a", at=0, producer=FIRST)) == []
    assert results(recreated().produce(1, "a", at=5, producer=FIRST, id=TWO)) == []


def test_a_copy_by_the_id_of_the_former_topic() -> None:
    refused = recreated().produce(1, "a", error=Error.UNKNOWN_TOPIC_ID, producer=FIRST, id=ONE)
    assert results(refused) == [("produce-by-id", "held")]
    assert broken(PRODUCE, recreated().produce(1, "a", at=0, producer=FIRST, id=ONE)) == ["produce-by-id"]
    assert results(recreated(wait=0).produce(1, "a", at=0, producer=FIRST, id=ONE)) == []
    assert results(recreated().produce(1, "a", lost=True, producer=FIRST, id=ONE)) == []


FETCH = late_copies.fetches_by_a_former_id_are_refused


def test_a_fetch_by_the_id_of_the_former_topic() -> None:
    refused = recreated().refused(1, 0, Error.UNKNOWN_TOPIC_ID, id=ONE)
    assert [(one.case, one.result) for one in judged_by(FETCH, refused)] == [("deleted-id", "held")]
    assert broken(FETCH, recreated().fetch(1, epoch=0, hw=0, version=13, id=ONE)) == ["deleted-id"]
    assert judged_by(FETCH, recreated().fetch(1, epoch=0, hw=0, version=13, id=TWO)) == []
    assert judged_by(FETCH, recreated().produce(1, "a", error=Error.UNKNOWN_TOPIC_ID, id=ONE)) == []


def test_a_fetch_by_the_former_id_of_a_broker_that_may_not_serve_the_new_topic() -> None:
    history = recreated(wait=0).fetch(1, epoch=0, hw=0, version=13, id=ONE)
    assert judged_by(FETCH, history) == []
    assert excused(every_fact_is_looked_at, history) == [("leader", TOPIC_DOUBTED)]


def test_a_deletion_by_the_id_of_the_former_topic() -> None:
    unknown = recreated().deleted(id=ONE, error=Error.UNKNOWN_TOPIC_ID)
    assert [(one.case, one.result) for one in judged_by(DELETE, unknown)] == [("delete-topics", "held")]
    assert broken(DELETE, recreated().deleted(id=ONE)) == ["delete-topics"]
    for legal in (recreated().deleted(id=TWO), recreated().deleted(), recreated().deleted(id=ONE, lost=True)):
        assert judged_by(DELETE, legal) == []


def test_an_original_of_unknown_outcome_may_take_effect_late() -> None:
    history = LogHistory().created_as(ONE).deleted(id=ONE, lost=True).deleted(id=ONE)
    assert judged_by(DELETE, history) == []
    assert judged_by(DELETE, LogHistory().created_as(ONE).deleted(id=ONE).deleted(id=ONE)) == []
