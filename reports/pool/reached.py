"""The coverage of a run: examples, cases and faults by cell, faults and premises by column, and time by check."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import Coverage, Excused, FaultMet, PremiseReach, Spent
from reports.pool.cells import CELL, Outdated, current, reach, times
from reports.pool.shape import as_map, shaped


def coverage(applicable: DataFrame, cases: DataFrame, examples: DataFrame, faults: DataFrame) -> DataFrame:
    """One line per cell that has an applicable case, as `reports.insights.Coverage`.

    `applicable` has a line per cell and case, `examples` one per cell and example (outcome); `cases` and `faults` are
    those of `reports.pool.cells`.
    """
    seen = cases.select(*CELL, "case", F.lit(1).alias("seen"))
    reached = applicable.join(seen, [*CELL, "case"], "left").groupBy(*CELL).agg(
        F.count("*").alias("cases"), F.count("seen").alias("cases_reached")
    )  # fmt: skip
    ended = examples.groupBy(*CELL, "outcome").agg(F.count("*").alias("count"))
    outcomes = ended.groupBy(*CELL).agg(F.sum("count").alias("examples"), as_map("outcome", "count").alias("outcomes"))
    reach = F.struct("injected", "witnessed", "healed").alias("reach")
    brought = faults.groupBy(*CELL).agg(as_map("fault", reach).alias("faults"))
    found = reached.join(outcomes, [*CELL], "left").join(brought, [*CELL], "left")
    return shaped(found.fillna(0, "examples"), Coverage)


def faults_met(lines: DataFrame) -> DataFrame:
    """One line per column and fault, as `reports.insights.FaultMet`; `lines` of shards that count."""
    single = lines.where("type = 'example'").select("kafka_version", F.explode("faults").alias("fault", "count"))
    examples = F.count("*").alias("examples")
    return shaped(single.groupBy("kafka_version", "fault").agg(examples, *reach()), FaultMet)


def premises(lines: DataFrame) -> DataFrame:
    """One line per column, check and premise, as `reports.insights.PremiseReach`; `lines` of shards that count."""
    single = lines.where("type = 'example'").select("kafka_version", "check", F.explode("premises"))
    counts = [F.sum(F.coalesce(f"value.{name}", F.lit(0))).alias(name) for name in ("met", "unmet")]
    return shaped(
        single.groupBy("kafka_version", "check", F.col("key").alias("premise")).agg(*counts),
        PremiseReach,
    )


def excused(lines: DataFrame, alike: DataFrame, outdated: Outdated) -> DataFrame:
    """One line per column, row, check and case that was left undecided at times, as `reports.insights.Excused`.

    `lines` of shards that count; `alike` as in `reports.pool.cells`.
    """
    key = [*CELL, "check", "case"]
    single = lines.where("type = 'example'").select("shard", "kafka_version", "check", F.inline("excuses"))
    named = current(single, outdated).groupBy(*key, "excuse").agg(F.sum("times").alias("times"))
    left = named.groupBy(*key).agg(as_map("excuse", "times").alias("excused"))
    results = [times(F.col("result") == result).alias(result) for result in ("held", "violated")]
    decided = alike.groupBy(*key).agg(*results)
    return shaped(left.join(decided, key, "left").fillna(0, ["held", "violated"]), Excused)


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
        # Summed in thousandths: sums of floating-point numbers depend on their order, which is not fixed.
        F.sum(F.round(F.coalesce("seconds", F.lit(0.0)) * 1000).cast("long")).alias("milliseconds"),
        F.count("*").alias("times"),
    )  # fmt: skip
    whole = parts.groupBy("kafka_version", "check").agg(
        F.sum("examples").alias("examples"),
        (F.sum("milliseconds") / 1000).alias("seconds"),
        as_map("outcome", "times").alias("outcomes"),
    )
    return shaped(whole, Spent)
