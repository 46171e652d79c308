"""A run of a whole profile on one column, played on workers by what its checks cost, without a cluster."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import msgspec

from conformance.core.machines import MachineCheck
from conformance.core.profiles import Profile
from conformance.core.registry import every_check, is_in_profile, topology_of
from conformance.core.topologies import adapt_topology
from conformance.running.planning.budget import WHOLE_PARTS, Work, cost_of, is_work, kind_of, plan_time, total_seconds
from conformance.running.planning.forecast import Item, ScheduledItem, forecast
from conformance.running.planning.ordering import has_ample_time, sort_items
from conformance.running.planning.scheduling import plan_units


class Planned(msgspec.Struct, frozen=True):
    """An item, and the cluster that it needs."""

    work: Work
    cluster: tuple[str, str]


@cache
def simulated_run(profile: Profile, workers: int, label: str = "4.3.1") -> list[ScheduledItem]:
    """Return the turns of all checks of a profile, as the scheduler hands them out."""
    collected = [
        Planned(
            Work(check=check.id, label=label, kind=kind_of(check, opens=part == 1), part=part),
            (label, adapt_topology(topology_of(check, part), label).name),
        )
        for check in every_check().values()
        if is_in_profile(check, profile)
        for part in range(1, (WHOLE_PARTS[profile] if isinstance(check, MachineCheck) else 1) + 1)
    ]
    seconds = total_seconds(profile, 0, [item.work for item in collected])
    ample = not seconds or has_ample_time([item.work for item in collected], seconds, workers)
    items = sort_items(collected, timed=bool(seconds), ample=ample)
    works = [item.work for item in items]
    units = plan_units(works, workers, timed=bool(seconds))
    planned = [Item(work=item.work, unit=unit, cluster=item.cluster) for item, unit in zip(items, units, strict=True)]
    return forecast(planned, plan_time(profile, 0, works, workers), workers)


def is_done(turn: ScheduledItem) -> bool:
    """True if an item that ends by itself had the time that it takes."""
    return is_work(turn.item.work) and turn.seconds >= cost_of(turn.item.check, turn.item.work.label)


def done_checks(turns: list[ScheduledItem]) -> set[str]:
    """Return the checks that had the time that they take."""
    return {turn.item.work.check for turn in turns if is_done(turn)}


def late_checks(turns: list[ScheduledItem]) -> list[str]:
    """Return the checks that the clock left out or cut off."""
    return [turn.item.work.check for turn in turns if is_work(turn.item.work) and not is_done(turn)]


def work_ends(turns: list[ScheduledItem]) -> float:
    """Return the seconds into the run at which the last check ends, apart from what uses the time that is left."""
    return max(turn.begins + turn.seconds for turn in turns if is_work(turn.item.work))


def count_boots(turns: list[ScheduledItem]) -> int:
    """Return the number of clusters that the workers boot."""
    clusters = [
        [turn.item.cluster for turn in turns if turn.worker == worker] for worker in {one.worker for one in turns}
    ]
    return sum(1 + sum(one != next for one, next in pairwise(own)) for own in clusters)
