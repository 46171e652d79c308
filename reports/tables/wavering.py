"""Flakiness within one column: identical tries that were answered in more than one way, or broke a row only at times."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.insights import Wavering
from reports.tables.shape import as_map, shaped
from reports.tally import CELL, first_of

SHOWN = 5
"""Inputs of a cell that are named, those tried most often first; inputs are drawn, so there may be any number of them."""

_KEY = (*CELL, "check", "case", "inputs")


def wavering(observations: DataFrame) -> DataFrame:
    """The first few wavering inputs of each cell, as `reports.insights.Wavering`.

    A try is an example. Tries of machines and scenarios, which name no inputs, are not identical.
    """
    tried = _suspects(observations).groupBy(*_KEY, "shard", "example").agg(
        F.max(F.col("result") == "violated").alias("broke"), F.collect_set("variant").alias("answers")
    )  # fmt: skip
    counts = tried.groupBy(*_KEY).agg(F.count("*").alias("tries"), F.count_if("broke").alias("violated"))
    answers = tried.select(*_KEY, F.explode("answers").alias("answer")).where("answer != ''")
    counted = answers.groupBy(*_KEY, "answer").agg(F.count("*").alias("times"))
    told = counts.join(counted.groupBy(*_KEY).agg(as_map("answer", "times").alias("answers")), [*_KEY], "left")
    at_times = F.col("violated").between(1, F.col("tries") - 1)
    found = told.where(at_times | (F.coalesce(F.size("answers"), F.lit(0)) > 1))
    return shaped(first_of(found, SHOWN, F.desc("tries"), "check", "case", "inputs"), Wavering)


def _suspects(observations: DataFrame) -> DataFrame:
    """Of cells that show a violation or name their answers, which are few: all others need no grouping by inputs."""
    drawn = observations.where("inputs != ''")
    cells = drawn.where("result = 'violated' OR variant != ''").select(*CELL).distinct()
    return drawn.join(F.broadcast(cells), [*CELL], "left_semi")
