"""What changed between two columns, or between two runs."""

from __future__ import annotations

from typing import get_args

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.compare import BROKEN
from reports.insights import Change, ChangeKind
from reports.spans import RELEASE
from reports.tables.shape import shaped, version_numbers


def changes(cells: DataFrame, pairs: DataFrame) -> DataFrame:
    """Each row in each pair, as `reports.insights.Change` after the names of the pair.

    `cells` has side, requirement and verdict; a side is a column's label or a run's id. `pairs` has old and new, which are
    sides; a row that neither of them has is not in the result.
    """
    key = ["old", "new", "requirement"]
    before = pairs.join(cells, F.col("side") == F.col("old")).select(*key, F.col("verdict").alias("before"))
    after = pairs.join(cells, F.col("side") == F.col("new")).select(*key, F.col("verdict").alias("after"))
    both = before.join(after, key, "full").fillna("", ["before", "after"])
    return shaped(both.withColumn("kind", _kind()).withColumn("worse", _worse()), Change, "old", "new")


def columns(cells: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Cells and pairs for `changes`: each released version beside the one before it; `cells` as in matrix.json."""
    released = cells.where(F.col("kafka_version").rlike(RELEASE)).withColumnRenamed("kafka_version", "side")
    before = F.lag("side").over(Window.orderBy(version_numbers("side")))
    pairs = released.select("side").distinct().select(before.alias("old"), F.col("side").alias("new"))
    return released.select("side", "requirement", "verdict"), pairs.where("old IS NOT NULL")


def runs(trend: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Cells and pairs for `changes`: what each run saw of a column beside the run before it (`4.3.1 in run 261121-…`).

    `trend` is as `reports.insights.TrendPoint`.
    """
    side = F.concat_ws(" in run ", "kafka_version", "run").alias("side")
    before = F.lag("side").over(Window.partitionBy("kafka_version").orderBy("run_date", "run"))
    seen = trend.select("kafka_version", "run_date", "run", side).distinct()
    pairs = seen.select(before.alias("old"), F.col("side").alias("new")).where("old IS NOT NULL")
    return trend.select(side, "requirement", "verdict"), pairs


def _kind() -> Column:
    added, removed, changed, unchanged = get_args(ChangeKind)
    return (
        F.when(F.col("before") == "", added)
        .when(F.col("after") == "", removed)
        .when(F.col("before") != F.col("after"), changed)
        .otherwise(unchanged)
    )


def _worse() -> Column:
    """The worst come first in BROKEN; what is not there is not broken, and comes after them."""
    return _rank("after") < _rank("before")


def _rank(name: str) -> Column:
    place = F.array_position(F.array(*map(F.lit, BROKEN)), F.col(name))
    return F.when(place == 0, len(BROKEN) + 1).otherwise(place)
