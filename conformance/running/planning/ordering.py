"""The order in which the items of a run begin.

A longer profile first does what the shorter ones do, in their order. What the clock may cut off comes later: of a stage, the
rows of low priority, and among those of one priority the dearest.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from conformance.catalogue import shipped_rows
from conformance.core.checks import Check
from conformance.core.machines import MachineCheck
from conformance.core.registry import AnyCheck, every_check, in_profile, is_soak
from conformance.running.planning.budget import Work, cost_of
from conformance.running.profiles import MINUTES


class Planned(Protocol):
    """An item of a run."""

    @property
    def work(self) -> Work: ...

    @property
    def cluster(self) -> tuple[str, str]: ...


SomePlanned = TypeVar("SomePlanned", bound=Planned)
Stage = tuple[int, str]
"""The number of the shortest profile that has a check, and, beyond the first, its highest priority."""


def stage_of(check: AnyCheck, *, timed: bool) -> Stage:
    """Return the stage in which a check runs. Without a clock there is only one, since nothing is cut off."""
    profiles = [number for number, profile in enumerate(MINUTES) if in_profile(check, profile)]
    return (profiles[0], priority_of(check)) if timed and profiles[0] else (0, "")


def priority_of(check: AnyCheck) -> str:
    """Return the highest priority of the rows that a check is about."""
    return min(shipped_rows()[row].priority for row in check.rows)


def in_order(items: Sequence[SomePlanned], *, timed: bool) -> list[SomePlanned]:
    """Return the items in the order in which they begin. Checks of one cluster stand together in their stage, since another
    cluster costs a boot.

    Of the first stage, which is the whole of a run without a clock, the clusters with the most work come first: workers end
    together. Under a clock soaks and machines come last, since machines take whatever time they are given.
    """
    own: defaultdict[tuple[Stage, tuple[str, str]], list[float]] = defaultdict(list)
    for item in items:
        check = every_check()[item.work.check]
        if item.work.part == 1 and not is_soak(check):
            own[stage_of(check, timed=timed), item.cluster].append(cost_of(check, item.work.label))

    def order(item: SomePlanned) -> tuple[Any, ...]:
        check, work = every_check()[item.work.check], item.work
        is_machine, stage = isinstance(check, MachineCheck), stage_of(check, timed=timed)
        costs = own[stage, item.cluster] or [0.0]
        rank = -sum(costs) if stage[0] == 0 else sum(costs) / len(costs)
        is_early = is_machine or (isinstance(check, Check) and check.run_first)
        last = (is_machine or is_soak(check)) and timed, is_machine and timed
        within = not is_early, priority_of(check), cost_of(check, work.label), check.id
        return *last, work.part, work.label, stage, rank, item.cluster, *within

    return sorted(items, key=order)
