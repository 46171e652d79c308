"""A baseline: an earlier matrix with known violations, so that a distributor's job fails only on new ones."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from conformance.judging.verdicts import Cell


class BaselineCase(msgspec.Struct, frozen=True):
    """A case of a row in a matrix.json."""

    violated: int = 0


class BaselineCell(msgspec.Struct, frozen=True):
    """A row's cell in one column."""

    requirement: str
    kafka_version: str
    verdict: str
    cases: dict[str, BaselineCase] = {}

    @property
    def violated_cases(self) -> list[str]:
        """The violated cases of a violated cell; a single empty name if the matrix does not say which ones."""
        if self.verdict != "violated":
            return []
        return sorted(case for case, tally in self.cases.items() if tally.violated) or [""]

    def breaks(self, case: str) -> bool:
        """True if this case was violated. An empty case, here or in the matrix, matches any case of the row."""
        violated = self.violated_cases
        return bool(violated) and (not case or case in violated or violated == [""])


class Baseline(msgspec.Struct, frozen=True):
    """The part of a matrix.json that a comparison needs."""

    kafka_versions: list[str] = []
    cells: list[BaselineCell] = []

    def knows(self, requirement: str, label: str, case: str = "") -> bool:
        """True if the baseline has this case as violated in the column `label`, or in any column if none has that name."""
        return any(
            cell.requirement == requirement
            and (cell.kafka_version == label or label not in self.kafka_versions)
            and cell.breaks(case)
            for cell in self.cells
        )


def read_baseline(path: Path) -> Baseline:
    """Read a matrix.json. Raises ValueError for a file that is not a matrix."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"--baseline {path}: {error}. Give the matrix.json of an earlier run.") from error


def new_violations(cells: Iterable[Cell], baseline: Baseline) -> list[tuple[str, str]]:
    """Return the violated rows and cases that the baseline does not have. A known violation does not hide other cases of its
    row."""
    return [
        (cell.requirement, case)
        for cell in cells
        if cell.verdict == "violated"
        for case in _violated_cases(cell)
        if not baseline.knows(cell.requirement, cell.kafka_version, case)
    ]


def _violated_cases(cell: Cell) -> list[str]:
    return [case for case, tally in cell.cases.items() if tally.violated] or [""]
