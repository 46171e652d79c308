"""Stored histories, judged again in Spark by the same function as on one machine, and compared with the shards.

A first pass finds the frames of all history files, one example each, without decompressing them. So the examples of one huge file
are spread over many tasks, thousands of small files share a few tasks, and each task reads only its own bytes.
"""

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import inspect
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructType

from conformance.judging.stored_examples import ByLabel, JudgedExample, Judging, judge_frame, place
from history.observations import Observation
from history.shards import HEADER, Header, refuse_older_header
from history.store import frames_in_data as frames_in
from history.store import frames_of
from reports.ingest import read, validate
from reports.ingest.schema import spark_type

HISTORIES = "*.jsonl.zst"
FRAMES = StructType().add("path", "string").add("offset", "long").add("length", "long").add("content", "binary")
"""The fields of `_Place`: one row per frame."""
OBSERVATION = StructType(spark_type(inspect.type_info(Observation)).fields)
OBSERVATION_LIST = ArrayType(OBSERVATION)
JUDGED = (
    StructType()
    .add("shard", "string")
    .add("example", "string")
    .add("check", "string")
    .add("observations", OBSERVATION_LIST)
    .add("error", "string")
    .add("refused", "string")
)
"""The fields of `conformance.judging.stored_examples.JudgedExample`: one row per example."""

_FRAMES, _JUDGED = to_arrow_schema(FRAMES), to_arrow_schema(JUDGED)
_TASK_BYTES = 2 * 2**20
"""The number of compressed bytes that one task judges: some 60,000 events, two or three seconds."""
_BATCH_ROWS = 2_000
"""The number of examples and observations that a task returns at once."""

Mapped: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Workers: TypeAlias = Mapping[tuple[str, str], ByLabel]
"""The shards by run and worker; a history file is named after both."""


class _Place(msgspec.Struct, frozen=True):
    """A frame's place; `content` is the frame itself if only Spark can read the file."""

    path: str
    offset: int
    length: int
    content: bytes | None = None


def rejudge(spark: SparkSession, run: str, judge: Judging) -> DataFrame:
    """Return the observations of `judge` about each example below `run`/histories, as a table JUDGED.

    `run` is the output directory of a run, or its Hadoop URI. Examples of columns without a shard are left out.
    """
    files = _history_files(spark, f"{run}/histories")
    if files is None:
        return spark.createDataFrame([], JUDGED)
    tasks = max(2 * spark.sparkContext.defaultParallelism, _bytes_of_files(files) // _TASK_BYTES)
    found = table_of_frames(files, local="://" not in run or run.startswith("file:")).repartition(tasks)
    return judge_frames(found, headers_by_worker(spark, f"{run}/shards"), judge)


def _history_files(spark: SparkSession, folder: str) -> DataFrame | None:
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", True).option("pathGlobFilter", HISTORIES)
    try:
        return reader.load(folder)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None


def _bytes_of_files(files: DataFrame) -> int:
    [[size]] = files.agg(F.coalesce(F.sum("length"), F.lit(0))).collect()
    return int(size)


def table_of_frames(files: DataFrame, *, local: bool) -> DataFrame:
    """Return the frames of all files as a table FRAMES, without the bytes of `local` files."""
    if local:
        return _map_in_arrow(files.select("path"), _find_frames, FRAMES)
    return _map_in_arrow(files.select("path", "content"), _cut_frames, FRAMES)


def _map_in_arrow(table: DataFrame, function: Mapped, schema: StructType) -> DataFrame:
    with warnings.catch_warnings():
        # Spark warns about new versions of pandas wherever Python runs, though only Arrow is used here.
        warnings.simplefilter("ignore", FutureWarning)
        return table.mapInArrow(function, schema)


def _find_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in _rows(batches):
        yield _record_batch(
            [_Place(row["path"], f.offset, f.length) for f in frames_of(_local_path(row["path"]))], _FRAMES
        )


def _cut_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for row in _rows(batches):
        path, content = row["path"], row["content"]
        found = [_Place(path, f.offset, f.length, content[f.offset : f.offset + f.length]) for f in frames_in(content)]
        yield _record_batch(found, _FRAMES)


def headers_by_worker(spark: SparkSession, shards: str) -> Workers:
    """Return the headers of each history file's shards, by the labels of their columns.

    Raises ReportError if there are no shards, WrongSchema for one of an older schema.
    """
    texts = read.read_text(spark, shards).where(F.col("text").startswith(HEADER.decode()))
    found: dict[tuple[str, str], dict[str, Header]] = defaultdict(dict)
    for row in validate.classify(read.parse(texts)).select("text", "whole").collect():
        refuse_older_header(row.text.encode())
        if not row.whole:
            continue
        header = msgspec.json.decode(row.text, type=Header)
        found[header.run, header.worker][header.column.label] = header
    return dict(found)


def judge_frames(found: DataFrame, workers: Workers, judge: Judging) -> DataFrame:
    """Judge each example of a table FRAMES by `judge`; return a table JUDGED."""
    return _map_in_arrow(found, lambda batches: _judge_frames(batches, workers, judge), JUDGED)


def _judge_frames(batches: Iterator[pa.RecordBatch], workers: Workers, judge: Judging) -> Iterator[pa.RecordBatch]:
    done: list[JudgedExample] = []
    for row in _rows(batches):
        done += _judge_again(row, workers, judge)
        if sum(1 + len(one.observations) for one in done) > _BATCH_ROWS:
            yield _record_batch(done, _JUDGED)
            done = []
    yield _record_batch(done, _JUDGED)


def _judge_again(row: dict[str, Any], workers: Workers, judge: Judging) -> Iterator[JudgedExample]:
    path = PurePosixPath(row["path"])
    shards = workers.get((path.parent.name, path.name.removesuffix(HISTORIES.removeprefix("*"))), {})
    content = row["content"] if row["content"] is not None else _frame_content(row)
    return judge_frame(content, place(path, row["offset"]), shards, judge)


def _frame_content(row: dict[str, Any]) -> bytes:
    with _local_path(row["path"]).open("rb") as file:
        file.seek(row["offset"])
        return file.read(row["length"])


def _local_path(path: str) -> Path:
    return Path(path.removeprefix("file:"))


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield rows one at a time, since a row may be large."""
    return (row for batch in batches for at in range(batch.num_rows) for row in batch.slice(at, 1).to_pylist())


def _record_batch(rows: Sequence[msgspec.Struct], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(_array_of(rows, pa.struct(list(schema))))


def _array_of(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Convert structs field by field, which takes a quarter of the time that `from_pylist` takes."""
    if pa.types.is_struct(type):
        parts = [_array_of([getattr(value, field.name) for value in values], field.type) for field in type]
        return pa.StructArray.from_arrays(parts, fields=list(type))
    if pa.types.is_list(type) and pa.types.is_struct(type.value_type):
        ends = pa.array(itertools.accumulate(map(len, values), initial=0), pa.int32())
        items = [item for value in values for item in value]
        return pa.ListArray.from_arrays(ends, _array_of(items, type.value_type), type=type)
    return pa.array(values, type)


def recorded_marks(spark: SparkSession, shards: str) -> DataFrame:
    """Return a table of the shard, the example and the `marks` of its observations, in their order."""
    lines = validate.classify(read.parse(read.read_text(spark, shards)))
    empty = {field.name: F.array() if isinstance(field.dataType, ArrayType) else F.lit("") for field in OBSERVATION}
    fields = [F.coalesce(name, value).cast(OBSERVATION[name].dataType).alias(name) for name, value in empty.items()]
    numbered = F.struct("n", _observation_hash(F.struct(*fields)).alias("mark"))
    # With a filter instead of `when` Spark would read each line's JSON twice: once to filter, and once more to group.
    is_observation = F.col("whole") & (F.col("type") == "observation")
    made = F.sort_array(F.collect_set(F.when(is_observation, numbered)))
    by_example = lines.groupBy("shard", "example").agg(made.alias("made")).where(F.size("made") > 0)
    return by_example.select("shard", "example", F.col("made.mark").alias("marks"))


def _observation_hash(observation: Column) -> Column:
    """Hash an observation. Two different ones have the same hash with a probability of 1 in 2**64."""
    return F.xxhash64(observation)


def differing_examples(now: DataFrame, recorded: DataFrame) -> DataFrame:
    """Return a table of the examples that differ from the `recorded` ones: example, check (null if unknown) and
    `wrong`."""
    none = F.array().cast("array<long>")
    after = now.select(
        "shard", "example", "check", "error", F.transform("observations", _observation_hash).alias("after")
    )
    both = after.withColumn("is_there", F.lit(True)).join(recorded, ["shard", "example"], "full_outer")
    wrong = (
        F.when(F.col("is_there").isNull(), "its observations have no history")
        .when(F.col("error") != "", F.concat(F.lit("could not be judged: "), "error"))
        .when(F.coalesce("after", none) != F.coalesce("marks", none), "judged differently now")
    )
    named = both.select("example", "check", wrong.alias("wrong"))
    return named.where("wrong is not null")
