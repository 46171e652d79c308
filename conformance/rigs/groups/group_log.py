"""Records that the group coordinator wrote: those of __consumer_offsets, read by Fetch and the release's own schemas."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from uuid import UUID

import msgspec

from conformance.rigs.groups.group import Group, GroupMember
from fixtures.errors import KitError
from fixtures.waiting import Overdue
from fixtures.wire.records import Record

OFFSETS_TOPIC = "__consumer_offsets"
ARTIFACT = "kafka-group-coordinator"
CURRENT_ASSIGNMENT = "ConsumerGroupCurrentMemberAssignment"
CURRENT_ASSIGNMENT_TYPE = 8
"""The version at the start of a record's key identifies the kind of record."""
OFFSET_TYPES = (0, 1)
VERSION = struct.Struct(">h")


class MemberKey(msgspec.Struct, frozen=True):
    group_id: str
    member_id: str


class OffsetKey(msgspec.Struct, frozen=True):
    """OffsetCommitKey."""

    group: str
    topic: str
    partition: int


class OffsetValue(msgspec.Struct, frozen=True):
    """OffsetCommitValue."""

    offset: int


class StoredPartitions(msgspec.Struct, frozen=True):
    """Partitions of one topic in a record; `assignment_epochs` is None if the record has no such field."""

    topic_id: UUID
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = None

    def pairs(self, since: Mapping[int, int]) -> bool:
        """True if each partition has an epoch, and it is the one in `since`."""
        return self.assignment_epochs == tuple(since.get(partition) for partition in self.partitions)


class StoredAssignment(msgspec.Struct, frozen=True):
    """ConsumerGroupCurrentMemberAssignmentValue (KIP-848, with KIP-1251's epochs)."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[StoredPartitions, ...] = ()
    partitions_pending_revocation: tuple[StoredPartitions, ...] = ()

    @property
    def assigned(self) -> frozenset[int]:
        return frozenset(partition for topic in self.assigned_partitions for partition in topic.partitions)


class GroupLog:
    """The part of __consumer_offsets written since this object was created. The kit's clusters give the topic one partition."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.start = group.node.list_offsets(OFFSETS_TOPIC, 0).offset

    def current_assignment(self, member: GroupMember) -> StoredAssignment:
        """The newest record of this kind for the member. Raises Overdue if there is none: it is written before the answer."""
        found = self.assignments(member.id)
        if not found:
            raise Overdue(
                f"{OFFSETS_TOPIC} from {self.start} on has no assignment of {member.id}", due="assignment in the log"
            )
        return found[-1]

    def assignments(self, member_id: str) -> list[StoredAssignment]:
        """The records of this kind for a member, in their order, since it was last removed."""
        found: list[StoredAssignment] = []
        for record in self._records():
            if self._is_for(record, member_id):
                found = [*found, self._stored(record.value)] if record.value is not None else []
        return found

    def _stored(self, value: bytes) -> StoredAssignment:
        [version] = VERSION.unpack_from(value)
        body = value[VERSION.size :]
        return self.group.bench.decode(ARTIFACT, f"{CURRENT_ASSIGNMENT}Value", body, StoredAssignment, version)

    def offsets(self, partition: int) -> list[int]:
        """The offsets that were stored for a partition of the group's topic, in their order."""
        return [value.offset for value in self._offsets(OffsetKey(self.group.name, self.group.topic.name, partition))]

    def _offsets(self, wanted: OffsetKey) -> Iterator[OffsetValue]:
        decode = self.group.bench.decode
        for record in self._records():
            if record.key is None or record.value is None or VERSION.unpack_from(record.key)[0] not in OFFSET_TYPES:
                continue
            if decode(ARTIFACT, "OffsetCommitKey", record.key[VERSION.size :], OffsetKey) == wanted:
                [version] = VERSION.unpack_from(record.value)
                yield decode(ARTIFACT, "OffsetCommitValue", record.value[VERSION.size :], OffsetValue, version)

    def _records(self) -> Iterator[Record]:
        offset = self.start
        while offset < self.group.node.list_offsets(OFFSETS_TOPIC, 0).offset:
            fetched = self.group.node.fetch(OFFSETS_TOPIC, 0, offset)
            if not fetched.batches:
                raise KitError(f"{OFFSETS_TOPIC} could not be read from {offset} on: {fetched}")
            for batch in fetched.batches:
                yield from batch.records
                offset = batch.last_offset + 1

    def _is_for(self, record: Record, member_id: str) -> bool:
        if record.key is None or VERSION.unpack_from(record.key) != (CURRENT_ASSIGNMENT_TYPE,):
            return False
        key = self.group.bench.decode(ARTIFACT, f"{CURRENT_ASSIGNMENT}Key", record.key[VERSION.size :], MemberKey)
        return key == MemberKey(self.group.name, member_id)
