"""The validation of lines: it distinguishes whole, torn, foreign and stray ones, and summarises each shard."""

from collections.abc import Iterable

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conformance.judging.intake import ShardSummary
from history.schema import SCHEMA
from history.shards import HEADER, Header
from reports.ingest.schema import HEADER_FIELDS, KINDS, UNREADABLE, is_whole
from reports.matrix import Row

# The beginning of a torn line from which its shard can still be read (`history.shards` writes type, shard and number first).
_SHARD = r'^\{"type":"[a-z]+","shard":"([^"\\]+)"'
_LABEL = r'^\{"type":"header",.*?"column":\{"label":"([^"\\]+)"'

# The seam of two lines without a line end between them. No string within a line has it: its quotes would be escaped.
_GLUED = '}{"type":"'


def classify(lines: DataFrame) -> DataFrame:
    """Add `whole`, `foreign` (a header's schema if not ours, else null) and `digest`, the text's xxhash64; read the shard and
    label of torn lines."""
    foreign = F.when((F.col("type") == "header") & (F.col("schema") != SCHEMA), F.col("schema"))
    named = (F.length("shard") > 0) & (F.col("n") >= 0)
    return lines.withColumns(
        {
            "foreign": foreign,
            "whole": is_whole() & foreign.isNull() & named & _is_one_line(),
            "column_label": F.coalesce("column.label", _label_of_torn()),
            "shard": F.coalesce("shard", F.regexp_extract("text", _SHARD, 1)),
            "digest": F.xxhash64("text"),
        }
    )


def without_texts(lines: DataFrame) -> DataFrame:
    """Drop the texts of classified lines except those of headers, and the fields that only headers have. A merge without an
    archive needs none of them, and would keep them all."""
    return lines.drop(*HEADER_FIELDS, UNREADABLE).withColumn("text", F.when(F.col("type") == "header", F.col("text")))


def _label_of_torn() -> Column:
    # A regular expression creates a Java string for each line that it inspects, so it is applied to headers only.
    begins = F.startswith("text", F.lit(HEADER.decode()))
    return F.when(begins, F.regexp_extract("text", _LABEL, 1)).otherwise("")


def _is_one_line() -> Column:
    """True if the text is exactly one line. The JSON reader stops after the first value and replaces invalid UTF-8."""
    return F.is_valid_utf8("text") & F.endswith("text", F.lit("}")) & ~F.contains("text", F.lit(_GLUED))


def count(lines: DataFrame) -> DataFrame:
    """Count the lines of each shard id by kind, and summarise their numbers; lines without a shard id are under ''.

    `mark` is the XOR of the hashes of the numbers, `expected` the XOR of the hashes of 0, 1, 2 up to the last number.
    """
    number = F.when(F.col("whole"), F.col("n"))
    kinds = [F.count_if(_is_whole(kind)).alias(f"of {kind}") for kind in KINDS]
    counted = lines.groupBy("shard").agg(
        F.count(number).alias("lines"),
        F.count_if(~F.col("whole")).alias("bad"),
        F.min(number).alias("first"),
        F.max(number).alias("last"),
        F.bit_xor(F.when(F.col("whole"), F.xxhash64("n"))).alias("mark"),
        F.min(F.when(_is_whole("footer"), F.col("n"))).alias("footer"),
        F.min("foreign").alias("foreign"),
        *kinds,
    )
    zero = F.lit(0).cast("long")
    numbers = F.sequence(zero, F.when(F.col("lines") == F.col("last") + 1, F.col("last")))
    added_up = F.aggregate(numbers, zero, lambda mark, n: mark.bitwiseXOR(F.xxhash64(n)))
    return counted.withColumn("expected", added_up)


def texts(few: DataFrame) -> DataFrame:
    """Return each shard id's header, as text, and the fields of its footer.

    `few` has at least all lines that are not whole observations. `count` does not do this too, since Spark sorts rows
    before it aggregates strings.
    """
    is_header, is_footer = _is_whole("header"), _is_whole("footer")
    return few.where(~F.col("whole") | is_header | is_footer).groupBy("shard").agg(
        F.min(F.when(is_header, F.col("text"))).alias("header"),
        F.max("column_label").alias("label"),
        F.min_by("counts", F.when(is_footer, F.col("n"))).alias("counted"),
        F.max(F.when(is_footer, F.col("ended_early"))).alias("ended_early"),
    )  # fmt: skip


def distinct_numbers(lines: DataFrame) -> DataFrame:
    """Count the distinct line numbers of each shard id's whole lines: different lines may have the same number."""
    return lines.where("whole").groupBy("shard").agg(F.count_distinct("n").alias("numbers"))


def summarise(counts: Iterable[Row], texts: Iterable[Row], numbers: Iterable[Row]) -> list[ShardSummary]:
    """Summarise each shard from the rows of `count`, `texts` and `distinct_numbers`.

    Shards that are not in `numbers` have as many numbers as lines.
    """
    of_shard, differing = {row["shard"]: row for row in texts}, {row["shard"]: row["numbers"] for row in numbers}
    return [_shard_summary(row, of_shard.get(row["shard"], {}), differing.get(row["shard"])) for row in counts]


def _shard_summary(counted: Row, text: Row, numbers: int | None) -> ShardSummary:
    return ShardSummary(
        **{name: counted[name] for name in ("shard", "lines", "bad", "first", "last", "footer", "foreign")},
        numbers=counted["lines"] if numbers is None else numbers,
        headers=counted["of header"],
        kinds={kind: counted[f"of {kind}"] for kind in KINDS},
        header=header_in(text.get("header")),
        label=text.get("label") or "",
        counted=text.get("counted"),
        ended_early=text.get("ended_early"),
    )


def header_in(text: str | None) -> Header | None:
    """Decode the header in a line; return None if there is no line, or if it lacks a field that its type requires."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Header)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_whole(kind: str) -> Column:
    return F.col("whole") & (F.col("type") == kind)
