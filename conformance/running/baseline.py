"""A baseline: an earlier matrix with known violations, so that a distributor's job fails only on new ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from conformance.judging.news import (
    MATRIX_SCHEMA,
    Cells,
    ColumnNews,
    Explained,
    JudgedCell,
    baseline_label,
    column_news,
    judged_cell,
)
from conformance.judging.verdicts import Cell
from history.shards import Shard


class BaselineColumn(msgspec.Struct, frozen=True):
    """A column of a matrix.json, and the profiles in which it was run."""

    kafka_version: str
    profiles: list[str] = []


class StaleEntry(msgspec.Struct, frozen=True):
    """A known deviation that did not hold in a column."""

    requirement: str
    kafka_version: str


class Baseline(msgspec.Struct, frozen=True):
    """The part of a matrix.json that a comparison needs. An empty one knows nothing: every violation is new."""

    kafka_versions: list[str] = []
    cells: list[JudgedCell] = []
    columns: list[BaselineColumn] = []
    schema: int = MATRIX_SCHEMA
    stale_deviations: list[StaleEntry] = []

    def stale_in(self, label: str) -> list[str]:
        """Return the rows with a known deviation that did not hold in a column."""
        return sorted({entry.requirement for entry in self.stale_deviations if entry.kafka_version == label})

    def column(self, label: str) -> dict[str, JudgedCell]:
        """Return the cells of a column by row."""
        return {cell.requirement: cell for cell in self.cells if cell.kafka_version == label}

    def label_for(self, label: str, labels: Sequence[str]) -> str:
        """Return the label of the column that one of `labels` is compared with; that of the only one if both have one."""
        only = self.kafka_versions[0] if len(self.kafka_versions) == len(labels) == 1 else ""
        return baseline_label(label, self.kafka_versions) or only

    def was_run_in(self, label: str, profiles: Sequence[str]) -> bool:
        """True if the column was run in these profiles."""
        return any(column.kafka_version == label and column.profiles == profiles for column in self.columns)


def read_baseline(path: Path) -> Baseline:
    """Read a matrix.json. Raises ValueError for a file that is not a matrix."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"--baseline {path}: {error}. Give the matrix.json of an earlier run.") from error
    if found.schema != MATRIX_SCHEMA or not found.kafka_versions:
        wrong = f"it is of schema {found.schema}" if found.schema != MATRIX_SCHEMA else "it has no column"
        raise ValueError(f"--baseline {path}: {wrong}. Give the matrix.json of an earlier run of this kit.")
    return found


def news_since(
    baseline: Baseline, cells: Sequence[Cell], explained: Explained, profiles: Sequence[str] = ()
) -> dict[str, ColumnNews]:
    """Return the news of each column. Without a baseline no known deviation counts either.

    That too little was executed is reported only for a column that was run like its baseline column: in full, and in these
    `profiles`.
    """
    labels = list(dict.fromkeys(cell.kafka_version for cell in cells))
    known = explained if baseline.kafka_versions else {}
    columns = {
        label: {cell.requirement: judged_cell(cell, known) for cell in cells if cell.kafka_version == label}
        for label in labels
    }
    return {
        label: _news_of(column, baseline, baseline.label_for(label, labels), profiles)
        for label, column in columns.items()
    }


def _news_of(column: Cells, baseline: Baseline, old: str, profiles: Sequence[str]) -> ColumnNews:
    """Return a column's news; one without a baseline column is compared with a column in which nothing ran."""
    unrun = {row: msgspec.structs.replace(cell, verdict="not-run", cases={}) for row, cell in column.items()}
    news = column_news(column, baseline.column(old) if old else unrun)
    return news if baseline.was_run_in(old, profiles) else msgspec.structs.replace(news, too_little=())


def profiles_of(shards: Sequence[Shard]) -> list[str]:
    """Return the profiles in which shards were run, as a matrix.json has them."""
    return sorted({shard.header.profile for shard in shards if shard.header is not None})


def news_lines(news: dict[str, ColumnNews], baseline: Baseline) -> Iterator[str]:
    """Yield lines for a terminal: what each column breaks that its baseline column did not; none without a baseline."""
    for label, found in news.items() if baseline.kafka_versions else ():
        old = baseline.label_for(label, [*news])
        beside = f"since the baseline's {old}" if old else "the baseline has no such column, so that none is known"
        counts = f"{len(found.new)} new, {len(found.first_judged)} judged for the first time, {len(found.known)} known"
        yield f"{label}, {beside}: {counts}"
        yield from (f"  new          {case}" for case in found.new)
        yield from (f"  first judged {case}" for case in found.first_judged)
        yield from (f"  {reason}" for reason in found.too_little)
