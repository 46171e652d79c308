"""A baseline: an earlier matrix whose violations are known, so that a distributor's job fails on what is new."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from conformance.judging.verdicts import Cell


class BaselineCell(msgspec.Struct, frozen=True):
    requirement: str
    kafka_version: str
    verdict: str


class Baseline(msgspec.Struct, frozen=True):
    """The part of a matrix.json that matters here."""

    kafka_versions: list[str] = []
    cells: list[BaselineCell] = []

    def knows(self, requirement: str, label: str) -> bool:
        """Violated there, in the same column; in any column where the baseline does not have that one."""
        known = {(cell.requirement, cell.kafka_version) for cell in self.cells if cell.verdict == "violated"}
        if label in self.kafka_versions:
            return (requirement, label) in known
        return requirement in {row for row, _ in known}


def read_baseline(path: Path) -> Baseline:
    """Raises ValueError for a file that is no matrix."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"--baseline {path}: {error}. Give the matrix.json of an earlier run.") from error


def new_violations(cells: Iterable[Cell], baseline: Baseline) -> list[str]:
    """Rows that are violated and were not."""
    red = [cell for cell in cells if cell.verdict == "violated"]
    return [cell.requirement for cell in red if not baseline.knows(cell.requirement, cell.kafka_version)]
