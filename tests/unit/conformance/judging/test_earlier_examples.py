"""Successive examples on a shared rig, and what they did to its partitions."""

from __future__ import annotations

import base64

import msgspec

from conformance.judging.earlier_examples import EarlierExamples
from protocol.codes import Error
from tests.support.histories import TOPIC, LogHistory


def stored(value: str) -> str:
    """The value as a history stores it."""
    return base64.b64encode(value.encode()).decode()


def test_values_add_up_whatever_the_answers() -> None:
    first = LogHistory().produce(1, "a", "b", at=0).produce(1, "a", lost=True)
    second = LogHistory().produce(1, "b", error=Error.NOT_ENOUGH_REPLICAS)
    earlier = EarlierExamples().after(first.history)
    assert earlier.sent == {"topic-0": {stored("a"): 2, stored("b"): 1}}
    assert earlier.after(second.history).sent == {"topic-0": {stored("a"): 2, stored("b"): 2}}
    assert earlier.after(LogHistory().settled(1, 0).history) == earlier


def test_bytes_and_records_that_a_fault_appends_are_not_known() -> None:
    bytes_sent = LogHistory()
    bytes_sent._lost(bytes_sent._asked(1, "produce", TOPIC, 0, b"no batch of ours"))
    appended = LogHistory().settled(1, 0).hit("roll-by-size", 1, partition="topic-0")
    for history in (bytes_sent, appended):
        assert EarlierExamples().after(history.history).sent is None
    assert EarlierExamples(sent=None).after(LogHistory().produce(1, "a", at=0).history).sent is None


# --- log starts


def next_example(history: LogHistory, earlier: EarlierExamples) -> LogHistory:
    """The history, as of an example on a shared rig."""
    fields = {**msgspec.structs.asdict(earlier), "context": {"topic": "topic"}}
    history.example = msgspec.structs.replace(history.example, **fields)
    return history


def test_the_highest_log_start_that_requests_explain_is_handed_on() -> None:
    once = EarlierExamples().after(LogHistory().settled(1, 0).trim(1, 3).history)
    assert once.log_starts == {"topic-0": 3}
    twice = once.after(next_example(LogHistory().settled(1, 0).trim(1, 2).settled(1, 0), once).history)
    assert twice.log_starts == {"topic-0": 3}


def test_a_log_start_that_retention_may_have_moved_has_no_bound_ever_after() -> None:
    retained = EarlierExamples().after(LogHistory().created(retention_bytes="1").settled(1, 0).history)
    assert retained.log_starts == {}
    assert retained.after(next_example(LogHistory().settled(1, 0).trim(1, 2), retained).history).log_starts == {}
