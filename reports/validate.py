"""Telling whole lines from torn, foreign and stray ones, and summing up each shard."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from history.shards import SCHEMA
from reports.schema import KINDS, is_whole

# How a torn line begins if it still tells whose it was (`history.shards` writes type, shard and number first).
_SHARD = r'^\{"type":"[a-z]+","shard":"([^"\\]+)"'
_LABEL = r'^\{"type":"header",.*?"column":\{"label":"([^"\\]+)"'

# Two lines with nothing between. No text within a line holds this: its quotes would be escaped.
_GLUED = '}{"type":"'


def classify(lines: DataFrame) -> DataFrame:
    """Adds `whole` and `foreign` (a header's schema that is not ours, else null); reads shard and label of torn lines."""
    is_foreign = (F.col("type") == "header") & (F.col("schema") != SCHEMA)
    return (
        lines.withColumn("foreign", F.when(is_foreign, F.col("schema")))
        .withColumn(
            "whole", is_whole() & F.col("foreign").isNull() & (F.length("shard") > 0) & (F.col("n") >= 0) & _one()
        )
        .withColumn("column_label", F.coalesce("column.label", F.regexp_extract("text", _LABEL, 1)))
        .withColumn("shard", F.coalesce("shard", F.regexp_extract("text", _SHARD, 1)))
    )


def _one() -> Column:
    """Is the text one line and nothing else? JSON's reader stops after the first value and replaces what is no UTF-8."""
    return F.is_valid_utf8("text") & F.endswith("text", F.lit("}")) & ~F.contains("text", F.lit(_GLUED))


def summarise(lines: DataFrame, few: DataFrame | None = None, doubtful: Sequence[str] | None = None) -> DataFrame:
    """One row per shard id, as `reports.intake.ShardSummary`; lines that tell no shard are summed up under ''.

    `few` (None: all) are lines without whole observations. Only in `doubtful` shards (None: in all) may different lines carry
    one number.
    """
    whole = F.col("whole")
    is_header, is_footer = whole & (F.col("type") == "header"), whole & (F.col("type") == "footer")
    kinds = [F.count_if(whole & (F.col("type") == kind)).alias(f"of {kind}") for kind in KINDS]
    counts = lines.groupBy("shard").agg(
        F.count_if(whole).alias("lines"),
        F.count_if(~whole).alias("bad"),
        F.min(F.when(whole, F.col("n"))).alias("first"),
        F.max(F.when(whole, F.col("n"))).alias("last"),
        F.min(F.when(is_footer, F.col("n"))).alias("footer"),
        F.count_if(is_header).alias("headers"),
        F.min("foreign").alias("foreign"),
        *kinds,
    )
    # Apart, since what texts are aggregated by is sorted first: these are few.
    told = (
        (lines if few is None else few)
        .where(~whole | is_header | is_footer)
        .groupBy("shard")
        .agg(
            F.min(F.when(is_header, F.col("text"))).alias("header"),
            F.max("column_label").alias("label"),
            F.min_by("counts", F.when(is_footer, F.col("n"))).alias("counted"),
        )
    )
    several = lines if doubtful is None else lines.where(F.col("shard").isin(list(doubtful)))
    numbers = several.where(whole).groupBy("shard").agg(F.count_distinct("n").alias("numbers"))
    found = counts.join(told, "shard", "left").join(numbers, "shard", "left")
    by_kind = F.create_map(*(part for kind in KINDS for part in (F.lit(kind), F.col(f"of {kind}"))))
    filled = {"kinds": by_kind, "numbers": F.coalesce("numbers", "lines"), "label": F.coalesce("label", F.lit(""))}
    return found.withColumns(filled).drop(*(f"of {kind}" for kind in KINDS))
