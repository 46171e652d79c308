"""The model that the log machine steers by."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class PartitionModel:
    """What the schedule has asked of one partition so far."""

    replicas: int = 3
    down: int = 0
    written: int = 0
    moves: int = 0

    @property
    def may_kill(self) -> bool:
        """One replica at a time: two would end a clean history, since min.insync.replicas is 2 of 3."""
        return self.down == 0

    @property
    def all_up(self) -> bool:
        return self.down == 0

    def produced(self, records: int) -> None:
        self.written += records

    def killed(self) -> None:
        self.down += 1

    def restarted(self) -> None:
        self.down -= 1

    def moved(self) -> None:
        self.moves += 1
