"""The data of the templates, from matrix, insights and catalogue."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec

from conformance.catalogue import Catalogue, Requirement
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.floors import Floor, by_situation, floor_of
from conformance.judging.verdicts import VERDICTS, CaseTally, Verdict, count_idle, count_towards_floor
from reports.insights import Coverage, Firsts, Insights, TrendPoint, Wavering
from reports.matrix import Matrix, ReportedCell, RowFacts
from reports.texts.findings import known_where
from reports.texts.versions import broken_since, spans
from reports.texts.wording import by_family, cell_reason, count_by_verdict, missing_examples, undecided_in_words

_BROKEN: tuple[Verdict, ...] = ("violated", "flaky")


class BarSegment(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a stacked bar, in units of cells."""

    verdict: Verdict
    start: int
    count: int


class RowView(msgspec.Struct, kw_only=True):
    """A row of the catalogue with its cells in the order of the columns, and its insights."""

    row: Requirement
    facts: RowFacts
    floor: Floor
    cells: list[ReportedCell]
    cases: list[str]
    firsts: Firsts | None = None
    wavering: list[Wavering] = []
    coverage: dict[str, Coverage] = {}
    trend: list[TrendPoint] = []

    @property
    def path(self) -> str:
        return f"rows/{self.row.id}.html"

    @property
    def differs(self) -> bool:
        return len({cell.verdict for cell in self.cells}) > 1

    @property
    def worst(self) -> Verdict:
        return min((cell.verdict for cell in self.cells), key=VERDICTS.index)

    @property
    def columns_by_verdict(self) -> dict[Verdict, str]:
        """The verdicts of the row, the worst first, each with the columns that have it, in words."""
        labels = [cell.kafka_version for cell in self.cells]
        found = {verdict: [c.kafka_version for c in self.cells if c.verdict == verdict] for verdict in VERDICTS}
        return {verdict: spans(having, labels) for verdict, having in found.items() if having}

    @property
    def broken_verdicts(self) -> dict[Verdict, str]:
        return {verdict: where for verdict, where in self.columns_by_verdict.items() if verdict in _BROKEN}

    @property
    def since(self) -> str:
        return (
            broken_since(self.firsts, race=any(entry.race for entry in self.deviations if entry)) if self.firsts else ""
        )

    @property
    def deviations(self) -> dict[Deviation | None, str]:
        """The known deviations with the columns that have them; see `known_where`."""
        return known_where(self.cells, [cell.kafka_version for cell in self.cells])

    @property
    def about(self) -> dict[str, str]:
        return {case.id: case.about for case in self.row.cases}

    @property
    def faults(self) -> list[str]:
        return sorted({fault for cell in self.cells for fault in cell.faults})

    def reason(self, cell: ReportedCell) -> str:
        return cell_reason(cell)

    def missing_examples(self, cell: ReportedCell) -> list[str]:
        return missing_examples(cell)

    def undecided(self, tally: CaseTally) -> list[str]:
        return undecided_in_words(tally)

    def counts(self, case: str, tally: CaseTally) -> int:
        """Return the number of observations (for a property, of situations) that count towards a case's floor."""
        return count_towards_floor(self.row, case, tally)[0]

    def idle(self, case: str, tally: CaseTally) -> int:
        return count_idle(self.row, case, tally)

    def situations(self, case: str, tally: CaseTally) -> int:
        """Return the number of distinct situations if the case's floor counts these, else 0."""
        return tally.situations if by_situation(self.row, case) else 0


class FamilyView(msgspec.Struct, kw_only=True):
    """The rows of a KIP, or the general laws, and their counts per column."""

    family: str
    rows: list[RowView]
    counts: list[dict[Verdict, int]]

    @property
    def anchor(self) -> str:
        return family_anchor(self.family)

    @property
    def in_sentence(self) -> str:
        """The family within a sentence: ``KIP-320`` as it is, other families in lower case after an article."""
        return self.family if self.family.startswith("KIP") else f"the {self.family.lower()}"


class Findings(msgspec.Struct, kw_only=True):
    """Rows that a column breaks, under a heading."""

    heading: str
    rows: list[RowView]

    @property
    def size(self) -> int:
        return len(self.rows)


class CellPair(msgspec.Struct, kw_only=True):
    """A row in two columns."""

    view: RowView
    before: ReportedCell
    after: ReportedCell


class VersionStep(msgspec.Struct, kw_only=True):
    """The rows that changed from column `old` to column `new`, by kind."""

    old: str
    new: str
    kinds: dict[str, list[CellPair]]

    @property
    def path(self) -> str:
        return f"diff/{anchor_of_label(self.old)}..{anchor_of_label(self.new)}.html"


def group_views(matrix: Matrix, insights: Insights, catalogue: Catalogue) -> list[FamilyView]:
    """Group all rows by family, in the catalogue's order."""
    facts = {row.requirement: row for row in matrix.requirements}
    labels = matrix.kafka_versions
    views = [
        FamilyView(
            family=group.family,
            rows=[
                _row_view(catalogue[id], facts[id], [cells[label] for label in labels])
                for id, cells in group.rows.items()
            ],
            counts=[count_by_verdict(group.cells, label) for label in labels],
        )
        for group in by_family(matrix)
    ]
    _add_insights({view.row.id: view for group in views for view in group.rows}, insights)
    return views


def anchor_of_label(label: str) -> str:
    """Turn a column's label into a part of file names and anchors; add a hash if characters had to be replaced."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    return plain if plain == label else f"{plain[:60]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


def family_anchor(family: str) -> str:
    return family.lower().replace(" ", "-")


def bar_segments(verdicts: dict[Verdict, int]) -> list[BarSegment]:
    """Return a column's counts as the segments of a stacked bar, broken ones first."""
    segments: list[BarSegment] = []
    start = 0
    for verdict in (verdict for verdict in VERDICTS if verdicts.get(verdict)):
        segments.append(BarSegment(verdict=verdict, start=start, count=verdicts[verdict]))
        start += verdicts[verdict]
    return segments


def findings(groups: Iterable[FamilyView], newest: str) -> list[Findings]:
    """Return rows broken in the newest column, rows broken only in earlier ones, and rows with different answers to
    identical tries."""
    views = [view for group in groups for view in group.rows]
    broken = [view for view in views if view.worst == "violated"]
    still = [view for view in broken if view.cells[-1].verdict == "violated"]
    parts = [
        Findings(heading=f"Broken in {newest}, the newest column", rows=still),
        Findings(
            heading=f"Broken before, not seen broken in {newest}", rows=[view for view in broken if view not in still]
        ),
        Findings(heading="Answered in more than one way", rows=[view for view in views if view.worst == "flaky"]),
    ]
    return [part for part in parts if part.rows]


def neighbours(groups: Sequence[FamilyView], labels: Sequence[str]) -> list[VersionStep]:
    """Compare each column with the one before it."""
    views = [view for group in groups for view in group.rows]
    return [_version_step(views, place, old, new) for place, (old, new) in enumerate(pairwise(labels))]


def _version_step(views: Iterable[RowView], place: int, old: str, new: str) -> VersionStep:
    kinds: dict[str, list[CellPair]] = {kind: [] for kind in KINDS}
    for view in views:
        before, after = view.cells[place : place + 2]
        if before.verdict != after.verdict:
            kind = next(kind for kind, fits in KINDS.items() if fits(before.verdict, after.verdict))
            kinds[kind].append(CellPair(view=view, before=before, after=after))
    return VersionStep(old=old, new=new, kinds={kind: found for kind, found in kinds.items() if found})


KINDS: dict[str, Callable[[Verdict, Verdict], bool]] = {
    "Broke": lambda before, after: after in _BROKEN and before not in _BROKEN,
    "Mended": lambda before, after: before in _BROKEN and after == "satisfied",
    "Apply now": lambda before, after: before == "inapplicable",
    "Apply no longer": lambda before, after: after == "inapplicable",
    "Changed otherwise": lambda before, after: True,
}
"""The kinds of changes in display order. A change is of the first kind that fits."""


def _row_view(row: Requirement, facts: RowFacts, cells: list[ReportedCell]) -> RowView:
    observed = [case for cell in cells for case in cell.cases]
    return RowView(
        row=row,
        facts=facts,
        floor=floor_of(row),
        cells=cells,
        cases=list(dict.fromkeys([*(case.id for case in row.cases), *observed])),
    )


def _add_insights(views: dict[str, RowView], insights: Insights) -> None:
    """Add insights to their rows; leave out those of rows that the catalogue no longer has."""
    for first in insights.firsts:
        if first.requirement in views:
            views[first.requirement].firsts = first
    for wavering in insights.wavering:
        if wavering.requirement in views:
            views[wavering.requirement].wavering.append(wavering)
    for coverage in insights.coverage:
        if coverage.requirement in views:
            views[coverage.requirement].coverage[coverage.kafka_version] = coverage
    for point in insights.trend:
        if point.requirement in views:
            views[point.requirement].trend.append(point)
