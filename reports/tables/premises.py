"""How often each premise of a check was met."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import PremiseReach
from reports.tables.shape import shaped


def premises(lines: DataFrame) -> DataFrame:
    """One line per column, check and premise, as `reports.insights.PremiseReach`; `lines` of shards that count."""
    single = lines.where("type = 'example'").select("kafka_version", "check", F.explode("premises"))
    counts = [F.sum(F.coalesce(f"value.{name}", F.lit(0))).alias(name) for name in ("met", "unmet")]
    return shaped(
        single.groupBy("kafka_version", "check", F.col("key").alias("premise")).agg(*counts),
        PremiseReach,
    )
