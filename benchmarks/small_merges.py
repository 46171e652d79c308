"""A small merge compared with an empty session: a user's wait after two columns in smoke, and Spark's share of it.

Each round runs, in separate processes, the merge, a session with the kit's settings for small merges, and one with
Spark's defaults (both start, count ten numbers and stop), and another checkout's merge if one is given. Ratios are taken
within a round, since the machine's speed drifts.
"""

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.processes import ROOT, RunCost, watch_run
from benchmarks.shards import write_shards
from fixtures.runs import Progress
from protocol.errors import KitError

MASTER = "local[2]"
VERSIONS = ("3.9.2", "4.3.1")
OBSERVATIONS = 56_000
"""The observations of two columns in smoke, with two workers each: 31 MB."""
SHARES = 2

_OURS = (
    "from reports.spark import spark_session\n"
    f"with spark_session({MASTER!r}, small=True) as spark: spark.range(10).count()"
)
_PLAIN = (
    "from pyspark.sql import SparkSession\n"
    f"spark = SparkSession.builder.master({MASTER!r}).getOrCreate()\nspark.range(10).count()\nspark.stop()"
)


class SmallMerge(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of one round: this merge, the merge of another checkout (`beside`), and an empty session each with the kit's
    settings (`ours`) and with Spark's defaults (`plain`)."""

    merge: RunCost
    beside: RunCost | None
    ours: RunCost
    plain: RunCost


def measure(shards: Path | None, beside: Path | None, rounds: int, progress: Progress) -> list[SmallMerge]:
    """Measure rounds; shards are generated unless given. Raises KitError for a command that fails."""
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-") as name:
        folder = shards or Path(name) / "shards"
        if shards is None:
            size = write_shards(folder, OBSERVATIONS, versions=VERSIONS, workers=SHARES, skewed=0)
            progress(f"{OBSERVATIONS} observations written, {size / 2**20:.0f} MiB")
        return [_measure_round(folder, Path(name) / "matrix", beside, progress) for _ in range(rounds)]


def _measure_round(shards: Path, out: Path, beside: Path | None, progress: Progress) -> SmallMerge:
    python = sys.executable
    found = SmallMerge(
        merge=_merge_shards(shards, out, ROOT),
        beside=None if beside is None else _merge_shards(shards, out, beside),
        ours=_require_success(watch_run(python, "-c", _OURS)),
        plain=_require_success(watch_run(python, "-c", _PLAIN)),
    )
    progress(f"merged in {found.merge.seconds:.1f} s, {found.merge.cpu:.1f} s of the cores")
    return found


def _merge_shards(shards: Path, out: Path, checkout: Path) -> RunCost:
    command = (sys.executable, "-m", "reports", "--in", shards.absolute(), "--out", out, "--master", MASTER)
    return _require_success(watch_run(*command, checkout=checkout.absolute()))


def _require_success(run: RunCost) -> RunCost:
    if run.code:
        raise KitError(f"it ended with {run.code}:\n{run.output[-4000:]}")
    return run


_RUNS = {
    "merge": "merge",
    "merge by the other checkout": "beside",
    "empty session, the kit's settings": "ours",
    "empty session, Spark's settings": "plain",
}


def table(rounds: Sequence[SmallMerge]) -> str:
    """Return the medians of the rounds, and of their ratios, as Markdown."""
    lines = ["| in turn, medians | time | of the cores |", "|---|---:|---:|"]
    runs = {name: found for name, of in _RUNS.items() if None not in (found := [getattr(one, of) for one in rounds])}
    for name, found in runs.items():
        time, cpu = (statistics.median(getattr(run, of) for run in found) for of in ("seconds", "cpu"))
        lines.append(f"| {name} | {time:.1f} s | {cpu:.1f} s |")
    for name, found in list(runs.items())[1:]:
        pairs = list(zip(runs["merge"], found, strict=True))
        time, cpu = (statistics.median(getattr(a, of) / getattr(b, of) for a, b in pairs) for of in ("seconds", "cpu"))
        lines.append(f"| merge to {name} | {time:.2f} | {cpu:.2f} |")
    return "\n".join(lines)
