"""Where the time went."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import Spent
from reports.tables.shape import as_map, shaped

UNENDED = "unended"
"""The outcome of a check whose worker was killed: its time is that of its examples."""


def spent(lines: DataFrame) -> DataFrame:
    """One line per column and check, as `reports.insights.Spent`; `lines` of shards that count."""
    ended = lines.where("type = 'check'").select("shard", "kafka_version", "check", "outcome", "examples", "seconds")
    cut = lines.where("type = 'example'").join(ended, ["shard", "check"], "left_anti")
    unended = cut.groupBy("shard", "kafka_version", "check").agg(
        F.lit(UNENDED).alias("outcome"), F.count("*").alias("examples"), F.sum("seconds").alias("seconds")
    )  # fmt: skip
    parts = ended.unionByName(unended).groupBy("kafka_version", "check", "outcome").agg(
        F.sum(F.coalesce("examples", F.lit(0))).alias("examples"),
        # Summed in thousandths: sums of floating-point numbers depend on their order, which is nobody's.
        F.sum(F.round(F.coalesce("seconds", F.lit(0.0)) * 1000).cast("long")).alias("milliseconds"),
        F.count("*").alias("times"),
    )  # fmt: skip
    whole = parts.groupBy("kafka_version", "check").agg(
        F.sum("examples").alias("examples"),
        (F.sum("milliseconds") / 1000).alias("seconds"),
        as_map("outcome", "times").alias("outcomes"),
    )
    return shaped(whole, Spent)
