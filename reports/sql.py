"""Values of the driver as SQL."""

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def string_literal(value: Any) -> str:
    """Return a value as a string literal of SQL, in which no `${...}` is a variable."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def table_of_texts(spark: SparkSession, rows: Iterable[Sequence[str]], *names: str) -> DataFrame:
    """Return a table of at least one row as part of the plan. With `createDataFrame` executors would start Python for its
    rows."""
    values = ", ".join(f"({', '.join(map(string_literal, row))})" for row in rows)
    return spark.sql(f"SELECT * FROM VALUES {values} AS given({', '.join(names)})")
