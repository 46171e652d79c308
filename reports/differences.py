"""Changes between two matrices or columns, and whether they are for the worse."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from conformance.judging.news import BROKEN, WELL, JudgedCell, Novelty, baseline_label, column_news, novelty_of
from conformance.judging.verdicts import Verdict
from reports.errors import ReportError
from reports.insights import ChangeKind, VerdictChange
from reports.matrix_file import ComparedCell, ComparedMatrix, column_named

NONE: Literal[""] = ""


def compare_verdicts(before: Mapping[str, Verdict], after: Mapping[str, Verdict]) -> list[VerdictChange]:
    """Return each row's change: the rows of `after` in its order, then those of `before` alone in its order."""
    sides = ({row: _bare_cell(row, verdict) for row, verdict in side.items()} for side in (before, after))
    return _compare_cells(*sides)


def _bare_cell(row: str, verdict: Verdict) -> JudgedCell:
    return JudgedCell(requirement=row, kafka_version="", verdict=verdict)


def _compare_cells(before: Mapping[str, JudgedCell], after: Mapping[str, JudgedCell]) -> list[VerdictChange]:
    rows = [*after, *(row for row in before if row not in after)]
    return [_verdict_change(row, before.get(row), after.get(row)) for row in rows]


def is_mended(change: VerdictChange) -> bool:
    """True if the row was broken and no longer is."""
    return change.before in BROKEN and change.after in WELL


def _verdict_change(row: str, before: JudgedCell | None, after: JudgedCell | None) -> VerdictChange:
    old, new = before.verdict if before else NONE, after.verdict if after else NONE
    kind: ChangeKind = "added" if not old else "removed" if not new else "changed" if old != new else "unchanged"
    is_worse = after is not None and "new" in _novelties(before, after)
    return VerdictChange(requirement=row, kind=kind, before=old, after=new, worse=is_worse)


def _novelties(before: JudgedCell | None, after: JudgedCell) -> set[Novelty]:
    """Return how new the broken cases of a row are; one that wavers now and was violated is no worse."""
    if before is not None and (before.verdict, after.verdict) == BROKEN:
        return {"known"}
    return {novelty_of(case, after, before) for case in after.broken_cases}


Turn = Literal["worse", "new", "first_judged", "known", "better", "other"]
"""The way in which a row changed. `new` is a broken row that was undecided before, e.g. inconclusive or not run;
`first_judged` one that did not apply or did not exist, `known` one that known deviations explain."""
TURNS: tuple[Turn, ...] = ("worse", "new", "first_judged", "known", "better", "other")
TURN_WORDS: Mapping[Turn, str] = {
    "new": "new (not decided before)",
    "first_judged": "judged for the first time",
    "known": "known deviations",
}


def turn_counts(counts: Mapping[Turn, int]) -> str:
    """Return the number of rows for each turn, in words. `first_judged` and `known` are left out if they have no row."""
    rare = ("first_judged", "known")
    return ", ".join(f"{count} {turn.replace('_', ' ')}" for turn, count in counts.items() if count or turn not in rare)


class ChangedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that changed, how new the cases are that it breaks, and the reason for its current verdict."""

    change: VerdictChange
    novelties: frozenset[Novelty] = frozenset()
    reason: str

    @property
    def turn(self) -> Turn:
        if self.change.worse:
            return "worse" if self.change.before in (*WELL, *BROKEN) else "new"
        if self.novelties and self.change.before not in BROKEN:
            return "first_judged" if "first judged" in self.novelties else "known"
        return "better" if is_mended(self.change) else "other"


class ColumnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two compared columns: the rows that changed, the number of the others, and why the new one cannot be green."""

    old: str
    new: str
    moved: list[ChangedRow]
    unchanged: int
    trouble: list[str]

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
    found = [(name, label) for label in new.kafka_versions if (name := baseline_label(label, known))]
    if not found and len(old.kafka_versions) == len(new.kafka_versions) == 1:
        return [(old.kafka_versions[0], new.kafka_versions[0])]
    return found


def _column_difference(
    old: str, new: str, before: Mapping[str, ComparedCell], after: Mapping[str, ComparedCell]
) -> ColumnDifference:
    changes = _compare_cells(before, after)
    moved = [change for change in changes if change.kind != "unchanged" or change.worse]
    news = column_news(after, before, broken=BROKEN)
    return ColumnDifference(
        old=old,
        new=new,
        moved=[_changed_row(change, before, after) for change in moved],
        unchanged=len(changes) - len(moved),
        trouble=[*news.trouble, *news.too_little],
    )


def _changed_row(
    change: VerdictChange, before: Mapping[str, ComparedCell], after: Mapping[str, ComparedCell]
) -> ChangedRow:
    row = change.requirement
    novelties = _novelties(before.get(row), after[row]) if row in after else ()
    return ChangedRow(change=change, novelties=frozenset(novelties), reason=_stored_reason(after.get(row)))


def _stored_reason(cell: ComparedCell | None) -> str:
    return cell.why if cell else ""
