"""Typed values in words, for sentences that people read: never the text of a Python structure.

>>> from protocol.codes import Error
>>> from protocol.log import LeaderAndEpoch
>>> say(Error.FENCED_LEADER_EPOCH), say(LeaderAndEpoch(2, 5)), say([7, 7, 8]), say({"a-0": None})
('FENCED_LEADER_EPOCH', 'leader id 2, leader epoch 5', '7 (2 times), 8', 'a-0: nothing')

Answers and their parts are said so by `str` as well. A collection in an f-string has to go through `say`.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from itertools import groupby
from numbers import Real
from typing import Any

import msgspec

from protocol.codes import Error

LEFT_OUT = frozenset({"version", "throttle_time_ms", "topic_id", "node_endpoints"})
"""Fields that tell nothing about a node's actions."""
MOST = 40
"""The most bytes shown, and the most items of a collection."""


def say(value: object) -> str:
    """Return any value in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "yes" if value else "no"
        case Enum():
            return value.name
        case float():
            return f"{value:g}"
        case str() | Real():
            return str(value)
        case bytes():
            return _say_bytes(value)
        case Mapping():
            return _joined([f"{say(name)}: {_inner(item)}" for name, item in value.items()])
        case Set():
            return _joined(sorted(map(_inner, value)))
        case _ if type(value).__str__ is not object.__str__:
            return str(value)
        case _ if _names(value):
            return say_fields(value)
        case list() | tuple():
            return _joined([*map(_inner, value)])
        case _:
            return type(value).__name__


def say_fields(value: object) -> str:
    """Return a struct's informative fields by name, first any error."""
    error = [say_error(getattr(value, name)) for name in _names(value) if name == "error"]
    fields = [f"{name.replace('_', ' ')} {_inner(item)}" for name, item in _telling_fields(value)]
    return ", ".join([*error, *fields]) or "nothing"


def say_error(error: int) -> str:
    """Return an error code's name and number in Kafka; `no error` for NONE."""
    return f"{Error(error).name} ({error:d})" if error else "no error"


def _telling_fields(value: object) -> Iterator[tuple[str, Any]]:
    for name in _names(value):
        item = getattr(value, name)
        nothing = item is None or (not isinstance(item, Error) and item in ("", -1)) or item is Error.NONE
        empty = isinstance(item, list | tuple | Mapping | Set) and not item
        # The error of a whole response is repeated where a single one is known.
        repeated = name == "top_level_error" and item is getattr(value, "error", None)
        if name != "error" and name not in LEFT_OUT and not (nothing or empty or repeated):
            yield name, item


def _names(value: object) -> tuple[str, ...]:
    return value.__struct_fields__ if isinstance(value, msgspec.Struct) else getattr(value, "_fields", ())


def _inner(value: object) -> str:
    """Return a part of a value in words, in brackets if it has parts itself."""
    if isinstance(value, list | tuple | Set) and not _names(value):
        text = say(value)
        return text if not value or text.startswith(("(", "'")) else f"[{text}]"
    if isinstance(value, Mapping) or (_names(value) and type(value).__str__ in (object.__str__, say_fields)):
        return f"({say(value)})"
    return say(value)


def _joined(items: Iterable[str]) -> str:
    """Join items with commas, and equal neighbours into one with a count."""
    counted = [(item, sum(1 for _ in same)) for item, same in groupby(items)]
    words = [item if times == 1 else f"{item} ({times} times)" for item, times in counted]
    more = [f"and {len(words) - MOST} more"] if len(words) > MOST else []
    return ", ".join([*words[:MOST], *more]) or "none"


def _say_bytes(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return f"'{text}'" if text.isprintable() and len(text) <= MOST else f"{len(value)} bytes"
