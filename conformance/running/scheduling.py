"""Which worker runs which checks: those of one cluster stay together, since changing it costs a boot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

from conformance.machines import MachineCheck
from conformance.registry import every_check

if TYPE_CHECKING:
    import pytest


class ByCluster(LoadScopeScheduling):  # type: ignore[misc]
    """Units of work are the checks of one column and topology; large ones are split where workers would else be idle.

    They begin in the order in which they were collected: machines come last and share what time is left.
    """

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._units: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        if not self._units:
            collected = list(self.collection)
            self._units = dict(zip(collected, units(collected, len(self.nodes), cluster_of), strict=True))
        return self._units[nodeid]


def units(nodeids: Sequence[str], workers: int, cluster: Callable[[str], str]) -> list[str]:
    """The unit of each item: its cluster, with a number where that has more than a worker's share of all items."""
    sizes = Counter(map(cluster, nodeids))
    share = -(-len(nodeids) // max(1, workers))
    seen: Counter[str] = Counter()
    found = []
    for nodeid in nodeids:
        name = cluster(nodeid)
        parts = -(-sizes[name] // share)
        found.append(f"{name} {seen[name] * parts // sizes[name]}")
        seen[name] += 1
    return found


def cluster_of(nodeid: str) -> str:
    """Column and topology of a check: `…/kip320/fencing.py::older_epoch[4.3.1]` is `4.3.1 cluster`.

    Each part of a machine is a unit of its own, since it runs for minutes.
    """
    path, _, name = nodeid.rpartition("::")
    check, _, label = name.removesuffix("]").partition("[")
    module = PurePath(path)
    id = f"{module.parent.name}.{module.stem}.{check}"
    own = " machine" if isinstance(every_check()[id], MachineCheck) else ""
    return f"{label} {every_check()[id].topology.name}{own}"
