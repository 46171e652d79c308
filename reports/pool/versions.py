"""The versions since which a row is broken or mended, and the changes between two columns or two runs."""

from __future__ import annotations

from typing import get_args

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.differences import BROKEN
from reports.insights import RELEASE, ChangeKind, Firsts, VerdictChange
from reports.pool.shape import shaped, version_numbers


def firsts(cells: DataFrame) -> DataFrame:
    """One line per row that a released version breaks or satisfies, as `reports.insights.Firsts`; `cells` as in matrix.json."""
    released = cells.where(F.col("kafka_version").rlike(RELEASE)).withColumn("place", version_numbers("kafka_version"))
    decided = released.where(F.col("verdict").isin("violated", "satisfied"))
    found = decided.groupBy("requirement").agg(
        _versions("violated").alias("bads"), _versions("satisfied").alias("goods")
    )
    before = F.filter("goods", lambda good: good.place < _end("bads", 1).place)
    after = F.filter("goods", lambda good: good.place > _end("bads", -1).place)
    sides = found.withColumn("before", before).withColumn("after", after)
    return shaped(
        sides.withColumns(
            {
                "bad": F.col("bads.kafka_version"),
                "good": F.col("goods.kafka_version"),
                "first_bad": _name(_end("bads", 1)),
                "last_good": _name(_end("before", -1)),
                "first_good": _name(_end("after", 1)),
            }
        ),
        Firsts,
    )


def _versions(verdict: str) -> Column:
    """The versions with a verdict in their order."""
    version = F.when(F.col("verdict") == verdict, F.struct("place", "kafka_version"))
    return F.array_sort(F.collect_list(version))


def _end(versions: str, place: int) -> Column:
    """The first (1) or last (-1) of an array; null if it is empty."""
    return F.try_element_at(F.col(versions), F.lit(place))


def _name(version: Column) -> Column:
    return F.coalesce(version.kafka_version, F.lit(""))


def changes(cells: DataFrame, pairs: DataFrame) -> DataFrame:
    """Each row in each pair, as `reports.insights.VerdictChange` after the names of the pair.

    `cells` has side, requirement and verdict; a side is a column's label or a run's id. `pairs` has old and new, which are
    sides; a row that neither of them has is not in the result.
    """
    key = ["old", "new", "requirement"]
    before = pairs.join(cells, F.col("side") == F.col("old")).select(*key, F.col("verdict").alias("before"))
    after = pairs.join(cells, F.col("side") == F.col("new")).select(*key, F.col("verdict").alias("after"))
    both = before.join(after, key, "full").fillna("", ["before", "after"])
    return shaped(both.withColumn("kind", _kind()).withColumn("worse", _worse()), VerdictChange, "old", "new")


def columns(cells: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Cells and pairs for `changes`: each released version beside the one before it; `cells` as in matrix.json."""
    released = cells.where(F.col("kafka_version").rlike(RELEASE)).withColumnRenamed("kafka_version", "side")
    before = F.lag("side").over(Window.orderBy(version_numbers("side")))
    pairs = released.select("side").distinct().select(before.alias("old"), F.col("side").alias("new"))
    return released.select("side", "requirement", "verdict"), pairs.where("old IS NOT NULL")


def runs(trend: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Cells and pairs for `changes`: each run of a column beside the run before it (`4.3.1 in run 261121-…`).

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
    """The worst come first in BROKEN; verdicts that are not in it are not broken, and come after them."""
    return _rank("after") < _rank("before")


def _rank(name: str) -> Column:
    place = F.array_position(F.array(*map(F.lit, BROKEN)), F.col(name))
    return F.when(place == 0, len(BROKEN) + 1).otherwise(place)
