"""The cells that need a look, grouped by row: the reason, and the columns concerned."""

from collections.abc import Sequence

import msgspec

from conformance.catalogue.deviations import Deviation
from conformance.judging.verdicts import Verdict
from reports.matrix import Matrix, ReportedCell, RowFacts
from reports.texts.versions import spans
from reports.texts.wording import ALARMING, alarming_cells, cell_why


class RowFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One row with one verdict, on the columns `where`; `cells` are in the order of the columns."""

    verdict: Verdict
    row: RowFacts
    where: str
    cells: list[ReportedCell]

    @property
    def why(self) -> str:
        """The reason in the newest of the columns."""
        return cell_why(self.cells[-1])

    @property
    def text(self) -> str:
        """The reason, and the known deviations."""
        return "; ".join([self.why, *(f"known: {entry.ticket or 'no ticket'}" for entry in self.known_deviations)])

    @property
    def known_deviations(self) -> list[Deviation]:
        return list(dict.fromkeys(entry for cell in self.cells for entry in cell.known))


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
        )
        for (verdict, row), cells in ordered
    ]
