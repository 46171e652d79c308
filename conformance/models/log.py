"""The model that the log machine steers by."""

from __future__ import annotations

import dataclasses

MOST_MEMBERS = 3


@dataclasses.dataclass
class LogModel:
    """What the schedule has asked for so far; what became of it the model does not know."""

    batches: int = 0
    reads: int = 0
    broken: bool = False
    members: int = 0
    committed: bool = False

    @property
    def whole(self) -> bool:
        """One fault at a time: with two of three brokers gone most partitions have nobody to go on."""
        return not self.broken

    @property
    def may_join(self) -> bool:
        return self.members < MOST_MEMBERS
