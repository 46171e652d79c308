"""Excuses for steps that no election could bring about: a partition of the step has no live replica that may lead, or its
preferred leader is out of the ISR."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar, cast

import msgspec

from conformance.judging.excuses import NO_REPLICA_MAY_LEAD, PREFERRED_OUT_OF_SYNC, Evidence
from conformance.judging.waits import FailedWait
from history.due import Due
from history.events import Answer, Call, Fault, History, Overdue
from protocol.cluster import DescribeTopicPartitions, Metadata, MetadataAnswer, PartitionMetadata
from protocol.codes import Error
from protocol.messages import Operation
from protocol.topics import ElectionType, ElectLeaders

A = TypeVar("A")

NEEDS_LEADERS: frozenset[Due] = frozenset(("step", "answer", "leader", "coordinator", "replica"))
"""Steps that may not happen while a partition lacks a leader, or its preferred leader."""

Place = tuple[str, int]
"""A topic and a partition number."""


class DescribedPlace(NamedTuple):
    """A partition in a Metadata answer, with its topic's number of partitions and the brokers that the answer lists."""

    place: Place
    partition: PartitionMetadata
    of: int
    alive: frozenset[int]


def withheld_by_elections(history: History, overdue: Overdue) -> Evidence | None:
    """Return the excuse for a step that did not happen because no election was possible; None without an excuse."""
    if overdue.due not in NEEDS_LEADERS:
        return None
    wait = FailedWait(history, overdue)
    before = _answers_since_heal(history, wait.over)
    described = [*_described_partitions({call.node: answer for call, answer in _answers_to(Metadata, before)}.values())]
    concerned = [one for one in described if wait.concerns(*one.place, one.of)]
    eligible = _eligible_in(before)
    if any(_no_replica_may_lead(one, eligible, wait) for one in concerned):
        return NO_REPLICA_MAY_LEAD
    refused = _refused_elections(before)
    return PREFERRED_OUT_OF_SYNC if any(_preferred_is_out(one, refused) for one in concerned) else None


def candidates(history: History, overdue: Overdue) -> list[set[int]]:
    """Return the replicas that may lead each leaderless partition: its ISR, ELR and last known ELR, or else all replicas."""
    before = _answers_since_heal(history, overdue.n)
    known = {place: {*(one.last_known_elr or ())} for place, one in _registered_in(before).items()}
    eligible = _eligible_in(before)
    answers = [answer for _, answer in _answers_to(Metadata, before)]
    described = {one.place: one.partition for one in _described_partitions(answers)}
    return [
        {*one.isr, *eligible.get(place, ()), *known.get(place, ())} or {*one.replicas}
        for place, one in described.items()
        if one.leader < 0
    ]


def _answers_since_heal(history: History, event: int) -> list[tuple[Call, Answer]]:
    """Return the successful requests between the last heal of a fault and the event, with their answers."""
    since = _last_return(history, event)
    asked = ((call, answer) for call, answer in history.answered_calls() if since < call.n and answer.n < event)
    return [(call, answer) for call, answer in asked if answer.outcome == "ok"]


def _answers_to(kind: Callable[..., Operation[A]], before: Iterable[tuple[Call, Answer]]) -> list[tuple[Call, A]]:
    """Return the requests of one kind, with their answers as structs."""
    request = cast(type[Operation[A]], kind)
    return [(call, msgspec.convert(answer.value, request.answer)) for call, answer in before if call.op == request.op]


def _last_return(history: History, event: int) -> int:
    """Return the event of the last heal before this event; -1 without one. Partitions described before it may have changed."""
    healed = (e.n for e in history.events if isinstance(e, Fault) and e.phase == "heal" and e.n < event)
    return max(healed, default=-1)


def _described_partitions(answers: Iterable[MetadataAnswer]) -> Iterator[DescribedPlace]:
    """Yield each partition in these Metadata answers."""
    for answer in answers:
        alive = frozenset(broker.node_id for broker in answer.brokers)
        for topic in answer.topics:
            for one in topic.partitions:
                yield DescribedPlace((topic.name or "", one.partition), one, len(topic.partitions), alive)


def _no_replica_may_lead(described: DescribedPlace, eligible: dict[Place, set[int]], wait: FailedWait) -> bool:
    """True if the partition has no leader, and each replica in its ISR and ELR is down or still starting."""
    electable = {*described.partition.isr, *eligible.get(described.place, ())}
    leaderless = described.partition.leader < 0 and bool(electable)
    return leaderless and electable.isdisjoint(described.alive) and not any(map(wait.should_be_up, electable))


def _registered_in(before: Iterable[tuple[Call, Answer]]) -> dict[Place, PartitionMetadata]:
    """Return the partitions as DescribeTopicPartitions last described them (KIP-966)."""
    return {
        (topic.name or "", one.partition): one
        for _, answer in _answers_to(DescribeTopicPartitions, before)
        for topic in answer.topics
        for one in topic.partitions
    }


def _eligible_in(before: Iterable[tuple[Call, Answer]]) -> dict[Place, set[int]]:
    return {place: {*(one.eligible_leader_replicas or ())} for place, one in _registered_in(before).items()}


def _preferred_is_out(described: DescribedPlace, refused: frozenset[Place]) -> bool:
    """True if the preferred leader, the first replica, is out of the ISR or fenced, and its election was refused for this
    reason."""
    preferred = described.partition.replicas[:1]
    in_sync = {*described.partition.isr} & described.alive
    return described.place in refused and not {*preferred} <= in_sync


def _refused_elections(before: Iterable[tuple[Call, Answer]]) -> frozenset[Place]:
    """Return the partitions whose last preferred leader election was answered PREFERRED_LEADER_NOT_AVAILABLE."""
    errors = {
        (one.topic or "", one.partition): one.error
        for call, answer in _answers_to(ElectLeaders, before)
        if call.request["election_type"] == ElectionType.PREFERRED
        for one in answer.partitions
    }
    refused = (place for place, error in errors.items() if error == Error.PREFERRED_LEADER_NOT_AVAILABLE)
    return frozenset(refused)
