"""The order in which the items of a run begin.

A longer profile first does what the shorter ones do, in their order. On a cluster rows of high priority come first, and among
those of one priority the cheapest: what the clock may cut off comes last.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from conformance.catalogue import shipped_rows
from conformance.core.checks import Check
from conformance.core.profiles import PROFILES
from conformance.core.registry import AnyCheck, every_check, shortest_profile
from conformance.running.planning.budget import Work, cost_of, is_work


class Planned(Protocol):
    """An item of a run."""

    @property
    def work(self) -> Work: ...

    @property
    def cluster(self) -> tuple[str, str]: ...


SomePlanned = TypeVar("SomePlanned", bound=Planned)
FOR_WORK = 0.92
"""The largest share of the workers' time that checks may take if all of them are to fit: boots need the rest."""


def stage_of(check: AnyCheck, *, timed: bool) -> int:
    """Return the stage in which a check runs: the number of the shortest profile that has it. Without a clock there is only one,
    since nothing is cut off."""
    return PROFILES.index(shortest_profile(check)) if timed else 0


def priority_of(check: AnyCheck) -> str:
    """Return the highest priority of the rows that a check is written for."""
    own = check.own_rows if isinstance(check, Check) else check.rows
    return min(shipped_rows()[row].priority for row in own)


def is_ample(works: Sequence[Work], seconds: float, workers: int) -> bool:
    """True if the workers have time for all of this work, with their boots."""
    return (
        sum(cost_of(every_check()[work.check], work.label) for work in works if is_work(work))
        <= FOR_WORK * seconds * workers
    )


def in_order(items: Sequence[SomePlanned], *, timed: bool, ample: bool = True) -> list[SomePlanned]:
    """Return the items in the order in which they begin. Checks of one cluster stand together in their stage, since another
    cluster costs a boot.

    If there is `ample` time for all of them, or no clock, the clusters with the most work come first: workers end together. Else
    those with the cheapest checks come first. Under a clock soaks and parts of machines come last, since the latter take
    whatever time they are given.
    """
    own: defaultdict[tuple[int, tuple[str, str]], list[float]] = defaultdict(list)
    for item in items:
        check = every_check()[item.work.check]
        if is_work(item.work) or not timed:
            own[stage_of(check, timed=timed), item.cluster].append(cost_of(check, item.work.label))

    def order(item: SomePlanned) -> tuple[Any, ...]:
        check, work = every_check()[item.work.check], item.work
        stage = stage_of(check, timed=timed)
        costs = own[stage, item.cluster] or [0.0]
        rank = -sum(costs) if ample or not stage else sum(costs) / len(costs)
        is_early = work.kind in ("opening", "machine") or (isinstance(check, Check) and check.run_first)
        last = timed and work.kind == "machine", work.kind == "soak"
        within = not is_early, priority_of(check), cost_of(check, work.label), check.id
        return *last, work.part, stage, rank, item.cluster, *within

    return sorted(items, key=order)
