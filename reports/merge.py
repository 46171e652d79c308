"""The merge, from shards to all output."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from conformance.catalogue import Catalogue
from conformance.catalogue.deviations import Deviation
from conformance.judging.intake import Intake
from conformance.judging.verdicts import CaseTally, Verdict
from reports import tables
from reports.archive.adding import Filed
from reports.archive.adding import archive as add
from reports.archive.reading import read_trend
from reports.ingest import read, validate
from reports.ingest.distinct import DistinctLines, coalesce_to_cores, distinct_lines, keep
from reports.ingest.intake import sort_shards
from reports.insights import TABLES, FaultReach, Insights, assemble_insights
from reports.jobs import in_parallel
from reports.matrix import Matrix, Pooled, ReportedCell, Row, build_matrix
from reports.order import Order, in_order
from reports.over_versions import NeighbourChange, by_column, neighbour_changes, neighbour_pairs, row_firsts, run_sides
from reports.parquet import write_table
from reports.pool import cells
from reports.pool.counts import sum_lines
from reports.pool.shape import spark_schema
from reports.rows import collect_rows
from reports.sql import table_of_texts


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as a row of Parquet; `known` is true if a known deviation covers it."""

    kafka_version: str
    requirement: str
    verdict: Verdict
    reason: str
    observations: int
    violations: int
    faults: dict[str, FaultReach]
    evidence: list[str]
    known: bool


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
    parquet: Path | None = None,
    archive: str = "",
    present: Callable[[Merged], None] = lambda merged: None,
) -> Merged:
    """Merge all shards below `folder` into a matrix; write its tables to `parquet` too, if that is given.

    With `archive` (a folder or a Hadoop URI) the shards are added to it, and the trend covers its runs. `present` gets the result
    while Spark may still be writing. Raises ReportError for a folder without shards, shards that are all unreadable, and a column
    with two images.
    """
    lines = validate.classify(read.parse(read.read_text(spark, folder)))
    with distinct_lines(lines if archive else validate.without_texts(lines)) as distinct:
        empty = read.empty_files(spark, folder)
        intake = sort_shards(distinct.summaries, catalogue, empty)
        spark_tables = _Tables(spark, distinct, intake, catalogue, deviations)
        with in_parallel(spark) as start:
            if parquet:
                start(partial(spark_tables.write, parquet))
            found = spark_tables.collect()
            matrix = build_matrix(catalogue, intake, found.pooled, deviations)
            order = in_order(matrix.columns)
            insights = found.insights | {"firsts": row_firsts(by_column(matrix.cells), order.labels)}
            filed: list[Filed] = []
            if archive:
                by_run = sort_shards(distinct.summaries, catalogue, empty, by_run=True)
                judge = partial(_judge_runs_alone, spark, distinct, matrix, catalogue)
                filed = add(spark, archive, distinct.lines, by_run, judge, catalogue)
                insights["trend"] = [row.asDict(recursive=True) for row in read_trend(spark, archive).collect()]
            assembled = assemble_insights(insights, matrix.kafka_versions)
            if parquet:
                _write_results(found.pooled.cases, matrix, order, assembled, parquet)
            merged = Merged(matrix=matrix, insights=assembled, filed=filed)
            present(merged)
    return merged


def _judge_runs_alone(
    spark: SparkSession, distinct: DistinctLines, matrix: Matrix, catalogue: Catalogue, runs: Intake
) -> Matrix:
    """Judge each run alone; reuse the cells of `matrix` if no column is pooled from several runs."""
    names = {column.label: column.kafka_version for column in runs.columns}
    if all(len(column.runs) == 1 for column in matrix.columns):
        cells = [cell for cell in matrix.cells if cell.kafka_version in names]
        return msgspec.structs.replace(
            matrix, cells=[msgspec.structs.replace(cell, kafka_version=names[cell.kafka_version]) for cell in cells]
        )
    return build_matrix(catalogue, runs, _Tables(spark, distinct, runs, catalogue).collect().pooled, ())


class _Found(msgspec.Struct, frozen=True):
    """The tables by which cells are judged, and the tables of insights by their names in `reports.insights`."""

    pooled: Pooled
    insights: dict[str, Sequence[Any]]


class _Tables:
    """The tables of `reports.pool` over the shards that count."""

    def __init__(
        self,
        spark: SparkSession,
        distinct: DistinctLines,
        intake: Intake,
        catalogue: Catalogue,
        deviations: Sequence[Deviation] = (),
    ) -> None:
        shards = table_of_texts(spark, sorted(intake.shards.items()), "shard", "kafka_version")
        changed = intake.outdated
        self._outdated = table_of_texts(spark, changed, "shard", "requirement") if changed else None
        self.observations = cells.observations(cells.usable_lines(distinct.lines, shards), self._outdated)
        self._few = cells.usable_lines(distinct.few, shards)
        self._applicable = _applicable_cases(intake, catalogue)
        self._incidental = {row.id: row.incidental for row in catalogue if row.incidental}
        self._deviations = deviations

    def collect(self) -> _Found:
        """Collect the small tables in one job. None of them grows with the number of observations."""
        alike = keep(coalesce_to_cores(cells.join_alike(self.observations)))
        found = collect_rows(self._small_tables(alike))
        alike.unpersist()
        sums, decided = tables.by_entry(found["sums"]), found["decided"]
        cases = tables.cases(decided, found["distinct"], found["wavers"], sums)
        pooled = Pooled(
            cases=cases,
            violations=found["violations"],
            ways=found["ways"],
            paths=tables.paths(found["paths"], sums, cells.PATHS),
            replays=tables.replays(sums),
            checks=tables.checks(sums, decided),
            faults=tables.faults(sums),
        )
        insights: dict[str, Sequence[Any]] = {
            "wavering": found["wavering"],
            "coverage": tables.coverage(self._applicable, cases, sums),
            "faults_met": tables.faults_met(sums),
            "premises": tables.premises(sums),
            "excused": tables.excused_cases(sums, decided),
            "spent": tables.spent_by_check(sums),
        }
        return _Found(pooled, insights)

    def _small_tables(self, alike: DataFrame) -> dict[str, DataFrame]:
        broken = cells.observations(self._few, self._outdated)
        return {
            "decided": cells.count_results(alike),
            "distinct": cells.distinct(alike, self._incidental),
            "wavers": cells.wavers(alike),
            "wavering": cells.wavering(alike),
            "paths": cells.paths(alike),
            "violations": cells.violations(broken),
            "ways": cells.distinct_violations(broken, self._deviations),
            "sums": sum_lines(self._few, self._outdated),
        }

    def write(self, folder: Path) -> None:
        # Partitioned as read: a task has lines of one or two shards. Grouping by column would shuffle them again.
        place = f"file://{folder.absolute()}/observations"
        self.observations.write.mode("overwrite").partitionBy("kafka_version").parquet(place)


def _applicable_cases(intake: Intake, catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """Return column, row and case for every case that applies to a column."""
    return [
        (column.kafka_version, row.id, case.id)
        for column in intake.columns
        for row in catalogue
        for case in row.applicable_cases(column.facts)
    ]


def _write_results(cases: Sequence[Row], matrix: Matrix, order: Order, insights: Insights, folder: Path) -> None:
    """Write tallies, matrix and insights, and the changes from column to column and from run to run."""
    tallies = StructType(
        [StructField(name, StringType()) for name in (*cells.CELL, "case")] + spark_schema(CaseTally).fields
    )
    write_table(cases, tallies, folder / "tallies")
    write_table(map(_cell_row, matrix.cells), spark_schema(MatrixRow), folder / "matrix")
    made = {"changes": neighbour_changes(by_column(matrix.cells), neighbour_pairs(order.labels))}
    if insights.trend:
        made["changes_of_runs"] = neighbour_changes(*run_sides(insights.trend))
    for name, rows in made.items():
        write_table(map(msgspec.to_builtins, rows), spark_schema(NeighbourChange), folder / name)
    for name, struct in TABLES.items():
        write_table(map(msgspec.to_builtins, getattr(insights, name)), spark_schema(struct), folder / name)


def _cell_row(cell: ReportedCell) -> dict[str, Any]:
    return dict(msgspec.to_builtins(cell)) | {"known": bool(cell.known)}
