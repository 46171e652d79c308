"""Known deviations of released versions: they add a mark and a link to a red cell, never an excuse."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import combinations
from typing import Any

import msgspec

from conformance.catalogue.applicability import in_range, is_open, ranges_overlap
from conformance.catalogue.load import Catalogue
from conformance.catalogue.rows import CatalogueError, Requirement
from conformance.catalogue.schedule_words import ANY, schedule_words
from history.deeds import HEALED

SHIPPED = files("conformance") / "known-deviations.toml"

_ENTRY = re.compile(r"^\s*\[\[\s*deviation\s*\]\]", re.MULTILINE)


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row that released versions are known to break in these `cases`; `ticket` is Kafka's own, if there is one.

    A violation is this deviation only if its wording has everything in `says`, and the schedule that showed it the
    deeds that the entry requires, each a choice of several: those of `takes` one after the other, those of `meets` at
    the same time. A `race` depends on timing. The entry must be reviewed on the date `look_again`. `finding` names the
    finding that tells it, where another has the same ticket, row and case.
    """

    requirement: str
    versions: tuple[str, ...]
    reason: str
    ticket: str = ""
    race: bool = False
    cases: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    takes: tuple[tuple[str, ...], ...] = ()
    meets: tuple[tuple[str, ...], ...] = ()
    look_again: date | None = None
    finding: str = ""

    @property
    def may_be_missed(self) -> bool:
        """True if a run may fail to meet it, so that a column without it is no evidence of a fix."""
        return bool(self.race or self.takes or self.meets)

    def covers(self, requirement: str, version: str) -> bool:
        """True if it is a deviation of this version from this row."""
        return requirement == self.requirement and any(in_range(version, text) for text in self.versions)

    def is_about(self, case: str, detail: str) -> bool:
        """True if a violation of this case with this wording may be this deviation, depending on its schedule."""
        return case in self.cases and all(text in detail for text in self.says)

    def explains(self, case: str, detail: str, deeds: Sequence[str]) -> bool:
        """True if a violation of this case with this wording, shown by a schedule of these deeds, is this deviation."""
        return self.is_about(case, detail) and self.is_shown_by(deeds)

    def is_shown_by(self, deeds: Sequence[str]) -> bool:
        """True if a schedule with these deeds has everything that the entry requires."""
        return _occur_in_order(self.takes, deeds) and (not self.meets or any(_at_once(self.meets, deeds)))

    def foresees(self, deeds: Sequence[str]) -> bool:
        """True if the entry requires every fault among these deeds, so that a schedule shrunk to them has its shape."""
        wanted = [deed for group in (*self.takes, *self.meets) for deed in group]
        faults = [deed for deed in deeds if schedule_words().lasts(deed)]
        return not wanted or all(any(_matches_deed(deed, one) for one in wanted) for deed in faults)


# --- what a schedule has


def _matches_deed(deed: str, wanted: str) -> bool:
    """True if a deed is the wanted one. A step without a role, and a fault with the role `any`, match each role."""
    name, _, role = wanted.partition(" ")
    return deed == wanted or (role in ("", ANY) and deed.partition(" ")[0] == name)


def _occur_in_order(groups: Iterable[Iterable[str]], deeds: Sequence[str]) -> bool:
    left = iter(deeds)
    return all(any(_matches_deed(deed, wanted) for deed in left for wanted in group) for group in groups)


def _at_once(groups: Sequence[Sequence[str]], deeds: Sequence[str]) -> Iterator[bool]:
    """Yield, for each moment, whether a deed of every group is active; a step is active while it runs."""
    standing: list[str] = []
    for deed in deeds:
        if deed.startswith(HEALED):
            standing = _remove_first(standing, deed.removeprefix(HEALED))
            continue
        yield all(any(_matches_deed(one, wanted) for one in (*standing, deed) for wanted in group) for group in groups)
        if schedule_words().lasts(deed):
            standing.append(deed)


def _remove_first(standing: Sequence[str], healed: str) -> list[str]:
    place = standing.index(healed) if healed in standing else len(standing)
    return [*standing[:place], *standing[place + 1 :]]


# --- reading


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A table; `choices` are named lists of deeds for its entries."""

    choices: dict[str, tuple[str, ...]] = {}
    deviation: list[Deviation] = []


def load_deviations(catalogue: Catalogue, *own: Traversable) -> list[Deviation]:
    """Read the shipped table, and `own` tables of the same format.

    Raises CatalogueError naming file, line and entry.
    """
    found = [one for source in (SHIPPED, *own) for one in _read(source)]
    for place, entry in found:
        try:
            _check(entry, catalogue)
        except (CatalogueError, ValueError) as error:
            raise CatalogueError(f"{place}: {entry.requirement}: {error}") from error
    for (earlier, one), (place, other) in combinations(found, 2):
        if _overlap(one, other):
            shared = f"{one.requirement} {', '.join(sorted(set(one.cases) & set(other.cases)))}"
            raise CatalogueError(
                f"{place}: {other.requirement}: the entry overlaps that of {earlier}: both are about {shared}, "
                "and each schedule of one is a schedule of the other; narrow `versions`, `cases`, `says`, `takes` or `meets`, "
                "or join the two"
            )
    return [entry for _, entry in found]


def _read(source: Traversable) -> list[tuple[str, Deviation]]:
    """Return a file's entries, each with its file and line."""
    try:
        text = source.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{source.name}: {error}") from error
    lines = [text.count("\n", 0, match.end()) + 1 for match in _ENTRY.finditer(text)]
    try:
        return [
            (f"{source.name}, line {line}", entry)
            for line, entry in zip(lines, msgspec.convert(_resolve(table), _File).deviation, strict=True)
        ]
    except msgspec.ValidationError as error:
        number = re.search(r"deviation\[(\d+)\]", str(error))
        place = f", line {lines[int(number[1])]}" if number and int(number[1]) < len(lines) else ""
        raise CatalogueError(f"{source.name}{place}: {error}") from error


def _resolve(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table in whose entries lists of deeds replace names of choices and single deeds."""
    choices, entries = table.get("choices"), table.get("deviation")
    if not isinstance(entries, list):
        return table
    known = choices if isinstance(choices, dict) else {}
    return table | {"deviation": [_with_choices(entry, known) for entry in entries]}


def _with_choices(entry: Any, choices: dict[str, Any]) -> Any:
    asked = {
        name: entry[name]
        for name in ("takes", "meets")
        if isinstance(entry, dict) and isinstance(entry.get(name), list)
    }
    lists = {
        name: [choices.get(one, [one]) if isinstance(one, str) else one for one in groups]
        for name, groups in asked.items()
    }
    return entry | lists if lists else entry


def _check(entry: Deviation, catalogue: Catalogue) -> None:
    """Raise CatalogueError or ValueError for an entry with unknown names or too few requirements."""
    if entry.requirement not in catalogue:
        raise CatalogueError(f"{entry.requirement!r} is no row of the catalogue; entries name existing rows")
    row = catalogue[entry.requirement]
    known = {case.id for case in row.cases}
    if not entry.cases or (unknown := set(entry.cases) - known):
        named = f"there is no case {', '.join(sorted(unknown))}" if entry.cases else "the entry names no cases"
        raise CatalogueError(f"{named}; the cases of the row are {', '.join(sorted(known))}")
    for deed in (deed for group in (*entry.takes, *entry.meets) for deed in group):
        schedule_words().check(deed)
    _check_versions(entry)
    _check_schedule(entry, row)
    _check_date(entry)


def _check_versions(entry: Deviation) -> None:
    if not entry.versions:
        raise CatalogueError("the entry names no versions; write versions = ['3.3..3.5']")
    for text in entry.versions:
        in_range("3.3.0", text)
    if entry.look_again is None and (ends := [text for text in entry.versions if is_open(text)]):
        raise CatalogueError(
            f"versions {', '.join(map(repr, ends))} have no end; give the newest version that was seen, or the date on which the "
            "entry is looked at again, as in look_again = 2027-06-01"
        )


def _check_schedule(entry: Deviation, row: Requirement) -> None:
    """Raise CatalogueError for an entry that every schedule of its row matches; fixed schedules are those of their cases."""
    groups = (*entry.takes, *entry.meets)
    if any(not group for group in groups):
        raise CatalogueError(
            "takes and meets hold choices, such as [['kill leader', 'stop leader']]; one of them is empty"
        )
    if row.kind != "property" or not (entry.race or len(entry.cases) == len(row.cases)) or entry.says:
        return
    if all(schedule_words().is_everyday(group) for group in groups):
        asked = f"takes {groups}" if groups else "neither `takes` nor `meets`"
        raise CatalogueError(
            f"the entry has {asked}, so that it can match every schedule of its row; name the steps and faults, with their "
            "roles, that the deviation needs"
        )


def _check_date(entry: Deviation) -> None:
    if entry.look_again is None and entry.may_be_missed:
        raise CatalogueError(
            "a run may fail to meet a race or a schedule, so that no run tells that it is mended; give the date on which "
            "the entry is looked at again, as in look_again = 2027-06-01"
        )


# --- overlapping


def _overlap(one: Deviation, other: Deviation) -> bool:
    """True if two entries are about the same violations: each is, or one includes the other."""
    if one.requirement != other.requirement or not set(one.cases) & set(other.cases):
        return False
    if not any(ranges_overlap(left, right) for left in one.versions for right in other.versions):
        return False
    return _includes(one, other) or _includes(other, one)


def _includes(wide: Deviation, narrow: Deviation) -> bool:
    """True if whatever matches the wording and schedule of `narrow` also matches those of `wide`."""
    asked = [set(group) for group in (*narrow.takes, *narrow.meets)]
    return set(wide.says) <= set(narrow.says) and all(
        any(group <= set(choice) for group in asked) for choice in (*wide.takes, *wide.meets)
    )
