"""The explicit Spark schema of a shard's line, built from the structs of `history.shards` so that it can't drift."""

from typing import Any, get_args

import msgspec
from msgspec import inspect
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from history.shards import AnyShardLine, Header
from reports.sql import string_literal

UNREADABLE = "unreadable"
"""The column for a line that is not JSON or has a field of another type (`columnNameOfCorruptRecord`)."""

LINES: tuple[type[msgspec.Struct], ...] = get_args(AnyShardLine)

KINDS: tuple[str, ...] = tuple(str(line.__struct_config__.tag) for line in LINES)
"""The tags of the kinds of lines."""

HEADER_FIELDS: tuple[str, ...] = tuple(
    name
    for name in Header.__struct_fields__
    if not any(name in line.__struct_fields__ for line in LINES if line is not Header)
)
"""The fields of headers that no other kind of line has."""

_SCALARS: dict[type[inspect.Type], DataType] = {
    inspect.IntType: LongType(),
    inspect.FloatType: DoubleType(),
    inspect.BoolType: BooleanType(),
    inspect.StrType: StringType(),
    inspect.LiteralType: StringType(),
}


def spark_type(kind: inspect.Type) -> DataType:
    """Return the Spark type of a msgspec type. Literals are strings; the types of a union must be one in Spark."""
    match kind:
        case inspect.ListType():
            return ArrayType(spark_type(kind.item_type))
        case inspect.DictType():
            return MapType(spark_type(kind.key_type), spark_type(kind.value_type))
        case inspect.StructType():
            return StructType([StructField(field.encode_name, spark_type(field.type)) for field in kind.fields])
        case inspect.UnionType():
            (single,) = {spark_type(part) for part in kind.types}
            return single
    return _SCALARS[type(kind)]


def line_schema() -> StructType:
    """Return all fields of all kinds of lines. A field whose type differs between kinds (`rows`) stays JSON text."""
    fields: dict[str, Any] = {"type": StringType()}
    for kind in map(struct_of_line, LINES):
        for field in kind.fields:
            own = spark_type(field.type)
            fields[field.encode_name] = own if fields.get(field.encode_name, own) == own else StringType()
    fields[UNREADABLE] = StringType()
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def is_whole() -> Column:
    """True if the line has a known type and all fields that the type requires.

    It is written in SQL: building it column by column took a thousand calls to the JVM.
    """
    known = " OR ".join(f"({_has_all(struct_of_line(line))})" for line in LINES)
    return F.expr(f"coalesce({UNREADABLE} IS NULL AND ({known}), false)")


def _has_all(kind: inspect.StructType) -> str:
    conditions = [f"type = '{kind.tag}'"]
    for field in kind.fields:
        if field.required:
            conditions.append(f"`{field.encode_name}` IS NOT NULL")
        if isinstance(field.type, inspect.LiteralType):
            conditions.append(f"`{field.encode_name}` IN ({', '.join(map(string_literal, field.type.values))})")
    return " AND ".join(conditions)


def struct_of_line(line: type[msgspec.Struct]) -> inspect.StructType:
    """Return the tag and the fields of a kind of line."""
    kind = inspect.type_info(line)
    assert isinstance(kind, inspect.StructType)
    return kind
