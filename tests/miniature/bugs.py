"""Bugs that can be switched on, and the rows whose judges have to find them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    """`row` is the one it is made for, `label` the anomaly's name where it has one; `also` are rows that it breaks beside it."""

    name: str
    row: str
    does: str
    label: str = ""
    also: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.row, *self.also)


def of_row(row: str, *bugs: tuple[str, str] | tuple[str, str, str], also: tuple[str, ...] = ()) -> list[Bug]:
    """Each with its name, what it does, and its label."""
    return [Bug(name, row, does, "".join(label), also) for name, does, *label in bugs]


def by_name(*groups: list[Bug]) -> dict[str, Bug]:
    return {bug.name: bug for group in groups for bug in group}
