"""Since which version a row is broken, and since which it is mended."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reports.insights import Firsts
from reports.spans import RELEASE
from reports.tables.shape import shaped, version_numbers


def firsts(cells: DataFrame) -> DataFrame:
    """One line per row that a released version breaks or satisfies, as `reports.insights.Firsts`; `cells` as in matrix.json."""
    released = cells.where(F.col("kafka_version").rlike(RELEASE)).withColumn("place", version_numbers("kafka_version"))
    told = released.where(F.col("verdict").isin("violated", "satisfied"))
    found = told.groupBy("requirement").agg(_versions("violated").alias("bads"), _versions("satisfied").alias("goods"))
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
