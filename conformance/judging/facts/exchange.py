"""Typed facts: what one request and its answer show about a subject, and the table of their decoders by operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from conformance.judging.timeline import Timeline
from history.events import Answer, Call
from history.subjects import Kind

NONE = 0
UNKNOWN_OUTCOME = -1
"""In place of an error code: it is not known whether the request was handled."""
NEVER_SENT = -2
"""In place of an error code: the request certainly did not leave."""


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """A request and its answer: the numbers of the events of both, the node, and which of its incarnations answered.

    What was answered before something else was asked is known by `one.event < other.asked`.
    """

    asked: int
    event: int
    node: str
    incarnation: int


by_event: Callable[[Any], int] = attrgetter("event")
by_asked: Callable[[Any], int] = attrgetter("asked")
"""Keys by which facts are sorted and looked up."""

Attributed = tuple[Kind, str, Any]
"""Kind and name of a subject, and a fact of its story."""


class Decoding:
    """The state that decoders share within one history: the timeline, equal values as one object, sessions of consumers, requests
    in flight by node and number (None where two share one), and the laws of all answers that already have a fact."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.sessions: dict[str, list[int]] = {}
        """By consumer, the events at which its sessions began."""
        self.parked: dict[tuple[str, int], dict[str, Any] | None] = {}
        self.seen: set[Any] = set()
        self.grouped: set[str] = set()
        """Consumers that are members of a group."""
        self.known: dict[Any, Any] = {}
        """Repeated values (batches, states of partitions) by their fields: created once, and compared by identity after that."""

    def exchange(self, call: Call, answer: Answer) -> tuple[int, int, str, int]:
        """The fields of an `Exchange`."""
        return call.n, answer.n, call.node, self.timeline.incarnations.get(call.node, 0)


Decoder = Callable[[Call, Answer, Decoding], Iterable[Attributed]]
DECODERS: dict[str, list[tuple[Decoder, frozenset[Kind]]]] = {}
"""By operation, with the kinds of subjects that they give facts about. An operation that is not in the table is ignored."""


def decodes(*operations: str, about: Iterable[Kind]) -> Callable[[Decoder], Decoder]:
    """Enter a decoder for these operations, which gives facts about these kinds of subjects."""

    def enter(decoder: Decoder) -> Decoder:
        for operation in operations:
            DECODERS.setdefault(operation, []).append((decoder, frozenset(about)))
        return decoder

    return enter


@cache
def decoders_of(kinds: frozenset[Kind]) -> dict[str, list[Decoder]]:
    """By operation, the decoders that give facts about any of these kinds."""
    wanted = {op: [decode for decode, about in found if about & kinds] for op, found in DECODERS.items()}
    return {op: found for op, found in wanted.items() if found}


def error_of(answer: Answer) -> int:
    """The error code of a whole answer, UNKNOWN_OUTCOME or NEVER_SENT."""
    if answer.outcome == "ok":
        return int(answer.value["error_code"])
    return NEVER_SENT if answer.outcome == "fail" else UNKNOWN_OUTCOME


def version_of(call: Call, answer: Answer) -> int:
    """The version of a request, by its answer or by its caller; -1 where both leave it open."""
    answered = answer.value.get("version") if answer.outcome == "ok" and answer.value else None
    wanted = call.request.get("version") if answered is None else answered
    return -1 if wanted is None else int(wanted)


def name_of(topic: Any) -> str:
    """The name of a topic that a request gives by name, or by name and id."""
    return str(topic) if isinstance(topic, str) else str(topic["name"])


def partition_of(fields: dict[str, Any]) -> str:
    """`topic-0`, of a request or a part of one with `topic` and `partition`."""
    return f"{name_of(fields['topic'])}-{fields['partition']}"
