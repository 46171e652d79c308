"""The Spark schema of lines: each field of each kind of line has a place in it, of a type that takes its values."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest
from msgspec import inspect
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from history.shards import FaultCount, ObservationLine, encode_line
from reports.ingest.schema import KINDS, LINES, UNREADABLE, line_schema, spark_type, struct_of_line
from tests.support.sample_shards import ShardBuilder

ROW = "KIP320-FETCH-02"
BUILT = (
    ShardBuilder("s", checks={ROW: ["a"]})
    .observe(ROW, "consumer", "violated", variant="A", detail="was answered NONE")
    .example(ROW, kill=FaultCount(injected=2, witnessed=1))
    .end_check(ROW)
    .replay(ROW, "evidence/x", 2, 3)
    .finish()
)
SAMPLES = {str(line.__struct_config__.tag): json.loads(encode_line(line)) for line in BUILT.lines}
TEXTS = {"rows"}
"""Fields that are of another type in each kind of line: their JSON text is kept."""


def fits(value: Any, kind: DataType) -> bool:
    """True if Spark's JSON reader takes the value for that type without losing anything of it."""
    match kind:
        case ArrayType():
            return isinstance(value, list) and all(fits(one, kind.elementType) for one in value)
        case MapType():
            return isinstance(value, dict) and all(fits(one, kind.valueType) for one in value.values())
        case StructType():
            return isinstance(value, dict) and all(fits(value[name], kind[name].dataType) for name in value)
        case BooleanType():
            return isinstance(value, bool)
        case DoubleType():
            return isinstance(value, int | float)
    return isinstance(value, int if isinstance(kind, LongType) else str)


def test_there_is_a_sample_of_each_kind_of_line() -> None:
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_line_finds_a_column_for_each_of_its_fields(name: str) -> None:
    schema = line_schema()
    for field, value in SAMPLES[name].items():
        kept = json.dumps(value) if field in TEXTS else value
        assert fits(kept, schema[field].dataType), f"{field} of a {name}: {value!r}"


def test_each_field_has_one_column_and_a_line_that_cannot_be_read_one_beside_them() -> None:
    names = line_schema().fieldNames()
    assert len(names) == len(set(names))
    assert set(names) == {"type", UNREADABLE} | {
        field.encode_name for line in LINES for field in struct_of_line(line).fields
    }


def test_a_field_that_differs_between_kinds_is_text_and_no_other_is() -> None:
    schema = line_schema()
    kinds: dict[str, list[DataType]] = {}
    for field in (field for line in LINES for field in struct_of_line(line).fields):
        kinds.setdefault(field.encode_name, []).append(spark_type(field.type))
    differing = {name for name, found in kinds.items() if any(one != found[0] for one in found)}
    assert differing == TEXTS
    assert all(schema[name].dataType == (StringType() if name in TEXTS else found[0]) for name, found in kinds.items())


def test_the_kind_of_a_line_is_known_with_its_fields() -> None:
    found = struct_of_line(ObservationLine)
    assert found.tag == "observation"
    assert {field.name for field in found.fields if field.required} >= {"shard", "n", "requirement", "case", "result"}


class Inner(msgspec.Struct):
    times: int
    ratio: float = 0.0


@pytest.mark.parametrize(
    ("python", "spark"),
    [
        (int, "bigint"),
        (bool, "boolean"),
        (Literal["a", "b"], "string"),
        (list[list[str]], "array<array<string>>"),
        (dict[str, Inner], "map<string,struct<times:bigint,ratio:double>>"),
        (Literal["a"] | str, "string"),
    ],
)
def test_types_are_those_of_spark(python: Any, spark: str) -> None:
    assert spark_type(inspect.type_info(python)).simpleString() == spark


def test_a_union_that_is_not_one_type_in_spark_is_refused() -> None:
    with pytest.raises(ValueError, match="too many values"):
        spark_type(inspect.type_info(int | str))
