"""The model that the log machine steers by."""

from __future__ import annotations

import dataclasses

MOST_FAULTS = 2


@dataclasses.dataclass
class LogModel:
    """What the schedule has asked for so far; what became of it the model does not know."""

    faults: int = 0
    consumers: bool = False

    @property
    def whole(self) -> bool:
        return self.faults == 0

    @property
    def may_disturb(self) -> bool:
        """With two of three brokers gone most partitions have nobody to go on, and writes find too few in the ISR."""
        return self.faults < MOST_FAULTS
