"""A small merge compared with an empty session: a user's wait after two columns in smoke, and Spark's share of it.

Each round runs, in separate processes, the merge, a session with the kit's settings for small merges, and one with
Spark's defaults (both start, count ten numbers and stop). Ratios are taken within a round, since the machine's speed
drifts.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks.processes import RunCost, watch_run
from benchmarks.shards import write_shards
from fixtures.runs import Progress
from protocol.errors import KitError

MASTER = "local[2]"
VERSIONS = ("3.9.2", "4.3.1")
OBSERVATIONS = 56_000
"""The observations of two columns in smoke, with two workers each: 31 MB."""
SHARES = 2

_OURS = f"from reports.spark import session\nwith session({MASTER!r}, small=True) as spark: spark.range(10).count()"
_PLAIN = (
    "from pyspark.sql import SparkSession\n"
    f"spark = SparkSession.builder.master({MASTER!r}).getOrCreate()\nspark.range(10).count()\nspark.stop()"
)


class SmallMerge(msgspec.Struct, frozen=True, kw_only=True):
    """One round: the merge, and the empty sessions with the kit's settings and Spark's defaults."""

    merge: RunCost
    ours: RunCost
    plain: RunCost


def measure(shards: Path | None, rounds: int, progress: Progress) -> list[SmallMerge]:
    """Measure rounds; shards are generated unless given. Raises KitError for a command that fails."""
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-") as name:
        folder = shards or Path(name) / "shards"
        if shards is None:
            size = write_shards(folder, OBSERVATIONS, versions=VERSIONS, workers=SHARES, skewed=0)
            progress(f"{OBSERVATIONS} observations written, {size / 2**20:.0f} MiB")
        return [_measure_round(folder, Path(name) / "matrix", progress) for _ in range(rounds)]


def _measure_round(shards: Path, out: Path, progress: Progress) -> SmallMerge:
    python = sys.executable
    found = SmallMerge(
        merge=_require_success(watch_run(python, "-m", "reports", "--in", shards, "--out", out, "--master", MASTER)),
        ours=_require_success(watch_run(python, "-c", _OURS)),
        plain=_require_success(watch_run(python, "-c", _PLAIN)),
    )
    progress(f"merged in {found.merge.seconds:.1f} s, {found.merge.cpu:.1f} s of the cores")
    return found


def _require_success(run: RunCost) -> RunCost:
    if run.code:
        raise KitError(f"it ended with {run.code}:\n{run.output[-4000:]}")
    return run


def table(rounds: Sequence[SmallMerge]) -> str:
    """Return the medians of the rounds, and of their ratios, as Markdown."""
    lines = ["| in turn, medians | time | of the cores |", "|---|---:|---:|"]
    runs: dict[str, Callable[[SmallMerge], RunCost]] = {
        "merge": lambda one: one.merge,
        "empty session, the kit's settings": lambda one: one.ours,
        "empty session, Spark's settings": lambda one: one.plain,
    }
    for name, run in runs.items():
        time, cpu = (statistics.median(getattr(run(one), of) for one in rounds) for of in ("seconds", "cpu"))
        lines.append(f"| {name} | {time:.1f} s | {cpu:.1f} s |")
    for name, run in list(runs.items())[1:]:
        ratios = [
            statistics.median(getattr(one.merge, of) / getattr(run(one), of) for one in rounds)
            for of in ("seconds", "cpu")
        ]
        lines.append(f"| merge to {name} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    return "\n".join(lines)
