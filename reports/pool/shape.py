"""The explicit schemas of the tables, taken from the structs of `reports.insights` so that they can't drift."""

import msgspec
from msgspec import inspect
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import MapType, StructField, StructType

from reports.ingest.schema import spark_type


def spark_schema(struct: type[msgspec.Struct]) -> StructType:
    """Return the Spark schema of a struct, its fields in their order."""
    found = spark_type(inspect.type_info(struct))
    assert isinstance(found, StructType)
    return found


def shape_as(table: DataFrame, struct: type[msgspec.Struct], *before: str) -> DataFrame:
    """Select the columns `before`, then those of the struct with its types; leave out all others.

    A null map becomes an empty one.
    """
    return table.select(*before, *map(_field_column, spark_schema(struct)))


def _field_column(field: StructField) -> Column:
    column = F.col(field.name).cast(field.dataType)
    if not isinstance(field.dataType, MapType):
        return column
    return F.coalesce(column, F.create_map().cast(field.dataType)).alias(field.name)


def as_map(name: str, value: str | Column) -> Column:
    """Return an aggregate: a map of names to values, sorted by name. Each name may occur only once."""
    return F.map_from_entries(F.array_sort(F.collect_list(F.struct(name, value))))
