"""The merge: shards in, everything that `--out` holds out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.catalogue import Catalogue
from conformance.catalogue.deviations import Deviation
from history.shards import FaultCount
from reports import read, tally, validate
from reports.insights import Insights
from reports.intake import Intake, ShardSummary, take_in
from reports.matrix import Matrix, Pooled, build

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
        tables = _Tables(spark, lines, intake)
        matrix = build(catalogue, intake, tables.collect(), deviations)
        if parquet:
            tables.write(parquet)
            _write_matrix(spark, matrix, parquet)
    finally:
        lines.unpersist()
    return Merged(matrix=matrix, insights=Insights())


def _as_json(name: str, table: DataFrame) -> DataFrame:
    content = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    return table.select(F.lit(name).alias("table"), content.alias("content"))


def _summaries(lines: DataFrame) -> list[ShardSummary]:
    return [msgspec.convert(row, ShardSummary) for row in _collected(validate.summarise(lines))]


class _Tables:
    """The tables of `reports.tally` over the shards that count."""

    def __init__(self, spark: SparkSession, lines: DataFrame, intake: Intake) -> None:
        shards = spark.createDataFrame(sorted(intake.shards.items()), "shard string, kafka_version string")
        changed = intake.outdated
        outdated = spark.createDataFrame(changed, "shard string, requirement string") if changed else None
        usable = tally.usable(lines, shards)
        self.observations = tally.observations(usable, outdated)
        self.cases = tally.cases(self.observations)
        replays = tally.replays(usable, outdated)
        self.small = {
            "violations": tally.violations(self.observations),
            "paths": tally.paths(self.observations, replays),
            "replays": tally.replayed(replays),
            "checks": tally.checks(usable, self.observations, outdated),
            "faults": tally.faults(usable, outdated),
        }

    def collect(self) -> Pooled:
        """All in one job. None of these grows with the number of observations."""
        named = [_as_json(name, table) for name, table in (self.small | {"cases": self.cases}).items()]
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in reduce(DataFrame.unionAll, named).collect():
            found[row.table].append(msgspec.json.decode(row.content))
        return Pooled(**found)

    def write(self, folder: str) -> None:
        kept = self.observations.repartition("kafka_version").sortWithinPartitions("shard", "n")
        kept.write.mode("overwrite").partitionBy("kafka_version").parquet(f"{folder}/observations")
        self.cases.coalesce(1).sort("kafka_version", "requirement", "case").write.mode("overwrite").parquet(
            f"{folder}/tallies"
        )


def _write_matrix(spark: SparkSession, matrix: Matrix, folder: str) -> None:
    rows = [
        (
            cell.kafka_version, cell.requirement, cell.verdict, cell.reason, cell.observations, cell.violations,
            {name: _counts(count) for name, count in cell.faults.items()}, cell.evidence, bool(cell.known),
        )
        for cell in matrix.cells
    ]  # fmt: skip
    spark.createDataFrame(rows, MATRIX_COLUMNS).coalesce(1).write.mode("overwrite").parquet(f"{folder}/matrix")


def _counts(count: FaultCount) -> tuple[int, int, int]:
    return count.injected, count.witnessed, count.healed


def _collected(table: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in table.collect()]
