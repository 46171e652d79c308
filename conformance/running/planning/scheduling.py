"""The distribution of checks over workers. Checks of one cluster stay together, since changing it costs a boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from xdist.scheduler import LoadScopeScheduling

from conformance.core.profiles import PROFILES
from conformance.core.registry import check_of_item, every_check
from conformance.core.topologies import adapt_topology
from conformance.running.planning.budget import SEARCH, Work, cost_of, kind_of
from conformance.running.planning.ordering import stage_of

Item = TypeVar("Item")

if TYPE_CHECKING:
    import pytest
    from xdist.workermanage import WorkerController


class ByCluster(LoadScopeScheduling):  # type: ignore[misc]
    """The scheduler for pytest-xdist. A unit of work has the checks of one column and topology; long units are split if workers
    would otherwise be idle.

    Units begin in the order in which they were collected. Under a clock machines come last and share the remaining time. A worker
    gets its next unit only with its last check, since no other worker can take over what it already holds.
    """

    def __init__(self, config: pytest.Config, log: object, *, timed: bool, whole: bool) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._timed = timed
        self._whole = whole
        self._units: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        if not self._units:
            collected = list(self.collection)
            works = [work_of(id, whole=self._whole) for id in collected]
            self._units = dict(zip(collected, plan_units(works, len(self.nodes), timed=self._timed), strict=True))
        return self._units[nodeid]

    def _reschedule(self, node: WorkerController) -> None:
        # xdist keeps three checks queued, which may all be parts of machines. A worker begins its last check only when it knows
        # the next one, or that there is none; and a part of a machine takes all the time it gets.
        in_hand = [id for unit in self.assigned_work[node].values() for id, done in unit.items() if not done]
        others = sum(not other.shutting_down for other in self.nodes if other is not node)
        if self.workqueue and len(in_hand) > 1:
            return
        if (
            self.workqueue
            and self._timed
            and others
            and any(map(self._is_endless, in_hand))
            and self._has_its_share(node)
        ):
            node.shutdown()
        else:
            super()._reschedule(node)

    def _has_its_share(self, node: WorkerController) -> bool:
        """True if the worker already has as many parts of machines as any worker must take."""
        taken = sum(self._is_endless(id) for unit in self.assigned_work[node].values() for id in unit)
        return taken >= ceil(sum(map(self._is_endless, self._units)) / len(self.nodes))

    def _is_endless(self, nodeid: str) -> bool:
        return is_endless(work_of(nodeid, whole=self._whole))


def plan_units(works: Sequence[Work], workers: int, *, timed: bool) -> list[str]:
    """Return the unit of work for each item, for this many workers."""
    return assign_units(
        works,
        share_count(works, workers),
        lambda work: cluster_of(work, timed=timed),
        lambda work: weight_of(work, timed=timed),
    )


def assign_units(
    items: Sequence[Item], shares: int, cluster: Callable[[Item], str], weight: Callable[[Item], int] = lambda _: 1
) -> list[str]:
    """Return each item's unit of work: its cluster and a number. A cluster heavier than one share is split into several units."""
    sizes: Counter[str] = Counter()
    for item in items:
        sizes[cluster(item)] += weight(item)
    share = -(-sizes.total() // max(1, shares))
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        name = cluster(item)
        parts = -(-sizes[name] // share)
        middle = seen[name] + (weight(item) - 1) // 2
        found.append(f"{name} {middle * parts // sizes[name]}")
        seen[name] += weight(item)
    return found


SHARES_PER_WORKER = 3
"""The number of shares per worker in a run with schedules, since checks take from three to two hundred seconds.

With the costs of quick on 3.9.2 to 4.4.0, four workers then end within a minute of each other, with fewer boots than if each
share were a quarter.
"""


def share_count(works: Sequence[Work], workers: int) -> int:
    """Return the number of shares into which the work is split.

    Schedules are long enough to justify a few more boots; other checks are not.
    """
    return workers * (SHARES_PER_WORKER if any(work.kind == "schedule" for work in works) else 1)


def weight_of(work: Work, *, timed: bool = True) -> int:
    """Return the seconds that an item takes, rounded up. Under a clock an item that is a unit by itself weighs 1."""
    return 1 if timed and _is_alone(work) else max(1, ceil(cost_of(every_check()[work.check], work.label)))


def cluster_of(work: Work, *, timed: bool = True) -> str:
    """Return an item's column and topology, such as `4.3.1 cluster`.

    A suffix, as in `4.3.1 cluster soak`, separates soaks, searches for the rarest cases and, under a clock, machines and the
    checks of each stage.
    """
    label = f"{work.label} part {work.part}" if work.part > 1 else work.label
    if work.kind == "rarest":
        return f"{label} search"
    check = every_check()[work.check]
    name = f"{label} {adapt_topology(check.topology, work.label).name}"
    if work.kind == "soak" or (timed and is_endless(work)):
        return f"{name} {work.kind}"
    stage = stage_of(check, timed=timed)
    return f"{name} {PROFILES[stage]}" if stage else name


def work_of(nodeid: str, *, whole: bool) -> Work:
    """Return the item of a pytest node such as `…/kip320/fencing.py::older_epoch[4.3.1]`; `whole` says if the whole profile
    runs."""
    name, _, rest = nodeid.rpartition("::")[2].removesuffix("]").partition("[")
    label, _, part = rest.partition(" part ")
    number = int(part or 1)
    if name == SEARCH:
        return Work(check=SEARCH, label=label, kind="rarest", part=number)
    check = check_of_item(nodeid)
    return Work(check=check.id, label=label, kind=kind_of(check, opens=whole and number == 1), part=number)


def is_endless(work: Work) -> bool:
    """True if the item uses all the time it gets."""
    return work.kind in ("machine", "rarest")


def _is_alone(work: Work) -> bool:
    """True if the item is a unit by itself under a clock."""
    return is_endless(work) or work.kind == "soak"
