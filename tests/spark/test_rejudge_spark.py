"""Stored histories judged again in Spark: the same as in one process, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from conformance.cli import rejudge
from conformance.judging.judge import JudgingResult
from fixtures.errors import WrongUse
from history.events import History
from history.observations import Observation
from history.schema import WrongSchema
from history.shards import Column
from reports import histories as again
from reports.spark import spark_session
from tests.support.older_schema import age_histories, aged
from tests.support.sample_run import EXAMPLES, MACHINE, RUN, write_run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", small=True) as started:
        yield started


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def _uri(run: Path) -> str:
    return f"file://{run}"


def _lines(spark: SparkSession, run: Path) -> dict[str, list[bytes]]:
    """The output of Spark in the form of the plain command: by shard, examples in no order."""
    found: dict[str, list[bytes]] = {}
    for row in spark.read.parquet(f"{_uri(run)}/rejudged/parquet").collect():
        observations = msgspec.convert(row.asDict(recursive=True)["observations"], list[Observation])
        found.setdefault(row.shard, []).append(rejudge.canonical_lines(observations))
    return {shard: sorted(b"".join(lines).splitlines()) for shard, lines in found.items()}


def test_spark_gives_the_bytes_that_one_process_gives(spark: SparkSession, run: Path) -> None:
    assert list(rejudge.compare_in_spark(spark, _uri(run))) == []
    assert rejudge.main(["--out", str(run)]) == 0
    plain = {path.stem: sorted(path.read_bytes().splitlines()) for path in (run / "rejudged").glob("*.jsonl")}
    plain = {shard: lines for shard, lines in plain.items() if lines}
    assert _lines(spark, run) == plain
    assert sum(len(lines) for lines in plain.values()) > 500


def test_histories_and_shards_of_an_older_schema_are_refused(spark: SparkSession, run: Path) -> None:
    age_histories(run)
    with pytest.raises(
        WrongUse, match=r"at byte 0: history .* is of schema 1, which .* reads; this kit reads schema 2"
    ):
        list(rejudge.compare_in_spark(spark, _uri(run)))
    for shard in (run / "shards").iterdir():
        shard.write_bytes(aged(shard.read_bytes()))
    with pytest.raises(WrongSchema, match=r"shard 'gw[0-4]-.*' is of schema 1"):
        list(rejudge.compare_in_spark(spark, _uri(run)))


CHANGED: dict[str, Any] = {"case": "other", "detail": "other", "label": "other", "events": [7, 8], "inputs": "other"}


@pytest.mark.parametrize("field", CHANGED)
def test_any_field_that_has_changed_is_noticed(spark: SparkSession, run: Path, field: str) -> None:
    shard = run / "shards" / "gw0-4.3.1.jsonl"
    lines = [json.loads(line) for line in shard.read_text().splitlines()]
    changed = next(line for line in lines if line["type"] == "observation")
    changed[field] = CHANGED[field]
    shard.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    assert list(rejudge.compare_in_spark(spark, _uri(run))) == [
        f"{changed['example']} ({MACHINE}): judged differently now"
    ]


def test_another_order_is_noticed(spark: SparkSession, run: Path) -> None:
    shard = run / "shards" / "gw0-4.3.1.jsonl"
    lines = [json.loads(line) for line in shard.read_text().splitlines()]
    one, other = next(
        (a, b) for a, b in pairwise(lines)
        if a["type"] == b["type"] == "observation" and a["example"] == b["example"] and a["case"] != b["case"]
    )  # fmt: skip
    one["n"], other["n"] = other["n"], one["n"]
    shard.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    assert list(rejudge.compare_in_spark(spark, _uri(run))) == [f"{one['example']} ({MACHINE}): judged differently now"]


def test_what_has_changed_is_told_as_one_process_tells_it(
    spark: SparkSession, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard = run / "shards" / "gw0-4.3.1.jsonl"
    shard.write_bytes(shard.read_bytes().replace(b'"result":"held"', b'"result":"violated"', 1))
    (run / "histories" / RUN / "gw1.jsonl.zst").unlink()
    with (run / "histories" / RUN / "gw2.jsonl.zst").open("ab") as file:
        file.write(b"no frame of zstd, yet written into the file")
    lines = list(rejudge.compare_in_spark(spark, _uri(run)))
    assert rejudge.main(["--out", str(run)]) == 1
    assert sorted("\n".join(lines).splitlines()) == sorted(capsys.readouterr().out.splitlines())
    first = [line.splitlines()[0] for line in sorted(lines)]
    assert first == [
        f"{RUN}/gw2.jsonl.zst at byte {(run / 'histories' / RUN / 'gw2.jsonl.zst').stat().st_size - 43}: "
        "could not be judged: Traceback (most recent call last):",
        f"gw0-1 ({MACHINE}): judged differently now",
        "gw1-0: its observations have no history",
    ]


def test_a_judge_that_raises_on_one_example_loses_no_other(spark: SparkSession, run: Path) -> None:
    def fragile(one: History, column: Column) -> JudgingResult:
        if one.example.example == "gw0-5":
            raise ValueError(f"a bug of the judge on {column.label}")
        return rejudge.rejudge(one, column)

    rows = {row.example: row for row in again.rejudge(spark, _uri(run), fragile).collect()}
    broken = rows.pop("gw0-5")
    assert (broken.shard, broken.check, broken.observations) == ("gw0-4.3.1", MACHINE, [])
    assert broken.error.endswith("ValueError: a bug of the judge on 4.3.1\n")
    assert "Traceback" in broken.error
    assert len(rows) == EXAMPLES - 1
    assert all(row.error == "" for row in rows.values())
    assert [name for name, row in rows.items() if not row.observations] == ["gw4-1"]


def test_files_that_only_spark_can_read_hold_the_same_frames(spark: SparkSession, run: Path) -> None:
    files = again._history_files(spark, f"{_uri(run)}/histories")
    assert files is not None
    here = again.table_of_frames(files, local=True).collect()
    there = again.table_of_frames(files, local=False).collect()
    assert sorted((row.path, row.offset, row.length) for row in here) == sorted(
        (row.path, row.offset, row.length) for row in there
    )
    assert {row.content for row in here} == {None}
    for row in there:
        whole = Path(row.path.removeprefix("file:")).read_bytes()
        assert bytes(row.content) == whole[row.offset : row.offset + row.length]
    workers = again.headers_by_worker(spark, f"{_uri(run)}/shards")
    judged = [
        sorted(
            map(str, again.judge_frames(again.table_of_frames(files, local=local), workers, rejudge.rejudge).collect())
        )
        for local in (True, False)
    ]
    assert judged[0] == judged[1]


def test_examples_of_one_large_file_are_spread_over_tasks(spark: SparkSession, run: Path) -> None:
    table = again.rejudge(spark, _uri(run), rejudge.rejudge)
    parts = table.selectExpr("spark_partition_id() as part", "example").where("example like 'gw0-%'").collect()
    assert len({row.part for row in parts}) == 4


def test_a_run_without_histories_has_nothing_to_judge(spark: SparkSession, run: Path) -> None:
    shutil.rmtree(run / "histories")
    lines = list(rejudge.compare_in_spark(spark, _uri(run)))
    assert len(lines) == EXAMPLES - 1
    assert all(line.endswith("its observations have no history") for line in lines)
