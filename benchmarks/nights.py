"""Nights of a year: the cost of a merge beside the archive of all nights before it, and the size of the archive.

Every night has the lines of one generated night under a run of its own. Only the measured nights are merged
alone, as `./kit night merge` does; those between them are merged many at a time.
"""

import sys
import tempfile
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from benchmarks.processes import RunCost, watch_run
from benchmarks.shards import RUN, write_shards
from fixtures.images import released_versions
from fixtures.runs import Progress
from protocol.errors import KitError

MASTER = "local[2]"
COLUMNS = 16
OBSERVATIONS = 1_000
"""The observations of one column; a real one in smoke has 28,000."""
MEASURED = (1, 31, 91, 182, 365)
"""The nights that are merged alone."""
AT_ONCE = 30
"""The most nights that are merged together, to fill the archive."""

_FIRST = date(2026, 1, 1)


class NightCost(msgspec.Struct, frozen=True, kw_only=True):
    """The merge of a night, the `number`th of the archive, and the archive's bytes and files after it."""

    number: int
    merge: RunCost
    size: int
    files: int


def measure(measured: Sequence[int], columns: int, observations: int, progress: Progress) -> list[NightCost]:
    """Merge one night after the other into a new archive, up to the last of the `measured` ones, which are in order.

    Raises KitError for a merge that fails.
    """
    costs: list[NightCost] = []
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-") as name:
        folder = Path(name)
        size = write_shards(
            folder / "pattern", columns * observations, versions=released_versions()[-columns:], workers=1, skewed=0
        )
        progress(f"a night has {columns} columns and {size / 2**20:.1f} MiB of shards")
        last = 0
        for number in measured:
            for first in range(last + 1, number, AT_ONCE):
                _merge(folder, range(first, min(first + AT_ONCE, number)))
            costs.append(_cost_of(folder, number))
            last = number
            progress(
                f"night {number}: merged in {costs[-1].merge.seconds:.1f} s, {costs[-1].merge.cpu:.1f} s of the cores"
            )
    return costs


def _cost_of(folder: Path, number: int) -> NightCost:
    merge = _merge(folder, [number])
    sizes = [path.stat().st_size for path in (folder / "archive").rglob("*") if path.is_file()]
    return NightCost(number=number, merge=merge, size=sum(sizes), files=len(sizes))


def _merge(folder: Path, numbers: Sequence[int]) -> RunCost:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        for number in numbers:
            _write_night(folder / "pattern", Path(name) / "shards", number)
        out = ("--out", Path(name) / "matrix", "--archive", folder / "archive", "--master", MASTER)
        run = watch_run(sys.executable, "-m", "reports", "--in", Path(name) / "shards", *out)
    if run.code:
        raise KitError(f"the merge of night {numbers[0]} ended with {run.code}:\n{run.output[-4000:]}")
    return run


def _write_night(pattern: Path, shards: Path, number: int) -> None:
    """Write the pattern as the run of another night."""
    run = f"{_FIRST + timedelta(days=number - 1):%y%m%d}-{RUN.partition('-')[2]}"
    shards.mkdir(exist_ok=True)
    for path in pattern.iterdir():
        (shards / path.name.replace(RUN, run)).write_bytes(path.read_bytes().replace(RUN.encode(), run.encode()))


def table(costs: Sequence[NightCost]) -> str:
    """Return the costs as Markdown."""
    lines = ["| night | merge | its cores | its memory | archive | files |", "|---:|---:|---:|---:|---:|---:|"]
    for one in costs:
        merge = f"{one.merge.seconds:.1f} s | {one.merge.cpu:.1f} s | {one.merge.peak / 2**30:.2f} GiB"
        lines.append(f"| {one.number} | {merge} | {one.size / 2**20:.1f} MiB | {one.files:,} |")
    return "\n".join(lines)
