"""The members of the quorum, as they are described."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.members import (
    brokers_only_observe,
    leader_describes_itself_among_the_voters,
    observers_take_no_part,
)
from tests.support.quorum import QuorumHistory

Happens = Callable[[QuorumHistory], QuorumHistory]
Results = list[tuple[str, str]]


def results(judge: Judge, history: QuorumHistory) -> Results:
    """Return the cases and results."""
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


OBSERVED: dict[str, tuple[Happens, Results, Results]] = {
    "controllers vote": (
        lambda h: h.described(9, 9, 9, watermark=9),
        [("describe-quorum", "held")],
        [("answers", "held")],
    ),
    "a broker votes": (
        lambda h: h.described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, 1)),
        [("describe-quorum", "violated")],
        [("answers", "violated")],
    ),
    "a controller has a vote": (lambda h: h.stored(101, -1, 4, voted=102), [("vote", "held")], [("answers", "held")]),
    "a broker has a vote": (lambda h: h.stored(101, -1, 4, voted=2), [("vote", "violated")], [("answers", "violated")]),
    "there is no vote": (lambda h: h.stored(101, 101, 4), [], []),
    "a controller asks for a vote": (lambda h: h.plays_peers(102), [("vote", "held")], []),
    "a broker asks for a vote": (lambda h: h.plays_peers(1), [("vote", "violated")], []),
    "no candidate asks for a vote": (lambda h: h.plays_peers(), [], []),
    "a broker votes in a scripted quorum": (
        lambda h: h.plays_peers().described(9, 9, 9, 9, watermark=9, voters=(101, 102, 103, 1)),
        [],
        [],
    ),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_brokers_neither_vote_nor_ask_for_votes(name: str) -> None:
    happens, of_row, of_invariant = OBSERVED[name]
    history = happens(QuorumHistory())
    assert results(brokers_only_observe, history) == of_row
    assert results(observers_take_no_part, history) == of_invariant


DESCRIBED: dict[str, tuple[Happens, list[str]]] = {
    "complete": (lambda h: h.described(9, 9, 8, watermark=9), ["held"]),
    "complete, through a broker": (lambda h: h.described(9, 9, 8, watermark=9, by=1), ["held"]),
    "it answers for another leader": (lambda h: h.described(9, 9, 8, watermark=9, by=102), ["violated"]),
    "a voter is missing": (lambda h: h.described(9, 9, watermark=9, voters=(101, 102)), ["violated"]),
    "a follower is ahead": (lambda h: h.described(9, 10, 8, watermark=9), ["violated"]),
    "the high watermark is ahead": (lambda h: h.described(9, 9, 8, watermark=10), ["violated"]),
    "there is no high watermark": (lambda h: h.described(9, -1, -1, watermark=-1), ["held"]),
    "there are voters that the kit plays": (
        lambda h: h.described(9, 9, 9, 0, watermark=9, voters=(101, 102, 103, 4)),
        ["held"],
    ),
    "it is described again": (lambda h: h.described(9, 9, 8, watermark=9).described(9, 9, 8, watermark=9), ["held"]),
    "it is refused": (lambda h: h.described(0, 0, 0, watermark=0, error=6), []),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_leader_describes_all_voters(name: str) -> None:
    happens, found = DESCRIBED[name]
    history = happens(QuorumHistory())
    assert results(leader_describes_itself_among_the_voters, history) == [("every-description", one) for one in found]
