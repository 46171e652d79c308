"""The explicit schemas of the tables, taken from the structs of `reports.insights` so that they can't drift."""

from __future__ import annotations

import msgspec
from msgspec import inspect
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StructField, StructType

from reports.ingest.schema import spark_type


def schema(struct: type[msgspec.Struct]) -> StructType:
    """The fields of a struct, in its order."""
    found = spark_type(inspect.type_info(struct))
    assert isinstance(found, StructType)
    return found


def shaped(table: DataFrame, struct: type[msgspec.Struct], *before: str) -> DataFrame:
    """The columns `before`, then those of the struct with its types; other columns are left out.

    A map that is null is empty.
    """
    return table.select(*before, *map(_field, schema(struct)))


def _field(field: StructField) -> Column:
    column = F.col(field.name).cast(field.dataType)
    if not isinstance(field.dataType, MapType):
        return column
    return F.coalesce(column, F.create_map().cast(field.dataType)).alias(field.name)


def as_map(name: str, value: str | Column) -> Column:
    """An aggregate: names to values, in the order of the names. Each name may come once."""
    return F.map_from_entries(F.array_sort(F.collect_list(F.struct(name, value))))


def version_numbers(name: str) -> Column:
    """A version by which it can be ordered, as `history.releases.place` does: 3.9.2, 3.10.0-SNAPSHOT, 3.10.0-rc1, 3.10.0."""
    numbers = F.split(F.regexp_extract(name, r"^[0-9.]+", 0), r"\.").cast("array<int>")
    candidate = F.regexp_extract(name, r"^[0-9.]+-rc([0-9]+)", 1)
    snapshot = F.col(name).rlike(r"^[0-9.]+-SNAPSHOT")
    stage = F.when(snapshot, 0).when(candidate != "", 1).otherwise(2)
    number = F.when(candidate != "", candidate.cast("int")).otherwise(0)
    return F.struct(numbers.alias("numbers"), stage.alias("stage"), number.alias("candidate"))
