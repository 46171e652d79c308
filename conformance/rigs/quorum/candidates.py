"""Candidates for a frozen voter to choose from."""

from collections.abc import Callable, Mapping

from conformance.rigs.quorum.frozen import PEERS, LogEnd
from protocol.codes import Error
from protocol.quorum import VoteAnswer

BEHIND = LogEnd(0, 0)
"""The end of an empty log."""


def other_peer(peer: int) -> int:
    """Return the id of the other of the two peers."""
    return next(id for id in PEERS if id != peer)


NONSENSE: Mapping[str, Callable[[int, int], int]] = {
    "offset-negative": lambda epoch, by: 0,
    "epoch-negative": lambda epoch, by: -by,
    "epoch-not-below": lambda epoch, by: epoch + by - 1,
    "pre-vote-above": lambda epoch, by: epoch + by,
}
"""Functions from the candidate's epoch to an impossible last epoch of its log: for a Vote it must be lower, for a
pre-vote at most equal."""


def is_vote(answer: VoteAnswer, *, granted: bool) -> bool:
    """True if the vote is answered without error, granted or not as `granted` says."""
    return answer.error is Error.NONE and answer.top_level_error is Error.NONE and answer.vote_granted is granted
