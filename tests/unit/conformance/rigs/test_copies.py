"""Copies of records: each once, in the order of its partition."""

from __future__ import annotations

import pytest

from conformance.rigs.groups.copies import each_once, miscopied_values

WANTED = [[b"0/0", b"0/1"], [b"1/0", b"1/1"]]


@pytest.mark.parametrize(
    "found",
    [
        [b"0/0", b"0/1", b"1/0", b"1/1"],
        [b"1/0", b"0/0", b"1/1", b"0/1"],
    ],
)
def test_partitions_may_take_turns(found: list[bytes]) -> None:
    assert each_once(found, WANTED)
    assert miscopied_values(found, WANTED) == {}


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        ([b"0/0", b"0/1", b"1/0"], {b"1/1": 0}),
        ([b"0/0", b"0/1", b"1/0", b"0/1", b"1/1"], {b"0/1": 2}),
        ([b"0/1", b"0/0", b"1/0", b"1/1"], {}),
        ([b"0/0", b"0/1", b"1/0", b"1/1", b"2/0"], {}),
        ([b"0/0", b"0/1", b"1/0", b"1/0"], {b"1/0": 2, b"1/1": 0}),
    ],
    ids=["missing", "twice", "out of order", "of no partition", "one for another"],
)
def test_anything_else_is_seen(found: list[bytes], counts: dict[bytes, int]) -> None:
    assert not each_once(found, WANTED)
    assert miscopied_values(found, WANTED) == counts
