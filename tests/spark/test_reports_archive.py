"""An archive of runs: what is added, what is kept, and what a crash leaves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.catalogue import shipped_rows
from conformance.judging.intake import Intake
from history.shards import FaultCount
from reports.archive import adding as archiving
from reports.archive import reading as archived
from reports.archive.adding import Filed, archive
from reports.archive.lines import LINES
from reports.errors import ReportError
from reports.hadoop import HadoopFolder
from reports.ingest import read, validate
from reports.ingest.intake import sort_shards
from reports.insights import TrendPoint
from reports.matrix import Matrix, Pooled, build_matrix
from reports.merge import merge
from reports.rows import collect_rows
from reports.spark import spark_session
from tests.support.sample_matrix import ROW, all_cases, checks
from tests.support.sample_shards import ShardBuilder, all_checks, write_lines

pytestmark = pytest.mark.spark

NIGHT = "261121-010203-aaaa"
LATER = "261121-220000-bbbb"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", small=True) as started:
        yield started


def _shard(name: str, version: str = "4.3.1", run: str = NIGHT, **header: str) -> ShardBuilder:
    """One shard with a line of every kind."""
    shard = ShardBuilder(name, version, checks=all_checks(), run=run, **header).observe(ROW, "consumer", events=[3, 4])
    shard.example(ROW, kill=FaultCount(injected=3, witnessed=2, healed=3)).end_check(ROW)
    return shard.replay(ROW, "evidence/x/1", 2, 3).finish()


def _offer(spark: SparkSession, uri: str, folder: Path) -> list[Filed]:
    """Archives all shards of a folder. Whatever they hold, each run is judged to have satisfied ROW."""
    lines = validate.classify(read.parse(read.read_text(spark, str(folder))))
    tables = collect_rows({"counts": validate.count(lines), "texts": validate.texts(lines)})
    summaries = validate.summarise(tables["counts"], tables["texts"], [])
    return archive(spark, uri, lines, sort_shards(summaries, shipped_rows(), by_run=True), _judge, shipped_rows())


def _judge(runs: Intake) -> Matrix:
    names = [column.kafka_version for column in runs.columns]
    cases = [case for name in names for case in all_cases(name)]
    return build_matrix(shipped_rows(), runs, Pooled(cases=cases, checks=[checks(name) for name in names]), [])


def _files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def _counts(spark: SparkSession, uri: str) -> dict[str, int]:
    named = [archived.read_lines(spark, uri, name).select(F.lit(name).alias("name")) for name in LINES]
    return {row.name: row["count"] for row in reduce(DataFrame.unionAll, named).groupBy("name").count().collect()}


def test_a_run_is_archived_once_with_every_kind_of_line(spark: SparkSession, tmp_path: Path) -> None:
    _shard("a").write(tmp_path / "in")
    _shard("b", "3.10.0", label="3.10.0@me/kafka:x y").write(tmp_path / "in")
    uri = (tmp_path / "archive").as_uri()
    assert _offer(spark, uri, tmp_path / "in") == [Filed(run=NIGHT, outcome="added", added=20, lacking=0)]
    each = {"headers": 2, "observations": 10, "examples": 2, "checks": 2, "replays": 2, "footers": 2}
    assert _counts(spark, uri) == each
    before = _files(tmp_path / "archive")
    assert _offer(spark, uri, tmp_path / "in") == [Filed(run=NIGHT, outcome="unchanged", added=0, lacking=0)]
    assert _files(tmp_path / "archive") == before
    labels = {row.kafka_version for row in archived.read_lines(spark, uri, "headers").collect()}
    assert labels == {"4.3.1", "3.10.0@me/kafka:x y"}
    (example, _) = archived.read_lines(spark, uri, "examples").orderBy("shard").collect()
    assert (example.run_date, example.rows, example.faults["kill"].witnessed) == ("2026-11-21", [ROW], 2)


def test_each_run_of_a_day_is_judged_by_itself_and_adds_to_the_trend(spark: SparkSession, tmp_path: Path) -> None:
    """On a file system of another kind than a local folder."""
    (tmp_path / "far").mkdir()
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.kit.link./nights", (tmp_path / "far").as_uri())
    _shard("a").write(tmp_path / "in")
    _shard("z", run=LATER).write(tmp_path / "in")
    _shard("o", run="by hand/1 %").write(tmp_path / "in")
    uri = "viewfs://kit/nights/kafka"
    assert [filed.outcome for filed in _offer(spark, uri, tmp_path / "in")] == ["added"] * 3
    points = [
        TrendPoint(**row.asDict()) for row in archived.read_trend(spark, uri).where(f"requirement = '{ROW}'").collect()
    ]
    days = [(point.run_date, point.run) for point in points]
    assert days == [("undated", "by hand/1 %"), ("2026-11-21", NIGHT), ("2026-11-21", LATER)]
    assert {point.verdict for point in points} == {"satisfied"}
    assert {row.run for row in archived.read_trend(spark, uri, runs=1).collect()} == {LATER}
    assert (tmp_path / "far" / "kafka" / "commits" / f"{NIGHT}-0.json").is_file()


def test_more_lines_are_added_and_fewer_are_refused_with_a_note(spark: SparkSession, tmp_path: Path) -> None:
    text = _shard("a").text()
    uri = str(tmp_path / "archive")
    for step, (lines, outcome, added) in enumerate(
        [(text[:-2], "added", 8), (text, "added", 2), (text[:5], "kept", 0)]
    ):
        write_lines(tmp_path / f"{step}" / "a.jsonl", lines)
        (filed,) = _offer(spark, uri, tmp_path / f"{step}")
        assert (filed.outcome, filed.added) == (outcome, added)
    assert str(filed).startswith(f"run {NIGHT}: stays as it is archived, since 5 of its archived lines are not among")
    assert sum(_counts(spark, uri).values()) == len(text)
    (cell,) = archived.read_cells(spark, uri).where(f"requirement = '{ROW}'").collect()
    assert (cell.complete, cell.row_hash, cell.verdict) == (True, shipped_rows()[ROW].hash, "satisfied")
    assert archived.read_lines(spark, uri, "cells").where(f"requirement = '{ROW}'").count() == 2


class _Crash(Exception):
    pass


class _Breaking(HadoopFolder):
    """A file system on which the machine dies before it has moved the `last` file."""

    last = 0

    def move(self, source: str, target: str) -> bool:
        if target.startswith("commits/") or type(self).last == 0:
            raise _Crash
        type(self).last -= 1
        return super().move(source, target)


def test_a_crash_leaves_the_whole_run_or_none_and_is_made_good(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _shard("a").write(tmp_path / "in")
    uri = str(tmp_path / "archive")
    left: set[str] = set()
    for moved in (3, 99):
        with monkeypatch.context() as broken:
            broken.setattr(archiving, "HadoopFolder", _Breaking)
            broken.setattr(_Breaking, "last", moved)
            with pytest.raises(_Crash):
                _offer(spark, uri, tmp_path / "in")
        before, left = left, {file for file in _files(tmp_path / "archive") if file.endswith(".parquet")}
        assert len(left) >= 3
        assert not before & left
        assert archived.read_cells(spark, uri).count() == archived.read_lines(spark, uri, "headers").count() == 0
    assert [filed.outcome for filed in _offer(spark, uri, tmp_path / "in")] == ["added"]
    assert sum(_counts(spark, uri).values()) == 10
    assert not left & _files(tmp_path / "archive").keys()


def test_what_counts_for_nothing_is_kept_in_quarantine_with_its_reason(spark: SparkSession, tmp_path: Path) -> None:
    _shard("good").write(tmp_path / "in")
    name = f"{LATER}-gw0-4.3.1"
    write_lines(tmp_path / "in" / "headless.jsonl", _shard(name, run=LATER).text()[1:3])
    write_lines(tmp_path / "in" / "bad.jsonl", [b"\xff\xfe garbage\n", b"x" * 5000 + b"\n"])
    uri = str(tmp_path / "archive")
    for _ in range(2):
        assert [filed.run for filed in _offer(spark, uri, tmp_path / "in")] == [NIGHT]
    found = archived.stored_table(spark, uri, "quarantine").orderBy("shard", "text").collect()
    assert [(row.shard, row.run, row.run_date) for row in found] == [
        ("", "", "undated"), ("", "", "undated"), (name, LATER, "2026-11-21"), (name, LATER, "2026-11-21"),
    ]  # fmt: skip
    assert {(row.length, len(row.text)) for row in found[:2]} == {(10, 10), (5000, 4000)}
    assert "no readable header" in found[-1].reason
    assert "torn" in found[0].reason


def test_a_merge_shows_what_each_run_saw_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    """Two runs share a column, which is red as a whole; one of them saw nothing wrong."""
    good = ShardBuilder("a", checks=all_checks(), run=NIGHT).satisfy(shipped_rows()[ROW]).finish()
    bad = (
        ShardBuilder("b", checks=all_checks(), run=LATER)
        .observe(ROW, "consumer", "violated", 2)
        .end_check(ROW)
        .finish()
    )
    good.write(tmp_path / "one")
    for shard in (good, bad):
        shard.write(tmp_path / "both")
    uri = str(tmp_path / "archive")
    both = merge(spark, str(tmp_path / "both"), shipped_rows(), [], archive=uri)
    seen = [(point.run, point.verdict, point.violations) for point in both.insights.trend if point.requirement == ROW]
    assert seen == [(NIGHT, "satisfied", 0), (LATER, "violated", 2)]
    assert next(cell.verdict for cell in both.matrix.cells if cell.requirement == ROW) == "violated"
    one = merge(spark, str(tmp_path / "one"), shipped_rows(), [], archive=str(tmp_path / "other"))
    alone = [(point.run, point.verdict) for point in one.insights.trend if point.requirement == ROW]
    assert alone == [(NIGHT, "satisfied")]
    assert [filed.outcome for filed in (*both.filed, *one.filed)] == ["added"] * 3


def test_a_place_that_spark_cannot_open_is_told_with_the_way_out(spark: SparkSession) -> None:
    with pytest.raises(
        ReportError, match=r"'nowhere://host/archive' can't be opened .*No FileSystem.* such as file:///"
    ):
        HadoopFolder(spark, "nowhere://host/archive")
