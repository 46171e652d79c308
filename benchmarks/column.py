"""The time of a column by topology and check: seconds by part of the work and CPU seconds by cause, from its shards."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from conformance.core.registry import every_check
from conformance.core.topologies import adapt_topology
from conformance.running.recording.spent import ORDER, seconds_spent
from conformance.running.recording.usage import BOOTS, KERNEL, KIT, NODES
from history.shards import CheckLine, Shard

LONG_ENOUGH = 5.0
"""The least seconds of a check from which the CPU time of idle nodes can be estimated."""
MAX_CHECKS = 20
CAUSES = ("JVM start", "JVM idle", "JVM at work", "kernel", "kit")
NOTE = (
    "CPU seconds by cause. *JVM start*: boots of clusters; a node that a check starts again is at work. *JVM idle*: at most "
    "this, by the check of the topology whose nodes used the least a second. *Kernel*: its part in these three. The engine's "
    "processes, and what a node used between the kit's last look and a kill, are in no shard."
)
NO_CPU = "These shards are of a kit that did not record CPU seconds and boots of a check."


class ColumnUsage(msgspec.Struct, kw_only=True):
    """The usage of some checks: their number, seconds and boots, seconds by part, and CPU seconds by cause."""

    checks: int = 0
    seconds: float = 0.0
    boots: int = 0
    idle: float = 0.0
    spent: defaultdict[str, float] = msgspec.field(default_factory=lambda: defaultdict(float))
    cpu: defaultdict[str, float] = msgspec.field(default_factory=lambda: defaultdict(float))

    def add(self, line: CheckLine, idle_rate: float) -> None:
        """Add the usage of one check. `idle_rate` is the CPU seconds a second of its topology's nodes at rest."""
        self.checks += 1
        self.seconds += line.seconds
        self.boots += line.boots
        self.idle += min(line.cpu.get(NODES, 0.0), idle_rate * max(0.0, _seconds_up(line)))
        for total, own in ((self.spent, line.spent), (self.cpu, line.cpu)):
            for name, seconds in own.items():
                total[name] += seconds

    @property
    def by_cause(self) -> list[float]:
        """The CPU seconds of each of `CAUSES`."""
        return [self.cpu[BOOTS], self.idle, self.cpu[NODES] - self.idle, self.cpu[KERNEL], self.cpu[KIT]]


def column_tables(shards: Iterable[Shard]) -> str:
    """Return the tables of each column that these shards have, as Markdown."""
    by_column: defaultdict[str, list[Shard]] = defaultdict(list)
    for shard in shards:
        if shard.header is not None:
            by_column[shard.header.column.label].append(shard)
    return "\n".join(line for label, own in sorted(by_column.items()) for line in _column_lines(label, own))


def _column_lines(label: str, shards: Sequence[Shard]) -> Iterator[str]:
    found = (line for shard in shards for line in shard.lines if isinstance(line, CheckLine))
    lines = [line for line in found if line.check in every_check()]
    spent = seconds_spent(shards).get(label, Counter())
    yield f"### {label}\n"
    yield f"Seconds of all workers: {', '.join(f'{part} {spent[part]:.0f}' for part in ORDER if part in spent)}.\n"
    yield (NOTE if any(line.cpu for line in lines) else NO_CPU) + "\n"
    yield from _table("topology", _usages(lines, label, lambda line: _topology_of(line, label)))
    yield ""
    yield from _table("check", _usages(lines, label, lambda line: line.check))
    yield ""


def _topology_of(line: CheckLine, label: str) -> str:
    return adapt_topology(every_check()[line.check].topology, label).name


def _usages(lines: Sequence[CheckLine], label: str, key: Callable[[CheckLine], str]) -> Mapping[str, ColumnUsage]:
    """Return the usage by key of a line, that of most seconds first, after the sum of all."""
    rates, all_of_them, found = _idle_rates(lines, label), ColumnUsage(), defaultdict[str, ColumnUsage](ColumnUsage)
    for line in lines:
        rate = rates.get(_topology_of(line, label), 0.0)
        all_of_them.add(line, rate)
        found[key(line)].add(line, rate)
    dearest = sorted(found.items(), key=lambda item: -(sum(item[1].cpu.values()) or item[1].seconds))
    return {"**all**": all_of_them, **dict(dearest[:MAX_CHECKS])}


def _idle_rates(lines: Iterable[CheckLine], label: str) -> dict[str, float]:
    """Return the least CPU seconds a second of a topology's nodes during a check."""
    rates: dict[str, float] = {}
    for line in lines:
        if NODES in line.cpu and (seconds := _seconds_up(line)) >= LONG_ENOUGH:
            name = _topology_of(line, label)
            rates[name] = min(rates.get(name, line.cpu[NODES] / seconds), line.cpu[NODES] / seconds)
    return rates


def _seconds_up(line: CheckLine) -> float:
    """Return the seconds of a check in which its cluster was up."""
    return line.seconds - line.spent.get("boot", 0.0)


def _table(name: str, usages: Mapping[str, ColumnUsage]) -> Iterator[str]:
    """Yield a table with a row for each usage; without CPU seconds in any of them, with checks and seconds only."""
    is_old = not any(usage.cpu for usage in usages.values())
    head = [name, "checks", "seconds", *([] if is_old else ["boots", *ORDER, *CAUSES])]
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for key, usage in usages.items():
        numbers = [] if is_old else [*(usage.spent[part] for part in ORDER), *usage.by_cause]
        boots = [] if is_old else [str(usage.boots)]
        cells = [key, str(usage.checks), f"{usage.seconds:.0f}", *boots, *(f"{number:.1f}" for number in numbers)]
        yield f"| {' | '.join(cells)} |"
