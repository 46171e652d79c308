"""One setting of a partition's topic over time, from the requests that set it and the answers that describe it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from conformance.judging.facts.exchange import Decoding, decoders_of
from conformance.judging.facts.topics import (
    BROKER,
    TOPIC,
    Described,
    Resource,
    ResourceChange,
)
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import MIN_ISR, NEVER, UNCLEAN_ELECTION, Timeline

DEFAULTS = {UNCLEAN_ELECTION: "false", MIN_ISR: "1"}
CLUSTER = Resource(BROKER, "")
Owner = Literal["topic", "cluster"]


class Value(NamedTuple):
    """A value, from the request that set it or the answer that described it; `text` is None where it is not, or no longer, set.

    `certain`: it was acknowledged or described. Otherwise the outcome is unknown, and it may come into force at any later time.
    """

    asked: int
    answered: int
    text: str | None
    certain: bool


class InForce(NamedTuple):
    """The value that is certainly in force, and its owner; `since` is the event of its request, -1 for a default."""

    text: str
    owner: Owner
    since: int


class Setting:
    """The values of one setting: the topic's own, and the cluster default where it has none.

    A refused request sets nothing. An answer that describes the setting counts only if no earlier request of the history set it:
    a broker may not know the latest value yet.
    """

    def __init__(self, key: str, story: PartitionStory) -> None:
        self._default = DEFAULTS[key]
        topic = Resource(TOPIC, story.name.rpartition("-")[0])
        self._own, self._cluster = list[Value](), list[Value]()
        for fact in _facts(story.timeline):
            if isinstance(fact, ResourceChange):
                self._take_change(fact, topic, key)
            elif fact.resource == topic and key in fact.values:
                self._take_described(fact, topic, key)

    def _take_change(self, change: ResourceChange, topic: Resource, key: str) -> None:
        values = {topic: self._own, CLUSTER: self._cluster}.get(change.resource)
        if values is not None and change.outcome != "refused" and (change.replaces or key in change.configs):
            values.append(Value(change.asked, change.event, change.configs.get(key), change.outcome == "done"))

    def _take_described(self, described: Described, topic: Resource, key: str) -> None:
        text, source = described.values[key]
        is_own = source == topic.own_source
        if not self._own:
            self._own.append(Value(described.asked, described.event, text if is_own else None, True))
        if not is_own and not self._cluster:
            self._cluster.append(Value(described.asked, described.event, text, True))

    def possible(self, first: int, second: int) -> set[str]:
        """Return the values that may be in force at some time between two events."""
        own, cluster = (_possible(values, first, second) for values in (self._own, self._cluster))
        found = {text for text in own if text is not None}
        return found | {text or self._default for text in cluster} if None in own else found

    def in_force(self, event: int) -> InForce | None:
        """Return the value in force; None where a request of unknown outcome leaves it open."""
        if not all(value.certain for value in (*self._own, *self._cluster) if value.asked < event):
            return None
        own, cluster = _latest(self._own, event), _latest(self._cluster, event)
        if own is not None and own.text is not None:
            return InForce(own.text, "topic", own.asked)
        if cluster is not None and cluster.text is not None:
            return InForce(cluster.text, "cluster", cluster.asked)
        return InForce(self._default, "cluster", -1)

    def was_ever(self, text: str) -> bool:
        return any(value.text == text for value in (*self._own, *self._cluster))


def _facts(timeline: Timeline) -> Iterator[ResourceChange | Described]:
    decoding, decoders = Decoding(timeline), decoders_of(frozenset({"resource"}))
    for call, answer in timeline.configured:
        for _, _, fact in decoding.facts(call, answer, decoders[call.op]):
            yield fact


def _latest(values: Sequence[Value], event: int) -> Value | None:
    """Return the value that was last acknowledged or described before an event."""
    return next((value for value in reversed(values) if value.certain and value.answered < event), None)


def _possible(values: Iterable[Value], first: int, second: int) -> set[str | None]:
    known = _latest([*values], first)
    during = (value for value in values if value.asked < second and not (value.certain and value.answered < first))
    return {known.text if known is not None else None, *(value.text for value in during)}


unclean_election = partial(Setting, UNCLEAN_ELECTION)
"""unclean.leader.election.enable of a story."""
min_insync_replicas = partial(Setting, MIN_ISR)
"""min.insync.replicas of a story."""


def possible_min_isr(story: PartitionStory) -> set[int]:
    """Return the values of min.insync.replicas that may have been in force since the partition was first described."""
    first = story.metadata[0].event if story.metadata else NEVER
    return {int(text) for text in story.derive(min_insync_replicas).possible(first, NEVER)}
