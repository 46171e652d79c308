"""Reruns of violated rows on their columns: the columns to run, and whether each case was violated again."""

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

import msgspec

from conformance.campaign.plan import ColumnRun
from conformance.core.registry import checks_by_row, own_checks
from conformance.running.baseline import Baseline, read_baseline
from fixtures.errors import WrongUse
from history.command import ALL_THAT_SEE_IT, COMMAND
from history.shards import CheckLine, ObservationLine, Shard


class ViolatedCase(msgspec.Struct, frozen=True, order=True):
    """A violated case of a row in the column `label`; `case` is empty if the matrix does not name the violated cases."""

    label: str
    row: str
    case: str = ""


class CaseRerun(msgspec.Struct, frozen=True, kw_only=True):
    """One rerun case: violated in `violated` of its `observations`; `is_new` if the earlier run did not violate it."""

    of: ViolatedCase
    violated: int
    observations: int
    tried: bool
    """False if no check of the row ran."""
    is_new: bool = False

    def __str__(self) -> str:
        row = f"{self.of.row} ({self.of.case})" if self.of.case else self.of.row
        return f"{row}  {self.of.label}  {self._outcome()}"

    def _outcome(self) -> str:
        if not self.tried:
            return "not run: see the column's log"
        if not self.violated:
            return f"not seen again in {self.observations} observations"
        seen = "not violated before" if self.is_new else "seen again"
        return f"{seen}, violated in {self.violated} of {self.observations} observations"


def violated_cases(out: Path, globs: Sequence[str] = (), labels: Sequence[str] = ()) -> list[ViolatedCase]:
    """Return the violated cases in the matrix of `out`, sorted; `globs` and `labels` restrict them. Raises WrongUse
    without a matrix."""
    path = out / "matrix" / "matrix.json"
    if not path.exists():
        raise WrongUse(
            f"--rerun-violated: there is no {path}. Run `{COMMAND} matrix` first, or name the folder of an earlier run with "
            "--conformance-out."
        )
    return sorted(
        ViolatedCase(cell.kafka_version, cell.requirement, case)
        for cell in _read_baseline(path).cells
        if cell.verdict == "violated"
        and (not globs or any(fnmatchcase(cell.requirement, glob) for glob in globs))
        and (not labels or cell.kafka_version in labels)
        for case in cell.broken_cases
    )


def _read_baseline(path: Path) -> Baseline:
    try:
        return read_baseline(path)
    except ValueError as error:
        raise WrongUse(str(error).replace("--baseline", "--rerun-violated")) from error


def column_runs_again(violated: Sequence[ViolatedCase], shards: Sequence[Shard]) -> list[ColumnRun]:
    """Return one run per column, with its earlier profile and features. Raises WrongUse for a column without shards."""
    by_column = groupby(violated, key=lambda case: case.label)
    return [_column_run(label, {case.row for case in cases}, shards) for label, cases in by_column]


def _column_run(label: str, rows: Collection[str], shards: Sequence[Shard]) -> ColumnRun:
    headers = [shard.header for shard in shards if shard.header is not None and shard.header.column.label == label]
    if not headers:
        raise WrongUse(
            f"column {label!r} is in the matrix, but none of its shards is left: run it with `{COMMAND} matrix` again."
        )
    latest = max(headers, key=lambda header: header.run)
    wanted = [option for row in sorted(rows) for option in ("--requirement", row)]
    wanted += [ALL_THAT_SEE_IT] if _found_in_passing(label, rows, shards) else []
    return ColumnRun(
        name=label,
        selection=latest.column.selection,
        options=["--conformance-profile", latest.profile, *wanted],
    )


def _found_in_passing(label: str, rows: Collection[str], shards: Sequence[Shard]) -> bool:
    """True if a violation of one of the rows was found by a check that observes the row only in passing."""
    lines = [
        line
        for shard in shards
        if shard.header is not None and shard.header.column.label == label
        for line in shard.lines
    ]
    return any(
        line.check in set(checks_by_row()[line.requirement]).difference(own_checks()[line.requirement])
        for line in lines
        if isinstance(line, ObservationLine) and line.result == "violated" and line.requirement in rows
    )


def case_reruns(
    violated: Sequence[ViolatedCase], columns: Sequence[ColumnRun], shards: Sequence[Shard]
) -> list[CaseRerun]:
    """Return the rerun of each violated case, and of the same rows' other cases that only the rerun violates."""
    runs = {column.name: column.run for column in columns}
    rows = groupby(violated, key=lambda case: (case.label, case.row))
    return [
        again
        for (label, row), cases in rows
        for again in _cases_to_rerun(label, row, [case.case for case in cases], _lines_of_run(runs[label], shards))
    ]


def _lines_of_run(run: str, shards: Sequence[Shard]) -> list[CheckLine | ObservationLine]:
    own = [shard for shard in shards if shard.header is not None and shard.header.run == run]
    return [line for shard in own for line in shard.lines if isinstance(line, CheckLine | ObservationLine)]


def _cases_to_rerun(
    label: str, row: str, cases: Sequence[str], lines: Sequence[CheckLine | ObservationLine]
) -> Iterator[CaseRerun]:
    observed = [line for line in lines if isinstance(line, ObservationLine) and line.requirement == row]
    tried = bool(observed) or any(isinstance(line, CheckLine) and row in line.rows for line in lines)
    others = {line.case for line in observed if line.result == "violated"}.difference(cases) if "" not in cases else ()
    for case in [*cases, *sorted(others)]:
        results = [line.result for line in observed if case in ("", line.case)]
        yield CaseRerun(
            of=ViolatedCase(label, row, case),
            violated=results.count("violated"),
            observations=len(results),
            tried=tried,
            is_new=case in others,
        )
