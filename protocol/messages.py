"""The common parts of all messages: bases of requests and answers, topics by name or id, version ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, get_args
from uuid import UUID

import msgspec

from protocol.codes import Error
from protocol.words import say_fields

A = TypeVar("A")


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename={"error": "error_code"}):
    """The base of answers and of the structs inside them. Its `str` describes it in words."""

    __str__ = say_fields


class Answer(Part, frozen=True, kw_only=True):
    """The base of all answers."""

    version: int
    """The request's version."""
    throttle_time_ms: int = 0


class PartitionAnswer(Answer, frozen=True, kw_only=True):
    """The base of answers for one partition. `topic` is None if the version identifies topics by id."""

    topic: str | None = None
    topic_id: UUID | None = None
    partition: int
    error: Error = Error.NONE
    top_level_error: Error = Error.NONE
    """The error of the whole response."""


class Operation(msgspec.Struct, Generic[A], frozen=True, gc=False):
    """The base of operations, requests or others: the fields that a history keeps. The answer is an `A`."""

    op: ClassVar[str]
    """The name in histories, by default the class name in snake case."""
    answer: ClassVar[Any]
    """The type `A`."""
    api: ClassVar[str] = ""
    """The API that gives the answer; empty if none does."""

    def __init_subclass__(cls) -> None:
        arguments = [one for base in getattr(cls, "__orig_bases__", ()) for one in get_args(base)]
        answers = [one for one in arguments if not isinstance(one, TypeVar)]
        if "op" not in vars(cls):
            cls.op = re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        if answers:
            cls.answer = answers[0]


class Request(Operation[A], frozen=True, kw_only=True):
    """The base of requests that are schema messages. `api` defaults to the name of the class."""

    sent_as: ClassVar[Mapping[str, str]] = {}
    """The names of fields in the schema, by their names in histories, where these differ."""

    version: int | None = None
    """The version to send; None for the highest that client and node share."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "api" not in vars(cls):
            cls.api = cls.__name__

    @property
    def fields(self) -> dict[str, Any]:
        """The message's fields by their schema names, without the version."""
        names = (name for name in self.__struct_fields__ if name != "version")
        return {self.sent_as.get(name, name): getattr(self, name) for name in names}


class Topic(msgspec.Struct, frozen=True, gc=False):
    """A topic with its id, if known: newer versions of an API identify topics by id only."""

    name: str
    id: UUID | None = None

    @staticmethod
    def of(topic: Topic | str) -> Topic:
        return Topic(topic) if isinstance(topic, str) else topic


class PendingRequest(msgspec.Struct, frozen=True, gc=False):
    """A request in flight on its own connection, identified by `number`."""

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
