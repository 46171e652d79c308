"""Loading the catalogue."""

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from conformance.catalogue.applicability import in_range, parse_need
from conformance.catalogue.row_ids import row_ids
from conformance.catalogue.rows import RECORDED, CatalogueError, Requirement

SHIPPED = files(__package__)
"""This folder, which is inside an archive if Spark got the code as a zip."""
ROWS = re.compile(r"(gen|kip\d+)\.toml")
"""The names of its row files."""


class Catalogue:
    """All rows by id, in the order of their files."""

    def __init__(self, rows: Iterable[Requirement]) -> None:
        self._rows = {row.id: row for row in rows}

    def __getitem__(self, id: str) -> Requirement:
        try:
            return self._rows[id]
        except KeyError:
            today = row_ids().aliases.get(id)
            hint = f"is called {today} today" if today else "is no row of the catalogue"
            raise CatalogueError(f"{id!r} {hint}; look for it in conformance/catalogue/*.toml") from None

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._rows.values())

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def judges(self, id: str) -> bool:
        """True if observations of this row can be violations: its level is not a recorded-only one."""
        return id not in self._rows or self._rows[id].level not in RECORDED

    def __len__(self) -> int:
        return len(self._rows)

    def matching(self, patterns: Iterable[str]) -> list[Requirement]:
        """Return the rows whose id matches one of the globs; all rows if there is none."""
        globs = list(patterns) or ["*"]
        return [row for row in self if any(fnmatch.fnmatchcase(row.id, glob) for glob in globs)]


def load(sources: Iterable[Traversable]) -> Catalogue:
    """Read rows from TOML files; raises CatalogueError naming file and row."""
    rows: dict[str, Requirement] = {}
    for path in sources:
        for row in _rows_of(path):
            if row.id in rows:
                raise CatalogueError(f"{path.name}: row {row.id} is there twice; ids are unique and never change")
            rows[row.id] = row
    return Catalogue(rows.values())


@cache
def shipped_rows() -> Catalogue:
    """Return the catalogue in this folder."""
    return load(sorted((file for file in SHIPPED.iterdir() if ROWS.fullmatch(file.name)), key=lambda file: file.name))


def _rows_of(path: Traversable) -> Iterator[Requirement]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path.name}: not TOML: {error}") from error
    tables = content.pop("requirement", [])
    if content or not isinstance(tables, list):
        wrong = ", ".join(map(repr, content)) or "'requirement' as a single table"
        raise CatalogueError(f"{path.name}: holds {wrong}; every row begins with [[requirement]], nothing else is read")
    if not tables:
        raise CatalogueError(f"{path.name}: there is no row in it; a row begins with [[requirement]]")
    for number, table in enumerate(tables, start=1):
        yield _row(path, table, number)


def _row(path: Traversable, table: dict[str, Any], number: int) -> Requirement:
    where = f"{path.name}: row {table.get('id', f'number {number}')}"
    try:
        row = msgspec.convert(table, Requirement)
        _check(row)
    except (msgspec.ValidationError, ValueError) as error:
        raise CatalogueError(f"{where}: {error}") from error
    return row


def _check(row: Requirement) -> None:
    if not row.cases:
        raise ValueError("a row has at least one case; add [[requirement.cases]]")
    ids = [case.id for case in row.cases]
    if len(set(ids)) != len(ids):
        raise ValueError(f"case ids must differ, they are {ids}")
    _check_ranges(row.applies, row.needs)
    for case in row.cases:
        _check_ranges(case.applies, case.needs)
    for expectation in row.expectations:
        _check_ranges(expectation.versions, expectation.needs)


def _check_ranges(ranges: list[str], needs: list[str]) -> None:
    for text in ranges:
        in_range("3.3.0", text)
    for text in needs:
        parse_need(text)
