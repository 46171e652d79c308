"""Records that are read were written (GEN-16): evidence that leaves an instance undecided, and histories close to it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from conformance.judging.earlier_examples import EarlierExamples
from conformance.judging.excuses import (
    APPENDED_BY_FAULT,
    ASSIGNED_AGAIN,
    ELECTED_UNCLEANLY_BY_FAULT,
    PRODUCER_STATE_EXPIRED,
    SENT_AS_BYTES,
    WRITTEN_BEFORE,
    WRITTEN_BY_CLUSTER,
    Evidence,
)
from conformance.judging.judge import judge_all
from conformance.judging.log import written_records
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, History
from protocol.log import ProducePartition
from protocol.messages import PendingRequest
from protocol.operations import OPERATIONS
from protocol.records import Batch, batch
from tests.support import filled
from tests.support.histories import TOPIC, LogHistory, Producer, stamped
from tests.support.judging import broken, excused, judged_by

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
FORGED = stamped(0, 2, "forged")
JUDGE = written_records.every_record_read_was_written


def held(history: LogHistory) -> list[str]:
    """The cases in which the law holds; nothing may break it."""
    found = judged_by(JUDGE, history)
    assert [one.detail for one in found if one.result == "violated"] == []
    return [one.case for one in found]


def begun() -> LogHistory:
    return LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1)


def prepared(history: LogHistory) -> LogHistory:
    """The example goes on where another one left off."""
    history.example = msgspec.structs.replace(history.example, context={"topic": TOPIC.name})
    return history


def forged(history: LogHistory) -> LogHistory:
    """A record is read that no request sent."""
    return history.whole(1, A, B, FORGED, epoch=0, hw=3)


def with_bytes(history: LogHistory) -> LogHistory:
    history._lost(history._asked(1, "produce", TOPIC, 0, b"no batch of ours"))
    return history


def faulty(partition: str) -> LogHistory:
    return begun().hit("roll-by-size", 1, partition=partition).heal("roll-by-size", 1)


def handed_again(
    history: LogHistory, *, between: Callable[[LogHistory], object] = lambda history: history
) -> LogHistory:
    history.delivered("member-1", 0, 0, "a").delivered("member-1", 1, 0, "b")
    between(history)
    return history.delivered("member-1", 0, 0, "a")


def in_a_group() -> LogHistory:
    return begun().assigned("member-1", group="g")


UNDECIDED: dict[str, Callable[[], LogHistory]] = {
    "a topic from before the history": lambda: forged(prepared(LogHistory().settled(1, 0))),
    "a topic that a fault appended to": lambda: forged(faulty("topic-0")),
    "bytes in place of a batch": lambda: forged(with_bytes(begun())),
    "a loss by permission": lambda: handed_again(
        begun(),
        between=lambda history: history.hit("unclean-election", 1, partition="topic-0", own_topic=False).settled(2, 1),
    ),
    "a member of a group that was rebalanced": lambda: handed_again(
        in_a_group(), between=lambda history: history.assigned("member-2", group="g")
    ),
}
VIOLATED: dict[str, Callable[[], LogHistory]] = {
    "a topic that was created all the same": lambda: forged(prepared(LogHistory().created().settled(1, 0))),
    "what lies above a record of the history": lambda: forged(prepared(begun())),
    "another topic that a fault appended to": lambda: forged(faulty("other-0")),
    "bytes that were sent afterwards": lambda: with_bytes(forged(begun())),
    "an unclean election that elected no other leader": lambda: handed_again(
        begun(), between=lambda history: history.hit("unclean-election", 1, partition="topic-0", own_topic=False)
    ),
    "an election without a loss": lambda: handed_again(
        begun(), between=lambda history: history.move(1, 2).settled(2, 1)
    ),
    "a member of a group without a rebalance": lambda: handed_again(in_a_group()),
    "a consumer of its own beside a rebalance": lambda: handed_again(
        begun().assigned("member-1"), between=lambda history: history.assigned("member-2", group="g")
    ),
}


EXCUSES = (WRITTEN_BEFORE, APPENDED_BY_FAULT, SENT_AS_BYTES, ELECTED_UNCLEANLY_BY_FAULT, ASSIGNED_AGAIN)


@pytest.mark.parametrize(("name", "excuse"), [*zip(UNDECIDED, EXCUSES, strict=True)])
def test_the_evidence_leaves_it_undecided(name: str, excuse: Evidence) -> None:
    history = UNDECIDED[name]()
    assert broken(JUDGE, history) == []
    assert {name for _, name in excused(JUDGE, history)} == {excuse}


@pytest.mark.parametrize("name", VIOLATED)
def test_it_is_violated(name: str) -> None:
    history = VIOLATED[name]()
    assert len(broken(JUDGE, history)) == 1
    assert excused(JUDGE, history) == []


class TestRecordsThatAMemberSkips:
    """A member is handed `a`, then `c`, and never `b`, which a leader acknowledged."""

    def skips(self, between: Callable[[LogHistory], object]) -> LogHistory:
        history = LogHistory().created().settled(1, 0).produce(1, "a", "b", "c", at=0)
        history.assigned("member-1", group="g").delivered("member-1", 0, 0, "a")
        between(history)
        return history.delivered("member-1", 2, 0, "c")

    def test_another_member_committed_past_it_before_a_rebalance(self) -> None:
        history = self.skips(lambda h: h.client_commit("member-2", 2, 0).assigned("member-2", group="g"))
        assert excused(JUDGE, history) == [("consumer", ASSIGNED_AGAIN)]
        assert broken(JUDGE, history) == []

    @pytest.mark.parametrize(
        "between",
        [
            lambda h: h.assigned("member-2", group="g"),
            lambda h: h.client_commit("member-2", 1, 0).assigned("member-2", group="g"),
            lambda h: h.client_commit("member-2", 2, 0, group="other").assigned("member-2", group="g"),
            lambda h: h.client_commit("member-2", 2, 0),
            lambda h: h.client_commit("member-2", 2, 0).assigned("member-2", group="other"),
            lambda h: h.client_commit("member-2", 2, 0).hit("freeze", 3),
        ],
        ids=["no commit", "less", "another group's commit", "no rebalance", "another group's rebalance", "a fault"],
    )
    def test_else_it_is_lost(self, between: Callable[[LogHistory], object]) -> None:
        history = self.skips(between)
        assert (broken(JUDGE, history), excused(JUDGE, history)) == (["consumer"], [])


# --- idempotent producers


FIRST, SECOND = Producer(7, 0, 0), Producer(7, 0, 1)
X, Y = stamped(0, 0, "x", producer=FIRST), stamped(0, 1, "y", producer=SECOND)


def retried(*log: Batch) -> LogHistory:
    """One producer sends x, its retry, and y; then the leader's log is read."""
    history = LogHistory().settled(1, 0).produce(1, "x", lost=True, producer=FIRST)
    history.produce(1, "x", at=0, producer=FIRST).produce(1, "y", at=log[-1].base_offset, producer=SECOND)
    return history.whole(1, *log, epoch=0, hw=log[-1].last_offset + 1)


def test_a_batch_sent_twice_with_the_same_sequence_is_appended_once() -> None:
    assert held(retried(X, Y)) == ["leader"]
    twice = (X, stamped(0, 1, "x", producer=FIRST), stamped(0, 2, "y", producer=SECOND))
    assert broken(JUDGE, retried(*twice)) == ["leader"]


def test_a_sequence_is_there_again_once_its_producer_was_forgotten() -> None:
    effects = Effects(forgets_producers=True, every_partition=True)
    twice = (X, stamped(0, 1, "x", producer=FIRST))
    forgotten = LogHistory().settled(1, 0).produce(1, "x", at=0, producer=FIRST).hit("expiry", 1, effects=effects)
    again = forgotten.heal("expiry", 1).produce(1, "x", at=1, producer=FIRST).whole(1, *twice, epoch=0, hw=2)
    assert excused(JUDGE, again) == [("leader", PRODUCER_STATE_EXPIRED)]


def test_a_sequence_that_two_batches_share_in_part() -> None:
    history = LogHistory().settled(1, 0).produce(1, "x", "y", at=0, producer=FIRST)
    history.produce(1, "y", at=2, producer=SECOND)
    both = stamped(0, 0, "x", "y", producer=FIRST)
    assert broken(JUDGE, history.whole(1, both, stamped(0, 2, "y", producer=SECOND), epoch=0, hw=3)) == ["leader"]


@pytest.mark.parametrize("other", [Producer(8, 0, 0), Producer(7, 1, 0), Producer(7, 0, 1)])
def test_the_same_value_with_another_producer_epoch_or_sequence(other: Producer) -> None:
    history = LogHistory().settled(1, 0).produce(1, "x", at=0, producer=FIRST).produce(1, "x", at=1, producer=other)
    assert held(history.whole(1, X, stamped(0, 1, "x", producer=other), epoch=0, hw=2)) == ["leader"]


def test_a_batch_with_another_producer_than_its_sender() -> None:
    history = LogHistory().settled(1, 0).produce(1, "x", at=0, producer=FIRST)
    assert broken(JUDGE, history.whole(1, stamped(0, 0, "x"), epoch=0, hw=1)) == ["leader"]


def test_a_repeated_sequence_in_a_topic_from_before_the_history() -> None:
    again = stamped(0, 1, "x", producer=FIRST)
    history = prepared(LogHistory().settled(1, 0).whole(1, X, again, epoch=0, hw=2))
    assert broken(JUDGE, history) == ["leader"]


def test_controllers_write_sequences_without_a_producer_id() -> None:
    nameless = Producer(-1, -1, 0)
    history = LogHistory().settled(1, 0).produce(1, "x", at=0).produce(1, "y", at=1)
    both = stamped(0, 0, "x", producer=nameless), stamped(0, 1, "y", producer=nameless)
    assert held(history.whole(1, *both, epoch=0, hw=2)) == ["leader"]


# --- topics from before the history


def continued(*above: Batch) -> LogHistory:
    """The example writes b after what it finds in the log."""
    history = prepared(LogHistory().settled(1, 0).produce(1, "b", at=1))
    return history.whole(1, stamped(0, 0, "before"), B, *above, epoch=0, hw=2 + len(above))


def test_records_above_one_of_the_history_were_sent_in_it() -> None:
    assert broken(JUDGE, continued(FORGED)) == ["leader"]
    assert broken(JUDGE, continued(stamped(0, 2, "b"))) == ["leader"]
    assert excused(JUDGE, continued()) == [("leader", WRITTEN_BEFORE)]


def shared(*earlier: LogHistory) -> LogHistory:
    """An example on a shared rig to which earlier examples wrote."""
    known = EarlierExamples()
    for one in earlier:
        known = known.after(one.history)
    history = prepared(LogHistory())
    history.example = msgspec.structs.replace(history.example, sent=known.sent)
    return history.settled(1, 0)


def test_records_that_earlier_examples_sent_to_a_shared_rig_are_known() -> None:
    history = shared(begun()).produce(1, "c", at=2).whole(1, A, B, stamped(0, 2, "c"), epoch=0, hw=3)
    assert held(history) == ["leader"]
    assert excused(JUDGE, history) == []
    assert broken(JUDGE, shared(begun()).whole(1, A, stamped(0, 1, "forged"), epoch=0, hw=2)) == ["leader"]
    assert broken(JUDGE, shared(begun()).whole(1, A, stamped(0, 1, "a"), epoch=0, hw=2)) == ["leader"]


def test_a_value_that_two_examples_sent_is_there_twice() -> None:
    twice = shared(begun(), prepared(LogHistory().produce(1, "a", at=2)))
    assert held(twice.whole(1, A, B, stamped(0, 2, "a"), epoch=0, hw=3)) == ["leader"]


def test_an_earlier_example_that_sent_bytes_leaves_it_undecided() -> None:
    history = shared(with_bytes(begun()), begun()).whole(1, A, stamped(0, 1, "forged"), epoch=0, hw=2)
    assert broken(JUDGE, history) == []
    assert excused(JUDGE, history) == [("leader", WRITTEN_BEFORE)]


def test_records_above_it_count_and_those_below_do_not() -> None:
    history = continued(stamped(0, 2, "c"))
    assert broken(JUDGE, history) == ["leader"]
    history = prepared(LogHistory().settled(1, 0).produce(1, "b", at=1).produce(1, "c", at=2))
    history.whole(1, stamped(0, 0, "before"), B, stamped(0, 2, "c"), epoch=0, hw=3)
    assert held(history) == ["leader"]
    assert excused(JUDGE, history) == [("leader", WRITTEN_BEFORE)]


def test_a_record_of_another_leader_at_its_offset_shows_nothing() -> None:
    """Two leaders wrote at one offset, and the log has the record from before the history."""
    history = prepared(LogHistory().settled(1, 3).produce(1, "b", at=1))
    history.whole(2, stamped(0, 0, "before"), stamped(1, 1, "b"), stamped(1, 2, "forged"), epoch=3, hw=2)
    assert broken(JUDGE, history) == []
    assert excused(JUDGE, history) == [("follower", WRITTEN_BEFORE)]


def internal(history: LogHistory) -> LogHistory:
    """The same about a partition of a coordinator's."""
    for place, event in enumerate(history.events):
        text = msgspec.json.encode(event).replace(b':"topic"', b':"__consumer_offsets"')
        history.events[place] = msgspec.json.decode(text, type=AnyEvent)
    return history


def test_records_of_internal_topics_are_written_by_coordinators() -> None:
    history = internal(LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2))
    assert judged_by(JUDGE, history) == []
    assert excused(JUDGE, history) == [("leader", WRITTEN_BY_CLUSTER)]


def twice_at(sequence: int) -> LogHistory:
    """A producer's batches of two records each, which begin at the same sequence."""
    producer = Producer(7, 0, sequence)
    first, second = (stamped(0, at, "x", "y", producer=producer) for at in (0, 2))
    return LogHistory().settled(1, 0).whole(1, first, second, epoch=0, hw=4)


def test_coordinators_write_offsets_of_transactions_at_sequence_0() -> None:
    assert broken(JUDGE, internal(twice_at(0))) == []
    assert excused(JUDGE, internal(twice_at(0))) == [("leader", WRITTEN_BY_CLUSTER)]
    assert broken(JUDGE, internal(twice_at(5))) == ["leader"]
    assert broken(JUDGE, twice_at(0)) == ["leader"]


# --- requests about several partitions


ID = "3310cd9c-e2ad-4eb0-87e6-b47a5e2dd975"


def many(read: str) -> list[tuple[str, str]]:
    """Cases and results where one request sends `sent` to a topic by name and id, and one fetches it by its id."""
    topic = {"name": "t", "id": ID}
    sent = {"topic": topic, "partition": 0, "records": {"records": [{"value": b64encode(b"sent").decode()}]}}
    wanted = {"topic": topic, "partition": 0, "fetch_offset": 0, "current_leader_epoch": 0, "last_fetched_epoch": -1}
    answered = {"topic": None, "topic_id": ID, "partition": 0, "error_code": 0, "version": 13}
    place = {"base_offset": 0, "last_offset": 0, "leader_epoch": 0, "crc": 1, "crc_valid": True, "control": False}
    marks = {"high_watermark": 1, "last_stable_offset": 1, "log_start_offset": 0, "diverging_epoch": None}
    batches = {"batches": [place | {"records": [{"offset": 0, "value": b64encode(read.encode()).decode()}]}]}
    produced: dict[str, Any] = {"acks": -1, "partitions": [sent]}
    options = {"replica_id": -1, "isolation_level": 0}
    exchanges: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("produce_many", produced, {"partitions": [answered | {"base_offset": 0}]}),
        ("fetch_many", {"options": options, "partitions": [wanted]}, {"partitions": [answered | marks | batches]}),
    ]
    events: list[AnyEvent] = []
    for op, request, value in exchanges:
        kind = OPERATIONS[op]
        events.append(Call(n=len(events), t=0, op=op, node="broker-1", request=filled.asked(kind, request)))
        events.append(
            Answer(n=len(events), t=0, call=len(events) - 1, outcome="ok", value=filled.answered(kind, value))
        )
    history = History(example=Example(example="e", check="c", column="4.3.1"), events=events)
    return [(one.case, one.result) for one in judge_all([JUDGE], history)]


def test_each_partition_of_a_request_is_a_fact() -> None:
    assert many("sent") == [("consumer", "held")]
    assert many("forged") == [("consumer", "violated")]


def test_a_write_that_stays_in_flight_counts_as_sent() -> None:
    history = prepared(begun())
    partition = [ProducePartition(TOPIC, 0, batch(b"c", timestamp=1))]
    in_flight = PendingRequest(api="Produce", version=9, number=1)
    history._answered(history._asked(1, "park_produce", partition, timeout_ms=100), in_flight)
    assert held(history.whole(1, A, B, stamped(0, 2, "c"), epoch=0, hw=2)) == ["leader"]
    assert excused(JUDGE, history) == []
