"""Each line of shards counts once, and only lines of doubtful shards are compared with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.catalogue import shipped_rows
from conformance.judging.intake import ShardSummary
from reports.ingest.distinct import distinct_lines
from reports.ingest.read import parse
from reports.ingest.validate import classify, count, distinct_numbers, summarise, without_texts
from reports.ingest.validate import texts as texts_of
from reports.rows import collect_rows
from reports.spark import spark_session
from tests.support.sample_shards import ShardBuilder

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", small=True) as started:
        yield started


def _shard(name: str) -> list[str]:
    built = ShardBuilder(name).satisfy(shipped_rows()["KIP320-FETCH-02"]).finish()
    return [line.decode().rstrip("\n") for line in built.text()]


def _lines(spark: SparkSession, texts: Sequence[str]) -> DataFrame:
    return classify(parse(spark.createDataFrame([(text,) for text in texts], "text string")))


WHOLE = _shard("whole")
CUT = _shard("cut")[:-2]
TORN = [*_shard("torn"), '{"type":"observation","shard":"torn","n":3,"req', "no line at all", "no line at all"]
TWICE = [*_shard("twice"), *_shard("twice")]
SWAPPED = [*_shard("swapped")[:3], _shard("swapped")[2], *_shard("swapped")[4:]]
"""As many lines as numbers, of which one is there twice and another is not."""
FALSE = [*_shard("false"), _shard("false")[1].replace('"held"', '"recorded"')]
LATE = _shard("late")[1:]


def test_only_lines_of_doubtful_shards_are_compared(spark: SparkSession) -> None:
    texts = [*WHOLE, *CUT, *TORN, *TWICE, *SWAPPED, *FALSE, *LATE]
    lines = _lines(spark, texts)
    with distinct_lines(without_texts(lines)) as short:
        shortened = short.summaries, short.doubtful, short.lines.count()
    with distinct_lines(lines) as found:
        assert found.doubtful == ["", "false", "late", "swapped", "torn", "twice"]
        assert sorted(row.text for row in found.lines.collect()) == sorted(set(texts))
        summed = found.summaries
    assert (_in_order(shortened[0]), *shortened[1:]) == (_in_order(summed), found.doubtful, len(set(texts)))
    every = _lines(spark, sorted(set(texts)))
    tables = collect_rows({"counts": count(every), "texts": texts_of(every), "numbers": distinct_numbers(every)})
    assert _in_order(summed) == _in_order(summarise(*tables.values()))
    numbers = {one.shard: (one.lines, one.numbers) for one in summed}
    assert numbers["false"] == (len(FALSE), len(FALSE) - 1)
    assert numbers["swapped"] == (len(SWAPPED) - 1, len(SWAPPED) - 1)


def test_whole_shards_are_taken_as_they_are(spark: SparkSession) -> None:
    texts = [*WHOLE, *CUT]
    with distinct_lines(_lines(spark, texts)) as found:
        assert found.doubtful == []
        assert [row.text for row in found.lines.collect()] == texts


def test_a_small_merge_keeps_rows_and_a_large_one_columns(spark: SparkSession) -> None:
    lines = _lines(spark, WHOLE)
    with distinct_lines(lines):
        assert not lines.is_cached
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with distinct_lines(lines):
        assert lines.is_cached
    assert not lines.is_cached
    spark.conf.set("spark.sql.shuffle.partitions", partitions)


def _in_order(summaries: Sequence[ShardSummary]) -> list[ShardSummary]:
    return sorted(summaries, key=lambda one: one.shard)
