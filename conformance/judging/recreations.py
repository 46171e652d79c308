"""Topics that are deleted and created again under the same name: which of them a request and its answer are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from conformance.judging.facts import log as facts
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME, Decoding, Exchange, LostAnswer, name_of
from conformance.judging.facts.groups import OffsetCommitResult
from conformance.judging.facts.reassignments import ReassignmentResult
from conformance.judging.facts.topics import OPEN, deleted_by
from conformance.judging.timeline import Timeline
from history.events import Answer, Call
from protocol.cluster import Metadata, MetadataAnswer, TopicPartitionsAnswer
from protocol.codes import Error
from protocol.log import Fetch, FetchMany, FetchPartition, Produce, ProduceMany, ProducePartition
from protocol.messages import Topic
from protocol.since import since
from protocol.topics import CreateTopics, CreateTopicsAnswer, DeleteTopics, TopicResults

UNKNOWN_TOPIC: Final = -1
"""A stand-in for a topic's number: the answer may be about any topic of that name, or fall between two of them."""
DELETED_TOPIC: Final = -2
"""A stand-in for a topic's number: the request names the id of a deleted topic."""
DELETION_TIMEOUT = 30.0
"""Seconds after which a broker that answered with the new topic's id must no longer serve the deleted topic under its name: the
general bound. If the broker served a request by the new id, this holds at once."""
DELETED_ALREADY = frozenset((Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID))
PRODUCE_BY_ID_FROM, FETCH_BY_ID_FROM = since("ProduceRequest", "TopicId"), since("FetchRequest", "TopicId")
"""The versions from which requests name topics by id."""
BY_ID = {op.op: PRODUCE_BY_ID_FROM for op in (Produce, ProduceMany)} | {
    op.op: FETCH_BY_ID_FROM for op in (Fetch, FetchMany)
}
"""The request version from which an operation names topics by id."""


class _Topic:
    """The latest topic of a name: its number, its id (None if unknown), and the requests that may delete it.

    `named` has the event at which each broker incarnation first answered with the topic's id, `serving` the incarnations that
    served a request by that id.
    """

    def __init__(self, number: int = 0, id: UUID | None = None, former: frozenset[UUID | None] = frozenset()) -> None:
        self.number, self.id, self.former = number, id, former
        self.deletions: set[int] = set()
        self.named: dict[tuple[str, int], int] = {}
        self.serving: set[tuple[str, int]] = set()

    def successor(self, id: UUID) -> _Topic:
        return _Topic(self.number + 1, id, self.former | {self.id})


class Recreations:
    """The numbers of the topics of one name in a history: 0 for the first, and one more for each that was created after a
    deletion.

    A topic counts as created if its creation was acknowledged with its id. Once a deletion was requested, an answer is about the
    topic whose id it has. Without an id it is about the latest topic, if the broker had served a request by that topic's id, or
    had known that id for some time. While it is unknown if a deletion took effect, an answer is about the latest topic if the
    same process answers with that topic's id again afterwards.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._topics: dict[str, _Topic] = {}
        self.deleted: set[str] = set()
        """Names of topics whose deletion was requested."""
        self.told_again: list[str] = []
        """The topics whose latest id was in the last answer, while it is not known whether they are deleted."""

    # --- following the history

    def follow_call(self, call: Call) -> None:
        """Note the topics that a request may delete."""
        request = msgspec.convert(call.request, DeleteTopics) if call.op == DeleteTopics.op else DeleteTopics(())
        for wanted in request.topics:
            topic = self._topics.setdefault(name_of(wanted), _Topic())
            if _may_mean(request, wanted, topic):
                topic.deletions.add(call.n)
                self.deleted.add(name_of(wanted))

    def follow_answer(self, call: Call, answer: Answer) -> None:
        self.told_again = []
        if call.op == CreateTopics.op and answer.outcome == "ok" and not call.request.get("validate_only"):
            self._note_created(msgspec.convert(answer.value, CreateTopicsAnswer))
        elif call.op == DeleteTopics.op:
            for name in _undeleted_topics(msgspec.convert(call.request, DeleteTopics), answer):
                self._topics[name].deletions.discard(call.n)
        elif call.op == Metadata.op and self.deleted and answer.outcome == "ok":
            self._note_ids(call.node, answer.n, msgspec.convert(answer.value, MetadataAnswer))
        elif call.op in BY_ID and self.deleted and answer.outcome == "ok":
            self._note_served(call, answer)

    def _note_created(self, answer: CreateTopicsAnswer) -> None:
        for one in answer.topics:
            if one.error == NONE and one.topic_id is not None:
                topic = self._topics.setdefault(one.name, _Topic())
                self._topics[one.name] = topic.successor(one.topic_id) if topic.deletions else topic
                topic.id = topic.id or one.topic_id

    def _note_ids(self, node: str, event: int, answer: MetadataAnswer) -> None:
        for one in answer.topics:
            topic = self._topics.get(one.name or "")
            if topic is not None and topic.id is not None and one.topic_id == topic.id:
                topic.named.setdefault(self._incarnation(node), event)
                if topic.deletions and one.name is not None:
                    self.told_again.append(one.name)

    def _note_served(self, call: Call, answer: Answer) -> None:
        """Note that the broker serves the topics that the request named by id, if it served each of their partitions."""
        parts, results = ([one] if "topic" in one else one["partitions"] for one in (call.request, answer.value))
        if answer.value["version"] < BY_ID[call.op] or any(one["error_code"] != NONE for one in results):
            return
        for wanted in (Topic.of(msgspec.convert(part["topic"], Topic | str)) for part in parts):
            topic = self._topics.get(wanted.name)
            if topic is not None and topic.id is not None and wanted.id == topic.id:
                topic.serving.add(self._incarnation(call.node))

    def _incarnation(self, node: str) -> tuple[str, int]:
        return node, self._timeline.incarnations.get(node, 0)

    # --- asking

    def number(self, name: str, node: str, at: Decoding) -> int:
        """Return the number of the topic, among those of that name, that a node's answer is about, or a stand-in."""
        if name not in self.deleted:
            return 0
        topic, id = self._topics[name], _id_in(name, at)
        if id is not None and id in topic.former:
            return DELETED_TOPIC
        known = id == topic.id if id and topic.id else topic.number == 0 or self._serves(topic, node, at.call)
        return topic.number if known and not topic.deletions else UNKNOWN_TOPIC

    def latest(self, name: str) -> int:
        """Return the number of the latest topic of that name."""
        return self._topics[name].number

    def knows_latest(self, name: str, node: str, call: Call) -> bool:
        """True if the broker had applied the creation of the latest topic of that name before the request."""
        return self._serves(self._topics[name], node, call)

    def _serves(self, topic: _Topic, node: str, call: Call) -> bool:
        """True if the broker had certainly applied the topic's creation before the request."""
        by = self._incarnation(node)
        if by in topic.serving or (since := topic.named.get(by)) is None:
            return by in topic.serving
        return self._timeline.watch_time(since, call.n, DELETION_TIMEOUT) > DELETION_TIMEOUT


def _may_mean(request: DeleteTopics, wanted: Topic | str, topic: _Topic) -> bool:
    """True unless the request has the id of another topic."""
    id = deleted_by(request, wanted)
    return not (id and topic.id) or id == topic.id


def _undeleted_topics(request: DeleteTopics, answer: Answer) -> Iterator[str]:
    """Yield the topics that a DeleteTopics request certainly did not delete."""
    results = msgspec.convert(answer.value, TopicResults).topics if answer.outcome == "ok" else ()
    for topic in map(Topic.of, request.topics):
        own = (one.error for one in results if one.name == topic.name or (topic.id and one.topic_id == topic.id))
        error = next(own, NONE)
        refused = error != NONE and error not in OPEN and error not in DELETED_ALREADY
        if answer.outcome == "fail" or refused:
            yield topic.name


def _id_in(name: str, at: Decoding) -> UUID | None:
    """Return the topic's id in the request or the answer; None if neither has one."""
    match at.value:
        case LostAnswer():
            return None
        case MetadataAnswer() | TopicPartitionsAnswer() as answer:
            return next((one.topic_id for one in answer.topics if one.name == name), None)
    match at.request:
        case Produce() | Fetch() as one:
            parts: Sequence[Produce | Fetch | ProducePartition | FetchPartition] = [one]
        case ProduceMany() | FetchMany() as many:
            parts = many.partitions
        case _:
            return None
    first = PRODUCE_BY_ID_FROM if isinstance(at.request, Produce | ProduceMany) else FETCH_BY_ID_FROM
    topics = (Topic.of(part.topic) for part in parts) if at.value.version >= first else ()
    return next((topic.id for topic in topics if topic.name == name), None)


# --- requests to a topic that is, or may be, deleted


class RequestByFormerId(Exchange, frozen=True, gc=False):
    """A Produce or Fetch by the id of a deleted topic, to a broker that serves another topic of the same name."""

    op: Literal["produce", "fetch"]
    error: int

    @staticmethod
    def request_behind(fact: Any) -> RequestByFormerId | None:
        """Return the request behind a fact; None if the fact is not about one."""
        match fact:
            case facts.ProduceResult():
                return RequestByFormerId(fact.asked, fact.event, fact.node, fact.incarnation, "produce", fact.error)
            case facts.FetchResult():
                return RequestByFormerId(fact.asked, fact.event, fact.node, fact.incarnation, "fetch", NONE)
            case facts.ErrorResponse(op="fetch"):
                return RequestByFormerId(fact.asked, fact.event, fact.node, fact.incarnation, "fetch", fact.error)
        return None


def replace_by_unknown(fact: Any) -> Any:
    """Return a fact with its answer replaced by an unknown outcome; None if the request certainly changed nothing."""
    replace = msgspec.structs.replace
    match fact:
        case facts.ProduceResult(failed=False):
            return replace(fact, error=UNKNOWN_OUTCOME, offset=-1, log_start=-1)
        case facts.DeleteRecordsResult():
            return replace(fact, error=UNKNOWN_OUTCOME, low_watermark=-1)
        case ReassignmentResult():
            return replace(fact, error=UNKNOWN_OUTCOME)
        case facts.UncleanElectionResult():
            return replace(fact, granted=False)
        case OffsetCommitResult():
            return replace(fact, error=UNKNOWN_OUTCOME, accepted=UNKNOWN_OUTCOME)
    return None
