"""Whole lines are texts apart from torn, foreign and stray ones, and each shard is summed up."""

from __future__ import annotations

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conformance.judging.intake import ShardSummary
from history.shards import SCHEMA, Header
from reports.ingest.schema import KINDS, is_whole

# The beginning of a torn line from which its shard can still be read (`history.shards` writes type, shard and number first).
_SHARD = r'^\{"type":"[a-z]+","shard":"([^"\\]+)"'
_HEADER = '{"type":"header",'
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
        .withColumn("column_label", F.coalesce("column.label", _label_of_torn()))
        .withColumn("shard", F.coalesce("shard", F.regexp_extract("text", _SHARD, 1)))
    )


def _label_of_torn() -> Column:
    # A regular expression creates a Java string for each line that it inspects, so it is applied to headers only.
    begins = F.startswith("text", F.lit(_HEADER))
    return F.when(begins, F.regexp_extract("text", _LABEL, 1)).otherwise("")


def _one() -> Column:
    """True if the text is exactly one line. The JSON reader stops after the first value and replaces invalid UTF-8."""
    return F.is_valid_utf8("text") & F.endswith("text", F.lit("}")) & ~F.contains("text", F.lit(_GLUED))


def count(lines: DataFrame) -> DataFrame:
    """One row per shard id: how many lines of which kind, and their numbers; lines without a shard id are under ''.

    `mark` is what the hashes of the numbers come to, added up bit by bit.
    """
    number = F.when(F.col("whole"), F.col("n"))
    kinds = [F.count_if(_whole(kind)).alias(f"of {kind}") for kind in KINDS]
    return lines.groupBy("shard").agg(
        F.count(number).alias("lines"),
        F.count_if(~F.col("whole")).alias("bad"),
        F.min(number).alias("first"),
        F.max(number).alias("last"),
        F.bit_xor(F.when(F.col("whole"), F.xxhash64("n"))).alias("mark"),
        F.min(F.when(_whole("footer"), F.col("n"))).alias("footer"),
        F.min("foreign").alias("foreign"),
        *kinds,
    )


def summarise(counts: DataFrame, few: DataFrame, several: DataFrame) -> DataFrame:
    """One row per shard id, from the `count` of all lines: `conformance.judging.intake.ShardSummary`, its header as text.

    `few` are at least all lines that are no whole observations, `several` those of shards where different lines may carry one
    number.
    """
    # Apart from the counts, since what texts are aggregated by is sorted first.
    is_header, is_footer = _whole("header"), _whole("footer")
    texts = few.where(~F.col("whole") | is_header | is_footer).groupBy("shard").agg(
        F.min(F.when(is_header, F.col("text"))).alias("header"),
        F.max("column_label").alias("label"),
        F.min_by("counts", F.when(is_footer, F.col("n"))).alias("counted"),
        F.max(F.when(is_footer, F.col("ended_early"))).alias("ended_early"),
    )  # fmt: skip
    numbers = several.where("whole").groupBy("shard").agg(F.count_distinct("n").alias("numbers"))
    by_kind = F.create_map(*(part for kind in KINDS for part in (F.lit(kind), F.col(f"of {kind}"))))
    filled = {
        "headers": F.col("of header"),
        "kinds": by_kind,
        "numbers": F.coalesce("numbers", "lines"),
        "label": F.coalesce("label", F.lit("")),
    }
    found = counts.join(texts, "shard", "left").join(numbers, "shard", "left").withColumns(filled)
    return found.drop("mark", *(f"of {kind}" for kind in KINDS))


def collected(summaries: DataFrame) -> list[ShardSummary]:
    """The rows of `summarise`, with their headers read."""
    rows = [row.asDict(recursive=True) for row in summaries.collect()]
    return [ShardSummary(**(row | {"header": header_in(row["header"])})) for row in rows]


def header_in(text: str | None) -> Header | None:
    """The header that a line holds; None if it is missing a field that the line's type requires, or there is no line."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Header)
    except (msgspec.DecodeError, RecursionError):
        return None


def _whole(kind: str) -> Column:
    return F.col("whole") & (F.col("type") == kind)
