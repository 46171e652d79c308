"""Telling whole lines from torn, foreign and stray ones, and summing up each shard."""

from __future__ import annotations

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


def summarise(lines: DataFrame) -> DataFrame:
    """One row per shard id, as `reports.intake.ShardSummary`; lines that tell no shard are summed up under ''."""
    whole = F.col("whole")
    is_header, is_footer = whole & (F.col("type") == "header"), whole & (F.col("type") == "footer")
    kinds = [part for kind in KINDS for part in (F.lit(kind), F.count_if(whole & (F.col("type") == kind)))]
    return lines.groupBy("shard").agg(
        F.count_if(whole).alias("lines"),
        F.count_if(~whole).alias("bad"),
        F.count_distinct(F.when(whole, F.col("n"))).alias("numbers"),
        F.min(F.when(whole, F.col("n"))).alias("first"),
        F.max(F.when(whole, F.col("n"))).alias("last"),
        F.min(F.when(is_footer, F.col("n"))).alias("footer"),
        F.count_if(is_header).alias("headers"),
        F.min(F.when(is_header, F.col("text"))).alias("header"),
        F.min("foreign").alias("foreign"),
        F.max("column_label").alias("label"),
        F.create_map(*kinds).alias("kinds"),
        F.min_by("counts", F.when(is_footer, F.col("n"))).alias("counted"),
    )
