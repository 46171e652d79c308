"""Values passed between exploring, recording and investigating."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from conformance.running.machine.example import Ending, FinishedExample, Schedule, Stops
from conformance.running.violations import Breach
from history.observations import Observation


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded example. `evidence` has the folders of its new violations, which no earlier example showed, by breach."""

    played: FinishedExample
    new_violations: tuple[Observation, ...] = ()
    evidence: dict[Breach, str] = {}


class ReplayedBreach(msgspec.Struct, frozen=True, kw_only=True):
    """The result of replaying a breach: it was seen in `seen` of `tries` replays, with the schedule in `evidence`."""

    breach: Breach
    evidence: str
    seen: int
    tries: int


RecordExample = Callable[[FinishedExample], Discovery]
"""A function that records an example; when it returns, all observations are in the shard."""


class PlaySchedule(Protocol):
    """A function that runs a schedule outside of Hypothesis and records it. Violations that `shows` accepts get evidence even if
    they are known."""

    def __call__(self, steps: Schedule, ending: Ending, shows: Stops | None = None) -> Discovery: ...
