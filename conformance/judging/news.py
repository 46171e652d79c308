"""The news of a column: what it breaks that its baseline column did not. Green is "nothing new", not "nothing violated".

One rule for `--baseline`, `diff` and a night.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from conformance.catalogue.deviations import Deviation
from conformance.judging.verdicts import Cell, Verdict
from history.exit_codes import exit_code_of
from history.shards import ObservationLine, Shard

MATRIX_SCHEMA = 1
"""The schema of matrix.json."""

BROKEN: tuple[Verdict, ...] = ("violated", "flaky")
"""The verdicts of a broken row, worst first."""
WELL: tuple[Verdict, ...] = ("satisfied", "recorded")
"""The verdicts of a row that was judged, and is not broken."""
UNJUDGED: tuple[Verdict, ...] = ("inapplicable", "untested")
"""The verdicts of a row that nothing could judge: it did not apply, or the kit had no check for it."""
NOT_EXECUTED: tuple[Verdict, ...] = (*UNJUDGED, "not-run", "error")
"""The verdicts of a row of which no check came to its end."""
FLOOR = 0.9
"""The least share of the rows executed in the baseline column that a column has to execute."""

Novelty = Literal["new", "first judged", "known"]


class JudgedCase(msgspec.Struct, frozen=True):
    """A case of a row, as a matrix.json has it."""

    violated: int = 0


class KnownDeviation(msgspec.Struct, frozen=True):
    """An entry of the known deviations that explains violations of these cases."""

    cases: Sequence[str] = ()


class JudgedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A row's cell in one column, as a matrix.json has it. `known` are the deviations that explain its violations."""

    requirement: str
    kafka_version: str
    verdict: Verdict
    cases: Mapping[str, JudgedCase] = {}
    known: Sequence[KnownDeviation] = ()

    @property
    def broken_cases(self) -> list[str]:
        """The violated cases of a broken cell; one empty name if it does not say which they are."""
        if self.verdict not in BROKEN:
            return []
        return sorted(case for case, tally in self.cases.items() if tally.violated) or [""]

    def breaks(self, case: str) -> bool:
        """True if this case was violated. An empty case, here or in the cell, stands for any case of the row."""
        violated = self.broken_cases if self.verdict == "violated" else []
        return bool(violated) and (not case or case in violated or violated == [""])

    def without(self, case: str) -> "JudgedCell":
        """Return the cell as if this case had not been violated; an empty case stands for all of them."""
        cases = {name: JudgedCase() if case in ("", name) else tally for name, tally in self.cases.items()}
        is_broken = any(tally.violated for tally in cases.values())
        return msgspec.structs.replace(self, verdict=self.verdict if is_broken else "inconclusive", cases=cases)

    def explains(self, case: str) -> bool:
        """True if known deviations explain all violations of this case; an empty case stands for all of them."""
        return bool(self.known) if not case else any(case in entry.cases for entry in self.known)


class BrokenCase(NamedTuple):
    """A broken case of a row; an empty one stands for the whole row."""

    requirement: str
    case: str

    def __str__(self) -> str:
        return f"{self.requirement} ({self.case})" if self.case else self.requirement


class ColumnNews(msgspec.Struct, frozen=True, kw_only=True):
    """The broken cases of a column, by novelty, and what keeps the column from being green beside new ones.

    `known` cases were broken in the baseline, or are known deviations. `first_judged` ones did not exist there, or did
    not apply. `trouble` is the column's own, `too_little` is beside its baseline column.
    """

    new: Sequence[BrokenCase] = ()
    first_judged: Sequence[BrokenCase] = ()
    known: Sequence[BrokenCase] = ()
    trouble: Sequence[str] = ()
    too_little: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        return exit_code_of(violated=bool(self.new), troubled=bool(self.trouble or self.too_little))


Cells = Mapping[str, JudgedCell]
"""A column's cells by row."""

Explained = Mapping[tuple[str, str], Sequence[str]]
"""The violated cases that known deviations explain, by column and row."""


def column_news(
    now: Cells, before: Cells, broken: Collection[Verdict] = BROKEN[:1], measure: Cells | None = None
) -> ColumnNews:
    """Compare a column with its baseline column; `broken` are the verdicts that count as broken.

    `measure` is the column that says how much has to be executed, if it is another one.
    """
    found = [
        (novelty_of(case, cell, before.get(row)), BrokenCase(row, case))
        for row, cell in now.items()
        if cell.verdict in broken
        for case in cell.broken_cases
    ]

    def those(novelty: Novelty) -> list[BrokenCase]:
        return [case for each, case in found if each == novelty]

    return ColumnNews(
        new=those("new"),
        first_judged=those("first judged"),
        known=those("known"),
        trouble=[*_trouble_in(now)],
        too_little=[*_too_little_executed(now, before if measure is None else measure)],
    )


def novelty_of(case: str, now: JudgedCell, before: JudgedCell | None) -> Novelty:
    """Return how new a broken case is beside the row's cell in the baseline column; None for a row that was not there."""
    if now.explains(case) or (before is not None and _was_broken(case, now, before)):
        return "known"
    if before is None or before.verdict in UNJUDGED or (case and before.cases and case not in before.cases):
        return "first judged"
    return "new"


def _was_broken(case: str, now: JudgedCell, before: JudgedCell) -> bool:
    return before.breaks(case) or (now.verdict == before.verdict == "flaky")


def _trouble_in(now: Cells) -> Iterator[str]:
    verdicts = {cell.verdict for cell in now.values()}
    if errors := [row for row, cell in now.items() if cell.verdict == "error"]:
        yield f"{len(errors)} rows ended in trouble of the kit: {', '.join(errors[:5])}{' …' if errors[5:] else ''}"
    if "satisfied" not in verdicts:
        yield "no row is satisfied" if now else "there is no column"


def executed_rows(cells: Cells) -> list[str]:
    """Return the rows of a column of which a check came to its end."""
    return [row for row, cell in cells.items() if cell.verdict not in NOT_EXECUTED]


def _too_little_executed(now: Cells, before: Cells) -> Iterator[str]:
    executed = executed_rows(before)
    again = {*executed}.intersection(executed_rows(now))
    if len(again) < FLOOR * len(executed):
        yield (
            f"too little was executed: {len(again)} of the {len(executed)} rows that the baseline executed, "
            f"the floor is {FLOOR:.0%}"
        )


def explained_cases(shards: Iterable[Shard], deviations: Sequence[Deviation]) -> Explained:
    """Return the violated cases of which known deviations explain every violation, by column and row."""
    explained: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for shard in shards:
        column = shard.header.column if shard.header is not None else None
        for line in shard.lines:
            if column is not None and isinstance(line, ObservationLine) and line.result == "violated":
                cases = explained[column.label, line.requirement]
                about = (entry for entry in deviations if entry.covers(line.requirement, column.version))
                is_known = any(entry.explains(line.case, line.detail, line.deeds) for entry in about)
                cases[line.case] = cases.get(line.case, True) and is_known
    return {place: [case for case, known in cases.items() if known] for place, cases in explained.items()}


def judged_cell(cell: Cell, explained: Explained) -> JudgedCell:
    """Return a judged cell with the deviations that explain its cases."""
    cases = explained.get((cell.kafka_version, cell.requirement), ())
    return JudgedCell(
        requirement=cell.requirement,
        kafka_version=cell.kafka_version,
        verdict=cell.verdict,
        cases={case: JudgedCase(tally.violated) for case, tally in cell.cases.items()},
        known=[KnownDeviation(cases)] if cases else [],
    )


def baseline_label(label: str, known: Collection[str]) -> str:
    """Return the label of a column's baseline column: its own, for a user's image (`4.3.1@image`) also that of the
    release; empty if `known` has neither."""
    return next((each for each in (label, label.split("@")[0]) if each in known), "")
