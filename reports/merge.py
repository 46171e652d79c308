"""The merge: from shards to all of the output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.catalogue import Catalogue
from conformance.catalogue.deviations import Deviation
from conformance.judging.intake import Intake, ShardSummary
from history.shards import FaultCount
from reports.archive.adding import Filed
from reports.archive.adding import archive as add
from reports.archive.reading import trend
from reports.ingest import read, validate
from reports.ingest.distinct import DistinctLines, fitting, once
from reports.ingest.intake import take_in
from reports.insights import TABLES, Insights, TrendPoint, assemble
from reports.jobs import Job, side_by_side
from reports.matrix import Matrix, Pooled, build
from reports.pool import cells
from reports.pool.cells import wavering
from reports.pool.reached import coverage, excused, faults_met, premises, spent
from reports.pool.shape import schema
from reports.pool.versions import changes, columns, firsts, runs

MATRIX_COLUMNS = (
    "kafka_version string, requirement string, verdict string, reason string, observations long, violations long, "
    "faults map<string,struct<injected:long,witnessed:long,healed:long>>, evidence array<string>, known boolean"
)


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a merge: the verdicts, the other tables, and the outcome of each run in the archive."""

    matrix: Matrix
    insights: Insights
    filed: list[Filed] = []


def merge(
    spark: SparkSession,
    folder: str,
    catalogue: Catalogue,
    deviations: Sequence[Deviation],
    parquet: str = "",
    archive: str = "",
) -> Merged:
    """The matrix of all shards below `folder`; its tables also go to `parquet`, if that is given.

    With `archive` (a folder or a Hadoop URI) the shards are added to it, and the trend is that of all its runs.
    Raises ReportError for a folder without shards, shards of which none can be read, and a column with two images.
    """
    texts = read.read_text(spark, folder)
    with once(validate.classify(read.parse(texts))) as distinct:
        summaries, empty = _summaries(distinct), read.empty_files(spark, folder)
        intake = take_in(summaries, catalogue, empty)
        tables = _Tables(spark, distinct, intake, catalogue)
        with side_by_side(spark) as start:
            if parquet:
                start(partial(tables.write, parquet))
            found = tables.collect()
            matrix = build(catalogue, intake, _pooled(found), deviations)
            cells = spark.createDataFrame(_cells(matrix), MATRIX_COLUMNS)
            if parquet:
                start(partial(_write_cells, cells, parquet))
            found["firsts"] = _collected(firsts(cells))
            filed: list[Filed] = []
            if archive:
                by_run = take_in(summaries, catalogue, empty, by_run=True)
                judge = partial(_alone, spark, distinct, matrix, catalogue)
                filed = add(spark, archive, distinct.lines, by_run, judge, catalogue)
                found["trend"] = _collected(trend(spark, archive))
            insights = assemble(found, matrix.kafka_versions)
            if parquet:
                for job in _writing_insights(spark, insights, parquet):
                    start(job)
        tables.alike.unpersist()
    return Merged(matrix=matrix, insights=insights, filed=filed)


def _alone(spark: SparkSession, distinct: DistinctLines, matrix: Matrix, catalogue: Catalogue, runs: Intake) -> Matrix:
    """The cells of each run alone: the matrix at hand where no column is pooled from several runs."""
    names = {column.label: column.kafka_version for column in runs.columns}
    if all(len(column.runs) == 1 for column in matrix.columns):
        cells = [cell for cell in matrix.cells if cell.kafka_version in names]
        return msgspec.structs.replace(
            matrix, cells=[msgspec.structs.replace(cell, kafka_version=names[cell.kafka_version]) for cell in cells]
        )
    return build(catalogue, runs, _pooled(_Tables(spark, distinct, runs, catalogue).collect()), ())


def _pooled(found: dict[str, list[dict[str, Any]]]) -> Pooled:
    return Pooled(**{name: found[name] for name in Pooled.__struct_fields__})


def _as_json(name: str, table: DataFrame) -> DataFrame:
    content = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    return table.select(F.lit(name).alias("table"), content.alias("content"))


def _summaries(found: DistinctLines) -> list[ShardSummary]:
    return validate.collected(validate.summarise(found.counts, found.few, found.several))


class _Tables:
    """The tables of `reports.pool.cells` and `reports.pool` over the shards that count."""

    def __init__(self, spark: SparkSession, distinct: DistinctLines, intake: Intake, catalogue: Catalogue) -> None:
        shards = spark.createDataFrame(sorted(intake.shards.items()), "shard string, kafka_version string")
        changed = intake.outdated
        outdated = spark.createDataFrame(changed, "shard string, requirement string") if changed else None
        self.observations = cells.observations(cells.usable(distinct.lines, shards), outdated)
        self.alike = fitting(cells.alike(self.observations)).persist()
        self.cases = cells.cases(self.alike, {row.id: row.incidental for row in catalogue if row.incidental})
        usable = cells.usable(distinct.few, shards)
        replays = cells.replays(usable, outdated)
        examples = cells.examples(usable, outdated)
        faults = cells.faults(examples)
        applicable = spark.createDataFrame(
            _applicable(intake, catalogue), "kafka_version string, requirement string, case string"
        )
        self.small = {
            "violations": cells.violations(cells.observations(usable, outdated)),
            "paths": cells.paths(self.alike, replays),
            "replays": cells.replayed(replays),
            "checks": cells.checks(usable, self.alike, outdated),
            "faults": faults,
            "wavering": wavering(self.alike),
            "coverage": coverage(applicable, self.cases, examples, faults),
            "faults_met": faults_met(usable),
            "premises": premises(usable),
            "excused": excused(usable, self.alike, outdated),
            "spent": spent(usable),
        }

    def collect(self) -> dict[str, list[dict[str, Any]]]:
        """All in one job. None of these grows with the number of observations."""
        tables = self.small | {"cases": self.cases}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in tables}
        for row in reduce(DataFrame.unionAll, [_as_json(name, table) for name, table in tables.items()]).collect():
            found[row.table].append(msgspec.json.decode(row.content))
        return found

    def write(self, folder: str) -> None:
        # As they were read: a task has lines of a shard or two. To bring each column together would move them all once more.
        self.observations.write.mode("overwrite").partitionBy("kafka_version").parquet(f"{folder}/observations")
        _write(self.cases.coalesce(1).sort("kafka_version", "requirement", "case"), f"{folder}/tallies")


def _applicable(intake: Intake, catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """Every case that a column must show."""
    return [
        (column.kafka_version, row.id, case.id)
        for column in intake.columns
        for row in catalogue
        for case in row.applicable_cases(column.facts)
    ]


def _cells(matrix: Matrix) -> list[tuple[Any, ...]]:
    return [
        (
            cell.kafka_version, cell.requirement, cell.verdict, cell.reason, cell.observations, cell.violations,
            {name: _counts(count) for name, count in cell.faults.items()}, cell.evidence, bool(cell.known),
        )
        for cell in matrix.cells
    ]  # fmt: skip


def _counts(count: FaultCount) -> tuple[int, int, int]:
    return count.injected, count.witnessed, count.healed


def _write_cells(cells: DataFrame, folder: str) -> None:
    """The matrix, and what changed from column to column."""
    _write(cells, f"{folder}/matrix")
    _write(changes(*columns(cells)), f"{folder}/changes")


def _writing_insights(spark: SparkSession, insights: Insights, folder: str) -> Iterator[Job]:
    """A job for each table of the insights, and for what changed from run to run."""
    for name, struct in TABLES.items():
        rows = [msgspec.to_builtins(row) for row in getattr(insights, name)]
        yield partial(_write, spark.createDataFrame(rows, schema(struct)), f"{folder}/{name}")
    if insights.trend:
        points = [msgspec.to_builtins(point) for point in insights.trend]
        made = changes(*runs(spark.createDataFrame(points, schema(TrendPoint))))
        yield partial(_write, made, f"{folder}/changes_of_runs")


def _write(table: DataFrame, folder: str) -> None:
    """A small table, as one file."""
    table.coalesce(1).write.mode("overwrite").parquet(folder)


def _collected(table: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in table.collect()]
