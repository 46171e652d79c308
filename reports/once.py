"""Every line once, though it may stand in several files.

Comparing all texts with each other moves them all through a shuffle, which is most of what a merge would cost. But lines
are numbered: where the numbers of a shard's lines are exactly 0, 1, 2 and so on, none of them stands there twice. So only
lines of other shards are compared: of those that were cut, have bad lines, or lie there more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


class Once(msgspec.Struct, frozen=True):
    """Distinct lines, and the shards of which more is to be found out than how many there are.

    `few` are those of them that are no whole observations: most questions are about these, and to look through all lines for
    each question took an eighth of a merge.
    """

    lines: DataFrame
    few: DataFrame
    doubtful: list[str]


@contextmanager
def once(lines: DataFrame) -> Iterator[Once]:
    """Distinct lines of those that `reports.validate.classify` gives. They are kept, parsed, as long as this lasts."""
    # Memory does not hold them. Filled with what it can, it took twice the time to collect garbage.
    kept = [lines.persist(StorageLevel.DISK_ONLY)]
    try:
        doubtful = _doubtful(lines)
        if doubtful:
            is_doubtful = F.col("shard").isin(doubtful)
            kept.append(lines.where(is_doubtful).dropDuplicates(["text"]).persist())
            lines = lines.where(~is_doubtful).unionAll(kept[-1])
        kept.append(lines.where(~F.col("whole") | (F.col("type") != "observation")).persist())
        yield Once(lines, kept[-1], doubtful)
    finally:
        for table in kept:
            table.unpersist()


def _doubtful(lines: DataFrame) -> list[str]:
    """Shards whose lines are not known to be one of each number. One row per shard comes to the driver."""
    number = F.when(F.col("whole"), F.col("n"))
    found = lines.groupBy("shard").agg(
        F.count_if(~F.col("whole")).alias("bad"),
        F.count(number).alias("lines"),
        F.min(number).alias("first"),
        F.max(number).alias("last"),
        F.bit_xor(F.when(F.col("whole"), F.xxhash64("n"))).alias("mark"),
    )
    shards = found.collect()
    hopeful = [
        (one.shard, one.last, one.mark)
        for one in shards
        if not one.bad and one.first == 0 and one.lines == one.last + 1
    ]
    return sorted({one.shard for one in shards} - _in_order(lines, hopeful))


def _in_order(lines: DataFrame, hopeful: list[tuple[str, int, int]]) -> set[str]:
    """Shards with as many lines as numbers up to the last, and the mark of these: the hashes of all, added up bit by bit.

    Where one number was missing and another there twice, the marks would differ (but for one chance in 2**64).
    """
    wanted = lines.sparkSession.createDataFrame(hopeful, "shard string, last long, mark long")
    numbers = wanted.select("shard", "mark", F.explode(F.sequence(F.lit(0).cast("long"), "last")).alias("n"))
    marks = numbers.groupBy("shard", "mark").agg(F.bit_xor(F.xxhash64("n")).alias("expected"))
    return {row.shard for row in marks.where("mark = expected").collect()}
