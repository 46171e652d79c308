"""Topics that are deleted and created again under their name: the topic that a request and its answer are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME, Exchange, name_of
from conformance.judging.facts.log import DeleteRecordsResult, ProduceResult, UncleanElectionResult
from conformance.judging.facts.reassignments import ReassignmentResult
from conformance.judging.facts.topics import OPEN, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, deleted_by
from conformance.judging.timeline import Timeline
from history.events import Answer, Call
from protocol.since import since

UNTOLD: Final = -1
"""In place of a number: it may be about any topic of that name, or fall between two of them."""
DELETED: Final = -2
"""In place of a number: it names the id of a topic that was deleted."""
APPLIES_WITHIN = 2.0
"""Seconds after which a broker that told the id of the new topic no longer serves the deleted one under its name."""
DELETED_ALREADY = frozenset((UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID))
BY_ID_FROM = {
    "produce": since("ProduceRequest", "TopicId"),
    "produce_many": since("ProduceRequest", "TopicId"),
    "fetch": since("FetchRequest", "TopicId"),
    "fetch_many": since("FetchRequest", "TopicId"),
}
"""By operation, the version from which on its request names topics by id."""
TELLS_IDS = frozenset(("metadata", "describe_topic_partitions"))
"""Operations whose answers have the id of each topic."""


class _Topic:
    """The latest topic of a name: its number and its id, empty if none was told; and requests by which it may be deleted.

    `named` has the time at which each incarnation of a broker first told the id.
    """

    def __init__(self, number: int = 0, id: str = "", former: frozenset[str] = frozenset()) -> None:
        self.number, self.id, self.former = number, id, former
        self.deletions: set[int] = set()
        self.named: dict[tuple[str, int], float] = {}

    def successor(self, id: str) -> _Topic:
        return _Topic(self.number + 1, id, self.former | {self.id})


class Recreations:
    """Numbers for the topics of one name in a history: 0 for the first, and one more for each that was created after a
    deletion.

    A topic counts as created if its creation was acknowledged with its id. Once a deletion was requested, an answer is
    about the topic whose id it tells; without an id it is about the latest topic, if the broker had told the id of that for
    some time.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._topics: dict[str, _Topic] = {}
        self._deleted: set[str] = set()
        """Names of topics whose deletion was requested."""

    # --- following the history

    def follow_call(self, call: Call) -> None:
        """Take a request. After a request to delete it, a topic may be gone."""
        for wanted in call.request["topics"] if call.op == "delete_topics" else ():
            topic = self._topics.setdefault(name_of(wanted), _Topic())
            if _may_mean(call, wanted, topic):
                topic.deletions.add(call.n)
                self._deleted.add(name_of(wanted))

    def follow_answer(self, call: Call, answer: Answer) -> None:
        if call.op == "create_topics" and answer.outcome == "ok" and not call.request.get("validate_only"):
            self._created(answer)
        elif call.op == "delete_topics":
            for name in _kept(call, answer):
                self._topics[name].deletions.discard(call.n)
        elif call.op == "metadata" and self._deleted and answer.outcome == "ok":
            self._note_ids(call, answer)

    def _created(self, answer: Answer) -> None:
        for one in answer.value["topics"]:
            id = one.get("topic_id") or ""
            if one["error_code"] == NONE and id:
                topic = self._topics.setdefault(one["name"], _Topic())
                self._topics[one["name"]] = topic.successor(id) if topic.deletions else topic
                topic.id = topic.id or id

    def _note_ids(self, call: Call, answer: Answer) -> None:
        by = (call.node, self._timeline.incarnations.get(call.node, 0))
        for one in answer.value["topics"]:
            topic = self._topics.get(one["name"])
            if topic is not None and topic.id and one.get("topic_id") == topic.id:
                topic.named.setdefault(by, self._timeline.time(answer.n))

    # --- asking

    def number(self, name: str, node: str, call: Call, answer: Answer) -> int:
        """The number of the topic of that name that a node's answer is about, or UNTOLD, or DELETED."""
        if name not in self._deleted:
            return 0
        topic, id = self._topics[name], _id_in(name, call, answer)
        if id and id in topic.former:
            return DELETED
        known = id == topic.id if id and topic.id else topic.number == 0 or self._serves(topic, node, call)
        return topic.number if known and not topic.deletions else UNTOLD

    def latest(self, name: str) -> int:
        """The number of the latest topic of that name."""
        return self._topics[name].number

    def knows_latest(self, name: str, node: str, call: Call) -> bool:
        """True if the broker had applied the creation of the latest topic of that name before the request."""
        return self._serves(self._topics[name], node, call)

    def _serves(self, topic: _Topic, node: str, call: Call) -> bool:
        """True if the broker had certainly applied the topic's creation before the request."""
        since = topic.named.get((node, self._timeline.incarnations.get(node, 0)))
        return since is not None and self._timeline.time(call.n) - since > APPLIES_WITHIN


def _may_mean(call: Call, wanted: Any, topic: _Topic) -> bool:
    """True unless the request has the id of another topic."""
    id = deleted_by(call, wanted)
    return not (id and topic.id) or id == topic.id


def _kept(call: Call, answer: Answer) -> Iterator[str]:
    """The topics that a deletion certainly left as they were."""
    results = answer.value["topics"] if answer.outcome == "ok" else ()
    for wanted in call.request["topics"]:
        names = {name_of(wanted), _id(wanted)} - {""}
        own = (one["error_code"] for one in results if names & {one["name"], one.get("topic_id")})
        error = next(own, NONE)
        refused = error != NONE and error not in OPEN and error not in DELETED_ALREADY
        if answer.outcome == "fail" or refused:
            yield name_of(wanted)


def _id_in(name: str, call: Call, answer: Answer) -> str:
    """The id of a topic, by which the request was handled or which the answer tells; empty if there is none."""
    if answer.outcome != "ok":
        return ""
    if call.op in TELLS_IDS:
        return next((one.get("topic_id") or "" for one in answer.value["topics"] if one["name"] == name), "")
    by_id = answer.value.get("version", -1) >= BY_ID_FROM[call.op] if call.op in BY_ID_FROM else False
    parts = call.request.get("partitions") or [call.request] if by_id else []
    return next((_id(one["topic"]) for one in parts if name_of(one["topic"]) == name), "")


def _id(topic: Any) -> str:
    return "" if isinstance(topic, str) else str(topic.get("id") or "")


# --- requests to a topic that is, or may be, deleted


class ProducedToDeleted(Exchange, frozen=True, gc=False):
    """A Produce by the id of a topic that was deleted, to a broker that serves another one of the same name by then."""

    error: int

    @staticmethod
    def of(write: ProduceResult) -> ProducedToDeleted:
        return ProducedToDeleted(write.asked, write.event, write.node, write.incarnation, write.error)


def with_unknown_outcome(fact: Any) -> Any:
    """A request with an unknown outcome in place of its answer; None for one that changes nothing, or certainly has not."""
    replace = msgspec.structs.replace
    match fact:
        case ProduceResult(failed=False):
            return replace(fact, error=UNKNOWN_OUTCOME, offset=-1, log_start=-1)
        case DeleteRecordsResult():
            return replace(fact, error=UNKNOWN_OUTCOME, low_watermark=-1)
        case ReassignmentResult():
            return replace(fact, error=UNKNOWN_OUTCOME)
        case UncleanElectionResult():
            return replace(fact, granted=False)
    return None
