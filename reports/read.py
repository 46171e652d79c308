"""Shards as a table of distinct lines, from a local folder or any Hadoop file system."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from reports.errors import ReportError
from reports.schema import UNREADABLE, line_schema

SHARDS = "*.jsonl"
_JSON = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREADABLE}


def read_text(spark: SparkSession, folder: str) -> DataFrame:
    """Lines of all `*.jsonl` below `folder` as column `text`. Raises ReportError if there is no folder or no shard."""
    reader = spark.read.option("recursiveFileLookup", True).option("pathGlobFilter", SHARDS).option("lineSep", "\n")
    try:
        texts = reader.text(folder)
    except AnalysisException as error:
        raise no_folder(folder, str(error.getCondition())) from error
    if not texts.inputFiles():
        raise no_shards(folder)
    return texts.select(F.col("value").alias("text"))


def no_folder(folder: str, why: str) -> ReportError:
    return ReportError(
        f"There is no folder {folder!r} to read shards from ({why}). "
        "Give with --in the `shards` folder that a run of pytest left in its --conformance-out."
    )


def no_shards(folder: str) -> ReportError:
    return ReportError(
        f"{folder!r} holds no {SHARDS}, so there is nothing to merge. "
        "Run pytest first, or give the right folder with --in."
    )


def parse(texts: DataFrame) -> DataFrame:
    """Distinct lines, each as `text` beside its fields; a line that stands in several files counts once."""
    distinct = texts.where(F.trim("text") != "").distinct()
    return distinct.select("text", F.from_json("text", line_schema(), _JSON).alias("line")).select("text", "line.*")


def empty_files(spark: SparkSession, texts: DataFrame) -> list[str]:
    """Shard files without a single byte: a worker that died, or a disk that was full, before the header was written."""
    return [file for file in sorted(texts.inputFiles()) if _length(spark, file) == 0]


def _length(spark: SparkSession, file: str) -> int:
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    status = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).getFileStatus(path)
    return int(status.getLen())
