"""Removes duplicate lines: a line may be in several files.

Comparing all texts with each other would need a shuffle, which would be most of a merge's cost. But lines are numbered: if the
numbers of a shard's lines are exactly 0, 1, 2 and so on, none of them occurs twice. So only lines of other shards are compared:
those that were cut, have bad lines, or exist more than once.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.judging.intake import ShardSummary
from reports.ingest.validate import count, distinct_numbers, summarise, texts
from reports.matrix import Row
from reports.rows import collect_rows


class DistinctLines(msgspec.Struct, frozen=True):
    """Distinct lines, a summary of each shard, and the shards whose counts leave duplicates possible.

    `few` are all lines except whole observations without a violation. Most tables need only these; scanning all lines for each
    took an eighth of a merge.
    """

    lines: DataFrame
    few: DataFrame
    summaries: list[ShardSummary]
    doubtful: list[str]


@contextmanager
def distinct_lines(lines: DataFrame) -> Iterator[DistinctLines]:
    """Yield the distinct lines of `reports.ingest.validate.classify`, cached until the block ends."""
    # Memory cannot hold them all. Filling it with as many as possible doubled the time for garbage collection.
    kept = [lines := keep(lines, StorageLevel.DISK_ONLY)]
    try:
        kept.append(few := _few_lines(lines))
        found = collect_rows({"counts": count(lines), "texts": texts(few)})
        counts, numbers, doubtful = found["counts"], list[Row](), _doubtful_shards(found["counts"])
        if doubtful:
            is_doubtful = F.col("shard").isin(doubtful)
            kept.append(compared := keep(lines.where(is_doubtful).dropDuplicates(["shard", "n", "digest"])))
            again = collect_rows({"counts": count(compared), "numbers": distinct_numbers(compared)})
            counts = [row for row in counts if row["shard"] not in doubtful] + again["counts"]
            numbers = again["numbers"]
            lines = lines.where(~is_doubtful).unionAll(compared)
            kept.append(few := _few_lines(lines))
        yield DistinctLines(lines, few, summarise(counts, found["texts"], numbers), doubtful)
    finally:
        for table in kept:
            table.unpersist()


def _few_lines(lines: DataFrame) -> DataFrame:
    rare = ~F.col("whole") | (F.col("type") != "observation") | (F.col("result") == "violated")
    return keep(coalesce_to_cores(lines.where(rare)))


def keep(table: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK_DESER) -> DataFrame:
    """Return a table that is computed once, by the first job that scans it: kept as columns, or as rows in a small merge.

    Making columns of few rows and reading them back costs more than it saves. But rows stay until the session ends, and
    are not computed again when a cluster loses them.
    """
    spark = table.sparkSession
    if _shuffle_partitions(spark) == 1 and spark.sparkContext.master.startswith("local"):
        return table.localCheckpoint(eager=False)
    return table.persist(level)


def coalesce_to_cores(table: DataFrame) -> DataFrame:
    """Coalesce a table that is scanned often to one partition per core, since each partition takes a task per scan.

    If this session shuffles into one partition, the table gets one too: grouping it then needs no shuffle.
    """
    spark = table.sparkSession
    return table.coalesce(min(2 * spark.sparkContext.defaultParallelism, _shuffle_partitions(spark)))


def _shuffle_partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def _doubtful_shards(counts: Iterable[Row]) -> list[str]:
    """Return the shards whose line numbers may repeat: all those whose numbers are not exactly 0, 1, 2 up to the last.

    If one number were missing and another present twice, the marks would differ (but for one chance in 2**64).
    """
    return sorted(
        one["shard"]
        for one in counts
        if one["bad"] or one["first"] != 0 or one["lines"] != one["last"] + 1 or one["mark"] != one["expected"]
    )
