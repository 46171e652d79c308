"""Sweeps in a history: their answers about each item, and the state of the cluster at rest (GEN-04, GEN-05).

A sweep counts if nothing could have changed while it lasted, by the history: no fault was active, no other request was made, and
before and after it all brokers that were asked described every partition alike, with a leader and a full ISR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from conformance.judging.data_in_words import api_name
from conformance.judging.facts.apis import BATCHES, Key, Plain
from conformance.judging.facts.exchange import NONE
from conformance.judging.timeline import Timeline
from history.events import Answer, AnyEvent, Call, History, Note
from history.steps import SWEEP_NOTE, SWEPT_NOTE
from protocol.since import since

Fields: TypeAlias = Mapping[str, "int | Fields"]
"""The compared fields of an answer's item, each with the first version that has it or with the fields of its elements."""

_STATE: Fields = {
    "error_code": 0,
    "partition_index": 0,
    "leader_id": 0,
    "leader_epoch": since("MetadataResponse", "LeaderEpoch"),
    "replica_nodes": 0,
    "isr_nodes": 0,
    "offline_replicas": since("MetadataResponse", "OfflineReplicas"),
}
SWEPT: dict[str, Fields] = {
    "metadata": {
        "error_code": 0,
        "topic_id": since("MetadataResponse", "TopicId"),
        "is_internal": since("MetadataResponse", "IsInternal"),
        "partitions": _STATE,
    },
    "describe_topic_partitions": {
        "error_code": 0,
        "topic_id": 0,
        "is_internal": 0,
        "partitions": {**dict.fromkeys(_STATE, 0), "eligible_leader_replicas": 0, "last_known_elr": 0},
    },
    "list_offsets_many": {
        "error_code": 0,
        "timestamp": since("ListOffsetsResponse", "Offset"),
        "offset": since("ListOffsetsResponse", "Offset"),
        "leader_epoch": since("ListOffsetsResponse", "LeaderEpoch"),
    },
    "fetch_many": {
        "error_code": 0,
        "high_watermark": 0,
        "last_stable_offset": since("FetchResponse", "LastStableOffset"),
        "log_start_offset": since("FetchResponse", "LogStartOffset"),
        "batches": {"base_offset": 0, "last_offset": 0, "leader_epoch": 0, "crc": 0, "codec": 0, "size": 0},
    },
    "offset_for_leader_epoch_many": {
        "error_code": 0,
        "leader_epoch": since("OffsetForLeaderEpochResponse", "LeaderEpoch"),
        "end_offset": 0,
    },
    "describe_producers_many": {
        "error_code": 0,
        "active_producers": {
            "producer_id": 0,
            "producer_epoch": 0,
            "last_sequence": 0,
            "last_timestamp": 0,
            "coordinator_epoch": 0,
            "current_txn_start_offset": 0,
        },
    },
    "describe_configs_many": {
        "error_code": 0,
        "configs": {
            "name": 0,
            "value": 0,
            "read_only": 0,
            "is_sensitive": 0,
            "config_source": since("DescribeConfigsResponse", "ConfigSource"),
        },
    },
    "find_coordinator_many": {"error_code": 0, "node_id": 0, "host": 0, "port": 0},
    "offset_fetch": {
        "error_code": 0,
        "committed_offset": 0,
        "committed_leader_epoch": since("OffsetFetchResponse", "CommittedLeaderEpoch"),
        "metadata": 0,
    },
    "describe_groups": {
        "error_code": 0,
        "group_state": 0,
        "protocol_type": 0,
        "protocol_data": 0,
        "members": {
            "member_id": 0,
            "group_instance_id": since("DescribeGroupsResponse", "GroupInstanceId"),
            "member_metadata": 0,
            "member_assignment": 0,
        },
    },
    "consumer_group_describe_many": {
        "error_code": 0,
        "group_state": 0,
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": 0,
        "members": {
            "member_id": 0,
            "member_epoch": 0,
            "assignment": 0,
            "target_assignment": 0,
            "member_type": since("ConsumerGroupDescribeResponse", "MemberType"),
        },
    },
}
"""The compared fields of each operation that a sweep sends."""
OF_GROUPS = frozenset(("offset_fetch", "describe_groups", "consumer_group_describe_many"))
"""Operations that a group's coordinator answers."""
IN_ORDER = frozenset(("batches", "replica_nodes"))
"""Lists whose order matters: the first replica is the preferred leader. Other lists are compared as sets."""


class ItemAnswer(msgspec.Struct, frozen=True):
    """The answer about one item. `value` has the fields of its version, or only the error code if there is an error. `rest`
    describes the request apart from its items; `several` is true if it had other items too."""

    op: str
    node: str
    item: Key
    rest: str
    version: int
    several: bool
    asked: int
    event: int
    value: Plain
    group: str = ""
    """The group that the answer is about, if any."""
    limit: int = 0
    """The partition_max_bytes of a Fetch; 0 for others."""

    @property
    def question(self) -> tuple[str, str, Key, str]:
        return self.op, self.node, self.item, self.rest

    @property
    def error(self) -> int:
        return int(self.value["error_code"])

    def shared_fields(self, other: ItemAnswer) -> Plain:
        """Return the fields that the version of the other answer has too."""
        return _visible_fields(SWEPT[self.op], self.value, min(self.version, other.version))

    def __str__(self) -> str:
        return f"{self.node}, asked by {api_name(self.op)} v{self.version}"


class SweepAtRest:
    """One sweep taken while the cluster was at rest: the answers about each item, in their order."""

    def __init__(self, ids: Mapping[str, int], answers: Sequence[ItemAnswer]) -> None:
        self._ids = ids
        self.answers = answers

    @cached_property
    def by_question(self) -> dict[tuple[str, str, Key, str], list[ItemAnswer]]:
        found: dict[tuple[str, str, Key, str], list[ItemAnswer]] = {}
        for one in self.answers:
            found.setdefault(one.question, []).append(one)
        return found

    @cached_property
    def references(self) -> dict[tuple[str, str, Key, str], ItemAnswer]:
        """The first batched answer in the highest version, by question; only if there are several such answers and all are
        equal."""
        found = {}
        for question, answers in self.by_question.items():
            batched = [one for one in answers if one.several]
            highest = [one for one in batched if one.version == max(each.version for each in batched)]
            if len(highest) > 1 and all(one.value == highest[0].value for one in highest):
                found[question] = highest[0]
        return found

    @cached_property
    def leaders(self) -> dict[tuple[str, int], int]:
        """The leader of each partition that Metadata describes."""
        topics = ((one.item[0], one.value) for one in self.answers if one.op == "metadata" and one.error == NONE)
        return {
            (name, state["partition_index"]): state["leader_id"]
            for name, value in topics
            for state in value["partitions"]
        }

    @cached_property
    def zstd_topics(self) -> set[str]:
        """The topics whose compression.type makes leaders compress with zstd."""
        described = (one for one in self.answers if one.op == "describe_configs_many" and one.error == NONE)
        wanted = ("compression.type", "zstd")
        return {
            one.item[0] for one in described for own in one.value["configs"] if (own["name"], own["value"]) == wanted
        }

    @cached_property
    def coordinators(self) -> dict[str, int]:
        """The coordinator of each group in FindCoordinator requests."""
        found = (one for one in self.answers if one.op == "find_coordinator_many" and one.error == NONE)
        return {one.item[0]: one.value["node_id"] for one in found}

    def id_of(self, one: ItemAnswer) -> int:
        """Return the id of the node that answered."""
        return self._ids[one.node]


# --- reading


def sweeps(history: History, noted: Sequence[AnyEvent]) -> list[SweepAtRest | None]:
    """Return the complete sweeps of a history; None for one that was not taken at rest."""
    spans = [*_spans(noted)]
    if not spans:
        return []
    timeline = Timeline(history.example, history.events)
    for event in noted:
        timeline.feed(event)
    return [_read(history, timeline, begin, end) for begin, end in spans]


def _spans(noted: Sequence[AnyEvent]) -> Iterator[tuple[int, int]]:
    begin = -1
    for event in noted:
        if isinstance(event, Note) and event.text == SWEEP_NOTE:
            begin = event.n
        elif isinstance(event, Note) and event.text == SWEPT_NOTE and begin >= 0:
            yield begin, event.n
            begin = -1


def _read(history: History, timeline: Timeline, begin: int, end: int) -> SweepAtRest | None:
    events = history.events[begin + 1 : end]
    undisturbed = not timeline.active_faults(begin, end) and not timeline.fault_between(begin, end)
    if not undisturbed or any(isinstance(event, Call) and event.op not in SWEPT for event in events):
        return None
    answers = [about for event in events if isinstance(event, Answer) for about in _items_of(history, event)]
    return SweepAtRest(timeline.ids, answers) if _is_at_rest(answers) else None


def _is_at_rest(answers: Sequence[ItemAnswer]) -> bool:
    """True if all brokers described each topic alike, at first and at last, with leaders and full ISRs.

    Only answers of the highest version are looked at: the others are what the sweep tests.
    """
    described: dict[Key, set[bytes]] = {}
    states: list[Plain] = []
    highest = max((one.version for one in answers if one.op == "metadata"), default=-1)
    for one in answers:
        if one.op == "metadata" and one.several and one.version == highest:
            shared = {name: value for name, value in one.value.items() if name in ("error_code", "partitions")}
            described.setdefault(one.item, set()).add(_encode(shared))
            states += one.value.get("partitions", ())
    return bool(states) and all(len(found) == 1 for found in described.values()) and all(map(_is_full, states))


def _is_full(state: Plain) -> bool:
    return state["leader_id"] >= 0 and {*state["isr_nodes"]} == {*state["replica_nodes"]}


def _items_of(history: History, answer: Answer) -> Iterator[ItemAnswer]:
    """Yield the answer about each item; nothing for a lost request, or for a missing item, which GEN-03 judges."""
    call = history.events[answer.call]
    assert isinstance(call, Call)
    if answer.outcome != "ok":
        return
    asked, answered = BATCHES[call.op]
    items, value, version = asked.items_in(call.request) or (), answer.value, answer.value["version"]
    outer = {name: one for name, one in call.request.items() if name not in (asked.field, "version")}
    parts = [(answered.name_of(part), part) for part in answered.items_in(value) or ()]
    for item in items:
        name, id, rest = asked.name_of(item)
        own = next((part for (n, i, r), part in parts if r == rest and (n == name if n else i == id)), None)
        if (of_all := value.get("error_code", NONE)) != NONE:
            own = {"error_code": of_all}
        if own is not None:
            yield ItemAnswer(
                op=call.op,
                node=call.node,
                item=(name or id, *rest),
                rest=_encode([outer, item]).decode(),
                version=version,
                several=len(items) > 1,
                asked=call.n,
                event=answer.n,
                value=_visible_part(call.op, own, version),
                group=str(call.request.get("group", name)) if call.op in OF_GROUPS else "",
                limit=item.get("partition_max_bytes", 0) if isinstance(item, dict) else 0,
            )


def _visible_part(op: str, part: Plain, version: int) -> Plain:
    if part["error_code"] != NONE:
        return {"error_code": part["error_code"]}
    return _visible_fields(SWEPT[op], part, version)


def _visible_fields(fields: Fields, part: Plain, version: int) -> Plain:
    """Return the fields that this version has, with lists sorted unless their order means something."""
    return {
        name: _visible_value(name, part[name], first, version)
        for name, first in fields.items()
        if name in part and (not isinstance(first, int) or first <= version)
    }


def _visible_value(name: str, value: Any, first: int | Fields, version: int) -> Any:
    if not isinstance(value, list | tuple):
        return value
    elements = value if isinstance(first, int) else [_visible_fields(first, one, version) for one in value]
    return [*elements] if name in IN_ORDER else sorted(elements, key=_encode)


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")


__all__ = ["SWEPT", "ItemAnswer", "SweepAtRest", "sweeps"]
