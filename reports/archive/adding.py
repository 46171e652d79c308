"""Adding runs to an archive: an append-only folder on any Hadoop file system.

    TABLE/run_date=2026-11-21/kafka_version=4.3.1/RUN-BATCH-0.parquet    lines (`reports.archive.lines`), cells, quarantine
    commits/RUN-0.json                                                   which batches of rows count

A *batch* is the part of one run that one merge adds. Its files are staged and then moved to their places; finally a
small file commits them. Rows of a batch without a commit are ignored, so that a run is archived completely or not at all;
leftovers of a merge that died are removed when the run is offered again. A line that counts is never replaced or
removed: if a run is offered again with more lines, they are added and the run is judged again; with fewer or other
lines, it stays as it is. Two merges may add to one archive at the same time, but not the same run.
"""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Literal
from urllib.parse import quote

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from conformance.catalogue import Catalogue
from conformance.judging.intake import Intake
from reports.archive import lines as archived_lines
from reports.archive import reading
from reports.archive.lines import LINES, PARTITIONS
from reports.errors import ReportError
from reports.hadoop import HadoopFolder
from reports.matrix import Matrix
from reports.sql import table_of_texts

_LINE = ["run", "shard", "n", "digest"]
_STAGED = re.compile(
    r"_staging/\w+/(?P<place>\w+/run_date=[^/]+/kafka_version=[^/]+)/_batch=(?P<batch>\w+)/part-.*\.parquet"
)
_FILED = re.compile(r".*/(?P<run>[^/]*)-(?P<batch>[0-9a-f]{32})-\d+\.parquet")


class Filed(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """The outcome for an offered run: `added` lines are new; `lacking` lines are archived but were not offered."""

    run: str
    outcome: Literal["added", "unchanged", "kept"]
    added: int
    lacking: int

    def __str__(self) -> str:
        match self.outcome:
            case "added":
                return f"run {self.run}: {self.added} lines archived"
            case "unchanged":
                return f"run {self.run}: archived already"
        return (
            f"run {self.run}: stays as it is archived, since {self.lacking} of its archived lines are not among those "
            "offered now. To add to it, offer all of its shards, whole."
        )


class _Batch(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    batch: str
    sequence: int
    lines: int

    @property
    def name(self) -> str:
        """The prefix of the batch's file names, quoted since a run's id may be any text."""
        return f"{quote(self.run, safe='')}-{self.batch}"

    @property
    def commit(self) -> str:
        return f"commits/{quote(self.run, safe='')}-{self.sequence}.json"


def archive(
    spark: SparkSession,
    uri: str,
    lines: DataFrame,
    runs: Intake,
    judge: Callable[[Intake], Matrix],
    catalogue: Catalogue,
) -> list[Filed]:
    """Add the lines of these runs that the archive at `uri` lacks; return the outcome of each run.

    `lines` come from `reports.ingest.validate.classify`, `runs` from `sort_shards(by_run=True)`; `judge` returns the
    matrix of an intake, and is called only for runs that have new lines.
    """
    folder = HadoopFolder(spark, uri)
    shards = _shards_table(spark, runs)
    earlier = _count_earlier_batches(spark, uri, runs)
    offered = archived_lines.offered_lines(lines, shards)
    days = {row.run_date for row in shards.select("run_date").collect()}
    known = _lines_of_runs(spark, uri, shards, days) if earlier else None
    filed = _compare_lines(offered, known)
    batches = _new_batches(filed, earlier)
    with _staging(folder) as staging:
        _stage_refused(spark, uri, lines, runs, folder.uri(f"{staging}/quarantine"))
        if batches:
            _sweep_leftovers(spark, uri, folder, {batch.run for batch in batches}, days)
            named = table_of_texts(spark, [(batch.run, batch.batch) for batch in batches], "run", "batch")
            new = offered if known is None else offered.join(known, _LINE, "left_anti")
            owned = new.join(F.broadcast(named), "run")
            for name in LINES:
                _stage_files(archived_lines.table(owned, name), folder.uri(f"{staging}/{name}"), "shard", "n")
            new_runs = _restrict_to_runs(runs, batches)
            cells = _cells_of_runs(spark, new_runs, judge(new_runs), batches, catalogue)
            _stage_files(cells, folder.uri(f"{staging}/cells"), "requirement")
        _publish_files(folder, staging, {batch.batch: batch.name for batch in batches})
        for batch in batches:
            _commit_batch(folder, staging, batch)
    return filed


def _shards_table(spark: SparkSession, runs: Intake) -> DataFrame:
    """Return a table of shards: shard, run, run_date and kafka_version."""
    rows = [(header.shard, header.run, header.column.label) for column in runs.columns for header in column.headers]
    return archived_lines.with_run_date(table_of_texts(spark, rows, "shard", "run", "kafka_version"))


def _lines_of_runs(spark: SparkSession, uri: str, shards: DataFrame, days: Collection[str]) -> DataFrame:
    """Return these runs' lines that count in the archive, reading only the days of these runs."""
    tables = [reading.stored_table(spark, uri, name).select(*_LINE, "batch", "run_date") for name in LINES]
    stored = reduce(DataFrame.unionAll, tables).where(F.col("run_date").isin(*days))
    count = reading.commits(spark, uri).join(shards.select("run"), "run", "semi").select("run", "batch")
    return stored.join(F.broadcast(count), ["run", "batch"], "semi").select(*_LINE)


def _count_earlier_batches(spark: SparkSession, uri: str, runs: Intake) -> dict[str, int]:
    """Count the committed batches of each of these runs; leave out runs without any."""
    names = {column.run for column in runs.columns}
    counts = reading.commits(spark, uri).groupBy("run").count()
    return {row.run: row["count"] for row in counts.collect() if row.run in names}


def _compare_lines(offered: DataFrame, known: DataFrame | None) -> list[Filed]:
    if known is None:
        return sorted(_filed_as(row.run, row["count"], 0) for row in offered.groupBy("run").count().collect())
    here = offered.select(*_LINE, F.lit(True).alias("here"))
    there = known.select(*_LINE, F.lit(True).alias("there"))
    counts = here.join(there, _LINE, "full").groupBy("run")
    found = counts.agg(F.count_if(F.isnull("there")).alias("added"), F.count_if(F.isnull("here")).alias("lacking"))
    return sorted(_filed_as(row.run, row.added, row.lacking) for row in found.collect())


def _filed_as(run: str, added: int, lacking: int) -> Filed:
    if lacking:
        return Filed(run=run, outcome="kept", added=0, lacking=lacking)
    return Filed(run=run, outcome="added" if added else "unchanged", added=added, lacking=0)


def _new_batches(filed: Sequence[Filed], earlier: Mapping[str, int]) -> list[_Batch]:
    return [
        _Batch(run=one.run, batch=uuid.uuid4().hex, sequence=earlier.get(one.run, 0), lines=one.added)
        for one in filed
        if one.outcome == "added"
    ]


@contextmanager
def _staging(folder: HadoopFolder) -> Iterator[str]:
    """Yield a folder within the archive that readers ignore; remove it at the end."""
    place = f"_staging/{uuid.uuid4().hex}"
    try:
        yield place
    finally:
        folder.remove(place)


def _stage_files(table: DataFrame, place: str, *order: str) -> None:
    """Write one file per batch and column, or several if they are large; `batch` remains a column of the file."""
    split = table.withColumn("_batch", F.col("batch"))
    even = split.hint("rebalance", "kafka_version", "batch").sortWithinPartitions("kafka_version", "batch", *order)
    even.write.partitionBy(*PARTITIONS, "_batch").parquet(place)


def _stage_refused(spark: SparkSession, uri: str, lines: DataFrame, runs: Intake, place: str) -> None:
    """Stage the lines that do not count, except those already in the quarantine."""
    if not runs.quarantine.unreadable and not runs.quarantine.shards:
        return
    entries = [(entry.shard, entry.kafka_version, entry.reason) for entry in runs.quarantine.shards]
    refused = archived_lines.quarantined_lines(
        lines, spark.createDataFrame(entries, "shard string, kafka_version string, reason string")
    )
    known = reading.stored_table(spark, uri, "quarantine").select("digest")
    new = refused.join(known, "digest", "left_anti").withColumn("batch", F.lit(uuid.uuid4().hex))
    _stage_files(new.select(reading.schema_of("quarantine").names), place, "shard")


def _restrict_to_runs(runs: Intake, batches: Sequence[_Batch]) -> Intake:
    wanted = {batch.run for batch in batches}
    columns = [column for column in runs.columns if column.run in wanted]
    shards = {header.shard: column.kafka_version for column in columns for header in column.headers}
    return msgspec.structs.replace(
        runs, columns=columns, shards=shards, outdated=[entry for entry in runs.outdated if entry[0] in shards]
    )


def _cells_of_runs(
    spark: SparkSession, runs: Intake, judged: Matrix, batches: Sequence[_Batch], catalogue: Catalogue
) -> DataFrame:
    """Return the cells as judged from each of these runs alone, as table `cells`."""
    columns = {column.kafka_version: column for column in runs.columns}
    names = {batch.run: batch.batch for batch in batches}
    rows = []
    for cell in judged.cells:
        column = columns[cell.kafka_version]
        rows.append((
            column.run, names[column.run], cell.requirement, cell.verdict, cell.reason, cell.observations,
            cell.violations, catalogue[cell.requirement].hash, not column.incomplete, column.label,
        ))  # fmt: skip
    schema = reading.schema_of("cells")
    given = StructType([field for field in schema.fields if field.name != "run_date"])
    return archived_lines.with_run_date(spark.createDataFrame(rows, given)).select(*schema.names)


def _sweep_leftovers(
    spark: SparkSession, uri: str, folder: HadoopFolder, runs: Collection[str], days: Collection[str]
) -> None:
    """Remove the leftovers of a merge that died before it committed these runs."""
    names = {quote(run, safe="") for run in runs}
    places = [f"{table}/run_date={day}" for table in (*LINES, "cells") for day in days]
    files = [file for place in places for file in folder.files(place)]
    ours = [(file, found["batch"]) for file in files if (found := _FILED.fullmatch(file)) and found["run"] in names]
    count = {row.batch for row in reading.commits(spark, uri).collect()} if ours else set()
    for file in (file for file, batch in ours if batch not in count):
        folder.remove(file)


def _publish_files(folder: HadoopFolder, staging: str, names: Mapping[str, str]) -> None:
    """Move staged files to their places, then those of the quarantine, which belong to no batch."""
    counts: Counter[str] = Counter()
    for file in sorted(folder.files(staging)):
        if found := _STAGED.fullmatch(file):
            target = f"{found['place']}/{names.get(found['batch'], found['batch'])}"
            if not folder.move(file, f"{target}-{counts[target]}.parquet"):
                raise ReportError(f"{folder.uri(file)} could not be moved to {target!r} of the archive. Archive again.")
            counts[target] += 1


def _commit_batch(folder: HadoopFolder, staging: str, batch: _Batch) -> None:
    written = f"{staging}/{batch.batch}.json"
    folder.write(written, msgspec.json.encode(batch))
    if not folder.move(written, batch.commit):
        raise ReportError(
            f"Run {batch.run!r} was archived by another merge at the same time: {folder.uri(batch.commit)} is there. "
            "Archive it again, to add what that one lacked."
        )
