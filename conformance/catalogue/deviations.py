"""Known deviations of released versions: they add a mark and a link to a red cell, never an excuse."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from conformance.catalogue.applicability import in_range
from conformance.catalogue.load import Catalogue
from conformance.catalogue.rows import CatalogueError

SHIPPED = files("conformance") / "known-deviations.toml"


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row that released versions are known to break; `ticket` is Kafka's own, if there is one.

    A `race` depends on timing: a column without it is no evidence of a fix. `cases` limits it to these cases. A
    machine's schedule with none of the steps, faults and roles in `takes` does not show it.
    """

    requirement: str
    versions: tuple[str, ...]
    reason: str
    ticket: str = ""
    race: bool = False
    cases: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    def covers(self, requirement: str, version: str) -> bool:
        """True if it is a deviation from this row in this version."""
        return requirement == self.requirement and any(in_range(version, text) for text in self.versions)

    def explains(self, violated: Iterable[str]) -> bool:
        """True if it is about all of these cases. A violation of another case is not known."""
        return not self.cases or set(violated) <= set(self.cases)

    def is_shown_by(self, schedule: Iterable[str]) -> bool:
        """True if a schedule of these steps, faults and roles may show it."""
        return not self.takes or not set(schedule).isdisjoint(self.takes)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    deviation: list[Deviation] = []


def load_deviations(catalogue: Catalogue, source: Traversable = SHIPPED) -> list[Deviation]:
    """Read the table; raises CatalogueError naming file and entry."""
    try:
        found = msgspec.convert(tomllib.loads(source.read_text(encoding="utf-8")), _File).deviation
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CatalogueError(f"{source.name}: {error}") from error
    _check(found, catalogue, source.name)
    return found


def _check(deviations: Iterable[Deviation], catalogue: Catalogue, file: str) -> None:
    for entry in deviations:
        if entry.requirement not in catalogue:
            raise CatalogueError(
                f"{file}: {entry.requirement!r} is no row of the catalogue; entries name existing rows"
            )
        known = {case.id for case in catalogue[entry.requirement].cases}
        if unknown := set(entry.cases) - known:
            raise CatalogueError(
                f"{file}: {entry.requirement} has no case {', '.join(sorted(unknown))}; its cases are {', '.join(sorted(known))}"
            )
        if not entry.versions:
            raise CatalogueError(f"{file}: {entry.requirement} names no versions; write versions = ['3.3..3.5']")
        try:
            for text in entry.versions:
                in_range("3.3.0", text)
        except ValueError as error:
            raise CatalogueError(f"{file}: {entry.requirement}: {error}") from error
