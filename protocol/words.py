"""Typed values in words, for sentences that people read: never the text of a Python structure.

>>> from protocol.codes import Error
>>> from protocol.log import LeaderAndEpoch
>>> say(Error.FENCED_LEADER_EPOCH), say(LeaderAndEpoch(2, 5)), say([7, 7, 8]), say({"a-0": None})
('FENCED_LEADER_EPOCH', 'leader 2 at epoch 5', '7 (2 times), 8', 'a-0: nothing')

Answers and their parts are said so by `str` as well. A collection in an f-string has to go through `say`.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from itertools import groupby
from numbers import Real
from typing import Any

import msgspec

from protocol.codes import Error

TELL_NOTHING = frozenset({
    "client_host", "client_id", "heartbeat_interval_ms", "last_timestamp", "log_append_time_ms", "node_endpoints",
    "start_time_ms", "throttle_time_ms", "topic_id", "version",
})  # fmt: skip
"""Fields that do not describe a node's actions."""
ERRORS = ("error", "error_code", "top_level_error")
"""Fields that are shown without their names."""
NO_ERROR = "no error"
JOINED = {
    ("topic", "partition"): "{}-{}",
    ("producer_id", "producer_epoch"): "producer {} at epoch {}",
    ("leader_id", "leader_epoch"): "leader {} at epoch {}",
    ("leader", "leader_epoch"): "leader {} at epoch {}",
    ("candidate_id", "candidate_epoch"): "candidate {} at epoch {}",
    ("member_id", "member_epoch"): "{} at epoch {}",
}
"""Fields that are shown together, with their form."""
NAMES = {"high_watermark": "HW", "isr": "ISR", "isr_nodes": "ISR", "last_stable_offset": "LSO"}
"""The usual names of fields."""
MOST = 40
"""The maximum number of bytes and of items of a collection that are shown."""


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
            return _join([f"{say(name)}: {_part_in_words(item)}" for name, item in value.items()])
        case Set():
            return _join(sorted(map(_part_in_words, value)))
        case _ if type(value).__str__ is not object.__str__:
            return str(value)
        case _ if _names(value):
            return say_fields(value)
        case list() | tuple():
            return _join([*map(_part_in_words, value)])
        case _:
            return type(value).__name__


def say_change(before: object, after: object) -> str:
    """Return what differs between two values of a type, by field, or that nothing does.

    >>> from protocol.log import LeaderAndEpoch
    >>> say_change(LeaderAndEpoch(2, 5), LeaderAndEpoch(2, 6)), say_change(1, 1), say_change(None, 7)
    ('leader epoch 5 became 6', 'nothing changed', 'nothing became 7')
    """
    if before == after:
        return "nothing changed"
    names = _names(before) if type(before) is type(after) else ()
    changed = {name: (getattr(before, name), getattr(after, name)) for name in names}
    moved = [f"{_name_in_words(name)} {_became(*pair)}" for name, pair in changed.items() if pair[0] != pair[1]]
    return ", ".join(moved) or _became(before, after)


def _became(before: object, after: object) -> str:
    return f"{_part_in_words(before)} became {_part_in_words(after)}"


def say_fields(value: object) -> str:
    """Return a struct's informative fields by name, first any error."""
    error = {name: say_error(getattr(value, name)) for name in _names(value) if name == "error"}
    return (
        ", ".join(phrases(error | {name: _part_in_words(item) for name, item in _fields_worth_saying(value)}))
        or "nothing"
    )


def phrases(fields: Mapping[str, str]) -> list[str]:
    """Return the fields, whose values are already in words, as phrases: errors, those that belong together, and the others.

    `no error` is shown only if there is nothing else.
    """
    rest = dict(fields)
    found = [rest.pop(name) for name in ERRORS if name in rest]
    found = [error for error in found if error != NO_ERROR or not rest]
    for (one, other), form in JOINED.items():
        if one in rest and other in rest:
            found.append(form.format(rest.pop(one), rest.pop(other)))
    return [*found, *(f"{_name_in_words(name)} {text}" for name, text in rest.items())]


def _name_in_words(field: str) -> str:
    return NAMES.get(field, field.replace("_", " "))


def say_error(error: int) -> str:
    """Return an error code's name and number in Kafka; `no error` for NONE."""
    return f"{Error(error).name} ({error:d})" if error else NO_ERROR


def shorten(text: str, most: int) -> str:
    """Return a text of at most `most` characters; an ellipsis stands for what was cut off."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,;(')}…"


def _fields_worth_saying(value: object) -> Iterator[tuple[str, Any]]:
    for name in _names(value):
        item = getattr(value, name)
        nothing = item is None or (not isinstance(item, Error) and item in ("", -1)) or item is Error.NONE
        empty = isinstance(item, list | tuple | Mapping | Set) and not item
        # The error of a whole response is repeated where a single one is known.
        repeated = name == "top_level_error" and item is getattr(value, "error", None)
        if name != "error" and name not in TELL_NOTHING and not (nothing or empty or repeated):
            yield name, item


def _names(value: object) -> tuple[str, ...]:
    return value.__struct_fields__ if isinstance(value, msgspec.Struct) else getattr(value, "_fields", ())


def _part_in_words(value: object) -> str:
    """Return a part of a value in words, in brackets if it has parts itself."""
    if isinstance(value, list | tuple | Set) and not _names(value):
        text = say(value)
        return text if not value or text.startswith(("(", "'")) else f"[{text}]"
    if isinstance(value, Mapping) or (_names(value) and type(value).__str__ in (object.__str__, say_fields)):
        return f"({say(value)})"
    return say(value)


def _join(items: Iterable[str]) -> str:
    """Join items with commas, and equal neighbours into one with a count."""
    counted = [(item, sum(1 for _ in same)) for item, same in groupby(items)]
    words = [item if times == 1 else f"{item} ({times} times)" for item, times in counted]
    more = [f"and {len(words) - MOST} more"] if len(words) > MOST else []
    return ", ".join([*words[:MOST], *more]) or "none"


def _say_bytes(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return f"'{text}'" if text.isprintable() and len(text) <= MOST else f"{len(value)} bytes"
