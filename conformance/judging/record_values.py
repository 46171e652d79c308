"""Values of records in words."""

import base64

MAX_SHOWN_LENGTH = 40
"""The maximum number of characters of a value that are shown."""


def value_in_words(value: bytes | str | None) -> str:
    """Return a value as text if it is text; of a long one the beginning and the size. Bytes are base64 in a history."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode()
    try:
        decoded = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return value[:MAX_SHOWN_LENGTH]
    if not decoded.isprintable():
        return value[:MAX_SHOWN_LENGTH]
    return (
        repr(decoded)
        if len(decoded) <= MAX_SHOWN_LENGTH
        else f"{decoded[:MAX_SHOWN_LENGTH]!r}... of {len(decoded)} characters"
    )
