"""The comparison of a mutant's red rows with the table and with the column of the unmodified Kafka."""

from pathlib import Path
from typing import Any

import msgspec

from mutants import Mutant

RED = "violated"
NO_CHECK = ("untested", "not-run", "inapplicable")


class Comparison(msgspec.Struct, frozen=True):
    """The rows of a mutant's column compared with the table.

    `missed` rows of the table were exercised without a violation; no check ran for `unexercised` ones. `unexpected`
    rows are red only on the mutant, and not in the table; `as_well` are red rows that the table allows.
    """

    caught: tuple[str, ...]
    as_well: tuple[str, ...]
    missed: tuple[str, ...]
    unexpected: tuple[str, ...]
    unexercised: tuple[str, ...]

    @property
    def as_promised(self) -> bool:
        return bool(self.caught) and not self.missed and not self.unexpected

    def __str__(self) -> str:
        parts = ("caught", "as_well", "missed", "unexpected", "unexercised")
        return "\n".join(f"{part:12}{', '.join(getattr(self, part)) or '-'}" for part in parts)


def compare(mutant: Mutant, matrix: Path, mutated: str, unharmed: str) -> Comparison:
    """Compare columns `mutated` and `unharmed` of a matrix.json. Raises ValueError for a column that is missing."""
    cells: list[dict[str, Any]] = msgspec.json.decode(matrix.read_bytes())["cells"]
    of = {
        label: {c["requirement"]: c["verdict"] for c in cells if c["kafka_version"] == label}
        for label in (mutated, unharmed)
    }
    for label, verdicts in of.items():
        if not verdicts:
            raise ValueError(f"{matrix} has no column {label!r}; it has {sorted({c['kafka_version'] for c in cells})}")
    expected, possible = ({red.id for red in rows} for rows in (mutant.red, mutant.may))
    red = {row for row, verdict in of[mutated].items() if verdict == RED}
    idle = {row for row in expected if of[mutated].get(row, "untested") in NO_CHECK}
    new = {row for row in red - expected - possible if of[unharmed].get(row) != RED}
    return Comparison(
        caught=tuple(sorted(red & expected)),
        as_well=tuple(sorted(red & possible)),
        missed=tuple(sorted(expected - red - idle)),
        unexpected=tuple(sorted(new)),
        unexercised=tuple(sorted(idle)),
    )
