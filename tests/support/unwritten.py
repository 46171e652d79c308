"""A writer of histories for tapes in memory."""

from __future__ import annotations


class Unwritten:
    """A writer of histories that keeps nothing, since the tape has it all."""

    def write(self, line: object) -> None:
        """Do nothing."""
