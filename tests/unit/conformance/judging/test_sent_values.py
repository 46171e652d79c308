"""The values that successive examples on a shared rig sent."""

from __future__ import annotations

import base64

from conformance.judging.sent_values import sent_until
from protocol.codes import Error
from tests.support.histories import TOPIC, LogHistory


def stored(value: str) -> str:
    """The value as a history stores it."""
    return base64.b64encode(value.encode()).decode()


def test_values_add_up_whatever_the_answers() -> None:
    first = LogHistory().produce(1, "a", "b", at=0).produce(1, "a", lost=True)
    second = LogHistory().produce(1, "b", error=Error.NOT_ENOUGH_REPLICAS)
    sent = sent_until(first.history, {})
    assert sent == {"topic-0": {stored("a"): 2, stored("b"): 1}}
    assert sent_until(second.history, sent) == {"topic-0": {stored("a"): 2, stored("b"): 2}}
    assert sent_until(LogHistory().settled(1, 0).history, sent) == sent


def test_bytes_and_records_that_a_fault_appends_are_not_known() -> None:
    bytes_sent = LogHistory()
    bytes_sent._lost(bytes_sent._asked(1, "produce", TOPIC, 0, b"no batch of ours"))
    appended = LogHistory().settled(1, 0).hit("roll-by-size", 1, partition="topic-0")
    for history in (bytes_sent, appended):
        assert sent_until(history.history, {}) is None
    assert sent_until(LogHistory().produce(1, "a", at=0).history, None) is None
