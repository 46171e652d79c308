"""Reports at scale: merging millions of observations compared with pandas, and judging millions of events compared with
plain Python.

Everything runs on two cores (`local[2]`), with the commands that users run, in separate processes.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.processes import RunCost, watch_run
from benchmarks.runs import write_run
from benchmarks.shards import write_shards
from fixtures.runs import Progress
from protocol.errors import KitError

MASTER = "local[2]"
ROOM = 0.7
"""The share of the free memory that pandas may use."""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The observations of two merges, the events to judge again, and the `sample` of them that plain Python judges."""

    merges: tuple[int, int]
    events: int
    sample: int


SCALES = {
    "small": Scale(merges=(100_000, 1_000_000), events=1_000_000, sample=300_000),
    "full": Scale(merges=(1_000_000, 10_000_000), events=20_000_000, sample=2_000_000),
}
PARTS = ("merging", "judging")


class MergeCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a merge. `pandas` is None if there was too little memory for the bytes that it `needed`."""

    observations: int
    size: int
    spark: RunCost
    pandas: RunCost | None
    needed: int = 0


class JudgingCost(msgspec.Struct, frozen=True, kw_only=True):
    events: int
    run: RunCost

    @property
    def rate(self) -> float:
        return self.events / self.run.seconds


def measure(scale: Scale, parts: Sequence[str], progress: Progress, keep: Path | None = None) -> str:
    """Return the tables of the parts as Markdown. Data goes to `keep`, or to a folder that is removed at the end."""
    folder = keep or Path(tempfile.mkdtemp(prefix="kafka-conformance-"))
    tables = {
        "merging": lambda: measure_merging(folder, scale, progress),
        "judging": lambda: measure_judging(folder, scale, progress),
    }
    try:
        return "\n\n".join(tables[part]() for part in parts)
    finally:
        if keep is None:
            shutil.rmtree(folder)


# --- merging


def measure_merging(folder: Path, scale: Scale, progress: Progress) -> str:
    merges: list[MergeCost] = []
    for count in scale.merges:
        merges.append(_measure_merge(folder / f"{count}", count, merges, progress))
    return _merging_table(merges)


def _measure_merge(folder: Path, count: int, before: Sequence[MergeCost], progress: Progress) -> MergeCost:
    size = write_shards(folder / "shards", count)
    progress(f"{count} observations written, {size / 2**20:.0f} MiB")
    command = (sys.executable, "-m", "reports", "--in", folder / "shards", "--out", folder / "matrix")
    spark = _require_success(watch_run(*command, "--master", MASTER))
    progress(f"merged in {spark.seconds:.1f} s")
    needed = int(before[-1].pandas.peak * count / before[-1].observations) if before and before[-1].pandas else 0
    if needed > ROOM * _free_memory():
        return MergeCost(observations=count, size=size, spark=spark, pandas=None, needed=needed)
    pandas = _require_success(watch_run(sys.executable, "-m", "benchmarks.pooling", folder / "shards"))
    progress(f"pooled in pandas in {pandas.seconds:.1f} s: {pandas.output.strip()}")
    return MergeCost(observations=count, size=size, spark=spark, pandas=pandas)


def _free_memory() -> int:
    """Return the bytes of memory available to a new process without swapping."""
    [line] = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")]
    return int(line.split()[1]) * 1024


def _merging_table(merges: Sequence[MergeCost]) -> str:
    small, large = merges
    growth = large.spark.seconds / small.spark.seconds
    lines = [
        "| observations | of shards | Spark | its cores | its memory | pandas | its memory | time, Spark to pandas | memory |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(_merged_row, merges),
        "",
        f"{large.observations / small.observations:.0f} times the observations take {growth:.1f} times the time.",
    ]
    return "\n".join(lines)


def _merged_row(one: MergeCost) -> str:
    spark = (
        f"| {one.observations:,} | {one.size / 2**20:.0f} MiB | {one.spark.seconds:.1f} s | {one.spark.cpu:.1f} s | "
    )
    spark += f"{_gib_of(one.spark.peak)} | "
    if one.pandas is None:
        return spark + f"not tried | would be {_gib_of(one.needed)} | | |"
    time, memory = one.spark.seconds / one.pandas.seconds, one.spark.peak / one.pandas.peak
    return spark + f"{one.pandas.seconds:.1f} s | {_gib_of(one.pandas.peak)} | {time:.2f} | {memory:.2f} |"


# --- judging again


def measure_judging(folder: Path, scale: Scale, progress: Progress) -> str:
    """Measure judging: plain Python runs before and after Spark, since a machine's speed may change."""
    sample = _write_histories(folder / "sample", scale.sample, progress)
    run = _write_histories(folder / "run", scale.events, progress)
    before = _measure_judge(folder / "sample", sample, [], progress)
    spark = _measure_judge(folder / "run", run, ["--spark", MASTER], progress)
    after = _measure_judge(folder / "sample", sample, [], progress)
    rate = (before.events + after.events) / (before.run.seconds + after.run.seconds)
    lines = [
        "| judged again | events | seconds | cores | events a second | memory |",
        "|---|---:|---:|---:|---:|---:|",
        _judged_row("plain Python, before", before),
        _judged_row(f"Spark, {MASTER}", spark),
        _judged_row("plain Python, after", after),
        "",
        f"Spark judges {spark.rate / rate:.2f} times as many events a second.",
    ]
    return "\n".join(lines)


def _write_histories(out: Path, events: int, progress: Progress) -> int:
    written = write_run(out, events)
    progress(f"{written} events written")
    return written


def _measure_judge(out: Path, events: int, options: Sequence[str], progress: Progress) -> JudgingCost:
    run = _require_success(watch_run(sys.executable, "-m", "conformance.cli.rejudge", "--out", out, *options))
    progress(f"judged again in {run.seconds:.1f} s")
    return JudgingCost(events=events, run=run)


def _judged_row(name: str, one: JudgingCost) -> str:
    return f"| {name} | {one.events:,} | {one.run.seconds:.1f} | {one.run.cpu:.1f} | {one.rate:,.0f} | {_gib_of(one.run.peak)} |"


def _require_success(run: RunCost) -> RunCost:
    if run.code != 0:
        raise KitError(f"it ended with {run.code}:\n{run.output[-4000:]}")
    return run


def _gib_of(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"
