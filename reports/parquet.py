"""Small in-memory tables as Parquet, one file each, without a Spark job."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow.parquet import write_table as write_file
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def write_table(rows: Iterable[Mapping[str, Any]], schema: StructType, folder: Path) -> None:
    """Replace the folder's content by rows. Missing fields become null; those not in `schema` are left out."""
    table = arrow.Table.from_pylist([dict(row) for row in rows], schema=to_arrow_schema(schema))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_file(table, folder / "part-0.parquet", compression="zstd", store_schema=False)
