"""Two sets of verdicts side by side, in plain Python; `reports.tables.changes` does the same in Spark for many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from conformance.judging.verdicts import Verdict
from reports.insights import Change, ChangeKind
from reports.matrix import ReportedCell

BROKEN: tuple[Verdict, ...] = ("violated", "flaky")
"""Verdicts by which a row breaks, the worst first."""
MENDED: tuple[Verdict, ...] = ("satisfied", "recorded")

NONE: Literal[""] = ""


def verdicts(cells: Iterable[ReportedCell], label: str) -> dict[str, Verdict]:
    """The verdicts of one column, by row."""
    return {cell.requirement: cell.verdict for cell in cells if cell.kafka_version == label}


def compare(before: Mapping[str, Verdict], after: Mapping[str, Verdict]) -> list[Change]:
    """Each row of either side: first those of `after` in its order, then those that only `before` has."""
    return [_change(row, before.get(row, NONE), after.get(row, NONE)) for row in [*after, *(before.keys() - after)]]


def better(change: Change) -> bool:
    """It was broken, and is seen to be right."""
    return change.before in BROKEN and change.after in MENDED


def _change(row: str, before: Verdict | Literal[""], after: Verdict | Literal[""]) -> Change:
    kind: ChangeKind = (
        "added" if not before else "removed" if not after else "changed" if before != after else "unchanged"
    )
    return Change(requirement=row, kind=kind, before=before, after=after, worse=_rank(after) < _rank(before))


def _rank(verdict: Verdict | Literal[""]) -> int:
    return BROKEN.index(verdict) if verdict in BROKEN else len(BROKEN)
