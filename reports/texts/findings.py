"""The cells that need a look, grouped by row: the reason, and the columns concerned."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from conformance.catalogue.deviations import Deviation
from conformance.judging.news import BROKEN
from conformance.judging.verdicts import Verdict
from reports.matrix import Matrix, ReportedCell, RowFacts
from reports.texts.versions import spans
from reports.texts.wording import ALARMING, alarming_cells, cell_why


class RowFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One row with one verdict, on the columns `where`; `cells` are in the order of the columns. `known` are the known
    deviations; see `known_where`."""

    verdict: Verdict
    row: RowFacts
    where: str
    cells: list[ReportedCell]
    known: dict[Deviation | None, str]

    @property
    def why(self) -> str:
        """The reason in the newest of the columns."""
        return cell_why(self.cells[-1])

    @property
    def text(self) -> str:
        """The reason, and the known deviations."""
        return "; ".join([self.why, *known_in_words(self.known, lambda entry: entry.ticket or "no ticket")])


def known_where(cells: Iterable[ReportedCell], columns: Sequence[str]) -> dict[Deviation | None, str]:
    """Return the known deviations of a row's broken cells, each with the columns that have it; None is for those without one.

    The columns are "" if they are all that break the row.
    """
    broken = [cell for cell in cells if cell.verdict in BROKEN]
    found: dict[Deviation | None, list[str]] = {}
    for cell in broken:
        entries: Sequence[Deviation | None] = cell.known or [None]
        for entry in entries:
            found.setdefault(entry, []).append(cell.kafka_version)
    return {entry: "" if len(labels) == len(broken) else spans(labels, columns) for entry, labels in found.items()}


def known_in_words(known: Mapping[Deviation | None, str], name: Callable[[Deviation], str]) -> list[str]:
    """Return the known deviations by their names, each with its columns unless all have it; nothing if none is known."""
    if not any(known):
        return []
    on = {entry: f" on {where}" if where else "" for entry, where in known.items()}
    return [f"known{text}: {name(entry)}" if entry else f"not known{text}" for entry, text in on.items()]


def findings(matrix: Matrix, verdicts: Sequence[Verdict] = ALARMING) -> list[RowFinding]:
    """Group cells by verdict and row: the worst verdicts first, then in the order of the catalogue."""
    places = {row.requirement: place for place, row in enumerate(matrix.requirements)}
    groups: dict[tuple[Verdict, str], list[ReportedCell]] = {}
    for cell in alarming_cells(matrix, verdicts):
        groups.setdefault((cell.verdict, cell.requirement), []).append(cell)
    ordered = sorted(groups.items(), key=lambda group: (verdicts.index(group[0][0]), places[group[0][1]]))
    return [
        RowFinding(
            verdict=verdict,
            row=matrix.requirements[places[row]],
            where=spans([cell.kafka_version for cell in cells], matrix.kafka_versions),
            cells=cells,
            known=known_where(cells, matrix.kafka_versions),
        )
        for (verdict, row), cells in ordered
    ]
