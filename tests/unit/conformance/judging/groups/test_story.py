"""The partition of __consumer_offsets that holds a group's records."""

from __future__ import annotations

import pytest

from conformance.judging.groups.story import java_hash


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("g", 103), ("group", 98629247), ("polygenelubricants", -(2**31)), ("\N{SNOWMAN}", 0x2603)],
)
def test_hash_of_a_name(text: str, code: int) -> None:
    assert java_hash(text) == code
