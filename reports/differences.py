"""Changes between two matrices or columns, and whether they are for the worse."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from conformance.judging.verdicts import Verdict
from reports.errors import ReportError
from reports.insights import ChangeKind, VerdictChange
from reports.matrix_file import ComparedCell, ComparedMatrix, column_named

BROKEN: tuple[Verdict, ...] = ("violated", "flaky")
"""The verdicts of a broken row, worst first."""
MENDED: tuple[Verdict, ...] = ("satisfied", "recorded")

FIRST_JUDGED: Verdict = "inapplicable"
"""The verdict of a row before its first judgement; no later verdict counts as worse."""

NONE: Literal[""] = ""


def compare_verdicts(before: Mapping[str, Verdict], after: Mapping[str, Verdict]) -> list[VerdictChange]:
    """Return each row's change: the rows of `after` in its order, then those of `before` alone in its order."""
    rows = [*after, *(row for row in before if row not in after)]
    return [_verdict_change(row, before.get(row, NONE), after.get(row, NONE)) for row in rows]


def is_mended(change: VerdictChange) -> bool:
    """True if the row was broken and no longer is."""
    return change.before in BROKEN and change.after in MENDED


def _verdict_change(row: str, before: Verdict | Literal[""], after: Verdict | Literal[""]) -> VerdictChange:
    kind: ChangeKind = (
        "added" if not before else "removed" if not after else "changed" if before != after else "unchanged"
    )
    is_worse = before != FIRST_JUDGED and _verdict_rank(after) < _verdict_rank(before)
    return VerdictChange(requirement=row, kind=kind, before=before, after=after, worse=is_worse)


def _verdict_rank(verdict: Verdict | Literal[""]) -> int:
    return BROKEN.index(verdict) if verdict in BROKEN else len(BROKEN)


Turn = Literal["worse", "new", "better", "other"]
"""The way in which a row changed; `new` is a broken row that was undecided before, e.g. inconclusive or not run."""
TURNS: tuple[Turn, ...] = ("worse", "new", "better", "other")


class ChangedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that changed, and the reason for its current verdict."""

    change: VerdictChange
    reason: str

    @property
    def turn(self) -> Turn:
        if self.change.worse:
            return "worse" if self.change.before in (*MENDED, *BROKEN) else "new"
        return "better" if is_mended(self.change) else "other"


class ColumnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two compared columns: the rows that changed, and the number of the others."""

    old: str
    new: str
    moved: list[ChangedRow]
    unchanged: int

    def turned_rows(self, turn: Turn) -> list[ChangedRow]:
        return [moved for moved in self.moved if moved.turn == turn]


def between_columns(seen: ComparedMatrix, old: str, new: str) -> ColumnDifference:
    """Compare two columns of a matrix. Raises ReportError for a missing column."""
    before, after = (seen.column(column_named(label, seen.kafka_versions)) for label in (old, new))
    return _column_difference(old, new, before, after)


def between_matrices(old: ComparedMatrix, new: ComparedMatrix) -> list[ColumnDifference]:
    """Compare each pair of `column_pairs`. Raises ReportError if there is none."""
    found = column_pairs(old, new)
    if not found:
        raise ReportError(
            f"The two matrices share no column: the old one has {', '.join(old.kafka_versions)}, the new one "
            f"{', '.join(new.kafka_versions)}. Compare two columns of one matrix instead: diff OLD NEW --matrix FILE."
        )
    return [_column_difference(before, after, old.column(before), new.column(after)) for before, after in found]


def column_pairs(old: ComparedMatrix, new: ComparedMatrix) -> list[tuple[str, str]]:
    """Return pairs of columns: those of one label, or a user's new image (`4.3.1@image`) and the old release.

    If there are none and each matrix has one column, these two are the pair.
    """
    known = set(old.kafka_versions)
    found = [
        (name, label)
        for label in new.kafka_versions
        if (name := next((each for each in (label, label.split("@")[0]) if each in known), ""))
    ]
    if not found and len(old.kafka_versions) == len(new.kafka_versions) == 1:
        return [(old.kafka_versions[0], new.kafka_versions[0])]
    return found


def _column_difference(
    old: str, new: str, before: Mapping[str, ComparedCell], after: Mapping[str, ComparedCell]
) -> ColumnDifference:
    changes = compare_verdicts(*({row: cell.verdict for row, cell in side.items()} for side in (before, after)))
    moved = [change for change in changes if change.kind != "unchanged"]
    return ColumnDifference(
        old=old,
        new=new,
        moved=[ChangedRow(change=change, reason=_stored_reason(after.get(change.requirement))) for change in moved],
        unchanged=len(changes) - len(moved),
    )


def _stored_reason(cell: ComparedCell | None) -> str:
    return cell.why if cell else ""
