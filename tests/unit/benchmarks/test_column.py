"""The table of a column has seconds and CPU seconds by cause, of its topologies and its dearest checks."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from benchmarks.column import column_tables
from benchmarks.command import benchmarks
from history.shards import CheckLine, read_shards
from tests.support.sample_shards import ShardBuilder

CALM, KILLS, QUORUM = (
    "kip360.transactions.finished_transaction_bumps_the_epoch",
    "kip360.broker_restarts.killed_broker",
    "kip595.fetch.matching_position_returns_the_log",
)


def shards_of(folder: Path, **lines: CheckLine) -> Path:
    """A folder with a shard that has these checks."""
    built = ShardBuilder("s", "4.3.1")
    built.lines += lines.values()
    built.finish().write(folder)
    return folder


def line(check: str, seconds: float, boot: float = 0.0, **cpu: float) -> CheckLine:
    """A check that took so long, `boot` of it for a cluster."""
    spent = {"boot": boot, "act": seconds - boot} if cpu else {}
    return CheckLine(
        shard="s", n=1, check=check, rows=[], outcome="done", seconds=seconds, spent=spent, cpu=cpu, boots=int(boot > 0)
    )


def cells(text: str) -> dict[str, list[str]]:
    """The cells of each row, by its first one."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def test_cpu_seconds_are_told_by_cause(tmp_path: Path) -> None:
    """The calm check uses a tenth of a second each second: so much of the other's is idle, at most."""
    folder = shards_of(
        tmp_path,
        calm=line(CALM, 20.0, kit=1.0, nodes=2.0, kernel=0.5),
        kills=line(KILLS, 50.0, boot=10.0, kit=2.0, nodes=30.0, boots=15.0, kernel=4.5),
        quorum=line(QUORUM, 1.0, kit=0.5, nodes=0.5),
    )
    found = cells(column_tables(read_shards(folder)))
    causes = {name: found[name][-5:] for name in (KILLS, CALM, "combined", "quorum", "**all**")}
    assert found["topology"][-5:] == ["JVM start", "JVM idle", "JVM at work", "kernel", "kit"]
    assert causes == {
        KILLS: ["15.0", "4.0", "26.0", "4.5", "2.0"],
        CALM: ["0.0", "2.0", "0.0", "0.5", "1.0"],
        "combined": ["15.0", "6.0", "26.0", "5.0", "3.0"],
        "quorum": ["0.0", "0.0", "0.5", "0.0", "0.5"],
        "**all**": ["15.0", "6.0", "26.5", "5.0", "3.5"],
    }
    assert found["combined"][:4] == ["2", "70", "1", "10.0"]


def test_older_shards_have_their_seconds_only(tmp_path: Path) -> None:
    folder = shards_of(tmp_path, calm=line(CALM, 20.0), quorum=line(QUORUM, 1.0), gone=line("kip360.gone", 9.0))
    text = CliRunner().invoke(benchmarks, ["column", str(folder)]).output
    assert "did not record CPU seconds" in text
    assert {name: row for name, row in cells(text).items() if name in ("combined", "quorum", "**all**")} == {
        "combined": ["1", "20"],
        "quorum": ["1", "1"],
        "**all**": ["2", "21"],
    }
