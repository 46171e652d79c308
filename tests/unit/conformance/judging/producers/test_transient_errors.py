"""Errors that pass by themselves: for how long a broker may answer with them, and what lets it go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import NOT_LED, TRANSIENT_ERROR
from conformance.judging.producers.answers import answers_fit_the_possible_states
from conformance.judging.timeline import MIN_ISR
from protocol.codes import Error
from tests.support.judging import broken, excused
from tests.support.producers import TID, ProducerHistory

judge = answers_fit_the_possible_states
SHORT, LOADS, ELSEWHERE = Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR


def begun(tid: str | None = None) -> ProducerHistory:
    history = ProducerHistory(min_insync_replicas="2").given(tid=tid)
    return (history.adds() if tid else history).writes("a", at=0, tid=tid)


def refused(history: ProducerHistory, *, tid: str | None = None, error: Error = SHORT) -> ProducerHistory:
    return history.writes("b", sequence=1, tid=tid, error=error)


def refused_again(
    seconds: float,
    between: Callable[[ProducerHistory], ProducerHistory] = lambda history: history,
    tid: str | None = None,
) -> ProducerHistory:
    """A leader refuses a batch, and again after a while, in which something happens first."""
    history = between(refused(begun(tid), tid=tid))
    return refused(history.later(seconds), tid=tid).settled(1, 0)


@pytest.mark.parametrize("tid", [None, TID])
def test_a_leader_may_be_short_of_replicas_for_as_long_as_the_bound(tid: str | None) -> None:
    assert broken(judge, refused_again(29, tid=tid)) == []
    assert excused(judge, refused_again(29, tid=tid)) == [("produce-granted", TRANSIENT_ERROR)]
    assert broken(judge, refused_again(31, tid=tid)) == ["produce-granted"]
    assert excused(judge, refused_again(31, tid=tid)) == [("produce-granted", TRANSIENT_ERROR)]


@pytest.mark.parametrize(
    "between",
    [
        lambda history: history.writes("c", id=8, at=1),
        lambda history: history.hit("rate-limit", 1),
        lambda history: history.later(20).hit("rate-limit", 3).healed("rate-limit", 3),
        lambda history: history.settled(1, 0, isr=(1,)),
        lambda history: history.later(20).settled(1, 0, isr=(1,)).settled(1, 0),
        lambda history: history.altered(MIN_ISR, "4"),
        lambda history: history.asleep(60),
    ],
    ids=["granted", "a fault stands", "a fault is over", "a small ISR", "it was small", "too few brokers", "asleep"],
)
def test_a_leader_has_something_to_wait_for(between: Callable[[ProducerHistory], ProducerHistory]) -> None:
    assert broken(judge, refused_again(25, between)) == []


def test_no_other_broker_has_to_take_a_batch() -> None:
    history = refused(refused(begun()).later(40), error=Error.NOT_LEADER_OR_FOLLOWER).settled(2, 1)
    assert broken(judge, history) == []
    assert ("produce-granted", TRANSIENT_ERROR) in excused(judge, history)


def test_a_batch_of_an_idempotent_producer_that_no_leader_answered_is_counted() -> None:
    history = refused(begun(), error=Error.OUT_OF_ORDER_SEQUENCE_NUMBER).settled(2, 1)
    assert (broken(judge, history), excused(judge, history)) == ([], [("produce-granted", NOT_LED)])


@pytest.mark.parametrize(
    ("error", "seconds", "expected"), [(LOADS, 29, []), (LOADS, 31, ["end-granted"]), (ELSEWHERE, 31, [])]
)
def test_a_coordinator_loads_for_no_longer_than_the_bound(error: Error, seconds: float, expected: list[str]) -> None:
    history = ProducerHistory().given().adds().ends(True, error=error).later(seconds).ends(True, error=error)
    assert broken(judge, history) == expected
