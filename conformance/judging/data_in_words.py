"""Requests and answers of histories, which are plain data, in words."""

from typing import Any

from conformance.judging.record_values import value_in_words
from history.events import Call
from protocol.operations import OPERATIONS
from protocol.words import ERRORS, TELL_NOTHING, phrases, say, say_error

_QUORUM = ("__cluster_metadata", ["__cluster_metadata"])
"""The topic of all requests of a quorum, which sentences omit."""


def api_name(op: str) -> str:
    """Return the name of a call's API, or the call's own name if it is no request."""
    kind = OPERATIONS.get(op)
    return kind.api if kind is not None and kind.api else op


def call_in_words(call: Call) -> str:
    """Return the API of a call and the fields of its request."""
    return f"{api_name(call.op)} {words_of_data(drop_empty_parts(call.request))}".rstrip()


def drop_empty_parts(value: Any) -> Any:
    """Return a value without its empty parts: null, empty, -1, no error."""
    if isinstance(value, dict):
        kept = {k: drop_empty_parts(v) for k, v in value.items() if k not in TELL_NOTHING}
        return {k: v for k, v in kept.items() if _is_worth_saying(k, v)}
    return [drop_empty_parts(one) for one in value] if isinstance(value, list | tuple) else value


def _is_worth_saying(name: str, value: Any) -> bool:
    """True if a field is worth showing. Error codes are, but that of a whole response only if it is an error."""
    if name in ERRORS:
        return value != 0 or name == "error_code"
    return value not in (None, "", [], {}, -1, *_QUORUM)


def words_of_data(value: Any) -> str:
    """Return plain data in words: `producer 7 at epoch 0, partitions (topic-0, offset 3)`; a topic by its name."""
    if isinstance(value, dict) and value.keys() == {"id", "name"}:
        return str(value["name"])
    if isinstance(value, dict):
        return ", ".join(phrases({str(name): _field(str(name), item) for name, item in value.items()}))
    if isinstance(value, list | tuple):
        items = ", ".join(map(_part_in_words, value))
        if len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int:
            return f"{value[0]}-{value[1]}"
        return items if items.startswith("(") else f"[{items}]"
    return say(value)


def _field(name: str, value: Any) -> str:
    if name in ERRORS and isinstance(value, int):
        return say_error(value)
    return value_in_words(value) if name == "value" and isinstance(value, str) else _part_in_words(value)


def _part_in_words(value: Any) -> str:
    text = words_of_data(value)
    return f"({text})" if isinstance(value, dict) and value.keys() != {"id", "name"} else text
