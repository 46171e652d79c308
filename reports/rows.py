"""Small tables on the driver, several of them collected in one job."""

from collections.abc import Mapping
from functools import reduce

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.matrix import Row


def collect_rows(tables: Mapping[str, DataFrame]) -> dict[str, list[Row]]:
    """Collect the rows of each table, in any order, in one job: starting a job costs more than these tables do."""
    found: dict[str, list[Row]] = {name: [] for name in tables}
    for row in reduce(DataFrame.unionAll, [_as_json(name, table) for name, table in tables.items()]).collect():
        found[row.table].append(msgspec.json.decode(row.content))
    return found


def _as_json(name: str, table: DataFrame) -> DataFrame:
    content = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
    return table.select(F.lit(name).alias("table"), content.alias("content"))
