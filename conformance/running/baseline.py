"""A baseline: an earlier matrix whose violations are known, so that a distributor's job fails on what is new."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from conformance.judging.verdicts import Cell


class BaselineCase(msgspec.Struct, frozen=True):
    violated: int = 0


class BaselineCell(msgspec.Struct, frozen=True):
    requirement: str
    kafka_version: str
    verdict: str
    cases: dict[str, BaselineCase] = {}

    def breaks(self, case: str) -> bool:
        """Was this case violated? All of them were where the matrix has no cases, or they tell of no violation."""
        violated = {id for id, tally in self.cases.items() if tally.violated}
        return self.verdict == "violated" and (not violated or not case or case in violated)


class Baseline(msgspec.Struct, frozen=True):
    """The part of a matrix.json that matters here."""

    kafka_versions: list[str] = []
    cells: list[BaselineCell] = []

    def knows(self, requirement: str, label: str, case: str = "") -> bool:
        """Violated there, in the same column; in any column where the baseline does not have that one."""
        return any(
            cell.requirement == requirement
            and (cell.kafka_version == label or label not in self.kafka_versions)
            and cell.breaks(case)
            for cell in self.cells
        )


def read_baseline(path: Path) -> Baseline:
    """Raises ValueError for a file that is no matrix."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"--baseline {path}: {error}. Give the matrix.json of an earlier run.") from error


def new_violations(cells: Iterable[Cell], baseline: Baseline) -> list[tuple[str, str]]:
    """Row and case of what is violated and was not: a row that is known to be broken hides no other case of it."""
    return [
        (cell.requirement, case)
        for cell in cells
        if cell.verdict == "violated"
        for case in _violated(cell)
        if not baseline.knows(cell.requirement, cell.kafka_version, case)
    ]


def _violated(cell: Cell) -> list[str]:
    return [case for case, tally in cell.cases.items() if tally.violated] or [""]
