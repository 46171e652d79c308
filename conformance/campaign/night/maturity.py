"""The age of rows in clean nights: what a young row finds is told, and is never red.

A night is clean for a row if it was executed, and nothing new was found about it. A row whose applicability, cases or
expectations change is young again.
"""

from collections.abc import Collection, Mapping

import msgspec

MATURE = 14
"""The number of clean nights below which a row is provisional."""


class RowAge(msgspec.Struct, frozen=True, array_like=True):
    """The clean nights of a row since it has this hash."""

    hash: str
    nights: int


RowAges = Mapping[str, RowAge]


def provisional_rows(ages: RowAges, rows: Mapping[str, str]) -> dict[str, int]:
    """Return the rows, given with their hashes, that are young, and their clean nights; none before the first published night."""
    nights = {row: _nights(ages, row, wanted) for row, wanted in rows.items()} if ages else {}
    return {row: count for row, count in nights.items() if count < MATURE}


def ages_after(
    ages: RowAges, rows: Mapping[str, str], executed: Collection[str], disturbed: Collection[str]
) -> dict[str, RowAge]:
    """Return the ages after a night that executed some rows, and found something new about the `disturbed` ones.

    The rows of the first night have no past that is known: they are taken for mature.
    """
    if not ages:
        return {row: RowAge(wanted, MATURE) for row, wanted in rows.items()}
    return {
        row: RowAge(wanted, _nights(ages, row, wanted) + (row in executed and row not in disturbed))
        for row, wanted in rows.items()
    }


def _nights(ages: RowAges, row: str, wanted: str) -> int:
    age = ages.get(row)
    return age.nights if age is not None and age.hash == wanted else 0
