"""The floors under `satisfied`: what each case of a row needs, as data in `floors.toml`.

>>> from conformance.catalogue import shipped_rows
>>> floor_of(shipped_rows()["KIP101-INV-11"], "metadata")
Floor(observations=30, inputs=1, examples=5, changed=10)
"""

import tomllib
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from conformance.catalogue.rows import Case, Kind, Requirement

FILE = "floors.toml"


class Floor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The minimum that every case needs for `satisfied`; `changed` counts observations that lived through a change."""

    observations: int
    inputs: int
    examples: int
    changed: int = 0


FLOORS: dict[str, Floor] = msgspec.convert(
    tomllib.loads((files(__package__) / FILE).read_text(encoding="utf-8")), dict[str, Floor]
)
"""The floors by kind of row, which rows may override: see `floor_of`."""


def floor_of(row: Requirement, case: str = "") -> Floor:
    """Return the floor of a row's case: that of the case's kind, or else the row's, with overrides by case and row."""
    own = _case_of_row(row, case)
    floor = FLOORS[kind_of(row, case)]
    inputs = (own and own.inputs) or row.inputs
    return msgspec.structs.replace(
        floor,
        inputs=min(floor.inputs, inputs),
        observations=row.floor or floor.observations,
        changed=floor.changed if row.changes else 0,
    )


def kind_of(row: Requirement, case: str) -> Kind:
    """Return the kind of a row's case: its own, or else the row's."""
    own = _case_of_row(row, case)
    return (own and own.kind) or row.kind


def may_fill(row: Requirement, case: str, *, calm: bool) -> bool:
    """True if an observation counts towards its case's floor: a calm one only for a probe's."""
    return not calm or kind_of(row, case) == "probe"


def by_situation(row: Requirement, case: str) -> bool:
    """True if a case's floor counts distinct situations instead of observations."""
    return kind_of(row, case) == "property"


def _case_of_row(row: Requirement, case: str) -> Case | None:
    return next((one for one in row.cases if one.id == case), None)


def shaping(inputs: str, incidental: Sequence[str]) -> str:
    """Return drawn inputs, as the text of a JSON object, without those that do not shape the situation."""
    if not inputs or not incidental:
        return inputs
    kept = {name: value for name, value in msgspec.json.decode(inputs).items() if name not in incidental}
    return msgspec.json.encode(kept, order="sorted").decode()
