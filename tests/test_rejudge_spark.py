"""Stored histories judged again in Spark: the same as in one process, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from benchmarks.histories import history
from conformance import rejudge
from conformance.running.shard_writer import ShardWriter
from history.events import End, History
from history.observations import Observation
from history.shards import SCHEMA, Column
from history.store import HistoryWriter
from reports import rejudge as again
from reports.session import session
from tests.sample_shards import RANGES

pytestmark = pytest.mark.spark

MACHINE = "kip101.log_machine.LogMachine"
COLUMNS = [Column(label=v, version=v, image=v, image_id=v, ranges=RANGES) for v in ("3.9.2", "4.3.1")]
RUN = "260101-000000-abcd"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session("local[2]", small=True) as started:
        yield started


def _example(name: str, column: Column, seed: int) -> History:
    made = history(name, 150, seed)
    made.example = msgspec.structs.replace(made.example, check=MACHINE, column=column.label)
    made.end = End(example=name, outcome="judged")
    return made


def _worker(out: Path, worker: str, examples: list[History]) -> None:
    """Histories of one worker, and a shard for each column of what the judges say of them."""
    with HistoryWriter(out / "histories" / RUN / f"{worker}.jsonl.zst") as writer:
        for one in examples:
            for line in (one.example, *one.events, *([one.end] if one.end else [])):
                writer.write(line)
    for column in COLUMNS:
        shard = ShardWriter(
            out / "shards", f"{worker}-{column.label}", column, schema=SCHEMA, kit="0", run=RUN, worker=worker,
            topology="t", profile="quick", seed=1, rows={}, checks={},
        )  # fmt: skip
        for one in examples:
            for said in rejudge.rejudge(one, column) if one.example.column == column.label else ():
                shard.observation(**msgspec.structs.asdict(said), check=MACHINE)
        shard.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One worker with most examples, on two columns; small ones; one that was killed within an example."""
    out = tmp_path_factory.mktemp("made") / "out"
    _worker(out, "gw0", [_example(f"gw0-{n}", COLUMNS[n % 2], n) for n in range(12)])
    for small in range(1, 4):
        _worker(out, f"gw{small}", [_example(f"gw{small}-0", COLUMNS[small % 2], 100 + small)])
    open_at_its_end = _example("gw4-1", COLUMNS[0], 105)
    open_at_its_end.end = None
    _worker(out, "gw4", [_example("gw4-0", COLUMNS[0], 104), open_at_its_end])
    return out


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def _uri(run: Path) -> str:
    return f"file://{run}"


def _lines(spark: SparkSession, run: Path) -> dict[str, list[bytes]]:
    """What Spark wrote, as the plain command writes it: by shard, examples in no order."""
    found: dict[str, list[bytes]] = {}
    for row in spark.read.parquet(f"{_uri(run)}/rejudged/parquet").collect():
        said = msgspec.convert(row.asDict(recursive=True)["observations"], list[Observation])
        found.setdefault(row.shard, []).append(rejudge.canonical_lines(said))
    return {shard: sorted(b"".join(lines).splitlines()) for shard, lines in found.items()}


def test_spark_gives_the_bytes_that_one_process_gives(spark: SparkSession, run: Path) -> None:
    assert list(rejudge.compared(spark, _uri(run))) == []
    assert rejudge.main([str(run)]) == 0
    plain = {path.stem: sorted(path.read_bytes().splitlines()) for path in (run / "rejudged").glob("*.jsonl")}
    plain = {shard: lines for shard, lines in plain.items() if lines}
    assert _lines(spark, run) == plain
    assert sum(len(lines) for lines in plain.values()) > 500


def test_what_has_changed_is_told_as_one_process_tells_it(
    spark: SparkSession, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard = run / "shards" / "gw0-4.3.1.jsonl"
    shard.write_bytes(shard.read_bytes().replace(b'"result":"held"', b'"result":"violated"', 1))
    (run / "histories" / RUN / "gw1.jsonl.zst").unlink()
    with (run / "histories" / RUN / "gw2.jsonl.zst").open("ab") as file:
        file.write(b"no frame of zstd, yet written into the file")
    told = list(rejudge.compared(spark, _uri(run)))
    assert rejudge.main([str(run)]) == 1
    assert sorted("\n".join(told).splitlines()) == sorted(capsys.readouterr().out.splitlines())
    first = [line.splitlines()[0] for line in sorted(told)]
    assert first == [
        f"{RUN}/gw2.jsonl.zst at byte {(run / 'histories' / RUN / 'gw2.jsonl.zst').stat().st_size - 43}: "
        "could not be judged: Traceback (most recent call last):",
        f"gw0-1 ({MACHINE}): judged differently now",
        "gw1-0: its observations have no history",
    ]


def test_a_judge_that_raises_on_one_example_loses_no_other(spark: SparkSession, run: Path) -> None:
    def fragile(one: History, column: Column) -> list[Observation]:
        if one.example.example == "gw0-5":
            raise ValueError(f"a bug of the judge on {column.label}")
        return rejudge.rejudge(one, column)

    rows = {row.example: row for row in again.rejudge(spark, _uri(run), fragile).collect()}
    broken = rows.pop("gw0-5")
    assert (broken.shard, broken.check, broken.observations) == ("gw0-4.3.1", MACHINE, [])
    assert broken.error.endswith("ValueError: a bug of the judge on 4.3.1\n")
    assert "Traceback" in broken.error
    assert len(rows) == 16
    assert all(row.error == "" for row in rows.values())
    assert [name for name, row in rows.items() if not row.observations] == ["gw4-1"]


def test_files_that_only_spark_can_read_hold_the_same_frames(spark: SparkSession, run: Path) -> None:
    files = again._files(spark, f"{_uri(run)}/histories")
    assert files is not None
    here = again.frames(files, local=True).collect()
    there = again.frames(files, local=False).collect()
    assert sorted((row.path, row.offset, row.length) for row in here) == sorted(
        (row.path, row.offset, row.length) for row in there
    )
    assert {row.content for row in here} == {None}
    for row in there:
        whole = Path(row.path.removeprefix("file:")).read_bytes()
        assert bytes(row.content) == whole[row.offset : row.offset + row.length]
    workers = again.workers(spark, f"{_uri(run)}/shards")
    judged = [
        sorted(map(str, again.judge_frames(again.frames(files, local=local), workers, rejudge.rejudge).collect()))
        for local in (True, False)
    ]
    assert judged[0] == judged[1]


def test_examples_of_one_large_file_are_spread_over_tasks(spark: SparkSession, run: Path) -> None:
    table = again.rejudge(spark, _uri(run), rejudge.rejudge)
    parts = table.selectExpr("spark_partition_id() as part", "example").where("example like 'gw0-%'").collect()
    assert len({row.part for row in parts}) == 4


def test_a_run_without_histories_has_nothing_to_judge(spark: SparkSession, run: Path) -> None:
    shutil.rmtree(run / "histories")
    told = list(rejudge.compared(spark, _uri(run)))
    assert len(told) == 16
    assert all(line.endswith("its observations have no history") for line in told)
