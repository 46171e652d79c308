"""Consumer groups: offsets, members of the consumer protocol (KIP-848) and classic members."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from protocol.codes import Error
from protocol.errors import KitError
from protocol.messages import A, Answer, Part, PartitionAnswer, Request, Topic
from protocol.words import say

JOIN, LEAVE, LEAVE_TO_RETURN = 0, -1, -2
"""Member epochs with a special meaning in ConsumerGroupHeartbeat; the last one is for static members."""


class NewOffset(msgspec.Struct, frozen=True, gc=False):
    """An offset to commit for one partition. In a consumer's commit in a history, `topic` is just a name."""

    topic: Topic | str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


class CommitResult(PartitionAnswer, frozen=True, kw_only=True):
    """One partition's result; its version is -1 for a consumer's commit, which does not report it."""

    version: int = -1


class OffsetCommitAnswer(Answer, frozen=True, kw_only=True):
    """The results by partition; the version is -1 for a consumer's commit, which does not report it."""

    version: int = -1
    partitions: tuple[CommitResult, ...] = ()

    @property
    def errors(self) -> tuple[Error, ...]:
        """The errors of all partitions, in the order of the answer."""
        return tuple(partition.error for partition in self.partitions)

    def all_answered(self, error: Error) -> bool:
        """True if there are partitions and each has this error."""
        return set(self.errors) == {error}


class CommittedOffset(PartitionAnswer, frozen=True, kw_only=True):
    """The committed offset of one partition, with its epoch; `offset` is -1 if nothing is committed."""

    offset: int = msgspec.field(name="committed_offset", default=-1)
    leader_epoch: int = msgspec.field(name="committed_leader_epoch", default=-1)
    metadata: str | None = None


class OffsetFetchAnswer(Answer, frozen=True, kw_only=True):
    """The answer to OffsetFetch. `error` is the group's; with an error, `partitions` is empty from version 8 on."""

    error: Error = Error.NONE
    partitions: tuple[CommittedOffset, ...] = ()

    @property
    def only_partition(self) -> CommittedOffset:
        """The one requested partition. Raises KitError unless there is exactly one."""
        if len(self.partitions) != 1:
            raise KitError(f"OffsetFetch was asked for one partition; the answer holds {len(self.partitions)}: {self}")
        return self.partitions[0]

    def shows(self, offset: int) -> bool:
        """True if the one partition has this offset and no error."""
        found = (self.error, self.only_partition.error, self.only_partition.offset) if self.partitions else ()
        return found == (Error.NONE, Error.NONE, offset)


class TopicPartitions(Part, frozen=True):
    """Partitions of one topic, owned by a member or assigned to it."""

    topic_id: UUID
    partitions: tuple[int, ...]


class AssignedPartitions(Part, frozen=True, kw_only=True):
    topic_partitions: tuple[TopicPartitions, ...] = ()

    def __str__(self) -> str:
        return say([partition for topic in self.topic_partitions for partition in topic.partitions])


class HeartbeatAnswer(Answer, frozen=True, kw_only=True):
    """The answer to ConsumerGroupHeartbeat; `assignment` is None if the coordinator omitted it because it did not change."""

    error: Error
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: AssignedPartitions | None = None


class DescribedMember(Part, frozen=True, kw_only=True):
    """A described member. `member_type` is 0 for classic and 1 for consumer; -1 in versions that lack it."""

    member_id: str
    instance_id: str | None = None
    member_epoch: int
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: AssignedPartitions
    target_assignment: AssignedPartitions
    member_type: int = -1

    def reads(self, topic: str) -> bool:
        """True if the member is subscribed to a topic by its name, or by its regular expression."""
        regex = self.subscribed_topic_regex
        return topic in self.subscribed_topic_names or bool(regex and re.fullmatch(regex, topic))

    def __str__(self) -> str:
        target = f", to have {self.target_assignment}" if self.target_assignment != self.assignment else ""
        return f"{self.member_id} at epoch {self.member_epoch} with {self.assignment}{target}"


class DescribedGroup(Answer, frozen=True, kw_only=True):
    error: Error
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = -1
    assignment_epoch: int = -1
    assignor_name: str = ""
    members: tuple[DescribedMember, ...] = ()


class DescribedGroups(Answer, frozen=True, kw_only=True):
    groups: tuple[DescribedGroup, ...] = ()


class ClassicMember(Part, frozen=True, kw_only=True):
    """A member of a classic group, with subscription and assignment in the protocol's bytes."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class ClassicGroup(Part, frozen=True, kw_only=True):
    """A classic group. `group_state` is Dead for a non-existent group; `protocol_data` is a stable group's assignor."""

    error: Error
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[ClassicMember, ...] = ()


class ClassicGroups(Answer, frozen=True, kw_only=True):
    groups: tuple[ClassicGroup, ...] = ()


class JoinedMember(Part, frozen=True, kw_only=True):
    member_id: str
    group_instance_id: str | None = None
    metadata: bytes = b""


class JoinGroupAnswer(Answer, frozen=True, kw_only=True):
    """The answer's `members` are sent to the leader only, which computes the assignment."""

    error: Error
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()


class SyncGroupAnswer(Answer, frozen=True, kw_only=True):
    error: Error
    protocol_name: str | None = None
    assignment: bytes = b""


class GroupAnswer(Answer, frozen=True, kw_only=True):
    error: Error


class LeftMember(Part, frozen=True, kw_only=True):
    member_id: str
    group_instance_id: str | None = None
    error: Error


class LeaveGroupAnswer(Answer, frozen=True, kw_only=True):
    """The answer's `error` is the group's; from version 3 on the member's own is in `members`."""

    error: Error
    members: tuple[LeftMember, ...] = ()


class GroupRequest(Request[A], frozen=True, kw_only=True):
    """The base of requests by simple clients and classic members."""

    sent_as: ClassVar[Mapping[str, str]] = {"group": "group_id", "instance_id": "group_instance_id"}


class OffsetCommit(GroupRequest[OffsetCommitAnswer], frozen=True):
    group: str
    offsets: Sequence[NewOffset]
    member_id: str = ""
    epoch: int = -1
    instance_id: str | None = None


class OffsetFetch(GroupRequest[OffsetFetchAnswer], frozen=True):
    group: str
    partitions: Sequence[tuple[Topic, int]] | None = None
    member_id: str | None = None
    epoch: int = -1
    require_stable: bool = False


class ConsumerGroupHeartbeat(Request[HeartbeatAnswer], frozen=True):
    sent_as: ClassVar[Mapping[str, str]] = {"group": "group_id", "owned": "topic_partitions"}

    group: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: Sequence[str] | None = None
    server_assignor: str | None = None
    owned: Sequence[TopicPartitions] | None = None
    subscribed_topic_regex: str | None = None


class ConsumerGroupDescribe(Request[DescribedGroup], frozen=True):
    group: str


class ConsumerGroupDescribeMany(Request[DescribedGroups], frozen=True):
    api: ClassVar[str] = "ConsumerGroupDescribe"

    groups: Sequence[str]


class DescribeGroups(Request[ClassicGroups], frozen=True):
    groups: Sequence[str]


class JoinGroup(GroupRequest[JoinGroupAnswer], frozen=True):
    group: str
    protocols: Mapping[str, bytes]
    member_id: str = ""
    instance_id: str | None = None
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 10_000
    protocol_type: str = "consumer"


class SyncGroup(GroupRequest[SyncGroupAnswer], frozen=True):
    group: str
    member_id: str
    generation_id: int
    assignments: Mapping[str, bytes] | None = None
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    wait_ms: int = 10_000


class Heartbeat(GroupRequest[GroupAnswer], frozen=True):
    group: str
    member_id: str
    generation_id: int
    instance_id: str | None = None


class LeaveGroup(GroupRequest[LeaveGroupAnswer], frozen=True):
    group: str
    member_id: str
    instance_id: str | None = None
