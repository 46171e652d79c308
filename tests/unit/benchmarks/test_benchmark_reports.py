"""Parts of the benchmark of reports: processes, generated shards and runs. None of it starts Spark."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import pooling, reports, runs, shards
from benchmarks.processes import RunCost, watch_run
from conformance.catalogue import shipped_rows
from conformance.cli import rejudge
from fixtures.images import newest_patches
from history.shards import Footer, ObservationLine, read_shards
from history.store import read_histories

_BUSY = """
import subprocess, sys, time
held = bytearray(50_000_000)
if len(sys.argv) < 3:
    subprocess.run([sys.executable, "-c", sys.argv[1], sys.argv[1], "child"], check=True)
else:
    end = time.process_time() + 1.0
    while time.process_time() < end:
        pass
    print("done")
"""


def test_time_and_memory_of_all_processes_are_measured() -> None:
    found = watch_run(sys.executable, "-c", _BUSY, _BUSY)
    assert (found.code, found.output) == (0, "done\n")
    assert found.cpu > 0.5
    assert found.peak > 100_000_000
    assert found.seconds >= found.cpu * 0.5


def test_made_up_shards_are_whole_and_of_the_shape_that_is_reported(tmp_path: Path) -> None:
    size = shards.write_shards(tmp_path / "shards", 40_000)
    found = list(read_shards(tmp_path / "shards"))
    assert len(found) == len(newest_patches()) * shards.WORKERS
    assert all(shard.complete and not shard.torn for shard in found)
    assert [[line.n for line in shard.lines] == list(range(len(shard.lines))) for shard in found] == [True] * len(found)
    counts = [Counter(str(type(line).__struct_config__.tag) for line in shard.lines) for shard in found]
    footers = [line.counts for shard in found for line in shard.lines if isinstance(line, Footer)]
    assert [{**count, "footer": 1} for count in footers] == counts
    seen = [line for shard in found for line in shard.lines if isinstance(line, ObservationLine)]
    assert max(count["observation"] for count in counts) > 0.2 * len(seen)
    assert all(line.case in {case.id for case in shipped_rows()[line.requirement].cases} for line in seen)
    assert size == sum(path.stat().st_size for path in (tmp_path / "shards").iterdir())


def test_pandas_pools_what_was_made_up(tmp_path: Path) -> None:
    shards.write_shards(tmp_path / "shards", 2_000)
    seen = [
        line for shard in read_shards(tmp_path / "shards") for line in shard.lines if isinstance(line, ObservationLine)
    ]
    cases = {(line.shard.rsplit("-", 1)[1], line.requirement, line.case) for line in seen}
    output = pooling.pool(tmp_path / "shards")
    assert output.startswith(f"{len(cases)} cases, ")


def test_a_made_up_run_is_judged_again_as_its_shards_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "EXAMPLE", 150)
    events = runs.write_run(tmp_path / "out", 12_000)
    found = [
        len(one.events) for path in (tmp_path / "out").rglob("*.zst") for one in read_histories(path) if one.complete
    ]
    assert sum(found) == events >= 12_000 * 0.9
    assert rejudge.main(["--out", str(tmp_path / "out")]) == 0
    judged = [path.read_bytes().count(b"\n") for path in (tmp_path / "out" / "rejudged").iterdir()]
    assert max(judged) > 0.2 * sum(judged) > 1000


def test_pandas_is_left_out_where_it_would_take_too_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def run(*command: str | Path) -> RunCost:
        seen.append(str(command[2]))
        return RunCost(seconds=1.0, cpu=1.0, peak=10**9, code=0, output="")

    monkeypatch.setattr(reports, "watch_run", run)
    monkeypatch.setattr(reports, "_free_memory", lambda: 2 * 10**9)
    scale = reports.Scale(merges=(100, 1000), events=1, sample=1)
    table = reports.measure(scale, ["merging"], lambda text: None, tmp_path / "kept")
    assert seen == ["reports", "benchmarks.pooling", "reports"]
    assert "would be 9.31 GiB" in table
