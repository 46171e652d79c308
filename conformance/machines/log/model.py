"""The model that guides the draws of the log machine."""

from __future__ import annotations

import dataclasses

from conformance.core.model import FaultModel
from strategies.log import Consume, Join
from strategies.steps import Step


@dataclasses.dataclass
class LogModel(FaultModel):
    """Besides faults: whether a consumer step was ever drawn, since only then its group has something to commit."""

    consumers: bool = False

    def takes(self, step: Step) -> None:
        super().takes(step)
        self.consumers = self.consumers or isinstance(step, Consume | Join)
