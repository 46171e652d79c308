"""Votes, as answers and quorum-state show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.votes import one_vote_and_one_leader, stored_vote_and_leader_stay, votes_are_kept
from tests.support.quorum import QuorumHistory

Happens = Callable[[QuorumHistory], QuorumHistory]
Results = list[tuple[str, str]]


def results(judge: Judge, history: QuorumHistory) -> Results:
    """Return the cases and results."""
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


def granted() -> QuorumHistory:
    """Let 101 vote for 2 in epoch 5."""
    return QuorumHistory((101,)).plays_peers().vote(101, 2, 5, granted=True)


VOTES: dict[str, tuple[Happens, Results]] = {
    "it grants the vote again": (lambda h: h.vote(101, 2, 5, granted=True), [("vote", "held")]),
    "it grants the vote to another": (lambda h: h.vote(101, 3, 5, granted=True), [("vote", "violated")]),
    "it grants a pre-vote to another": (lambda h: h.vote(101, 3, 5, granted=True, pre_vote=True), []),
    "it refuses another": (lambda h: h.vote(101, 3, 5), []),
    "it votes for another in a later epoch": (lambda h: h.vote(101, 3, 6, granted=True), []),
    "the vote is on its disk": (lambda h: h.stored(101, -1, 5, voted=2), [("vote", "held")]),
    "following has cleared the vote on its disk": (lambda h: h.stored(101, 2, 5), []),
    "another vote is on its disk after a kill": (
        lambda h: h.fault("kill", 101).stored(101, -1, 5, voted=3),
        [("vote", "violated")],
    ),
    "it knows two leaders": (lambda h: h.knows(101, 2, 5).begin(101, 3, 5), [("leader", "violated")]),
}


@pytest.mark.parametrize("name", VOTES)
def test_a_node_has_one_vote_and_one_leader_in_an_epoch(name: str) -> None:
    happens, found = VOTES[name]
    assert results(one_vote_and_one_leader, happens(granted())) == found


def test_nodes_may_vote_for_different_candidates() -> None:
    history = QuorumHistory().stored(101, -1, 5, voted=101).stored(102, -1, 5, voted=102)
    assert results(one_vote_and_one_leader, history) == []


STORED: dict[str, tuple[Happens, list[str]]] = {
    "the same": (lambda h: h.stored(101, 102, 5, voted=102), ["held", "held"]),
    "no leader and no vote any more": (lambda h: h.stored(101, -1, 5), []),
    "another vote": (lambda h: h.stored(101, 102, 5, voted=103), ["violated", "held"]),
    "another leader": (lambda h: h.stored(101, 103, 5, voted=102), ["held", "violated"]),
    "another of a later epoch": (lambda h: h.stored(101, 103, 6, voted=103), []),
    "another node's": (lambda h: h.stored(102, 102, 5, voted=103), []),
    "another leader in an answer": (lambda h: h.knows(101, 103, 5), []),
}


@pytest.mark.parametrize("name", STORED)
def test_quorum_state_keeps_leader_and_vote(name: str) -> None:
    happens, found = STORED[name]
    history = happens(QuorumHistory().stored(101, 102, 5, voted=102))
    assert results(stored_vote_and_leader_stay, history) == [("leader-and-vote", one) for one in found]


KEPT: dict[str, tuple[Happens, list[str]]] = {
    "it refuses another": (lambda h: h.vote(101, 3, 5), ["held"]),
    "it grants the vote to another with a longer log": (
        lambda h: h.vote(101, 3, 5, granted=True, offset=99),
        ["violated"],
    ),
    "it grants the same one again": (lambda h: h.vote(101, 2, 5, granted=True), ["held"]),
    "it refuses the same one": (lambda h: h.vote(101, 2, 5), ["violated"]),
    "it refuses the same one with an older log": (lambda h: h.vote(101, 2, 5, offset=3), []),
    "it refuses the same one, as it has a leader": (lambda h: h.vote(101, 2, 5, leader=3), []),
    "it refuses the same one in a later epoch": (lambda h: h.vote(101, 2, 5, known=6), []),
    "it refuses the same one a pre-vote": (lambda h: h.vote(101, 2, 5, pre_vote=True), []),
    "it refuses the same one with an error": (lambda h: h.vote(101, 2, 5, error=42), []),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_granted_vote_is_kept(name: str) -> None:
    happens, found = KEPT[name]
    assert results(votes_are_kept, happens(granted())) == [("every-vote", one) for one in found]
