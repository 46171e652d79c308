"""The base of machines' models: the faults that a schedule has injected and not yet healed."""

import dataclasses
from typing import ClassVar

from strategies.steps import Disturb, Heal, HealPartly, Step


@dataclasses.dataclass
class FaultModel:
    """The model of the steps drawn so far. It never learns a step's result, so that rules and preconditions depend only on what
    was drawn; a fault that could not be injected counts as injected.

    A machine's own model extends `note_drawn` by what its rules need to know.
    """

    most_faults: ClassVar[int] = 3
    """The maximum number of simultaneous faults: enough to hit every replica of a partition in turn."""

    faults: int = 0

    @property
    def healthy(self) -> bool:
        return self.faults == 0

    @property
    def may_disturb(self) -> bool:
        return self.faults < self.most_faults

    def note_drawn(self, step: Step) -> None:
        """Update the model with a drawn step."""
        match step:
            case Disturb():
                self.faults += 1
            case HealPartly():
                self.faults = max(0, self.faults - 1)
            case Heal():
                self.faults = 0
