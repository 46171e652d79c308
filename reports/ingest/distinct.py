"""Every line once, though it may be in several files.

Comparing all texts with each other would move them through a shuffle, which would be most of a merge's cost. But lines are
numbered: if the numbers of a shard's lines are exactly 0, 1, 2 and so on, none of them occurs twice. So only lines of other
shards are compared: those that were cut, have bad lines, or exist more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from reports.ingest.validate import count


class DistinctLines(msgspec.Struct, frozen=True):
    """Distinct lines, their counts (`reports.ingest.validate.count`), and the shards whose counts leave duplicates possible.

    `few` are those of them that are no whole observations, or violations: most tables need only these, and scanning all
    lines for each table took an eighth of a merge.
    """

    lines: DataFrame
    few: DataFrame
    counts: DataFrame
    doubtful: list[str]

    @property
    def several(self) -> DataFrame:
        """The lines of doubtful shards: different lines may have the same number."""
        return self.lines.where(F.col("shard").isin(self.doubtful))


@contextmanager
def once(lines: DataFrame) -> Iterator[DistinctLines]:
    """Distinct lines of those that `reports.ingest.validate.classify` gives. They are kept, parsed, as long as this lasts."""
    # Memory cannot hold them all. Filling it with as many as possible doubled the time for garbage collection.
    kept = [lines.persist(StorageLevel.DISK_ONLY)]
    try:
        kept.append(counts := count(lines).persist())
        doubtful = _doubtful(counts)
        if doubtful:
            is_doubtful = F.col("shard").isin(doubtful)
            kept.append(compared := lines.where(is_doubtful).dropDuplicates(["text"]).persist())
            lines = lines.where(~is_doubtful).unionAll(compared)
            counts = counts.where(~is_doubtful).unionAll(count(compared))
        rare = ~F.col("whole") | (F.col("type") != "observation") | (F.col("result") == "violated")
        kept.append(few := fitting(lines.where(rare)).persist())
        yield DistinctLines(lines, few, counts, doubtful)
    finally:
        for table in kept:
            table.unpersist()


def fitting(table: DataFrame) -> DataFrame:
    """A table that is scanned often, in no more partitions than the cores can use: each takes a task every time."""
    return table.coalesce(2 * table.sparkSession.sparkContext.defaultParallelism)


def _doubtful(counts: DataFrame) -> list[str]:
    """Shards whose line numbers may repeat. One row per shard comes to the driver."""
    shards = counts.collect()
    hopeful = [
        (one.shard, one.last, one.mark)
        for one in shards
        if not one.bad and one.first == 0 and one.lines == one.last + 1
    ]
    return sorted({one.shard for one in shards} - _in_order(counts.sparkSession, hopeful))


def _in_order(spark: SparkSession, hopeful: list[tuple[str, int, int]]) -> set[str]:
    """Shards with as many lines as numbers up to the last, and the mark of these: the hashes of all, added up bit by bit.

    Where one number was missing and another there twice, the marks would differ (but for one chance in 2**64).
    """
    wanted = spark.createDataFrame(hopeful, "shard string, last long, mark long")
    numbers = wanted.select("shard", "mark", F.explode(F.sequence(F.lit(0).cast("long"), "last")).alias("n"))
    marks = numbers.groupBy("shard", "mark").agg(F.bit_xor(F.xxhash64("n")).alias("expected"))
    return {row.shard for row in marks.where("mark = expected").collect()}
