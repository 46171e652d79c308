"""Values of records in words."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis.strategies import binary

from conformance.judging.record_values import MAX_SHOWN_LENGTH, value_in_words


def stored(value: bytes) -> str:
    return b64encode(value).decode()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (stored(b""), "''"),
        (stored(b"a-1"), "'a-1'"),
        (stored(b"it's"), '"it\'s"'),
        (stored("\N{SNOWMAN}".encode()), "'\N{SNOWMAN}'"),
        (stored(b"x" * MAX_SHOWN_LENGTH), repr("x" * MAX_SHOWN_LENGTH)),
        (
            stored(b"x" * (MAX_SHOWN_LENGTH + 1)),
            repr("x" * MAX_SHOWN_LENGTH) + f"... of {MAX_SHOWN_LENGTH + 1} characters",
        ),
        (stored(b"a\nb"), "YQpi"),
        (stored(b"\xff\xfe"), "//4="),
        (stored(b"\xff" * 60), "/" * MAX_SHOWN_LENGTH),
        ("not base64", "not base64"),
    ],
)
def test_text_is_shown_as_such_and_bytes_as_they_are_stored(value: str | None, words: str) -> None:
    assert value_in_words(value) == words


@given(binary(max_size=200))
def test_what_is_shown_is_one_short_line(value: bytes) -> None:
    shown = value_in_words(stored(value))
    assert shown.isprintable()
    assert len(shown) <= 2 * MAX_SHOWN_LENGTH + len("... of 200 characters")
