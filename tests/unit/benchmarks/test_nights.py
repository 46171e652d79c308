"""The benchmark of nights, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import nights
from benchmarks.nights import NightCost, measure, table
from benchmarks.processes import RunCost
from history.shards import read_shards
from protocol.errors import KitError

MERGE = RunCost(seconds=8, cpu=16, peak=3 * 2**30, code=0, output="")


def test_a_line_of_the_table_tells_one_night() -> None:
    line = table([NightCost(number=31, merge=MERGE, size=5 * 2**20, files=1234)]).splitlines()[-1]
    assert line == "| 31 | 8.0 s | 16.0 s | 3.00 GiB | 5.0 MiB | 1,234 |"


def test_each_night_is_a_run_of_its_own_and_only_measured_ones_are_merged_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merged: list[set[str]] = []

    def watch(*command: object) -> RunCost:
        shards = read_shards(Path(str(command[command.index("--in") + 1])))
        merged.append({shard.header.run for shard in shards if shard.header})
        return MERGE

    monkeypatch.setattr(nights, "watch_run", watch)
    monkeypatch.setattr(nights, "AT_ONCE", 2)
    found = measure([1, 5], 2, 20, lambda text: None)
    assert [one.number for one in found] == [1, 5]
    assert [len(runs) for runs in merged] == [1, 2, 1, 1]
    assert len(set.union(*merged)) == 5


def test_a_merge_that_fails_ends_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = RunCost(seconds=1, cpu=1, peak=1, code=3, output="no room")
    monkeypatch.setattr(nights, "watch_run", lambda *command: failed)
    with pytest.raises(KitError, match="no room"):
        measure([1], 1, 20, lambda text: None)
