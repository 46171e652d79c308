"""Small tables as Parquet, without a job."""

from __future__ import annotations

from pathlib import Path

import msgspec
from pyarrow import parquet

from reports.insights import Coverage, FaultReach
from reports.parquet import write_table
from reports.pool.shape import spark_schema

ROW = Coverage(
    requirement="R", kafka_version="4.3.1", examples=2, outcomes={"judged": 2}, cases_reached=1, cases=1,
    faults={"kill": FaultReach(injected=1, witnessed=1, healed=0)},
)  # fmt: skip


def test_a_table_has_the_fields_and_rows_of_its_struct(tmp_path: Path) -> None:
    write_table([msgspec.to_builtins(ROW)], spark_schema(Coverage), tmp_path / "coverage")
    found = parquet.read_table(tmp_path / "coverage")
    assert found.schema.names == list(Coverage.__struct_fields__)
    (row,) = found.to_pylist(maps_as_pydicts="strict")
    assert msgspec.convert(row, Coverage) == ROW


def test_what_was_in_the_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "coverage").mkdir()
    (tmp_path / "coverage" / "part-9.parquet").write_bytes(b"of an earlier merge")
    write_table([], spark_schema(Coverage), tmp_path / "coverage")
    assert [path.name for path in (tmp_path / "coverage").iterdir()] == ["part-0.parquet"]
    assert parquet.read_table(tmp_path / "coverage").num_rows == 0
