"""Distributing checks over workers: those of one cluster stay together, since changing it costs a boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

from conformance.core.machines import MachineCheck
from conformance.core.registry import check_of_item, is_soak
from conformance.core.topologies import adapt_topology
from conformance.running.planning.budget import SEARCH, cost_of, estimate_of

if TYPE_CHECKING:
    import pytest
    from xdist.workermanage import WorkerController


class ByCluster(LoadScopeScheduling):  # type: ignore[misc]
    """The scheduler for pytest-xdist. A unit of work holds the checks of one column and topology; long units are split
    if workers would otherwise be idle.

    Units begin in the order in which they were collected. Under a clock machines come last and share the time that is
    left. A worker gets its next unit together with its last check, and no earlier: no other worker could take what it
    already holds.
    """

    def __init__(self, config: pytest.Config, log: object, *, timed: bool) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._timed = timed
        self._units: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        if not self._units:
            collected = list(self.collection)
            found = units_for(collected, len(self.nodes), timed=self._timed)
            self._units = dict(zip(collected, found, strict=True))
        return self._units[nodeid]

    def _reschedule(self, node: WorkerController) -> None:
        # xdist keeps three checks queued, which may be all parts of a machine. A worker begins its last one only when it
        # knows what follows, or that nothing does; and a part of a machine takes all the time that it is given.
        in_hand = [id for unit in self.assigned_work[node].values() for id, done in unit.items() if not done]
        others = sum(not other.shutting_down for other in self.nodes if other is not node)
        if self.workqueue and len(in_hand) > 1:
            return
        if self.workqueue and self._timed and others and any(map(_is_endless, in_hand)) and self._has_its_share(node):
            node.shutdown()
        else:
            super()._reschedule(node)

    def _has_its_share(self, node: WorkerController) -> bool:
        """True if the worker already has the largest number of parts of machines that any worker must take."""
        taken = sum(_is_endless(id) for unit in self.assigned_work[node].values() for id in unit)
        return taken >= ceil(sum(map(_is_endless, self._units)) / len(self.nodes))


def units_for(nodeids: Sequence[str], workers: int, *, timed: bool) -> list[str]:
    """Return the unit of each item for this many workers."""
    return units_of(
        nodeids,
        share_count(nodeids, workers),
        lambda nodeid: cluster_of(nodeid, timed=timed),
        lambda nodeid: weight_of(nodeid, timed=timed),
    )


def units_of(
    nodeids: Sequence[str], shares: int, cluster: Callable[[str], str], weight: Callable[[str], int] = lambda _: 1
) -> list[str]:
    """Return each item's unit: its cluster and a number. A cluster that weighs more than one share has several
    units."""
    sizes: Counter[str] = Counter()
    for nodeid in nodeids:
        sizes[cluster(nodeid)] += weight(nodeid)
    share = -(-sizes.total() // max(1, shares))
    seen: Counter[str] = Counter()
    found = []
    for nodeid in nodeids:
        name = cluster(nodeid)
        parts = -(-sizes[name] // share)
        found.append(f"{name} {seen[name] * parts // sizes[name]}")
        seen[name] += weight(nodeid)
    return found


SHARES_PER_WORKER = 4
"""Shares for each worker, since checks of one kind may take three seconds or thirty.

With whole shares the last of three workers ended 180 s after the first, with quarters 30 s, at the price of a boot or
two, as measured on 3.3.2, 3.5.2 and 3.6.2 in the quick profile.
"""


def share_count(nodeids: Sequence[str], workers: int) -> int:
    """Return the number of shares into which the work is split. With schedules a few more boots don't matter;
    everything else takes minutes, and boots are much of that."""
    longest = max((estimate_of(check_of_item(nodeid)) for nodeid in nodeids if not _is_alone(nodeid)), default=0.0)
    return workers * (SHARES_PER_WORKER if longest > MANY_SECONDS else 1)


MANY_SECONDS = 20
"""Seconds. Longer items make the workers' shares uneven."""


def weight_of(nodeid: str, *, timed: bool = True) -> int:
    """Return the seconds that an item takes, rounded up; 1 under a clock for an item that is a unit of its own."""
    return 1 if timed and _is_alone(nodeid) else max(1, ceil(cost_of(check_of_item(nodeid), label_of(nodeid))))


def cluster_of(nodeid: str, *, timed: bool = True) -> str:
    """Return a check's column and topology: `4.3.1 cluster` for `…/kip320/fencing.py::older_epoch[4.3.1]`.

    Soaks, searches for the rarest cases and, under a clock, machines are kept apart from other checks: `4.3.1 cluster
    soak`.
    """
    label = label_of(nodeid)
    if is_search(nodeid):
        return f"{label} search"
    own = " machine" if timed and _is_endless(nodeid) else " soak" if is_soak(check_of_item(nodeid)) else ""
    return f"{label} {adapt_topology(check_of_item(nodeid).topology, label).name}{own}"


def label_of(nodeid: str) -> str:
    """Return the column of an item, with its part if it is not the first: `4.3.1 part 2`."""
    return nodeid.rpartition("::")[2].removesuffix("]").partition("[")[2]


def is_search(nodeid: str) -> bool:
    """True for the search for the rarest cases."""
    return nodeid.rpartition("::")[2].partition("[")[0] == SEARCH


def _is_alone(nodeid: str) -> bool:
    """True if the item is a unit of its own under a clock."""
    return _is_endless(nodeid) or is_soak(check_of_item(nodeid))


def _is_endless(nodeid: str) -> bool:
    """True if the item uses all the time that it is given."""
    return is_search(nodeid) or isinstance(check_of_item(nodeid), MachineCheck)
