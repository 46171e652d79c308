"""The resources that a worker's checks used: seconds by kind of work, CPU seconds by cause, and boots."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from fixtures.cluster.cpu import CpuTime

KIT, NODES, BOOTS, KERNEL = "kit", "nodes", "boots", "kernel"
"""The causes of CPU time: the worker itself; the cluster's nodes after their boot, and during it; and the kernel's share of all
this."""
NO_USAGE = CpuTime(0.0, 0.0)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds `spent` by kind of work, the CPU seconds by cause, and the number of boots."""

    spent: Mapping[str, float] = {}
    cpu: Mapping[str, float] = {}
    boots: int = 0

    def since(self, earlier: "Usage") -> "Usage":
        """Return what was used after `earlier`."""
        return Usage(
            spent=_difference(self.spent, earlier.spent),
            cpu=_difference(self.cpu, earlier.cpu),
            boots=self.boots - earlier.boots,
        )


def _difference(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    grown = {name: round(seconds - before.get(name, 0.0), 2) for name, seconds in sorted(now.items())}
    return {name: seconds for name, seconds in grown.items() if seconds}


class ClusterMeter:
    """A meter of clusters' CPU seconds, by cause. It misses the time of a process between the last look and its end."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._last: dict[str, CpuTime] = {}

    def measure(self, used: Mapping[str, CpuTime], cause: str) -> None:
        """Count for `cause` the CPU seconds since the last look. `used` has each container's seconds since it started."""
        for container, now in used.items():
            before = self._last.get(container, NO_USAGE)
            if now.total < before.total:
                before = NO_USAGE  # it was started again
            self.seconds[cause] += now.total - before.total
            self.seconds[KERNEL] += now.kernel - before.kernel
            self._last[container] = now
