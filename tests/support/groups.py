"""Histories of one group with members of both protocols, told request by request; brokers are numbers, members are letters."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Self
from uuid import UUID

from msgspec.structs import replace

from history.events import Call
from history.readings import Assigned, GroupRecord, GroupRecords, Owned, ReadGroupLog
from protocol.assignments import encode_assignment, subscription
from protocol.codes import Error
from protocol.configs import AlterConfigsAnswer, ResourceType
from protocol.groups import (
    JOIN,
    LEAVE,
    LEAVE_TO_RETURN,
    AssignedPartitions,
    CommitResult,
    CommittedOffset,
    DescribedGroup,
    DescribedMember,
    GroupAnswer,
    HeartbeatAnswer,
    JoinGroupAnswer,
    LeaveGroupAnswer,
    LeftMember,
    NewOffset,
    OffsetCommitAnswer,
    OffsetFetchAnswer,
    SyncGroupAnswer,
    TopicPartitions,
)
from protocol.messages import Topic
from protocol.transactions import TxnOffsetCommitAnswer, TxnOffsetResult
from tests.support.histories import LogHistory

GROUP = "g"
READ = Topic("topic", UUID(int=7))
"""The topic that members read."""
Partitions = tuple[int, ...]


def listed(partitions: Partitions) -> tuple[TopicPartitions, ...]:
    assert READ.id is not None
    return (TopicPartitions(READ.id, partitions),) if partitions else ()


class GroupHistory(LogHistory):
    """Every method adds a request, and its answer unless that is `lost`."""

    def __init__(self, coordinator: int = 1) -> None:
        super().__init__()
        self.coordinator = coordinator

    def moved(self, coordinator: int) -> Self:
        """Send later requests to another coordinator."""
        self.coordinator = coordinator
        return self

    def becomes(self, release: str, *brokers: int) -> Self:
        """Let brokers run another release from now on, by their own logs."""
        became = {f"broker-{broker}": ["4.3.1", release] for broker in brokers}
        return self._fault("upgrade", "inject", *brokers)._fault("upgrade", "witness", *brokers, release=became)

    # --- members of the consumer protocol

    def joins(
        self,
        member: str,
        epoch: int = 1,
        given: Partitions | None = (),
        *,
        instance: str | None = None,
        error: Error = Error.NONE,
        topics: tuple[str, ...] = (READ.name,),
        rebalance_ms: int = 120_000,
        lost: bool = False,
    ) -> Self:
        return self.beats(
            member,
            JOIN,
            epoch,
            given,
            owned=(),
            instance=instance,
            error=error,
            topics=topics,
            rebalance_ms=rebalance_ms,
            lost=lost,
        )

    def beats(
        self,
        member: str,
        at: int,
        epoch: int | None = None,
        given: Partitions | None = None,
        *,
        owned: Partitions | None = None,
        instance: str | None = None,
        error: Error = Error.NONE,
        topics: tuple[str, ...] | None = None,
        pattern: str | None = None,
        rebalance_ms: int = -1,
        lost: bool = False,
    ) -> Self:
        """Send a heartbeat at one epoch, answered with another one, by default the same, and an assignment."""
        call = self._asked(
            self.coordinator,
            "consumer_group_heartbeat",
            group=GROUP,
            member_id=member,
            member_epoch=at,
            instance_id=instance,
            rebalance_timeout_ms=rebalance_ms,
            subscribed_topic_names=topics,
            subscribed_topic_regex=pattern,
            owned=None if owned is None else listed(owned),
        )
        if lost:
            return self._lost(call)
        answer = HeartbeatAnswer(
            version=1,
            error=error,
            member_id=member,
            member_epoch=0 if error else at if epoch is None else epoch,
            assignment=None if given is None or error else AssignedPartitions(topic_partitions=listed(given)),
        )
        return self._answered(call, answer)

    def leaves(self, member: str, *, instance: str | None = None, to_return: bool = False) -> Self:
        epoch = LEAVE_TO_RETURN if to_return else LEAVE
        return self.beats(member, epoch, instance=instance)

    def shows(
        self,
        *members: tuple[str, int, Partitions],
        epoch: int,
        target: int | None = None,
        topics: tuple[str, ...] = (),
        pattern: str | None = None,
    ) -> Self:
        """Describe the members with their epochs, partitions and the topics, or the pattern, to which all are subscribed."""
        shown = [
            DescribedMember(
                member_id=id,
                member_epoch=at,
                subscribed_topic_names=topics,
                subscribed_topic_regex=pattern,
                assignment=AssignedPartitions(topic_partitions=listed(held)),
                target_assignment=AssignedPartitions(topic_partitions=listed(held)),
            )
            for id, at, held in members
        ]
        target = epoch if target is None else target
        state = "Empty" if not members else "Stable" if {at for _, at, _ in members} == {epoch} else "Reconciling"
        answer = DescribedGroup(
            version=1,
            error=Error.NONE,
            group_id=GROUP,
            group_state="Assigning" if target < epoch else state,
            group_epoch=epoch,
            assignment_epoch=target,
            assignor_name="uniform",
            members=tuple(shown),
        )
        return self._answered(self._asked(self.coordinator, "consumer_group_describe", group=GROUP), answer)

    def alters(self, error: Error = Error.NONE, **settings: str) -> Self:
        """Alter settings of the group, written with underscores for dots."""
        changes = {name.replace("_", "."): value for name, value in settings.items()}
        call = self._asked(self.coordinator, "incremental_alter_configs", ResourceType.GROUP, GROUP, changes)
        return self._answered(call, AlterConfigsAnswer(version=1, error=error))

    # --- classic members

    def classic_joins(
        self,
        member: str,
        generation: int,
        *,
        owned: Partitions | None = None,
        instance: str | None = None,
        lost: bool = False,
    ) -> Self:
        names = None if owned is None else {READ.name: owned}
        metadata = subscription([READ.name], names)
        call = self._asked(
            self.coordinator, "join_group", GROUP, {"range": metadata}, member_id=member, instance_id=instance
        )
        if lost:
            return self._lost(call)
        answer = JoinGroupAnswer(version=5, error=Error.NONE, generation_id=generation, member_id=member)
        return self._answered(call, answer)

    def syncs(self, member: str, generation: int, given: Partitions = (), error: Error = Error.NONE) -> Self:
        call = self._asked(self.coordinator, "sync_group", GROUP, member, generation)
        assignment = b"" if error else encode_assignment({READ.name: given})
        return self._answered(call, SyncGroupAnswer(version=5, error=error, assignment=assignment))

    def classic_beats(self, member: str, generation: int, error: Error = Error.NONE) -> Self:
        call = self._asked(self.coordinator, "heartbeat", GROUP, member, generation)
        return self._answered(call, GroupAnswer(version=4, error=error))

    def classic_leaves(self, member: str, *, instance: str | None = None) -> Self:
        call = self._asked(self.coordinator, "leave_group", GROUP, member, instance_id=instance)
        left = LeftMember(member_id=member, group_instance_id=instance, error=Error.NONE)
        return self._answered(call, LeaveGroupAnswer(version=4, error=Error.NONE, members=(left,)))

    # --- offsets

    def commits_late(
        self, member: str, epoch: int, partition: int, meanwhile: Callable[[Self], object], error: Error = Error.NONE
    ) -> Self:
        """Commit an offset, and receive the answer after what happens meanwhile."""
        call = self._asked(
            self.coordinator, "offset_commit", GROUP, [NewOffset(READ, partition, 10)], member, epoch, None
        )
        meanwhile(self)
        result = CommitResult(version=9, topic=READ.name, partition=partition, error=error)
        return self._answered(call, OffsetCommitAnswer(version=9, partitions=(result,)))

    def commits(
        self,
        member: str,
        epoch: int,
        *partitions: int,
        offset: int = 10,
        error: Error = Error.NONE,
        instance: str | None = None,
        lost: bool = False,
    ) -> Self:
        """Commit the same offset for these partitions."""
        offsets = [NewOffset(READ, partition, offset) for partition in partitions]
        call = self._asked(self.coordinator, "offset_commit", GROUP, offsets, member, epoch, instance)
        if lost:
            return self._lost(call)
        results = [CommitResult(version=9, topic=READ.name, partition=one, error=error) for one in partitions]
        return self._answered(call, OffsetCommitAnswer(version=9, partitions=tuple(results)))

    def commits_in_transaction(
        self, member: str, epoch: int, *partitions: int, offset: int = 10, error: Error = Error.NONE
    ) -> Self:
        offsets = [NewOffset(READ, partition, offset) for partition in partitions]
        call = self._asked(
            self.coordinator,
            "txn_offset_commit",
            "id",
            GROUP,
            0,
            0,
            offsets,
            member_id=member,
            generation_id_or_member_epoch=epoch,
        )
        results = [TxnOffsetResult(version=5, topic=READ.name, partition=one, error=error) for one in partitions]
        return self._answered(call, TxnOffsetCommitAnswer(version=5, partitions=tuple(results)))

    def fetches(
        self,
        partition: int,
        offset: int,
        *,
        member: str | None = None,
        epoch: int = -1,
        error: Error = Error.NONE,
        stable: bool = True,
    ) -> Self:
        """Fetch the committed offset of a partition."""
        wanted = [(READ, partition)]
        call = self._asked(self.coordinator, "offset_fetch", GROUP, wanted, member, epoch, require_stable=stable)
        found = CommittedOffset(version=9, topic=READ.name, partition=partition, offset=offset)
        return self._answered(call, OffsetFetchAnswer(version=9, error=error, partitions=() if error else (found,)))

    # --- clients of their own

    def has(self, client: str, *partitions: int, how: str = "assigned", group: str = GROUP) -> Self:
        """Let a client, whose member id is its name, tell which partitions it has after a callback."""
        request = {"group": group, "how": how, "member_id": client}
        self.events.append(Call(**self._now(), op=Owned.op, node=client, request=request))
        return self._answered(len(self.events) - 1, Assigned(tuple((READ.name, one) for one in partitions)))

    def gives_up(self, client: str, *left: int) -> Self:
        """Let a client return from the callback that revokes partitions, with those that are left."""
        return self.has(client, *left, how="revoked")

    # --- the log

    def logs(self, *records: GroupRecord, missing: tuple[int, ...] = ()) -> Self:
        """Read the group's records, of which some offsets are missing, since they were compacted away."""
        numbered = [replace(record, offset=n) for n, record in enumerate(records)]
        found = GroupRecords(0, len(records), tuple(one for one in numbered if one.offset not in missing))
        request = {"log_partition": 0, "start": 0}
        call = len(self.events)
        self.events.append(Call(**self._now(), op=ReadGroupLog.op, node=f"broker-{self.coordinator}", request=request))
        return self._answered(call, found)


def group_epoch(epoch: int | None) -> GroupRecord:
    """Return the record of a group epoch, or the group's tombstone."""
    return _record("ConsumerGroupMetadata", None if epoch is None else {"epoch": epoch})


def target_epoch(epoch: int) -> GroupRecord:
    return _record("ConsumerGroupTargetAssignmentMetadata", {"assignment_epoch": epoch})


def identity(member: str, instance: str | None = None, *, classic: bool = False) -> GroupRecord:
    metadata = {"session_timeout_ms": 1} if classic else None
    value = {"instance_id": instance, "classic_member_metadata": metadata}
    return _record("ConsumerGroupMemberMetadata", value, member_id=member)


def assignment(member: str, epoch: int, assigned: dict[int, int], pending: dict[int, int] | None = None) -> GroupRecord:
    """Return a member's record with its partitions and their assignment epochs."""
    lists = [
        [{"topic_id": str(READ.id), "partitions": [*found], "assignment_epochs": [*found.values()]}] if found else []
        for found in (assigned, pending or {})
    ]
    value = {"member_epoch": epoch, "assigned_partitions": lists[0], "partitions_pending_revocation": lists[1]}
    return _record("ConsumerGroupCurrentMemberAssignment", value, member_id=member)


def classic_generation(generation: int, **assigned: Partitions) -> GroupRecord:
    """Return the record of a classic group's generation, with what each member is assigned."""
    members = [
        {"member_id": id, "assignment": b64encode(encode_assignment({READ.name: given})).decode()}
        for id, given in assigned.items()
    ]
    key, value = {"group": GROUP}, {"generation": generation, "members": members}
    return GroupRecord(offset=-1, kind="GroupMetadata", key=key, value=value)


def departed(member: str) -> GroupRecord:
    return _record("ConsumerGroupCurrentMemberAssignment", None, member_id=member)


def stored(partition: int, offset: int) -> GroupRecord:
    key = {"group": GROUP, "topic": READ.name, "partition": partition}
    return GroupRecord(offset=-1, kind="OffsetCommit", key=key, value={"offset": offset})


def _record(kind: str, value: dict[str, Any] | None, **key: str) -> GroupRecord:
    return GroupRecord(offset=-1, kind=kind, key={"group_id": GROUP, **key}, value=value)


GroupPair = Callable[[], tuple[GroupHistory, GroupHistory]]
"""A history in which a judge sees a violation, and a similar one without it."""


def settled() -> GroupHistory:
    """Let a own partitions 0 and 1 at epoch 1, and b join at epoch 2."""
    return GroupHistory().joins("a", 1, (0, 1)).beats("a", 1, owned=(0, 1)).joins("b", 2, ())


def revoked() -> GroupHistory:
    """Let the coordinator tell a to give up partition 1 as well."""
    return settled().beats("a", 1, given=(0,))


def handed_over() -> GroupHistory:
    """Let a give up partition 1, which is then given to b at epoch 2."""
    return revoked().beats("a", 1, 2, owned=(0,)).beats("b", 2, given=(1,))


def keeps_up(seconds: float, after: GroupHistory | None = None) -> GroupHistory:
    """Let a and b heartbeat every two seconds, by default after b was given its partition."""
    history = handed_over() if after is None else after
    while seconds > 0:
        history.later(2)
        seconds -= 2
        history.beats("a", 2, given=(0,)).beats("a", 2, owned=(0,))
        history.beats("b", 2, given=(1,)).beats("b", 2, owned=(1,))
    return history
