"""A bench whose clock advances with each try, for rigs and checks that wait; and the results of their claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from conformance.core.checks import Claim, ExcuseClaim, ObservationClaim, PremiseClaim
from conformance.core.cluster import Moment
from conformance.core.waiting import WITHIN, Settled
from fixtures.waiting import Overdue
from history.due import Due

T = TypeVar("T")


class ClockedBench:
    """A bench on which each try of a wait takes `every` seconds; the kit itself wakes `late` seconds late, if given."""

    def __init__(self, every: float = 0.25, late: float = 0.0) -> None:
        self.seconds = 100.0
        self._every = every
        self._late = late

    @property
    def wait(self) -> ClockedBench:
        return self

    def now(self) -> Moment:
        return Moment(self.seconds, 0)

    def id_of(self, name: str) -> int:
        return int(name.removeprefix("broker-"))

    def name_of(self, id: int) -> str:
        return f"broker-{id}"

    def recorded_late(self, within: float) -> float:
        return self._late

    def end_of_wait(self, met: bool, within: float, lasted: float = 0.0) -> Settled:
        return Settled(1, met, within, 0.0 if met else self._late)

    def overdue(self, due: Due, what: str, within: float) -> Overdue:
        return Overdue(what, due=due, within=within, late=self._late)

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        until = self.seconds + within
        while not (met := probe()) and self.seconds < until:
            self.seconds += self._every
        return self.end_of_wait(met, within)

    def eventually(
        self,
        probe: Callable[[], T | None],
        what: str,
        within: float = WITHIN,
        every: float | None = 0.0,
        due: Due | None = "step",
    ) -> T:
        until = self.seconds + within
        while self.seconds <= until:
            if found := probe():
                return found
            self.seconds += self._every
        raise self.overdue(due or "step", what, within)


def results(claims: Iterable[Claim]) -> list[tuple[str, str]]:
    """Return, for each claim in turn, the case and its result, its evidence, or that the premise is met or lost."""
    return [_result(claim) for claim in claims]


def _result(claim: Claim) -> tuple[str, str]:
    match claim:
        case ObservationClaim():
            return claim.observation.case, claim.observation.result
        case ExcuseClaim():
            return claim.case, claim.evidence.name
        case PremiseClaim():
            return "premise", "met" if claim.met else "lost"
    raise TypeError(claim)
