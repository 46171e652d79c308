"""Pooling: from the lines of all shards to small tables per column and row. All functions are DataFrame -> DataFrame.

Every table here is keyed by `kafka_version` (the column's label) and `requirement`; none of them grows with the number
of observations, except `observations` itself, which stays in Spark.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from conformance.catalogue.deviations import Deviation
from history.observations import KEEPS
from reports.insights import Wavering
from reports.matrix import WAYS
from reports.pool.shape import as_map, shape_as
from reports.sql import string_literal

CELL = ("kafka_version", "requirement")

SAMPLES = 5
"""The most violations of a cell that are shown in words."""
PATHS = 20
"""The most paths of evidence that a cell names: directories of violations first, then histories."""

Outdated: TypeAlias = DataFrame | None
"""Columns shard and requirement: rows that were changed since the shard was written. None if there are none."""


def usable_lines(lines: DataFrame, shards: DataFrame) -> DataFrame:
    """Keep the whole lines of shards that count (`shards`: shard, kafka_version)."""
    return lines.where("whole").join(F.broadcast(shards), "shard")


def _map(table: Mapping[str, str]) -> Column:
    """Return a map of strings to expressions, written in SQL: building it column by column took thousands of calls to
    the JVM."""
    return F.expr(f"map({', '.join(f'{string_literal(key)}, {value}' for key, value in table.items())})")


def observations(lines: DataFrame, outdated: Outdated) -> DataFrame:
    """Return one row per observation, without observations of rows that were changed since."""
    fields = (
        "case", "check", "result", "example", "inputs", "situation", "variant", "label", "detail", "history", "evidence",
    )  # fmt: skip
    texts = [F.coalesce(name, F.lit("")).alias(name) for name in fields]
    changed = (F.size(F.coalesce("lived", F.array())) > 0).alias("changed")
    calm = F.coalesce("calm", F.lit(False)).alias("calm")
    lists = [F.coalesce(name, F.array()).alias(name) for name in ("events", "deeds")]
    seen = lines.where("type = 'observation'").select(*CELL, *texts, *lists, changed, calm, "shard", "n")
    return drop_outdated(seen, outdated)


def join_alike(observations: DataFrame) -> DataFrame:
    """Join observations that differ only in number, events or words into one, with `times`: about one row in twenty is
    left of a long run, six in ten of smoke."""
    same = (
        "case",
        "check",
        "result",
        "shard",
        "example",
        "inputs",
        "situation",
        "variant",
        "changed",
        "calm",
        "history",
        "evidence",
    )
    return observations.groupBy(*CELL, *same).agg(F.count("*").alias("times"))


def count_results(alike: DataFrame) -> DataFrame:
    """Count the observations of each case and check by result."""
    return alike.groupBy(*CELL, "case", "check").agg(
        *[count_where(F.col("result") == result).alias(result) for result in ("held", "violated", "recorded")],
        count_where(F.col("variant") == KEEPS).alias("kept"),
        count_where((F.col("result") == "held") & F.col("calm")).alias("calm"),
    )


def distinct(alike: DataFrame, incidental: Mapping[str, Sequence[str]]) -> DataFrame:
    """Count the distinct inputs, examples and situations of each case.

    `incidental` names, by row, the inputs that do not shape the situation.
    """
    examples = F.count_distinct("shard", "example")
    disturbed = F.count_distinct(F.when(~F.col("calm"), F.struct("shard", "example")))
    situation, held = F.struct("shard", "example", "situation"), F.col("result") == "held"
    return alike.groupBy(*CELL, "case").agg(
        F.count_distinct(_shaping_inputs(incidental)).alias("inputs"),
        examples.alias("examples"),
        (examples - disturbed).alias("calm_examples"),
        F.count_distinct(F.when(held & ~F.col("calm"), situation)).alias("situations"),
        F.count_distinct(F.when(held & F.col("changed"), situation)).alias("changed"),
    )


def wavers(alike: DataFrame) -> DataFrame:
    """Return the cases whose identical tries got different answers; only probes have such cases."""
    key = [*CELL, "case"]
    tries = alike.where("variant != ''").groupBy(*key, "check", "inputs")
    return tries.agg(F.count_distinct("variant").alias("answers")).where("answers > 1").select(*key).distinct()


def _shaping_inputs(incidental: Mapping[str, Sequence[str]]) -> Column:
    """Return the inputs without the incidental ones, as `conformance.catalogue.floors.shaping` does."""
    if not incidental:
        return F.col("inputs")
    by_row = _map({row: f"array({', '.join(map(string_literal, names))})" for row, names in incidental.items()})
    names = F.element_at(by_row, F.col("requirement"))
    left = F.map_filter(F.from_json("inputs", "map<string,string>"), lambda name, _: ~F.array_contains(names, name))
    return F.when(names.isNotNull() & (F.col("inputs") != ""), F.to_json(left)).otherwise(F.col("inputs"))


def count_where(condition: Column) -> Column:
    """Return an aggregate of `join_alike`: the number of observations that meet the condition."""
    return F.sum(F.when(condition, F.col("times")).otherwise(0))


def violations(observations: DataFrame) -> DataFrame:
    """Return the first few violations of each cell, in a fixed order; `times` counts those with the same words."""
    words, shown = ("case", "label", "detail"), ("check", "example", "history", "events", "evidence")
    violated = observations.where("result = 'violated'").groupBy(*CELL, *words)
    first = violated.agg(F.min(F.struct(*shown)).alias("first"), F.count("*").alias("times"))
    return first_of(first.select(*CELL, *words, "first.*", "times"), SAMPLES, *words)


def distinct_violations(observations: DataFrame, deviations: Sequence[Deviation]) -> DataFrame:
    """Return the distinct violations of each cell that has a known deviation. Distinct are those that its entries can
    tell apart: by case, by words (`says`), and by what the example did (`takes`, `meets`)."""
    by_words = [entry.requirement for entry in deviations if entry.says]
    by_deeds = [entry.requirement for entry in deviations if entry.takes or entry.meets]
    about = F.col("requirement").isin([entry.requirement for entry in deviations])
    broken = observations.where((F.col("result") == "violated") & about).select(
        *CELL,
        "case",
        F.when(F.col("requirement").isin(by_words), F.col("detail")).otherwise("").alias("detail"),
        F.when(F.col("requirement").isin(by_deeds), F.col("deeds")).otherwise(F.array()).alias("deeds"),
    )
    return first_of(broken.distinct(), WAYS + 1, "case", "detail", "deeds")


def paths(observations: DataFrame) -> DataFrame:
    """Return the first few paths of evidence of each cell: `rank` 0 for a violation's directory, 1 for a history."""
    named = [
        F.struct(F.lit(rank).alias("rank"), F.col(name).alias("path"))
        for rank, name in enumerate(("evidence", "history"))
    ]
    single = observations.select(*CELL, F.explode(F.array(*named)).alias("named")).where("named.path != ''")
    first = F.slice(F.array_sort(F.collect_set("named")), 1, PATHS)
    return single.groupBy(*CELL).agg(first.alias("paths"))


def drop_outdated(table: DataFrame, outdated: Outdated) -> DataFrame:
    """Drop rows of a table whose `requirement` was changed since their `shard` was written."""
    return table if outdated is None else table.join(F.broadcast(outdated), ["shard", "requirement"], "left_anti")


def first_of(table: DataFrame, count: int, *order: str | Column) -> DataFrame:
    """Keep the first `count` lines of each cell, and add their `place`."""
    place = F.row_number().over(Window.partitionBy(*CELL).orderBy(*order))
    return table.withColumn("place", place).where(F.col("place") <= count)


# --- flakiness

SHOWN = 5
"""The most inputs named per cell, those tried most often first; inputs are drawn, so there may be many."""

_KEY = (*CELL, "check", "case", "inputs")


def wavering(observations: DataFrame) -> DataFrame:
    """Return the first few wavering inputs of each cell, as `reports.insights.Wavering`.

    A try is an example. Examples of machines and scenarios name no inputs, so they never count as identical.
    """
    tried = _suspects(observations).groupBy(*_KEY, "shard", "example").agg(
        F.max(F.col("result") == "violated").alias("broke"), F.collect_set("variant").alias("answers")
    )  # fmt: skip
    counts = tried.groupBy(*_KEY).agg(F.count("*").alias("tries"), F.count_if("broke").alias("violated"))
    answers = tried.select(*_KEY, F.explode("answers").alias("answer")).where("answer != ''")
    counted = answers.groupBy(*_KEY, "answer").agg(F.count("*").alias("times"))
    tries = counts.join(counted.groupBy(*_KEY).agg(as_map("answer", "times").alias("answers")), [*_KEY], "left")
    at_times = F.col("violated").between(1, F.col("tries") - 1)
    found = tries.where(at_times | (F.coalesce(F.size("answers"), F.lit(0)) > 1))
    return shape_as(first_of(found, SHOWN, F.desc("tries"), "check", "case", "inputs"), Wavering)


def _suspects(observations: DataFrame) -> DataFrame:
    """Keep the observations of the few cells with a violation or named answers: others need no grouping by inputs."""
    drawn = observations.where("inputs != ''")
    cells = drawn.where("result = 'violated' OR variant != ''").select(*CELL).distinct()
    return drawn.join(F.broadcast(cells), [*CELL], "left_semi")
