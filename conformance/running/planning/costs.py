"""Costs of checks: medians of measured seconds of a worker, by check and version, kept in `costs.toml`.

`./kit python -m conformance.running.planning.costs DIR...` refreshes the file from the shards of runs. A check that they do not
have keeps what was known of it; one that is gone is left out.
"""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median

import msgspec

from conformance.catalogue.applicability import numbers
from history.shards import CheckLine, Shard, read_shards

FILE = Path(__file__).with_name("costs.toml")
ALIKE = 1.5
"""Medians of neighbouring versions that differ by no more than this factor, or by `NOISE`, are one range."""
NOISE = 2.0
"""Seconds."""
FAR_OFF = 3.0
"""A check is off if it takes this many times what is known of it, or as little."""
BOOT = 15.0
"""Seconds that a boot adds to the first check on a cluster: a check is off only by more than this."""
MOST_TOLD = 10


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The median seconds of a check from the version `since` on, and the number of runs that it was measured in."""

    since: str
    seconds: float
    runs: int


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured, on a machine with `cores` cores; `trouble` is why the file could not be read."""

    cores: int = 0
    checks: dict[str, list[Cost]] = {}
    trouble: str = ""

    def seconds(self, check: str, version: str = "") -> float | None:
        """Return the seconds of a check on a version, by default the newest that was measured; None if it never was."""
        known = self.checks.get(check)
        if not known:
            return None
        until = [cost for cost in known if not version or numbers(cost.since) <= numbers(version)]
        return (until or known[:1])[-1].seconds

    def remarks(self, checks: Collection[str]) -> Iterator[str]:
        """Yield what makes the seconds of these checks, of all that there are, estimates."""
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
    """Read a file of costs. One that cannot be read has none, and says why."""
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Costs)
    except OSError as error:
        return Costs(trouble=error.strerror or "it cannot be read")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Costs(trouble=str(error))


def version_in(label: str) -> str:
    """Return the version at the beginning of a column's label; empty if it has another name."""
    found = re.match(r"\d+\.\d+(\.\d+)?", label)
    return found.group() if found else ""


def off_lines(shards: Iterable[Shard], estimates: Mapping[str, float], costs: Costs) -> list[str]:
    """Return a line for each check that took more than three times its cost, or less than a third. `estimates` has what each
    takes that was never measured."""
    lines = [
        (abs(seconds - cost), f"cost  {id} on {label}: {seconds:.0f} s, {what} {cost:.0f} s")
        for id, label, version, seconds in _done(shards)
        if id in estimates
        for known in [costs.seconds(id, version)]
        for cost, what in [(estimates[id], "estimated") if known is None else (known, "known as")]
        if abs(seconds - cost) > BOOT and not cost / FAR_OFF <= seconds <= cost * FAR_OFF
    ]
    named = [line for _, line in sorted(lines, reverse=True)]
    return named[:MOST_TOLD] + ([f"cost  and {len(named) - MOST_TOLD} more"] if len(named) > MOST_TOLD else [])


def is_machine(check: str) -> bool:
    """True for the id of a machine."""
    return check.startswith("machines.")


def measured_costs(shards: Iterable[Shard]) -> dict[str, list[Cost]]:
    """Return the costs of each check that was run to its end; of machines only where no clock gave them their time."""
    seconds: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for id, _, version, taken in _done(shards):
        seconds[id][version].append(taken)
    return {id: _ranges(by_version) for id, by_version in sorted(seconds.items())}


def _done(shards: Iterable[Shard]) -> Iterator[tuple[str, str, str, float]]:
    """Yield the check, column, version and seconds of each check that ended by itself."""
    for shard in shards:
        if shard.header is not None:
            column, is_timed = shard.header.column, shard.header.profile != "smoke"
            for line in shard.lines:
                if isinstance(line, CheckLine) and line.outcome == "done" and not (is_timed and is_machine(line.check)):
                    yield line.check, column.label, column.version, line.seconds


def _ranges(seconds: Mapping[str, Sequence[float]]) -> list[Cost]:
    """Join neighbouring versions whose medians are alike."""
    joined: list[tuple[str, list[float]]] = []
    for version in sorted(seconds, key=numbers):
        own = list(seconds[version])
        if joined and _are_alike(median(joined[-1][1]), median(own)):
            joined[-1][1].extend(own)
        else:
            joined.append((version, own))
    return [Cost(since=since, seconds=round(median(own), 1), runs=len(own)) for since, own in joined]


def _are_alike(one: float, other: float) -> bool:
    return abs(one - other) <= NOISE or max(one, other) <= ALIKE * min(one, other)


def refresh_costs(shards: Iterable[Shard], known: Costs, checks: Collection[str]) -> Costs:
    """Return the costs of these checks, of all that there are: as measured in shards, or else as known."""
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
    return f'{{ since = "{cost.since}", seconds = {cost.seconds}, runs = {cost.runs} }}'


def main(folders: Sequence[str]) -> int:
    """Refresh the file from the shards below these folders."""
    from conformance.core.registry import every_check

    shards = (shard for folder in folders for shard in read_shards(Path(folder)))
    FILE.write_text(as_toml(refresh_costs(shards, read_costs(FILE), every_check())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
