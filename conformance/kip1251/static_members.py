"""Static members: leaving temporarily, returning, and commits with the old member id (KIP-1251)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.rigs.groups.group import Group, GroupMember, fresh_group
from fixtures.views.member import list_partitions
from protocol.codes import Error
from protocol.groups import JOIN, LEAVE_TO_RETURN
from strategies.inputs import EPOCH_BUMPS, OFFSETS

PARTITION = integers(0, 3)


def static_member(group: Group, bumps: int) -> GroupMember:
    """Create a static member that owns all partitions."""
    return group.sole_member(bumps, instance_id=group.bench.fresh_name("instance"))


def has_left_temporarily(group: Group, member: GroupMember) -> PremiseClaim:
    """Return the premise that the coordinator keeps the member in the group with epoch -2."""
    found = group.describe_member(member)
    kept = found is not None and found.member_epoch == LEAVE_TO_RETURN
    return premise(
        kept, f"{member.id} is away; described: {group.say_members(found)}", promised=("KIP1251-STATIC-01", "record")
    )


@probe(
    "KIP1251-STATIC-01", rig=fresh_group(), cases=["old-id"], bumps=EPOCH_BUMPS, epoch=integers(0, 8), offset=OFFSETS
)
def commit_with_the_id_of_a_departed_member(group: Group, case: str, bumps: int, epoch: int, offset: int) -> Claims:
    """After a static member left with -2, its old member id cannot commit at any epoch from 0 on."""
    member = static_member(group, bumps)
    group.store(member, 0, offset)
    member.leave_to_return()
    yield has_left_temporarily(group, member)
    answer = group.commit(member, {0: offset + 1}, epoch)
    after = group.committed_offset(0)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset), answer, after)


@probe("KIP1251-STATIC-01b", rig=fresh_group(), partition=PARTITION, offset=OFFSETS)
def commit_at_minus_two(group: Group, case: str, partition: int, offset: int) -> Claims:
    """After a static member left with -2, its old member id cannot commit at -2 either."""
    member = static_member(group, 0)
    group.store(member, partition, offset)
    member.leave_to_return()
    yield has_left_temporarily(group, member)
    if case == "without-instance-id":
        member.instance_id = None
    answer = group.commit(member, {partition: offset + 1}, LEAVE_TO_RETURN)
    after = group.committed_offset(partition)
    yield held_if(Error.NONE not in answer.errors and after.shows(offset), answer, after)


@probe(
    "KIP1251-STATIC-02", rig=fresh_group(), bumps=EPOCH_BUMPS, epoch=integers(0, 4), partition=PARTITION, offset=OFFSETS
)
def returning_instance(group: Group, bumps: int, epoch: int, partition: int, offset: int) -> Claims:
    """A returning instance owns its partitions at once and may commit at any epoch from 0 to its member epoch."""
    old = static_member(group, bumps)
    old.leave_to_return()
    yield has_left_temporarily(group, old)
    new = group.member(old.instance_id)
    back = new.heartbeat(member_epoch=JOIN, owned=(), subscribed_topic_names=[group.topic.name])
    same = back.error is Error.NONE and group.assigned_in(back) == old.partitions
    yield held_if(same, back, case="assignment")
    yield group.premise_of_holding(new, back.member_epoch, partition)
    taken = group.commit(new, {partition: offset}, min(epoch, back.member_epoch))
    kept = group.committed_offset(partition)
    accepted = taken.all_answered(Error.NONE) and kept.shows(offset)
    yield held_if(accepted, taken, kept, case="accepted")
    none = group.commit(new, {partition: offset + 1}, -1)
    future = group.commit(new, {partition: offset + 2}, back.member_epoch + 1 + epoch)
    after = group.committed_offset(partition)
    refused = Error.NONE not in none.errors + future.errors and after.shows(offset)
    yield held_if(refused, none, future, after, case="refused")


@probe("KIP1251-STATIC-03", rig=fresh_group(), bumps=EPOCH_BUMPS, epoch=integers(-2, 8), with_instance=booleans())
def old_id_after_the_return(group: Group, bumps: int, epoch: int, with_instance: bool) -> Claims:
    """After the instance has returned under a new member id, the old one is unknown."""
    old = static_member(group, bumps)
    old.leave_to_return()
    new = group.member(old.instance_id)
    new.join()
    yield group.premise_of_holding(new, new.epoch, 0)
    group.store(new, 0, 10)
    if not with_instance:
        old.instance_id = None
    answer = group.commit(old, {0: 11}, epoch)
    after = group.committed_offset(0)
    unknown = answer.all_answered(Error.UNKNOWN_MEMBER_ID) and after.shows(10)
    yield held_if(unknown, answer, after, case="old-id")


@probe("KIP1251-STATIC-04", rig=fresh_group(), cases=["second-member"], bumps=EPOCH_BUMPS)
def instance_of_a_living_member(group: Group, case: str, bumps: int) -> Claims:
    """A member cannot join with the instance id of a member that has not left."""
    first = static_member(group, bumps)
    yield group.premise_of_holding(first, first.epoch, 0)
    answer = group.member(first.instance_id).heartbeat(
        member_epoch=JOIN, owned=(), subscribed_topic_names=[group.topic.name]
    )
    yield held_if(answer.error is Error.UNRELEASED_INSTANCE_ID, answer)


@probe("KIP1251-STATIC-04", rig=fresh_group(), cases=["replaced-id"], bumps=EPOCH_BUMPS)
def heartbeat_of_a_replaced_id(group: Group, case: str, bumps: int) -> Claims:
    """After the return, the replaced member id is fenced if it sends the instance id."""
    old = static_member(group, bumps)
    old.leave_to_return()
    new = group.member(old.instance_id)
    new.join()
    yield group.premise_of_holding(new, new.epoch, 0)
    answer = old.heartbeat(owned=list_partitions(old.owned), received=False)
    yield held_if(answer.error is Error.FENCED_INSTANCE_ID, answer)
