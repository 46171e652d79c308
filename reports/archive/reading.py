"""Reading an archive: the tables of committed batches, judged cells, trends."""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from reports.archive.lines import LINES, QUARANTINE, UNDATED, table_schema
from reports.hadoop import HadoopFolder

CELLS = (
    "run string, batch string, requirement string, verdict string, reason string, observations long, violations long, "
    "row_hash string, complete boolean, run_date string, kafka_version string"
)
"""The table `cells`: a row on a column as judged from one run alone. `row_hash` is the hash of the row then; `complete`
means that no line of the column is known to be missing."""

COMMITS = "run string, batch string, sequence long, lines long"
"""The batches that count; a run's are numbered by `sequence` from 0."""

TREND_RUNS = 60
"""The number of runs in the trend of a cell."""

UNSEEN = ("not-run", "untested", "inapplicable")
"""The verdicts of a cell without observations in a run, which add no point to its trend."""

_TREND = ("requirement", "kafka_version", "run_date", "run", "verdict", "observations", "violations")


def commits(spark: SparkSession, uri: str) -> DataFrame:
    """Read the commits (COMMITS): none if there is no archive yet."""
    folder = HadoopFolder(spark, uri)
    if not folder.exists("commits"):
        return spark.createDataFrame([], COMMITS)
    return spark.read.schema(COMMITS).json(folder.uri("commits"))


def read_lines(spark: SparkSession, uri: str, name: str) -> DataFrame:
    """Read a table of lines (`reports.archive.lines.LINES`), or `cells` with every verdict that a run ever had."""
    return stored_table(spark, uri, name).join(
        F.broadcast(commits(spark, uri).select("run", "batch")), ["run", "batch"], "semi"
    )


def read_cells(spark: SparkSession, uri: str) -> DataFrame:
    """Read the cells (CELLS) of every run, as judged when lines of the run were last archived."""
    last = commits(spark, uri).groupBy("run").agg(F.max_by("batch", "sequence").alias("batch"))
    return stored_table(spark, uri, "cells").join(F.broadcast(last), ["run", "batch"], "semi")


def read_trend(spark: SparkSession, uri: str, runs: int = TREND_RUNS) -> DataFrame:
    """Return rows of `reports.insights.TrendPoint`: for each cell its last `runs` observed runs, oldest first."""
    seen = read_cells(spark, uri).where(~F.col("verdict").isin(*UNSEEN))
    newest = Window.partitionBy("kafka_version", "requirement").orderBy(
        (F.col("run_date") == UNDATED).asc(), F.col("run_date").desc(), F.col("run").desc()
    )
    last = seen.withColumn("age", F.row_number().over(newest)).where(F.col("age") <= runs)
    return last.orderBy("kafka_version", "requirement", F.col("age").desc()).select(*_TREND)


def stored_table(spark: SparkSession, uri: str, name: str) -> DataFrame:
    """Read a table with all rows in its files, including uncommitted batches."""
    folder, schema = HadoopFolder(spark, uri), schema_of(name)
    if not folder.exists(name):
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(folder.uri(name))


def schema_of(name: str) -> StructType:
    """Return the explicit schema of a table of the archive."""
    if name in LINES:
        return table_schema(name)
    return StructType.fromDDL({"cells": CELLS, "quarantine": QUARANTINE}[name])
