"""The order in which the items of a run begin.

A longer profile first runs the checks of the shorter ones, in their order. On each cluster rows of high priority come first, and
within one priority the cheapest checks, so that the clock cuts off what comes last.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from conformance.catalogue import shipped_rows
from conformance.core.checks import Check
from conformance.core.profiles import PROFILES
from conformance.core.registry import AnyCheck, every_check, shortest_profile
from conformance.running.planning.budget import Work, cost_of, is_work


class RunItem(Protocol):
    """An item of a run."""

    @property
    def work(self) -> Work: ...

    @property
    def cluster(self) -> tuple[str, str]: ...


SomePlanned = TypeVar("SomePlanned", bound=RunItem)
MAX_WORK_SHARE = 0.92
"""The largest share of the workers' time that checks may take and still count as fitting; the rest is for boots."""


def stage_of(check: AnyCheck, *, timed: bool) -> int:
    """Return the stage in which a check runs: the index of the shortest profile that includes it. Without a clock there is only
    one stage, since nothing is cut off."""
    return PROFILES.index(shortest_profile(check)) if timed else 0


def priority_of(check: AnyCheck) -> str:
    """Return the highest priority among the rows for which a check is written."""
    own = check.own_rows if isinstance(check, Check) else check.rows
    return min(shipped_rows()[row].priority for row in own)


def has_ample_time(works: Sequence[Work], seconds: float, workers: int) -> bool:
    """True if the workers have time for all of this work and its boots."""
    return (
        sum(cost_of(every_check()[work.check], work.label) for work in works if is_work(work))
        <= MAX_WORK_SHARE * seconds * workers
    )


def sort_items(items: Sequence[SomePlanned], *, timed: bool, ample: bool = True) -> list[SomePlanned]:
    """Return the items in the order in which they begin. Within a stage the checks of one cluster stay together, since changing
    it costs a boot.

    With `ample` time, or without a clock, the clusters with the most work come first, so that workers end together. Otherwise the
    clusters with the cheapest checks come first. Under a clock soaks and parts of machines come last; parts of machines take all
    the time they get.
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
        last = timed and work.kind == "machine", work.kind == "soak"
        within = work.kind not in ("opening", "machine"), priority_of(check), cost_of(check, work.label), check.id
        return *last, work.part, stage, rank, item.cluster, *within

    return sorted(items, key=order)
