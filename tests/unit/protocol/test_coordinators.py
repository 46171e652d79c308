"""Which partition holds the state of a coordinator."""

from __future__ import annotations

import pytest

from protocol.coordinators import abs_of, java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("kafka", 101807910), ("polygenelubricants", -(1 << 31)), ("𝄞", 1772394)],
)
def test_hashes_are_those_of_java(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_the_smallest_number_has_no_absolute_value_and_counts_as_0() -> None:
    assert abs_of(-(1 << 31)) == 0
    assert abs_of(-5) == 5
    assert partition_for("polygenelubricants", 50) == 0
