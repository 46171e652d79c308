"""The subjects of events: partitions, topics, groups, members, transactional ids, producers, the quorum of controllers.

An operation declares its subjects by its parameters' names, which are those of Kafka's schemas: a call that takes
`group` is about that group. So a new operation needs no change here.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

import msgspec

from history.events import Answer, AnyEvent, Call, Fault, History

Kind = Literal[
    "partition", "topic", "group", "member", "transactional-id", "producer", "quorum", "resource", "wire", "description"
]
"""The kinds of subjects. A resource owns a configuration, as in IncrementalAlterConfigs: a topic, a broker, a group.
The wire is the subject of rules for all answers, whatever they are about. A description is the subject of rules for
what nodes answer about a group, a transaction or the quorum, and is named like it. No event names the wire or a
description."""
METADATA_LOG = "__cluster_metadata"
"""The topic whose one partition the quorum of controllers replicates (KIP-595)."""


class Subject(msgspec.Struct, frozen=True, order=True):
    """Anything with state in a cluster, e.g. `Subject("partition", "topic-0")`; a producer's name is its id."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return self.name


QUORUM = Subject("quorum", METADATA_LOG)


def partition(topic: str, index: int) -> Subject:
    return Subject("partition", f"{topic}-{index}")


def topics_of(subjects: Iterable[Subject]) -> set[Subject]:
    """Return the topics of the partitions among the subjects."""
    return {Subject("topic", name.rpartition("-")[0]) for name in names_of_kind(subjects, "partition")}


def names_of_kind(subjects: Iterable[Subject], kind: Kind) -> list[str]:
    """Return the names of the subjects of one kind, sorted."""
    return sorted(subject.name for subject in subjects if subject.kind == kind)


# --- subjects of events


def subjects(history: History, events: Collection[int]) -> set[Subject]:
    """Return the subjects of the events with these numbers; those of an answer include its call's."""
    return {subject for n in events for subject in _with_its_call(history, history.events[n])}


def _with_its_call(history: History, event: AnyEvent) -> Iterable[Subject]:
    return subjects_of_exchange(history.events[event.call], event) if isinstance(event, Answer) else subjects_of(event)


def subjects_of_exchange(call: AnyEvent, answer: Answer) -> set[Subject]:
    """Return the subjects of a request, and those of the answer whose kinds the request does not name."""
    asked = subjects_of(call)
    kinds = {subject.kind for subject in asked}
    return asked | {subject for subject in subjects_of(answer) if subject.kind not in kinds}


def subjects_of(event: AnyEvent) -> set[Subject]:
    """Return the subjects that the event itself names."""
    match event:
        case Call():
            return _subjects_in(event.request, set())
        case Answer():
            return _subjects_in(event.value, set())
        case Fault():
            return {*_subjects_of_fields(event.detail)}
    return set()


# --- subjects in plain data


def _subjects_in(value: Any, found: set[Subject]) -> set[Subject]:
    """Add the subjects that a request or answer names anywhere except in batches, which name the producers that wrote
    them."""
    match value:
        case dict():
            if not _NAMING.isdisjoint(value):
                found.update(_subjects_of_fields(value))
            for name, item in value.items():
                if isinstance(item, _NESTED) and name != "batches":
                    _subjects_in(item, found)
        case [str(topic), int(index)] | [{"name": str(topic)}, int(index)]:
            found.add(partition(topic, index))
        case list() | tuple():
            for item in value:
                if isinstance(item, _NESTED):
                    _subjects_in(item, found)
    return found


def _subjects_of_fields(fields: dict[str, Any]) -> Iterator[Subject]:
    yield from _subjects_of_topics(fields)
    for name in _KINDS.keys() & fields.keys():
        found = (fields[name],) if name in _SINGLE else fields[name] or ()
        yield from (Subject(_KINDS[name], str(one)) for one in found if _is_given(one))
    match fields:
        case {"key": str(key), "key_type": 0 | 1 as key_type}:
            yield Subject("transactional-id" if key_type else "group", key)
        case {"keys": [*keys], "key_type": 0 | 1 as key_type}:
            yield from (Subject("transactional-id" if key_type else "group", key) for key in keys)


def _subjects_of_topics(fields: dict[str, Any]) -> Iterator[Subject]:
    match fields:
        case {"topic": {"name": str(topic)} | str(topic), "partition": int(index)}:
            yield partition(topic, index)
        case {"name": str(topic), "partitions": [{"partition_index": _}, *_] as partitions}:
            yield from (partition(topic, one["partition_index"]) for one in partitions)
        case {"partition": str(name)}:
            yield Subject("partition", name)
    match fields:
        case {"topic": "__cluster_metadata"} | {"topics": ["__cluster_metadata"]}:
            yield QUORUM
        case {"topics": [*topics]}:
            yield from (Subject("topic", name) for one in topics if (name := _name_of(one)))
        case {"resource_type": 2, "resource_name": str(topic)}:
            yield Subject("topic", topic)
        case {"topic": str(topic)} if "partition" not in fields:
            yield Subject("topic", topic)


def _name_of(topic: Any) -> str:
    match topic:
        case str(name) | {"name": str(name)}:
            return name
    return ""


def _is_given(value: Any) -> bool:
    """True if a value is neither absent nor a placeholder: an empty id, or -1."""
    return isinstance(value, str | int) and value not in ("", -1)


_NESTED = (dict, list, tuple)
_SINGLE: dict[str, Kind] = {
    "group": "group",
    "group_id": "group",
    "member_id": "member",
    "producer_id": "producer",
    "transactional_id": "transactional-id",
}
"""The kind of subject named by each field."""
_KINDS = _SINGLE | {f"{name}s": kind for name, kind in _SINGLE.items()}
"""The same, including fields that name several subjects."""
_NAMING = frozenset((*_KINDS, "topic", "topics", "partition", "partitions", "resource_name", "key", "keys"))
"""The fields that name a subject."""
