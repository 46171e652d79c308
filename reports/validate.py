"""Telling whole lines from torn, foreign and stray ones, and summing up each shard."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from history.shards import SCHEMA
from reports.schema import is_whole

# How a torn line begins if it still tells whose it was (`history.shards` writes type, shard and number first).
_SHARD = r'^\{"type":"[a-z]+","shard":"([^"\\]+)"'
_LABEL = r'^\{"type":"header",.*?"column":\{"label":"([^"\\]+)"'


def classify(lines: DataFrame) -> DataFrame:
    """Adds `whole` and `foreign` (a header's schema that is not ours, else null); reads shard and label of torn lines."""
    is_foreign = (F.col("type") == "header") & (F.col("schema") != SCHEMA)
    return (
        lines.withColumn("foreign", F.when(is_foreign, F.col("schema")))
        .withColumn("whole", is_whole() & F.col("foreign").isNull() & (F.length("shard") > 0))
        .withColumn("column_label", F.coalesce("column.label", F.regexp_extract("text", _LABEL, 1)))
        .withColumn("shard", F.coalesce("shard", F.regexp_extract("text", _SHARD, 1)))
    )


def summarise(lines: DataFrame) -> DataFrame:
    """One row per shard id, as `reports.intake.ShardSummary`; lines that tell no shard are summed up under ''."""
    whole = F.col("whole")
    return lines.groupBy("shard").agg(
        F.count_if(whole).alias("lines"),
        F.count_if(~whole).alias("bad"),
        F.count_distinct(F.when(whole, F.col("n"))).alias("numbers"),
        F.min(F.when(whole, F.col("n"))).alias("first"),
        F.max(F.when(whole, F.col("n"))).alias("last"),
        F.max(F.when(whole & (F.col("type") == "footer"), F.col("n"))).alias("footer"),
        F.min(F.when(whole & (F.col("type") == "header"), F.col("text"))).alias("header"),
        F.min("foreign").alias("foreign"),
        F.max("column_label").alias("label"),
    )
