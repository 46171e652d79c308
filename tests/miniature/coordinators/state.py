"""The groups of one partition of the offsets topic, as its records make them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from history.readings import GroupRecord
from protocol.groups import LEAVE_TO_RETURN
from protocol.records import Batch, ControlType

Plain = dict[str, Any]
Place = tuple[str, int]
"""A topic's id and a partition."""
OffsetPlace = tuple[str, int]
"""A topic's name and a partition."""
Phase = Literal["STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"]

GROUP, TARGET = "ConsumerGroupMetadata", "ConsumerGroupTargetAssignmentMetadata"
MEMBER, ASSIGNMENT = "ConsumerGroupMemberMetadata", "ConsumerGroupCurrentMemberAssignment"
TARGET_MEMBER, CLASSIC, OFFSET = "ConsumerGroupTargetAssignmentMember", "GroupMetadata", "OffsetCommit"


class Record(NamedTuple):
    """A record of a coordinator; `value` is None for a tombstone."""

    kind: str
    key: Plain
    value: Plain | None

    def encoded(self) -> tuple[bytes | None, bytes]:
        """Return the value and the key as bytes."""
        value = None if self.value is None else json.dumps(self.value).encode()
        return value, json.dumps([self.kind, self.key]).encode()

    @staticmethod
    def decoded(value: bytes | None, key: bytes) -> Record:
        kind, fields = json.loads(key)
        return Record(kind, fields, None if value is None else json.loads(value))


class Offset(NamedTuple):
    """A committed offset, and the log offset of its record."""

    offset: int
    epoch: int
    metadata: str | None
    topic_id: str
    at: int


@dataclasses.dataclass
class Member:
    """A member of a group of the consumer protocol; `assigned` and `pending` map partitions to assignment epochs."""

    id: str
    instance: str = ""
    topics: tuple[str, ...] = ()
    pattern: str = ""
    assignor: str = ""
    rebalance_ms: int = -1
    session_ms: int = -1
    is_classic: bool = False
    epoch: int = 0
    previous: int = -1
    assigned: dict[Place, int] = dataclasses.field(default_factory=dict)
    pending: dict[Place, int] = dataclasses.field(default_factory=dict)
    phase: Phase = "STABLE"

    @property
    def is_away(self) -> bool:
        return self.epoch == LEAVE_TO_RETURN

    @property
    def held(self) -> set[Place]:
        return {*self.assigned, *self.pending}


@dataclasses.dataclass
class ClassicMember:
    """A member of a classic group: its subscription, and the assignment that its leader gave it."""

    id: str
    instance: str
    metadata: bytes
    session_ms: int
    rebalance_ms: int
    assignment: bytes = b""


@dataclasses.dataclass
class ClassicGroup:
    """A group of the classic protocol. Only a finished rebalance is in the log; `joined` are those that sent JoinGroup."""

    generation: int = 0
    leader: str = ""
    members: dict[str, ClassicMember] = dataclasses.field(default_factory=dict)
    phase: Literal["empty", "preparing", "completing", "stable"] = "empty"
    joined: list[str] = dataclasses.field(default_factory=list)
    expected: set[str] = dataclasses.field(default_factory=set)
    """The ids that were given to members which have not joined yet."""

    def static(self, instance: str) -> ClassicMember | None:
        return next((one for one in self.members.values() if instance and one.instance == instance), None)


@dataclasses.dataclass
class Group:
    """A group of the consumer protocol."""

    id: str
    epoch: int = 0
    hash: str = ""
    """A hash of the topics of all subscriptions at the group epoch."""
    target_epoch: int = 0
    members: dict[str, Member] = dataclasses.field(default_factory=dict)
    targets: dict[str, frozenset[Place]] = dataclasses.field(default_factory=dict)
    loaded_classic: set[str] = dataclasses.field(default_factory=set)
    """The ids of the classic members that were loaded, for bugs of loading."""

    def static(self, instance: str) -> Member | None:
        return next((one for one in self.members.values() if instance and one.instance == instance), None)


class State:
    """All groups of a partition, by id, and their offsets."""

    def __init__(self, bugs: frozenset[str]) -> None:
        self.bugs = bugs
        self.groups: dict[str, Group] = {}
        self.classic: dict[str, ClassicGroup] = {}
        self.offsets: dict[str, dict[OffsetPlace, Offset]] = {}
        self.open: dict[int, dict[tuple[str, OffsetPlace], Offset]] = {}
        """The offsets in open transactions, by producer id."""
        self.loading = True
        self.next = 0
        """The offset of the next record."""

    def replay(self, batch: Batch) -> None:
        """Apply the batch, unless it is applied already."""
        if batch.base_offset < self.next:
            return
        for record in batch.records:
            if record.control_type is not None:
                self._end(batch.producer_id, committed=record.control_type is ControlType.COMMIT)
            elif record.key is not None:
                found = Record.decoded(record.value, record.key)
                self.apply(found, record.offset, batch.producer_id if batch.transactional else -1)
        self.next = batch.last_offset + 1

    def apply(self, record: Record, at: int, producer: int = -1) -> None:
        """Apply one record; `producer` is that of a transaction, else -1."""
        kind, key, value = record
        if kind == OFFSET:
            self._take_offset(key, value, at, producer)
        elif kind == CLASSIC:
            self._take_classic(key["group"], value)
        else:
            self._take_group(kind, key, value)

    def _take_group(self, kind: str, key: Plain, value: Plain | None) -> None:
        id, member = str(key["group_id"]), str(key.get("member_id", ""))
        if kind == GROUP and value is None:
            self.groups.pop(id, None)
            return
        if value is None and "tombstone-ignored" in self.bugs and self.loading:
            return
        if id not in self.groups and value is None:
            return
        group = self.groups.setdefault(id, Group(id))
        if kind == GROUP and value is not None:
            group.epoch, group.hash = value["epoch"] - self._behind, value["metadata_hash"]
        elif kind == TARGET:
            group.target_epoch = 0 if value is None else value["assignment_epoch"] - self._behind
        elif kind == TARGET_MEMBER and value is not None:
            group.targets[member] = frozenset(_places(value["topic_partitions"]))
        elif kind == TARGET_MEMBER:
            group.targets.pop(member, None)
        elif kind == MEMBER and value is None:
            group.members.pop(member, None)
        elif kind == MEMBER and value is not None:
            self._take_member(group.members.setdefault(member, Member(member)), value)
            if self.loading and group.members[member].is_classic:
                group.loaded_classic.add(member)
        elif kind == ASSIGNMENT and (value is not None or member in group.members):
            self._take_assignment(group.members.setdefault(member, Member(member)), value)

    @property
    def _behind(self) -> int:
        return int(self.loading and "epoch-one-behind-at-load" in self.bugs)

    def _take_member(self, member: Member, value: Plain) -> None:
        classic = value["classic_member_metadata"]
        member.instance, member.topics = value["instance_id"] or "", tuple(value["subscribed_topic_names"])
        member.pattern, member.assignor = value["subscribed_topic_regex"] or "", value["server_assignor"] or ""
        member.rebalance_ms, member.is_classic = value["rebalance_timeout_ms"], classic is not None
        member.session_ms = classic["session_timeout_ms"] if classic is not None else -1

    def _take_assignment(self, member: Member, value: Plain | None) -> None:
        value = value or {"member_epoch": 0, "previous_member_epoch": -1, "state": "STABLE"}
        member.epoch, member.previous = value["member_epoch"], value["previous_member_epoch"]
        member.assigned = _epochs(value.get("assigned_partitions", ()))
        member.pending = _epochs(value.get("partitions_pending_revocation", ()))
        member.phase = value["state"]
        if self.loading and member.pending and "pending-lost-at-load" in self.bugs:
            member.pending, member.phase = {}, "STABLE"
        if self.loading and "assignment-epoch-renewed-at-load" in self.bugs:
            member.assigned = dict.fromkeys(member.assigned, member.epoch)

    def _take_classic(self, id: str, value: Plain | None) -> None:
        if value is None:
            self.classic.pop(id, None)
            return
        group = self.classic[id] = ClassicGroup(value["generation"], value["leader"] or "")
        for one in value["members"]:
            group.members[one["member_id"]] = ClassicMember(
                one["member_id"],
                one["group_instance_id"] or "",
                bytes.fromhex(one["subscription"]),
                one["session_timeout"],
                one["rebalance_timeout"],
                bytes.fromhex(one["assignment"]),
            )
        group.phase = "stable" if group.members else "empty"

    # --- offsets

    def _take_offset(self, key: Plain, value: Plain | None, at: int, producer: int) -> None:
        group, place = str(key["group"]), (str(key["topic"]), int(key["partition"]))
        if value is None:
            self.offsets.get(group, {}).pop(place, None)
            for pending in self.open.values():
                pending.pop((group, place), None)
            return
        found = Offset(value["offset"], value["leader_epoch"], value["metadata"], value["topic_id"], at)
        if producer < 0:
            self.offsets.setdefault(group, {})[place] = found
        elif not (self.loading and "open-offsets-lost-at-load" in self.bugs):
            self.open.setdefault(producer, {})[group, place] = found

    def _end(self, producer: int, *, committed: bool) -> None:
        """End a producer's transaction. Of two offsets the one that was written last is kept, whenever the marker comes."""
        for (group, place), found in self.open.pop(producer, {}).items():
            known = self.offsets.setdefault(group, {})
            is_last = place not in known or known[place].at < found.at or "late-marker-wins" in self.bugs
            if (committed or "aborted-group-offset-kept" in self.bugs) and is_last:
                known[place] = found

    def pending(self, group: str) -> set[OffsetPlace]:
        """Return the partitions of a group with offsets in open transactions."""
        return {place for found in self.open.values() for of, place in found if of == group}


def _places(topics: Iterable[Mapping[str, Any]]) -> list[Place]:
    return [(str(topic["topic_id"]), int(index)) for topic in topics for index in topic["partitions"]]


def _epochs(topics: Iterable[Mapping[str, Any]]) -> dict[Place, int]:
    return {
        (str(topic["topic_id"]), index): epoch
        for topic in topics
        for index, epoch in zip(topic["partitions"], topic["assignment_epochs"], strict=True)
    }


def by_topic(places: Iterable[Place]) -> list[tuple[str, list[int]]]:
    """Return partitions grouped by topic, in order."""
    found: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return [*found.items()]


def with_epochs(held: Mapping[Place, int]) -> list[Plain]:
    return [
        {"topic_id": topic, "partitions": each, "assignment_epochs": [held[topic, one] for one in each]}
        for topic, each in by_topic(held)
    ]


def read_records(batch: Batch) -> list[GroupRecord]:
    """Return a batch of a coordinator's log as the kit reads it."""
    found: list[GroupRecord] = []
    for record in batch.records:
        fields: Plain = {
            "offset": record.offset,
            "leader_epoch": batch.leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "transactional": batch.transactional,
        }
        if record.control_type is not None:
            kind = "commit" if record.control_type is ControlType.COMMIT else "abort"
            found.append(GroupRecord(kind=kind, **fields))
        elif record.key is None:
            found.append(GroupRecord(kind="unknown", **fields))
        else:
            one = Record.decoded(record.value, record.key)
            version = -1 if one.value is None else 0
            found.append(GroupRecord(kind=one.kind, key=one.key, value=one.value, version=version, **fields))
    return found


__all__ = ["ClassicGroup", "ClassicMember", "Group", "Member", "Offset", "Place", "Record", "State", "read_records"]
