"""The usage of a worker's checks: seconds by part of the work, CPU seconds by cause, and boots."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from fixtures.cluster.cpu import CpuTime

KIT, NODES, BOOTS, KERNEL = "kit", "nodes", "boots", "kernel"
"""The causes of CPU time: the worker itself; a cluster's nodes, and their boots apart; the kernel's part in both of these."""
NONE_YET = CpuTime(0.0, 0.0)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds that were `spent`, by part; the CPU seconds, by cause; and the number of boots."""

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
    """The CPU seconds of clusters, added up by cause. The seconds of a process after the last look before its end are lost."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._last: dict[str, CpuTime] = {}

    def look(self, used: Mapping[str, CpuTime], cause: str) -> None:
        """Count for `cause` what containers used since the last look; `used` is what each has used since it started."""
        for container, now in used.items():
            before = self._last.get(container, NONE_YET)
            if now.total < before.total:
                before = NONE_YET  # it was started again
            self.seconds[cause] += now.total - before.total
            self.seconds[KERNEL] += now.kernel - before.kernel
            self._last[container] = now
