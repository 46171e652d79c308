"""Assignment epochs in the group's records (KIP-1251, ConsumerGroupCurrentMemberAssignmentValue)."""

from collections.abc import Mapping, Sequence

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.groups.group import Group, fresh_group
from conformance.rigs.groups.group_log import GroupLog, StoredPartitions
from protocol.groups import LEAVE_TO_RETURN
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS


def carries_epochs(listed: Sequence[StoredPartitions], since: Mapping[int, int]) -> bool:
    """True if these are exactly the partitions of `since`, each with its epoch."""
    named = sorted(partition for topic in listed for partition in topic.partitions)
    return named == sorted(since) and all(topic.has_epochs(since) for topic in listed)


@probe("KIP1251-AE-04", rig=fresh_group(), bumps=EPOCH_BUMPS, later=EPOCH_BUMPS)
def record_form(group: Group, bumps: int, later: int) -> Claims:
    """Each partition in a member's record has its own assignment epoch, whether it is assigned or being revoked."""
    log = GroupLog(group)
    heir, partition, epoch = group.inherit(bumps, later=later)
    yield group.premise_of_holding(heir, heir.epoch, *range(group.partitions))
    since = dict(heir.since)
    record = log.current_assignment(heir)
    assigned = carries_epochs(record.assigned_partitions, since) and since[partition] == epoch
    nothing_else = not record.partitions_pending_revocation and record.member_epoch == heir.epoch
    detail = f"{heir.id} holds partitions since {say(since)}; its record has {say(record)}"
    yield held_if(assigned and nothing_else, record, case="assigned", detail=detail)
    group.member().join()
    lost = group.heartbeat_until_revoking(heir)
    record = log.current_assignment(heir)
    kept = {p: since[p] for p in since if p not in lost}
    pending = {p: since[p] for p in lost}
    both = carries_epochs(record.assigned_partitions, kept) and carries_epochs(
        record.partitions_pending_revocation, pending
    )
    detail = f"{heir.id} has to revoke {say(sorted(lost))}, held since {say(since)}; its record has {say(record)}"
    yield held_if(both, record, case="pending-revocation", detail=detail)


@probe("KIP1251-STATIC-01", rig=fresh_group(), cases=["record"], bumps=integers(0, 4))
def record_of_a_static_member_that_left(group: Group, bumps: int) -> Claims:
    """The record of a static member that left with -2 has epoch -2, and all its partitions with assignment epoch 0."""
    log = GroupLog(group)
    member = group.sole_member(bumps, instance_id=group.bench.fresh_name("instance"))
    yield group.premise_of_holding(member, member.epoch, *range(group.partitions))
    member.leave_to_return()
    record = log.current_assignment(member)
    reset = carries_epochs(record.assigned_partitions, dict.fromkeys(member.partitions, 0))
    held = record.member_epoch == LEAVE_TO_RETURN and reset
    yield held_if(held, record, case="record", detail=f"{member.id} left to return; its record has {say(record)}")
