"""The group coordinator's records in __consumer_offsets, read by Fetch and decoded with the release's own schemas."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar
from uuid import UUID

import msgspec

from conformance.rigs.coordinator_logs import batches_from
from conformance.rigs.groups.group import Group, GroupMember
from fixtures.waiting import Overdue
from protocol.groups import ClassicGroup
from protocol.groups import ClassicMember as DescribedClassicMember
from protocol.records import Batch, ControlType, Record

V = TypeVar("V", bound=msgspec.Struct)

OFFSETS_TOPIC = "__consumer_offsets"
ARTIFACTS = ("kafka-group-coordinator", "kafka_2.13")
"""The jar with the schemas, then the one that had them in earlier releases."""
CURRENT_ASSIGNMENT = "ConsumerGroupCurrentMemberAssignment"
CURRENT_ASSIGNMENT_TYPE = 8
"""The record type in the key's version field."""
OFFSET_TYPES = (0, 1)
CLASSIC_TYPE, GROUP_TYPE, TARGET_TYPE = 2, 3, 6
KINDS = {GROUP_TYPE: "ConsumerGroupMetadata", TARGET_TYPE: "ConsumerGroupTargetAssignmentMetadata"}
VERSION = LENGTH = struct.Struct(">h")


class OffsetKey(msgspec.Struct, frozen=True):
    """The fields of OffsetCommitKey."""

    group: str
    topic: str
    partition: int


class OffsetValue(msgspec.Struct, frozen=True):
    """The fields of OffsetCommitValue."""

    offset: int


class StoredPartitions(msgspec.Struct, frozen=True):
    """Partitions of one topic in a record; `assignment_epochs` is None if the record has no such field."""

    topic_id: UUID
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = None

    def has_epochs(self, since: Mapping[int, int]) -> bool:
        """True if each partition has an epoch, equal to the one in `since`."""
        return self.assignment_epochs == tuple(since.get(partition) for partition in self.partitions)


class StoredAssignment(msgspec.Struct, frozen=True):
    """The fields of ConsumerGroupCurrentMemberAssignmentValue (KIP-848, with KIP-1251's epochs). The record of 3.7 has no
    state.
    """

    member_epoch: int
    previous_member_epoch: int
    state: int = -1
    assigned_partitions: tuple[StoredPartitions, ...] = ()
    partitions_pending_revocation: tuple[StoredPartitions, ...] = ()

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(partition for topic in self.assigned_partitions for partition in topic.partitions)

    @property
    def pending(self) -> frozenset[int]:
        """The partitions that the member still has to give up."""
        return frozenset(partition for topic in self.partitions_pending_revocation for partition in topic.partitions)


class EpochValue(msgspec.Struct, frozen=True):
    """The epoch in ConsumerGroupMetadataValue or ConsumerGroupTargetAssignmentMetadataValue."""

    epoch: int = -1
    assignment_epoch: int = -1


class StoredMember(msgspec.Struct, frozen=True):
    """A member in GroupMetadataValue; subscription and assignment are the protocol's bytes."""

    member_id: str
    subscription: bytes
    assignment: bytes
    group_instance_id: str | None = None

    def is_described_by(self, shown: DescribedClassicMember) -> bool:
        stored = (self.member_id, self.group_instance_id, self.subscription, self.assignment)
        return stored == (shown.member_id, shown.group_instance_id, shown.member_metadata, shown.member_assignment)


class StoredGroup(msgspec.Struct, frozen=True):
    """The fields of GroupMetadataValue: a classic group after its last rebalance."""

    protocol_type: str
    generation: int
    protocol: str | None = None
    members: tuple[StoredMember, ...] = ()

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"

    def is_described_by(self, shown: ClassicGroup) -> bool:
        """True if `shown` is how a coordinator that loaded this record must describe the group."""
        stored = (self.state, self.protocol_type, self.protocol or "", len(self.members))
        described = (shown.group_state, shown.protocol_type, shown.protocol_data, len(shown.members))
        return stored == described and all(
            any(one.is_described_by(other) for other in shown.members) for one in self.members
        )


class GroupState(NamedTuple):
    """The group epoch and target assignment epoch, and each member's epoch and partitions."""

    epoch: int
    assignment_epoch: int
    members: dict[str, tuple[int, frozenset[int]]]


def strings_of(key: bytes) -> list[str]:
    """Return the fields of a key of strings. The key schema's version is the record type up to 4.0, then 0."""
    found, at = [], VERSION.size
    while at < len(key):
        [length] = LENGTH.unpack_from(key, at)
        at += LENGTH.size + length
        found.append(key[at - length : at].decode())
    return found


class GroupLog:
    """The part of a partition of __consumer_offsets written since this object was created.

    Clusters of one node give the topic one partition; on others the group's own one has to be named.
    """

    def __init__(self, group: Group, partition: int = 0) -> None:
        self.group = group
        self.partition = partition
        self.start = group.node.list_offsets(OFFSETS_TOPIC, partition).offset

    def current_assignment(self, member: GroupMember) -> StoredAssignment:
        """Return the member's newest current assignment record. Raises Overdue if there is none: it is written before
        the answer.
        """
        found = self.assignments(member.id)
        if not found:
            raise Overdue(
                f"{OFFSETS_TOPIC} from {self.start} on has no assignment of {member.id}", due="assignment in the log"
            )
        return found[-1]

    def assignments(self, member_id: str) -> list[StoredAssignment]:
        """Return a member's current assignment records in log order, since its last tombstone."""
        found: list[StoredAssignment] = []
        for record in self._records():
            if self._member(record) == member_id:
                found = [*found, self._assignment_of(record.value)] if record.value is not None else []
        return found

    def _assignment_of(self, value: bytes) -> StoredAssignment:
        return self._value(value, f"{CURRENT_ASSIGNMENT}Value", StoredAssignment)

    def offsets(self, partition: int) -> list[int]:
        """Return the offsets committed for a partition of the group's topic, in log order."""
        wanted = OffsetKey(self.group.name, self.group.topic.name, partition)
        return [value.offset for value in self._offsets(wanted, self._records())]

    def _offsets(self, wanted: OffsetKey, records: Iterable[Record]) -> Iterator[OffsetValue]:
        for record in records:
            if record.key is None or record.value is None or VERSION.unpack_from(record.key)[0] not in OFFSET_TYPES:
                continue
            key = self.group.bench.decode(ARTIFACTS, "OffsetCommitKey", record.key[VERSION.size :], OffsetKey)
            if key == wanted:
                yield self._value(record.value, "OffsetCommitValue", OffsetValue)

    def committed_offset(self, partition: int) -> int:
        """Return the last committed offset of a partition of the group's topic, with or without a transaction; -1 if
        none. A transactional commit counts at its own place in the log, once its transaction is committed."""
        wanted = OffsetKey(self.group.name, self.group.topic.name, partition)
        newest = (-1, -1)
        pending: dict[int, tuple[int, int]] = {}
        for batch in self._batches():
            if batch.control:
                ended = pending.pop(batch.producer_id, newest)
                newest = max(newest, ended) if batch.records[0].control_type is ControlType.COMMIT else newest
            for value in self._offsets(wanted, () if batch.control else batch.records):
                if batch.transactional:
                    pending[batch.producer_id] = (batch.base_offset, value.offset)
                else:
                    newest = (batch.base_offset, value.offset)
        return newest[1]

    def replay(self) -> tuple[GroupState, GroupState]:
        """Return the group's state as its newest records have it, and the same with what members must give up as theirs."""
        members: dict[str, bytes | None] = {}
        epochs: dict[int, EpochValue] = {}
        for record in self._records():
            kind = VERSION.unpack_from(record.key)[0] if record.key is not None else None
            if (member := self._member(record)) is not None:
                members[member] = record.value
            elif kind in KINDS and record.key and record.value and strings_of(record.key) == [self.group.name]:
                epochs[kind] = self._value(record.value, f"{KINDS[kind]}Value", EpochValue)
        kept = {member: self._assignment_of(value) for member, value in members.items() if value is not None}
        nothing = EpochValue()
        state = GroupState(
            epochs.get(GROUP_TYPE, nothing).epoch,
            epochs.get(TARGET_TYPE, nothing).assignment_epoch,
            {member: (one.member_epoch, one.partitions) for member, one in kept.items()},
        )
        pending = {member: (one.member_epoch, one.partitions | one.pending) for member, one in kept.items()}
        return state, state._replace(members=pending)

    def epochs_at_assignments(self) -> list[tuple[StoredAssignment, int, int]]:
        """Return all current assignment records of the group, each with the target assignment epoch and the group epoch in
        the records before it; -1 where there is none."""
        found: list[tuple[StoredAssignment, int, int]] = []
        epochs = {GROUP_TYPE: EpochValue(), TARGET_TYPE: EpochValue()}
        for record in self._records():
            kind = VERSION.unpack_from(record.key)[0] if record.key is not None else None
            if kind in KINDS and record.key and record.value and strings_of(record.key) == [self.group.name]:
                epochs[kind] = self._value(record.value, f"{KINDS[kind]}Value", EpochValue)
            elif self._member(record) is not None and record.value is not None:
                now = epochs[TARGET_TYPE].assignment_epoch, epochs[GROUP_TYPE].epoch
                found.append((self._assignment_of(record.value), *now))
        return found

    def classic(self) -> StoredGroup | None:
        """Return the group's newest record as a classic group; None if it has none or a tombstone."""
        found: StoredGroup | None = None
        for record in self._records():
            if record.key is None or VERSION.unpack_from(record.key) != (CLASSIC_TYPE,):
                continue
            if strings_of(record.key) == [self.group.name]:
                found = (record.value and self._value(record.value, "GroupMetadataValue", StoredGroup)) or None
        return found

    def _batches(self) -> Iterator[Batch]:
        yield from batches_from(self.group.node, OFFSETS_TOPIC, self.partition, self.start)

    def _records(self) -> Iterator[Record]:
        """Yield all records but the ends of transactions, whose keys are no coordinator's; any group may have had some."""
        for batch in self._batches():
            if not batch.control:
                yield from batch.records

    def _member(self, record: Record) -> str | None:
        """Return the member whose assignment the record holds; None for other records and other groups."""
        if record.key is None or VERSION.unpack_from(record.key) != (CURRENT_ASSIGNMENT_TYPE,):
            return None
        group, member = strings_of(record.key)
        return member if group == self.group.name else None

    def _value(self, value: bytes, name: str, into: type[V]) -> V:
        [version] = VERSION.unpack_from(value)
        return self.group.bench.decode(ARTIFACTS, name, value[VERSION.size :], into, version)
