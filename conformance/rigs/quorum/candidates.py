"""Candidates for a frozen voter to choose from."""

from conformance.rigs.quorum.frozen import PEERS, LogEnd

BEHIND = LogEnd(0, 0)
"""The end of an empty log."""


def other_peer(peer: int) -> int:
    """Return the id of the other of the two peers."""
    return next(id for id in PEERS if id != peer)
