"""The schema of everything stored and read again: histories, shards, schedules, plans, the state of a hunt.

All of them have one number, which rises at most once per release (CONTRIBUTING, "Change a stored format").
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

SCHEMA = 2
"""The schema number that this kit writes, and the only one that it reads."""

READ_BY: Mapping[int, str] = {1: "an unreleased kit before 0.1.0 (commit 150b3fae)", SCHEMA: "0.1.0"}
"""The version of the kit that reads each schema."""

T = TypeVar("T")


class WrongSchema(ValueError):
    """A stored file with another schema number: exit code 2."""


class _Numbered(msgspec.Struct):
    """A stored file's schema number; in schema 1 not every format had one."""

    schema: int = 1


def refuse_older(schema: int, what: object) -> None:
    """Raise WrongSchema, with the kit version that reads it, if `what` is of an older schema."""
    if schema < SCHEMA:
        raise WrongSchema(
            f"{what} is of schema {schema}, which {READ_BY.get(schema, 'no kit')} reads; this kit reads schema {SCHEMA}."
        )


def require_current(content: bytes, what: object) -> None:
    """Raise WrongSchema for a JSON object of another schema, msgspec.DecodeError for anything but an object."""
    schema = msgspec.json.decode(content, type=_Numbered).schema
    refuse_older(schema, what)
    if schema > SCHEMA:
        raise WrongSchema(f"{what} is of schema {schema}, which a newer kit reads; this kit reads schema {SCHEMA}.")


def decode(content: bytes, type: type[T], what: object) -> T:
    """Return the stored object, which must be of the current schema. Raises WrongSchema or msgspec.DecodeError."""
    require_current(content, what)
    return msgspec.json.decode(content, type=type)
