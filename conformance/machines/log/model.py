"""The model that the log machine draws by."""

from __future__ import annotations

import dataclasses

from conformance.core.model import FaultModel
from strategies.log import Consume, Join
from strategies.steps import Step


@dataclasses.dataclass
class LogModel(FaultModel):
    """Beside faults: whether a consumer was ever asked for, whose group then has something to commit."""

    consumers: bool = False

    def takes(self, step: Step) -> None:
        super().takes(step)
        self.consumers = self.consumers or isinstance(step, Consume | Join)
