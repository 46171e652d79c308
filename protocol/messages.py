"""Bases of answers, topics by name or id, ranges of versions: the parts that messages of all areas share."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

import msgspec

from protocol.codes import Error


class Part(msgspec.Struct, frozen=True, kw_only=True, rename={"error": "error_code"}):
    """Base of answers and of the structs inside them."""


class Answer(Part, frozen=True, kw_only=True):
    """Base of all answers."""

    version: int
    """The request version that was used."""
    throttle_time_ms: int = 0


class PartitionAnswer(Answer, frozen=True, kw_only=True):
    """Base of answers for one partition. `topic` is None if the version identifies topics by id."""

    topic: str | None = None
    topic_id: UUID | None = None
    partition: int
    error: Error = Error.NONE
    top_level_error: Error = Error.NONE
    """The error of the whole response."""


class Topic(msgspec.Struct, frozen=True):
    """A topic with its id, if known: newer versions of an API identify topics by id only."""

    name: str
    id: UUID | None = None


class PendingRequest(msgspec.Struct, frozen=True):
    """A request in flight on a connection of its own; `number` identifies it."""

    number: int
    api: str
    version: int


class Versions(NamedTuple):
    """An inclusive range of versions of an API."""

    low: int
    high: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"
