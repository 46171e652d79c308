"""The schema of everything that is stored and read again: histories, shards, schedules, plans, the state of a hunt.

One number stands in all of them, and rises at most once a release (CONTRIBUTING, "Change a stored format").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

SCHEMA = 2
"""The number that this kit writes, and the only one that it reads."""

READ_BY: Mapping[int, str] = {1: "an unreleased kit before 0.1.0 (commit 150b3fae)", SCHEMA: "0.1.0"}
"""The version of the kit that reads each schema."""

T = TypeVar("T")


class WrongSchema(ValueError):
    """A stored file of another schema: exit code 2."""


class _Numbered(msgspec.Struct):
    """The schema of a file, by any of its formats; the first one was not numbered in all of them."""

    schema: int = 1


def refuse_older(schema: int, what: object) -> None:
    """Raises WrongSchema with the version of the kit that reads `what`, if it is older than this one."""
    if schema < SCHEMA:
        raise WrongSchema(
            f"{what} is of schema {schema}, which {READ_BY.get(schema, 'no kit')} reads; this kit reads schema {SCHEMA}."
        )


def require_current(content: bytes, what: object) -> None:
    """Raises WrongSchema for a JSON object of another schema, msgspec.DecodeError for what is none."""
    schema = msgspec.json.decode(content, type=_Numbered).schema
    refuse_older(schema, what)
    if schema > SCHEMA:
        raise WrongSchema(f"{what} is of schema {schema}, which a newer kit reads; this kit reads schema {SCHEMA}.")


def decode(content: bytes, type: type[T], what: object) -> T:
    """The stored object of the current schema. Raises WrongSchema or msgspec.DecodeError."""
    require_current(content, what)
    return msgspec.json.decode(content, type=type)
