"""Costs of checks: median worker seconds, CPU seconds and boots of each check by version, stored in `costs.toml`.

`./kit python -m conformance.running.planning.costs DIR...` updates the file from the shards of runs. A check without new
measurements keeps its costs; a check that no longer exists is removed.
"""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from conformance.catalogue.applicability import numbers
from history.shards import CheckLine, ExampleLine, Shard, read_shards

FILE = Path(__file__).with_name("costs.toml")
ALIKE = 1.5
"""Neighbouring versions share one cost if their medians differ by at most this factor, or by `NOISE`."""
NOISE = 2.0
"""Seconds by which medians may differ at random."""
OFF_BY_FACTOR = 3.0
"""A check is reported if it takes this many times its known cost, or less than that fraction of it."""
OFF_BY_SECONDS = 15.0
"""Seconds by which a check must also differ from its cost to be reported."""
MAX_REMARKED = 10


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of a check from version `since` on: the medians of the runs that measured it.

    `seconds` are a worker's, without boots. `cpu` is the CPU time of the worker and of the cluster's nodes, and `boots` the
    number of clusters booted for the check; both are None if the runs did not record them.
    """

    since: str
    seconds: float
    runs: int
    cpu: float | None = None
    boots: float | None = None


class Measurement(NamedTuple):
    """The measurements of one run of a check; see `Cost`."""

    seconds: float
    cpu: float | None = None
    boots: int | None = None


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of all measured checks, on a machine with `cores` cores; `trouble` is why the file could not be read."""

    cores: int = 0
    checks: dict[str, list[Cost]] = {}
    trouble: str = ""

    def seconds(self, check: str, version: str = "") -> float | None:
        """Return the seconds of a check on a version, by default the newest measured one; None if it was never measured."""
        known = self.checks.get(check)
        if not known:
            return None
        until = [cost for cost in known if not version or numbers(cost.since) <= numbers(version)]
        return (until or known[:1])[-1].seconds

    def remarks(self, checks: Collection[str]) -> Iterator[str]:
        """Yield the reasons why the seconds of these checks are only estimates."""
        if self.trouble:
            yield f"{FILE.name}: {self.trouble}; all checks are estimated by their kind"
        if self.cores and self.cores != os.cpu_count():
            yield f"the seconds were measured on {self.cores} cores; this machine has {os.cpu_count()}"
        if gone := sorted(self.checks.keys() - set(checks)):
            yield f"{FILE.name} has {len(gone)} checks that are gone, such as {gone[0]}: they are left out when it is refreshed"


@cache
def shipped_costs() -> Costs:
    """Return the costs that come with the kit."""
    return read_costs(FILE)


def read_costs(file: Path) -> Costs:
    """Read a file of costs. An unreadable file yields no costs, and the reason in `trouble`."""
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Costs)
    except OSError as error:
        return Costs(trouble=error.strerror or "it cannot be read")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Costs(trouble=str(error))


def version_in(label: str) -> str:
    """Return the version at the beginning of a column's label; empty if there is none."""
    found = re.match(r"\d+\.\d+(\.\d+)?", label)
    return found.group() if found else ""


def cost_deviation_lines(shards: Iterable[Shard], estimates: Mapping[str, float], costs: Costs) -> list[str]:
    """Return a line for each check that took more than three times its cost, or less than a third. `estimates` has the costs of
    unmeasured checks."""
    lines = [
        (abs(seconds - cost), f"cost  {id} on {label}: {seconds:.0f} s, {what} {cost:.0f} s")
        for id, label, version, (seconds, _, _) in _done(shards)
        if id in estimates
        for known in [costs.seconds(id, version)]
        for cost, what in [(estimates[id], "estimated") if known is None else (known, "known as")]
        if abs(seconds - cost) > OFF_BY_SECONDS and not cost / OFF_BY_FACTOR <= seconds <= cost * OFF_BY_FACTOR
    ]
    named = [line for _, line in sorted(lines, reverse=True)]
    return named[:MAX_REMARKED] + ([f"cost  and {len(named) - MAX_REMARKED} more"] if len(named) > MAX_REMARKED else [])


def is_machine(check: str) -> bool:
    """True if the id is that of a machine."""
    return check.startswith("machines.")


def measured_costs(shards: Iterable[Shard]) -> dict[str, list[Cost]]:
    """Return the costs of each check that ran to its end. Machines count only in runs without a clock, which does not limit
    them."""
    runs: defaultdict[str, defaultdict[str, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for id, _, version, taken in _done(shards):
        runs[id][version].append(taken)
    return {id: _ranges(by_version) for id, by_version in sorted(runs.items())}


def _done(shards: Iterable[Shard]) -> Iterator[tuple[str, str, str, Measurement]]:
    """Yield check, column, version and measurements of each check that ended by itself."""
    for shard in shards:
        if shard.header is not None:
            column, is_timed = shard.header.column, shard.header.profile != "smoke"
            examples = _seconds_of_examples(shard)
            for line in shard.lines:
                if isinstance(line, CheckLine) and line.outcome == "done" and not (is_timed and is_machine(line.check)):
                    yield line.check, column.label, column.version, _measured(line, examples[line.check])


def _seconds_of_examples(shard: Shard) -> Mapping[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for line in shard.lines:
        if isinstance(line, ExampleLine):
            found[line.check] += line.seconds
    return found


def _measured(line: CheckLine, examples: float) -> Measurement:
    """Return the measurements of a check. An older shard has no boots, but the seconds of its examples."""
    if line.spent:
        cpu = line.cpu.get("kit", 0.0) + line.cpu.get("nodes", 0.0)
        return Measurement(line.seconds - line.spent.get("boot", 0.0), cpu, line.boots)
    return Measurement(line.seconds if is_machine(line.check) or not line.examples else min(line.seconds, examples))


def _ranges(runs: Mapping[str, Sequence[Measurement]]) -> list[Cost]:
    """Merge neighbouring versions whose medians are similar."""
    joined: list[tuple[str, list[Measurement]]] = []
    for version in sorted(runs, key=numbers):
        own = list(runs[version])
        if joined and _are_alike(_median_seconds(joined[-1][1]), _median_seconds(own)):
            joined[-1][1].extend(own)
        else:
            joined.append((version, own))
    return [_cost(since, own) for since, own in joined]


def _median_seconds(runs: Sequence[Measurement]) -> float:
    return median(one.seconds for one in runs)


def _cost(since: str, runs: Sequence[Measurement]) -> Cost:
    cpu = [one.cpu for one in runs if one.cpu is not None]
    boots = [one.boots for one in runs if one.boots is not None]
    return Cost(
        since=since,
        seconds=round(_median_seconds(runs), 1),
        runs=len(runs),
        cpu=round(median(cpu), 1) if cpu else None,
        boots=round(median(boots), 1) if boots else None,
    )


def _are_alike(one: float, other: float) -> bool:
    return abs(one - other) <= NOISE or max(one, other) <= ALIKE * min(one, other)


def refresh_costs(shards: Iterable[Shard], known: Costs, checks: Collection[str]) -> Costs:
    """Return the costs of these checks: measured in the shards, or else as known before."""
    costs = known.checks | measured_costs(shards)
    return Costs(cores=os.cpu_count() or 0, checks={id: costs[id] for id in sorted(costs) if id in checks})


def as_toml(costs: Costs) -> str:
    """Return the text of the file, with a line for each check."""
    head = [
        "# Made by `./kit python -m conformance.running.planning.costs DIR...`",
        f"cores = {costs.cores}",
        "",
        "[checks]",
    ]
    return (
        "\n".join([*head, *(f'"{id}" = [{", ".join(map(_as_toml, own))}]' for id, own in costs.checks.items())]) + "\n"
    )


def _as_toml(cost: Cost) -> str:
    known = [f"{name} = {value:g}" for name, value in (("cpu", cost.cpu), ("boots", cost.boots)) if value is not None]
    fields = ", ".join([f'since = "{cost.since}"', f"seconds = {cost.seconds}", f"runs = {cost.runs}", *known])
    return f"{{ {fields} }}"


def main(folders: Sequence[str]) -> int:
    """Refresh the file from the shards below these folders."""
    from conformance.core.registry import every_check

    shards = (shard for folder in folders for shard in read_shards(Path(folder)))
    FILE.write_text(as_toml(refresh_costs(shards, read_costs(FILE), every_check())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
