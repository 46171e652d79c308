"""How far each cell was reached: examples, cases, faults."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import Coverage
from reports.tables.shape import as_map, shaped
from reports.tally import CELL


def coverage(applicable: DataFrame, cases: DataFrame, examples: DataFrame, faults: DataFrame) -> DataFrame:
    """One line per cell that has an applicable case, as `reports.insights.Coverage`.

    `applicable` has a line per cell and case, `examples` one per cell and example (outcome); `cases` and `faults` are
    those of `reports.tally`.
    """
    seen = cases.select(*CELL, "case", F.lit(1).alias("seen"))
    reached = applicable.join(seen, [*CELL, "case"], "left").groupBy(*CELL).agg(
        F.count("*").alias("cases"), F.count("seen").alias("cases_reached")
    )  # fmt: skip
    ended = examples.groupBy(*CELL, "outcome").agg(F.count("*").alias("count"))
    outcomes = ended.groupBy(*CELL).agg(F.sum("count").alias("examples"), as_map("outcome", "count").alias("outcomes"))
    reach = F.struct("injected", "witnessed", "healed").alias("reach")
    brought = faults.groupBy(*CELL).agg(as_map("fault", reach).alias("faults"))
    found = reached.join(outcomes, [*CELL], "left").join(brought, [*CELL], "left")
    return shaped(found.fillna(0, "examples"), Coverage)
