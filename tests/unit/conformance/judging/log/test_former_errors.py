"""Answers to Produce, which never have an error of former producers."""

from __future__ import annotations

import pytest

from conformance.judging.judge import judge_all
from conformance.judging.log.former_errors import former_errors_are_not_answered
from protocol.codes import Error
from tests.support.histories import NO_PRODUCER, LogHistory, Producer

P = Producer(7, 0, 0)


def results(history: LogHistory) -> list[str]:
    return [one.result for one in judge_all([former_errors_are_not_answered], history.history)]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Error.NONE, "held"),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, "held"),
        (Error.UNKNOWN_PRODUCER_ID, "violated"),
        (Error.DUPLICATE_SEQUENCE_NUMBER, "violated"),
    ],
)
def test_an_answer_to_a_producer(error: Error, result: str) -> None:
    assert results(LogHistory().settled(1, 0).produce(1, "a", error=error, producer=P)) == [result]


def test_equal_answers_to_a_producer_count_once() -> None:
    history = LogHistory().settled(1, 0).produce(1, "a", at=0, producer=P).produce(1, "b", at=1, producer=P)
    assert results(history.produce(1, "c", at=2, producer=Producer(8, 0, 0))) == ["held", "held"]


def test_no_answer_and_no_producer_show_nothing() -> None:
    history = LogHistory().settled(1, 0).produce(1, "a", lost=True, producer=P)
    assert results(history.produce(1, "b", at=0, producer=NO_PRODUCER)) == []
