"""Suggestions for ids that the catalogue does not have."""

from __future__ import annotations

import pytest

from conformance.catalogue.near import similar_rows


@pytest.mark.parametrize(
    ("row", "first"),
    [
        ("kip320-fetch-02", "Did you mean KIP320-FETCH-02? `./kit rows`"),
        ("KIP320-OFLE-1", "Did you mean KIP320-OFLE-01 or "),
        ("KIP320-FETCH-99", "Did you mean KIP320-FETCH-09 or "),
        ("clock", "`./kit rows` lists all of them."),
        ("", "`./kit rows` lists all of them."),
    ],
)
def test_the_most_similar_ids_come_first(row: str, first: str) -> None:
    assert similar_rows(row).startswith(first)
