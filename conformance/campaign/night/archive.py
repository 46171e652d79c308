"""The archive of published nights: `nights/<night>/`, with matrix.json and, written last, night.json.

A night without night.json was cut off while it was written, and does not count.
"""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import msgspec

from conformance.campaign.night.maturity import RowAge, RowAges
from conformance.campaign.night.plan import place_of
from conformance.campaign.plan import write_whole
from conformance.judging.news import BrokenCase, Cells, JudgedCell, executed_rows
from conformance.running.baseline import Baseline, read_baseline
from fixtures.errors import WrongUse

NIGHT, MATRIX = "night.json", "matrix.json"
MEASURED = 7
"""The number of a column's last published nights of which the fullest one says how much a leg has to execute."""


class PublishedNight(msgspec.Struct, frozen=True, kw_only=True):
    """A published night, and the attempt of each leg that gave it a column.

    `published` is the time in UTC; `new`, `not_seen_again`, `provisional` and `mended` are by leg, `green` are legs without
    news and trouble.
    `seconds` is how long the columns that count were run, `ages` are those of all rows.
    """

    night: str
    legs: dict[str, int]
    published: str = ""
    green: list[str] = []
    new: dict[str, list[BrokenCase]] = {}
    not_seen_again: dict[str, list[BrokenCase]] = {}
    provisional: dict[str, list[BrokenCase]] = {}
    mended: dict[str, list[str]] = {}
    dead: list[str] = []
    seconds: float = 0.0
    ages: dict[str, RowAge] = {}


class PublishedColumn(NamedTuple):
    """A column as it was last published: the night, how many published nights ago, and its cells by row; an empty night
    if it never was.

    `doubted` are the cases that any night found new and no replay saw again. Those of this night are not broken in its
    cells, nor are those of provisional rows, so that they never pass for known. `stale` are the rows with a known deviation
    that no longer held. `fullest` are the cells of the column in which the most rows were executed, of the last ones.
    """

    night: str = ""
    age: int = 0
    cells: Cells = {}
    doubted: Collection[BrokenCase] = ()
    stale: Collection[str] = ()
    fullest: Cells = {}


class Archive:
    """A folder of published nights."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def nights(self, before: str) -> list[PublishedNight]:
        """Return the nights before a night, the newest first. Raises WrongUse for one that cannot be read."""
        return [each for each in self._all_nights() if place_of(each.night) < place_of(before)]

    @property
    def names(self) -> list[str]:
        """The names of all nights, the newest first."""
        return [each.night for each in self._all_nights()]

    @property
    def newest(self) -> PublishedNight | None:
        return next(iter(self._all_nights()), None)

    def find(self, night: str) -> PublishedNight | None:
        return next((each for each in self._all_nights() if each.night == night), None)

    def column(self, label: str, before: str) -> PublishedColumn:
        """Return a column as it was last published in a night before `before`, so never by an earlier attempt of it."""
        nights = self.nights(before)
        found = [(age, each) for age, each in enumerate(nights, start=1) if label in each.legs]
        if not found:
            return PublishedColumn()
        age, newest = found[0]
        matrices = [self._read_matrix(each.night) for _, each in found[:MEASURED]]
        return PublishedColumn(
            newest.night,
            age,
            _without_doubted(matrices[0].column(label), newest, label),
            {case for each in nights for case in each.not_seen_again.get(label, ())},
            matrices[0].stale_in(label),
            max((one.column(label) for one in matrices), key=lambda cells: len(executed_rows(cells))),
        )

    def ages(self, before: str) -> RowAges:
        """Return the ages of rows in the night before `before`; empty if there is none."""
        return next((each.ages for each in self.nights(before)), {})

    def _read_matrix(self, night: str) -> Baseline:
        try:
            return read_baseline(self.matrix_of(night))
        except ValueError as error:
            raise WrongUse(str(error)) from error

    def matrix_of(self, night: str) -> Path:
        return self.folder / "nights" / night / MATRIX

    @property
    def site(self) -> Path:
        """The folder of the site as it was last published."""
        return self.folder / "site"

    def refuse_older(self, night: str) -> None:
        """Raise WrongUse if a later night is published already."""
        newest = self.newest
        if newest is not None and place_of(night) < place_of(newest.night):
            raise WrongUse(
                f"night {night} is older than {newest.night}, which is published: nothing is published. Did the clock go back?"
            )

    def refuse_lost(self, newest: PublishedNight | None) -> None:
        """Raise WrongUse if a night was published that is not here: beside an older one, what broke between would be new again,
        and beside nothing, nothing would be."""
        if newest is not None and newest.night not in self.names:
            here = f"no later one than {self.newest.night}" if self.newest else "no night"
            raise WrongUse(
                f"night {newest.night} was published, and {self.folder} has {here}: nothing is published. Bring it back."
            )

    def publish(self, night: PublishedNight, matrix: bytes) -> None:
        """Add a night, or write it again."""
        write_whole(self.matrix_of(night.night), matrix)
        write_whole(self.matrix_of(night.night).with_name(NIGHT), msgspec.json.encode(night))

    def draft_site(self, site: Path) -> Path:
        """Copy a site into the archive, beside the one that is kept."""
        draft = self.site.with_name("site.draft")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(site, draft)
        return draft

    def keep_site(self, draft: Path) -> None:
        """Keep a draft as the published site, for the next night."""
        shutil.rmtree(self.site, ignore_errors=True)
        draft.rename(self.site)

    def _all_nights(self) -> list[PublishedNight]:
        found = []
        for path in self.folder.glob(f"nights/*/{NIGHT}"):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=PublishedNight))
            except msgspec.DecodeError as error:
                raise WrongUse(f"{path}: {error}. Restore it, or move the night away.") from error
        return sorted(found, key=lambda each: place_of(each.night), reverse=True)


def _without_doubted(cells: dict[str, JudgedCell], night: PublishedNight, label: str) -> Cells:
    """Return a column's cells as if what the night told without being red had not been violated."""
    for row, case in (*night.not_seen_again.get(label, ()), *night.provisional.get(label, ())):
        cells |= {row: cells[row].without(case)} if row in cells else {}
    return cells
