"""The merge: shards in, everything that `--out` holds out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.catalogue import Catalogue
from conformance.catalogue.deviations import Deviation
from history.shards import FaultCount
from reports import read, tally, validate
from reports.insights import TABLES, Insights, assemble
from reports.intake import Intake, ShardSummary, take_in
from reports.matrix import Matrix, Pooled, build
from reports.tables.changes import changes
from reports.tables.coverage import coverage
from reports.tables.firsts import firsts
from reports.tables.premises import premises
from reports.tables.shape import schema
from reports.tables.spent import spent
from reports.tables.wavering import wavering

MATRIX_COLUMNS = (
    "kafka_version string, requirement string, verdict string, reason string, observations long, violations long, "
    "faults map<string,struct<injected:long,witnessed:long,healed:long>>, evidence array<string>, known boolean"
)


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge gives: the verdicts, and what else people ask of them."""

    matrix: Matrix
    insights: Insights


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
    Raises ReportError for a folder without shards, shards that nobody can read, and a column with two images.
    """
    texts = read.read_text(spark, folder)
    lines = validate.classify(read.parse(texts)).persist()
    try:
        intake = take_in(_summaries(lines), catalogue, bool(read.empty_files(spark, texts)))
        tables = _Tables(spark, lines, intake, catalogue)
        found = tables.collect()
        matrix = build(
            catalogue, intake, Pooled(**{name: found[name] for name in Pooled.__struct_fields__}), deviations
        )
        cells = spark.createDataFrame(_cells(matrix), MATRIX_COLUMNS)
        found["firsts"] = _collected(firsts(cells))
        insights = assemble(found, matrix.kafka_versions)
        if parquet:
            tables.write(parquet)
            _write(cells, f"{parquet}/matrix")
            neighbours = spark.createDataFrame(_neighbours(matrix), "old string, new string")
            _write(changes(cells.withColumnRenamed("kafka_version", "side"), neighbours), f"{parquet}/changes")
            for name, struct in TABLES.items():
                rows = [msgspec.to_builtins(row) for row in getattr(insights, name)]
                _write(spark.createDataFrame(rows, schema(struct)), f"{parquet}/{name}")
    finally:
        lines.unpersist()
    return Merged(matrix=matrix, insights=insights)


def _as_json(name: str, table: DataFrame) -> DataFrame:
    content = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    return table.select(F.lit(name).alias("table"), content.alias("content"))


def _summaries(lines: DataFrame) -> list[ShardSummary]:
    return [msgspec.convert(row, ShardSummary) for row in _collected(validate.summarise(lines))]


class _Tables:
    """The tables of `reports.tally` and `reports.tables` over the shards that count."""

    def __init__(self, spark: SparkSession, lines: DataFrame, intake: Intake, catalogue: Catalogue) -> None:
        shards = spark.createDataFrame(sorted(intake.shards.items()), "shard string, kafka_version string")
        changed = intake.outdated
        outdated = spark.createDataFrame(changed, "shard string, requirement string") if changed else None
        usable = tally.usable(lines, shards)
        self.observations = tally.observations(usable, outdated)
        self.cases = tally.cases(self.observations)
        replays = tally.replays(usable, outdated)
        examples = tally.examples(usable, outdated)
        faults = tally.faults(examples)
        applicable = spark.createDataFrame(
            _applicable(intake, catalogue), "kafka_version string, requirement string, case string"
        )
        self.small = {
            "violations": tally.violations(self.observations),
            "paths": tally.paths(self.observations, replays),
            "replays": tally.replayed(replays),
            "checks": tally.checks(usable, self.observations, outdated),
            "faults": faults,
            "wavering": wavering(self.observations),
            "coverage": coverage(applicable, self.cases, examples, faults),
            "premises": premises(usable),
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
        kept = self.observations.repartition("kafka_version").sortWithinPartitions("shard", "n")
        kept.write.mode("overwrite").partitionBy("kafka_version").parquet(f"{folder}/observations")
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


def _neighbours(matrix: Matrix) -> list[tuple[str, str]]:
    """Each column beside the one before it."""
    return list(pairwise(matrix.kafka_versions))


def _write(table: DataFrame, folder: str) -> None:
    """A small table, as one file."""
    table.coalesce(1).write.mode("overwrite").parquet(folder)


def _collected(table: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in table.collect()]
