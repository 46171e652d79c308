"""Small tables that are at hand, as Parquet: one file each, without a job of Spark."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow.parquet import write_table as write_file
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def write_table(rows: Iterable[Mapping[str, Any]], schema: StructType, folder: Path) -> None:
    """Replace what is in `folder` by rows. Fields that a row lacks are null; those not in `schema` are left out."""
    table = arrow.Table.from_pylist([dict(row) for row in rows], schema=to_arrow_schema(schema))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_file(table, folder / "part-0.parquet", compression="zstd", store_schema=False)
