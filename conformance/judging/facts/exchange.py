"""Typed facts: what one request and its answer show about a subject, and the table of their decoders by operation."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, Never, Protocol, TypeAlias, TypeVar, cast, overload
from uuid import UUID

import msgspec

from conformance.judging.timeline import Timeline
from history.events import Answer, Call
from history.subjects import Kind
from protocol.messages import Operation, Topic

A = TypeVar("A")

NONE = 0
UNKNOWN_OUTCOME = -1
"""A placeholder for an error code if it is unknown whether the request was handled."""
NEVER_SENT = -2
"""A placeholder for an error code if the request was certainly never sent."""


class LostAnswer(msgspec.Struct, frozen=True, gc=False):
    """A placeholder for a lost answer: UNKNOWN_OUTCOME or NEVER_SENT, and the version of the request, -1 if the client chose it.

    It says nothing about any partition or topic.
    """

    error: int
    version: int
    partitions: ClassVar[tuple[Never, ...]] = ()
    topics: ClassVar[tuple[Never, ...]] = ()


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """A request and its answer: the event numbers of both, the node, and the incarnation of the node that answered.

    `one.event < other.asked` says that one request was answered before the other was sent.
    """

    asked: int
    event: int
    node: str
    incarnation: int


def exchange_of(fact: Exchange) -> tuple[int, int, str, int]:
    """Return the fields that a fact has as an `Exchange`."""
    return fact.asked, fact.event, fact.node, fact.incarnation


by_event: Callable[[Any], int] = attrgetter("event")
by_asked: Callable[[Any], int] = attrgetter("asked")
"""Keys for sorting and looking up facts."""

Attributed = tuple[Kind, str, Any]
"""The kind and name of a subject, and a fact for its story."""

Decoder = Callable[[Any, Any, "Decoding"], Iterable[Attributed]]
"""A function that turns a request and its answer, both structs of `protocol` or `history.readings`, into facts.

A decoder that also takes lost requests gets a `Lost` in place of their answers.
"""


class DecoderEntry(msgspec.Struct, frozen=True):
    """A decoder in the table: the kinds of subjects that it makes facts about, and whether it takes lost requests too."""

    decoder: Decoder
    about: frozenset[Kind]
    lost: bool


class Decoders(msgspec.Struct, frozen=True):
    """The decoders of one operation, for answered requests and for lost ones. `request` is the request's struct."""

    request: type[Operation[Any]]
    of_answered: tuple[Decoder, ...]
    of_lost: tuple[Decoder, ...]


class Decoding:
    """The state that decoders share within one history: the timeline, equal values as one object, sessions of consumers, requests
    in flight by node and number (None if two share one), and the laws of all answers that already have a fact.

    `call` and `answer` are the events that are being decoded, `request` and `value` their contents.
    """

    call: Call
    answer: Answer
    request: Any
    value: Any

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.sessions: dict[str, list[int]] = {}
        """By consumer, the events at which its sessions began."""
        self.parked: dict[tuple[str, int], Any] = {}
        self.seen: set[Any] = set()
        self.groups: dict[str, str] = {}
        """Consumers that are members of a group."""
        self.topic_ids: dict[str, UUID] = {}
        """The latest known ids of topics, by name."""
        self.topics_by_id: dict[str, tuple[str, int]] = {}
        """The name of each topic that was ever shown, by id, and the first event that showed it."""
        self.with_commits: dict[str, set[tuple[str, int]]] = {}
        """By group, the partitions with an accepted commit outside a transaction."""
        self.partition_counts: dict[str, int] = {}
        """The latest known numbers of partitions of the topics that are not deleted, by name."""
        self.known: dict[Any, Any] = {}
        """Repeated values (batches, states of partitions) by their fields: created once, and compared by identity after that."""

    def facts(self, call: Call, answer: Answer, decoders: Decoders) -> Sequence[Attributed]:
        """Return the facts that these decoders make of a request. Raises ValidationError if the request or its answer is
        malformed."""
        self.call, self.answer = call, answer
        is_ok = answer.outcome == "ok"
        called = decoders.of_answered if is_ok else decoders.of_lost
        if not called:
            return ()
        kind = decoders.request
        self.request = msgspec.convert(call.request, kind)
        self.value = msgspec.convert(answer.value, kind.answer) if is_ok else self._lost_answer()
        found: list[Attributed] = []
        for decode in called:
            found.extend(decode(self.request, self.value, self))
        return found

    def _lost_answer(self) -> LostAnswer:
        version = getattr(self.request, "version", None)
        return LostAnswer(
            NEVER_SENT if self.answer.outcome == "fail" else UNKNOWN_OUTCOME, -1 if version is None else version
        )

    def note_topic(self, name: str, id: UUID) -> None:
        """Note that the current answer shows a topic with this id."""
        self.topic_ids[name] = id
        self.topics_by_id.setdefault(str(id), (name, self.answer.n))

    def name_of(self, id: UUID | None) -> str:
        """Return the name of the topic with an id; empty if the history never showed it."""
        return self.topics_by_id.get(str(id), ("", 0))[0]

    def topic_key(self, name: str) -> str:
        """Return the latest known id of a topic as text, or its name if no id is known."""
        return str(self.topic_ids.get(name, name))

    def exchange(self) -> tuple[int, int, str, int]:
        """Return the fields of an `Exchange`."""
        call = self.call
        return call.n, self.answer.n, call.node, self.timeline.incarnations.get(call.node, 0)


OPERATIONS: dict[str, type[Operation[Any]]] = {}
"""The request structs by the names of their operations."""
DECODERS: dict[str, list[DecoderEntry]] = {}
"""The decoders of each operation. Operations that are not in the table are ignored."""


DecoderOf: TypeAlias = Callable[[Any, A, Decoding], Iterable[Attributed]]


@overload
def decodes(
    *requests: Callable[..., Operation[A]], about: Iterable[Kind]
) -> Callable[[DecoderOf[A]], DecoderOf[A]]: ...


@overload
def decodes(
    *requests: Callable[..., Operation[A]], about: Iterable[Kind], lost: Literal[True]
) -> Callable[[DecoderOf[A | LostAnswer]], DecoderOf[A | LostAnswer]]: ...


def decodes(
    *requests: Callable[..., Operation[Any]], about: Iterable[Kind], lost: bool = False
) -> Callable[[Decoder], Decoder]:
    """Register a decoder of these requests, for facts about these kinds of subjects; with `lost`, it also gets lost requests."""

    def enter(decoder: Decoder) -> Decoder:
        for request in cast(tuple[type[Operation[Any]], ...], requests):
            OPERATIONS[request.op] = request
            DECODERS.setdefault(request.op, []).append(DecoderEntry(decoder, frozenset(about), lost))
        return decoder

    return enter


@cache
def decoders_of(kinds: frozenset[Kind]) -> dict[str, Decoders]:
    """Return the decoders that give facts about any of these kinds, by operation."""
    wanted = {op: [entry for entry in found if entry.about & kinds] for op, found in DECODERS.items()}
    return {
        op: Decoders(
            OPERATIONS[op],
            of_answered=tuple([entry.decoder for entry in found]),
            of_lost=tuple([entry.decoder for entry in found if entry.lost]),
        )
        for op, found in wanted.items()
        if found
    }


class InPartition(Protocol):
    """A request about one partition, or a part of one."""

    @property
    def topic(self) -> Topic | str: ...

    @property
    def partition(self) -> int: ...


def name_of(topic: Topic | str) -> str:
    """Return the name of a topic that a request gives by name, or by name and id."""
    return topic if isinstance(topic, str) else topic.name


def partition_of(part: InPartition) -> str:
    """Return the partition of a request or of a part of one, as `topic-0`."""
    return f"{name_of(part.topic)}-{part.partition}"
