"""The lines of shards as an archive stores them: a table for each kind of line. DataFrame -> DataFrame.

Each table has the fields of its struct in `history.shards`, with defaults filled in, after the columns that identify
the line.
"""

from typing import Any

import msgspec
from msgspec import inspect
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from history.shards import (
    CheckLine,
    ExampleLine,
    Footer,
    Header,
    ObservationLine,
    ReplayLine,
)
from reports.ingest.schema import line_schema, spark_type, struct_of_line

LINES: dict[str, type[msgspec.Struct]] = {
    "headers": Header,
    "observations": ObservationLine,
    "examples": ExampleLine,
    "checks": CheckLine,
    "replays": ReplayLine,
    "footers": Footer,
}
"""The tables of lines by name. Every line of a shard is in exactly one of them."""

OWNER = ("run", "batch", "digest")
"""The columns before a line's own fields: its run, the batch that archived it, and the xxhash64 of its text, which distinguishes
it from another line with the same number."""
PARTITIONS = ("run_date", "kafka_version")
"""The last columns: the day on which the run began (`2026-11-21`, UTC, or `undated`), and the label of its column."""

UNDATED = "undated"
UNNAMED = "untold"
"""The column of a quarantined line that names none."""

TORN = "torn, or not a line of a shard that this kit writes"

TEXT_KEPT = 4000
"""The maximum number of characters of a line that the quarantine keeps."""

QUARANTINE = (
    "run string, batch string, shard string, reason string, text string, length long, "
    "digest long, run_date string, kafka_version string"
)
"""The table `quarantine`: lines that do not count, with the reason; `length` is that of the whole text."""

_RUN = r"^(\d{6}-\d{6}-[0-9a-f]+)"
_DAY = r"^(\d{6})-\d{6}-"


def with_run_date(table: DataFrame) -> DataFrame:
    """Add the `run_date` with which `run` begins."""
    day = F.try_to_timestamp(F.regexp_extract("run", _DAY, 1), F.lit("yyMMdd"))
    return table.withColumn("run_date", F.coalesce(F.date_format(day, "yyyy-MM-dd"), F.lit(UNDATED)))


def table_schema(name: str) -> StructType:
    """Return the explicit schema of a table of lines, partition columns last."""
    own = [StructField(field.encode_name, spark_type(field.type)) for field in _own_fields(LINES[name])]
    owner = [StructField("run", StringType()), StructField("batch", StringType()), StructField("digest", LongType())]
    return StructType([*owner, *own, *(StructField(part, StringType()) for part in PARTITIONS)])


def offered_lines(lines: DataFrame, shards: DataFrame) -> DataFrame:
    """Return whole lines of shards that count, with their origin (`shards`: shard, run, run_date, kafka_version)."""
    return lines.where("whole").drop("run").join(F.broadcast(shards), "shard")


def table(lines: DataFrame, name: str) -> DataFrame:
    """Select one kind of the lines that `offered_lines` returns (and their `batch`), in the schema of its table."""
    own = [_field_or_default(field).alias(field.encode_name) for field in _own_fields(LINES[name])]
    return lines.where(F.col("type") == struct_of_line(LINES[name]).tag).select(*OWNER, *own, *PARTITIONS)


def quarantined_lines(lines: DataFrame, refused: DataFrame) -> DataFrame:
    """Return lines that are not whole, or belong to shards that do not count (`refused`: shard, kafka_version, reason)."""
    marked = lines.drop("run").join(F.broadcast(refused), "shard", "left").where("not whole or reason is not null")
    return with_run_date(marked.withColumn("run", F.regexp_extract("shard", _RUN, 1))).select(
        "run",
        "shard",
        F.coalesce("reason", F.lit(TORN)).alias("reason"),
        F.make_valid_utf8(F.substring("text", 1, TEXT_KEPT)).alias("text"),
        F.length("text").cast("long").alias("length"),
        "digest",
        "run_date",
        F.coalesce(F.nullif("kafka_version", F.lit("")), F.lit(UNNAMED)).alias("kafka_version"),
    )


def _own_fields(line: type[msgspec.Struct]) -> list[inspect.Field]:
    return [field for field in struct_of_line(line).fields if field.encode_name not in OWNER]


def _field_or_default(field: inspect.Field) -> Column:
    """Return the field with its struct's type, or its default if the line omits it."""
    wanted = spark_type(field.type)
    column = F.col(field.encode_name)
    if line_schema()[field.encode_name].dataType != wanted:
        column = F.from_json(column, wanted.simpleString())
    return column if field.required else F.coalesce(column, _default_column(field, wanted))


def _default_column(field: inspect.Field, kind: DataType) -> Column:
    value: Any = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if isinstance(value, dict):
        return F.create_map().cast(kind)
    if isinstance(value, list):
        return F.array().cast(kind)
    return F.lit(value).cast(kind)
