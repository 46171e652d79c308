"""Leaders and epochs as controllers name them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.leaders import (
    answers_name_the_leader_in_between,
    epoch_survives_restarts,
    epochs_of_a_node_never_decrease,
    one_leader_in_each_epoch,
)
from tests.support.quorum import QuorumHistory

Happens = Callable[[QuorumHistory], QuorumHistory]


def results(judge: Judge, history: QuorumHistory) -> list[tuple[str, str]]:
    """Return the cases and results."""
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


def begun() -> QuorumHistory:
    return QuorumHistory().knows(101, 101, 4)


ONE_LEADER: dict[str, tuple[Happens, list[str]]] = {
    "another node names the same": (lambda h: h.knows(102, 101, 4), ["held"]),
    "another node names another": (lambda h: h.knows(102, 102, 4), ["violated"]),
    "another node knows no leader yet": (lambda h: h.knows(102, -1, 4), []),
    "of another epoch": (lambda h: h.knows(102, 102, 5), []),
    "the same process says it again": (lambda h: h.knows(101, 101, 4), ["held"]),
    "the same node on its disk": (lambda h: h.stored(101, 101, 4), ["held"]),
    "the same process says it a third time": (lambda h: h.knows(101, 101, 4).knows(101, 101, 4), ["held"]),
    "another on the disk of a node": (lambda h: h.stored(102, 103, 4), ["violated"]),
    "a broker forwards DescribeQuorum": (lambda h: h.described(9, 9, 9, watermark=9, by=1), ["held"]),
    "a broker hears of another": (lambda h: h.described(9, 9, 9, watermark=9, by=1, leader=102), ["violated"]),
    "a fault's consequence names another": (
        lambda h: h.fault("freeze", 103, controller=[102, 103], quorum_epoch=[4, 5]),
        ["violated"],
    ),
}


@pytest.mark.parametrize("name", ONE_LEADER)
def test_an_epoch_has_one_leader(name: str) -> None:
    happens, found = ONE_LEADER[name]
    assert results(one_leader_in_each_epoch, happens(begun())) == [("answers", one) for one in found]


def test_in_a_scripted_quorum_a_node_is_compared_with_itself() -> None:
    other = begun().plays_peers().knows(102, 102, 4)
    assert results(one_leader_in_each_epoch, other) == []
    assert results(one_leader_in_each_epoch, other.stored(102, 101, 4)) == [("answers", "violated")]


EPOCHS: dict[str, tuple[Happens, list[tuple[str, str]]]] = {
    "the same": (lambda h: h.knows(101, 101, 4), [("answers", "held")]),
    "a later one": (lambda h: h.knows(101, -1, 6), [("answers", "held")]),
    "an older one": (lambda h: h.knows(101, 101, 3), [("answers", "violated")]),
    "an older one after a restart": (lambda h: h.fault("kill", 101).knows(101, 102, 3), [("answers", "violated")]),
    "an older one that it had named twice": (
        lambda h: h.knows(101, 101, 4).knows(101, 102, 5).knows(101, 101, 4),
        [("answers", "held"), ("answers", "held"), ("answers", "violated")],
    ),
    "an older one of another node": (lambda h: h.knows(102, 102, 3), []),
    "an older one on its disk": (lambda h: h.stored(101, 101, 3), [("quorum-state", "violated")]),
    "the same on its disk": (lambda h: h.stored(101, 101, 4), [("quorum-state", "held")]),
    "an older one of a broker's answer": (lambda h: h.described(9, 9, 9, watermark=9, by=1, epoch=3), []),
}


@pytest.mark.parametrize("name", EPOCHS)
def test_a_node_names_no_older_epoch(name: str) -> None:
    happens, found = EPOCHS[name]
    assert results(epochs_of_a_node_never_decrease, happens(begun())) == found


RESTARTS: dict[str, tuple[Happens, list[str]]] = {
    "without a restart": (lambda h: h.knows(101, 101, 3), []),
    "the same": (lambda h: h.fault("kill", 101).knows(101, -1, 4), ["held"]),
    "an older one": (lambda h: h.fault("kill", 101).knows(101, -1, 3), ["violated"]),
    "an older one on its disk": (lambda h: h.fault("kill", 101).stored(101, -1, 3), ["violated"]),
    "an older one after the same": (
        lambda h: h.fault("kill", 101).knows(101, -1, 4).knows(101, -1, 3),
        ["held", "violated"],
    ),
    "another node was restarted": (lambda h: h.fault("kill", 102).knows(101, 101, 3), []),
}


@pytest.mark.parametrize("name", RESTARTS)
def test_an_epoch_survives_a_restart(name: str) -> None:
    happens, found = RESTARTS[name]
    assert results(epoch_survives_restarts, happens(begun())) == [("epoch", one) for one in found]


BETWEEN: dict[str, tuple[Happens, list[str]]] = {
    "the same": (lambda h: h.begin(101, 101, 4), ["held"]),
    "no leader": (lambda h: h.fetched(epoch=4, leader=-1, error=6), ["violated"]),
    "a newer epoch": (lambda h: h.vote(101, 103, 5, leader=101), ["violated"]),
    "an older epoch": (lambda h: h.fetched(epoch=3), ["violated"]),
    "another node": (lambda h: h.knows(102, -1, 4), []),
    "its disk": (lambda h: h.stored(101, -1, 4), []),
    "a restart": (lambda h: h.knows(101, -1, 4).fault("kill", 101), []),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_an_answer_between_two_equal_ones_names_the_same(name: str) -> None:
    happens, found = BETWEEN[name]
    history = happens(begun()).knows(101, 101, 4)
    assert results(answers_name_the_leader_in_between, history) == [("every-answer", one) for one in found]


def test_an_answer_that_was_true_before_its_leader_was_elected() -> None:
    history = QuorumHistory()
    for leader in (-1, -1, -1, 101, 101, -1, 101):
        history.knows(101, leader, 4)
    found = results(answers_name_the_leader_in_between, history)
    assert found == [("every-answer", "held"), ("every-answer", "violated")]


def test_an_answer_before_a_change_may_name_either() -> None:
    history = begun().knows(101, -1, 5).knows(101, 102, 5)
    assert results(answers_name_the_leader_in_between, history) == []
