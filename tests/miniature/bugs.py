"""Bugs that can be switched on, and the rows whose judges must find them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    """A bug. `row` is the one for which it was made, `label` the anomaly's name, if any; `also` are other rows that it
    breaks."""

    name: str
    row: str
    does: str
    label: str = ""
    also: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.row, *self.also)


def of_row(row: str, *bugs: tuple[str, str] | tuple[str, str, str], also: tuple[str, ...] = ()) -> list[Bug]:
    """Return bugs for a row, each given as name, effect and label."""
    return [Bug(name, row, does, "".join(label), also) for name, does, *label in bugs]


def by_name(*groups: list[Bug]) -> dict[str, Bug]:
    return {bug.name: bug for group in groups for bug in group}
