"""Reading shards into a table, from a local folder or any Hadoop file system."""

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from reports.errors import ReportError
from reports.hadoop import HadoopFolder
from reports.ingest.schema import UNREADABLE, line_schema

SHARDS = "*.jsonl"
_JSON = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": UNREADABLE,
    # Spark accepts these as JSON, and `history.shards` does not.
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}
_AROUND = "\ufeff \t\r"
"""The characters that editors and other systems put around a line: a byte order mark, blanks, a Windows line end."""


def read_text(spark: SparkSession, folder: str) -> DataFrame:
    """Read the lines of all `*.jsonl` below `folder` as column `text`. Raises ReportError if no shard is there."""
    reader = spark.read.option("recursiveFileLookup", True).option("pathGlobFilter", SHARDS).option("lineSep", "\n")
    try:
        texts = reader.text(folder)
    except AnalysisException as error:
        raise folder_not_found(folder, str(error.getCondition())) from error
    if not texts.inputFiles():
        raise shards_not_found(folder)
    return texts.select(F.col("value").alias("text"))


def folder_not_found(folder: str, why: str) -> ReportError:
    return ReportError(
        f"There is no folder {folder!r} to read shards from ({why}). "
        "Give with --in the `shards` folder that a run of pytest left in its --conformance-out."
    )


def shards_not_found(folder: str) -> ReportError:
    return ReportError(
        f"{folder!r} holds no {SHARDS}, so there is nothing to merge. "
        "Run pytest first, or give the right folder with --in."
    )


def parse(texts: DataFrame) -> DataFrame:
    """Parse lines into their fields beside `text`; drop blank ones. `reports.ingest.distinct` removes duplicates."""
    bare = texts.select(_trimmed_column("text").alias("text"))
    lines = bare.where("text != ''")
    return lines.select("text", F.from_json("text", line_schema(), _JSON).alias("line")).select("text", "line.*")


def _trimmed_column(name: str) -> Column:
    """Trim the characters of `_AROUND`, only from the few lines that need it: it costs as much as parsing JSON."""
    is_bare = F.startswith(name, F.lit("{")) & F.endswith(name, F.lit("}"))
    return F.when(is_bare, F.col(name)).otherwise(F.trim(name, F.lit(_AROUND)))


def empty_files(spark: SparkSession, folder: str) -> bool:
    """True if there is an empty shard file: its worker died, or a disk was full, before the header was written."""
    return any(
        not size and name.endswith(SHARDS.removeprefix("*")) for name, size in HadoopFolder(spark, folder).file_sizes()
    )
