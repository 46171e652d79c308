"""Values passed between exploring, recording and investigating."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from conformance.running.machine.example import Ending, Played, Schedule, Stops
from conformance.running.violations import Breach
from history.observations import Observation


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded example: `news` are the violations that no earlier example had shown, `evidence` has the folders by
    breach."""

    played: Played
    news: tuple[Observation, ...] = ()
    evidence: dict[Breach, str] = {}


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """The result of investigating a breach: `seen` in that many of `tries` replays of the schedule at `evidence`."""

    breach: Breach
    evidence: str
    seen: int
    tries: int


Record = Callable[[Played], Discovery]
"""A function that files an example; all observations are in the shard when it returns."""


class Play(Protocol):
    """A function that runs a schedule outside of Hypothesis and records it, with evidence of the violations that
    `shows` accepts, too."""

    def __call__(self, steps: Schedule, ending: Ending, shows: Stops | None = None) -> Discovery: ...
