"""Groups whose coordinator is upgraded from a release without assignment epochs, or downgraded to one (KIP-1251)."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.group import ON_FORMER_LEVEL, Group, GroupMember, HandOver, await_coordinator
from conformance.rigs.groups.kept_epochs import judged_as_before
from conformance.rigs.groups.three_brokers import ROUTED_ON_FORMER_LEVEL, RoutedGroup
from conformance.rigs.restarts import await_answer
from fixtures.faults.kinds.upgrade import Upgrade
from fixtures.images import select_versions
from protocol.codes import Error
from strategies.inputs import EPOCH_BUMPS, OFFSETS

FORMER = sampled_from(select_versions(["4.0..4.2"]))
"""Releases with the consumer protocol but without assignment epochs."""
WITH_EPOCHS = select_versions(["4.3.."])
"""Releases with assignment epochs; both kinds understand each other's records."""


@contextmanager
def on_release(group: Group, release: str) -> Iterator[None]:
    """Run another release on the same data within the block."""
    with group.bench.faults(group.topic, group=group.name).standing_fault(Upgrade(role="all nodes", to=release)):
        await_load(group)
        yield
    await_load(group)


def await_load(group: Group) -> None:
    await_answer(group.bench, group.bench.brokers[0])
    await_coordinator(group.bench, group.name)


def commit_is_refused(
    group: Group, member: GroupMember, partition: int, epoch: int, before: int, row: str, case: str
) -> Claim:
    """Check that a commit at this epoch is refused, and that the previous offset stays."""
    answer = group.commit(member, {partition: before + 1}, epoch)
    after = group.committed_offset(partition)
    held = answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(before)
    return held_if(held, answer, after, row=row, case=case)


def commit_is_accepted(
    group: Group, member: GroupMember, partition: int, epoch: int, offset: int, row: str, case: str
) -> Claim:
    answer = group.commit(member, {partition: offset}, epoch)
    after = group.committed_offset(partition)
    held = answer.all_answered(Error.NONE) and after.shows(offset)
    return held_if(held, answer, after, row=row, case=case)


@probe(
    "KIP1251-PERSIST-02",
    "KIP1251-PERSIST-03",
    rig=ON_FORMER_LEVEL,
    examples=2,
    cases=["current"],
    smoke=False,
    release=FORMER,
    bumps=integers(2, 4),
    later=integers(1, 2),
    offset=OFFSETS,
)
def group_of_the_former_release(group: Group, release: str, bumps: int, later: int, offset: int) -> Claims:
    """After the upgrade, loaded partitions have the record's member epoch as assignment epoch, and later ones their
    own."""
    with on_release(group, release):
        member, other = group.sole_member(), group.member()
        other.join()
        group.heartbeat_until_settled(member, other)
        member.bump(bumps)
        group.heartbeat_until_settled(member, other)
        kept = min(member.partitions)
        group.store(member, kept, offset)
    record = member.epoch
    yield group.premise_of_holding(member, record, kept)
    for epoch in range(member.since[kept], record):
        yield commit_is_refused(group, member, kept, epoch, offset, "KIP1251-PERSIST-02", "older")
    yield commit_is_accepted(group, member, kept, record, offset, "KIP1251-PERSIST-02", "current")
    yield commit_is_accepted(group, member, kept, record, offset + 1, "KIP1251-PERSIST-02", "current")
    own = member.partitions
    other.leave()
    group.heartbeat_until_settled(member)
    member.bump(later)
    yield group.premise_of_holding(member, member.epoch, kept)
    yield commit_is_accepted(group, member, kept, record, offset, "KIP1251-PERSIST-03", "kept")
    yield commit_is_refused(group, member, kept, record - 1, offset, "KIP1251-PERSIST-03", "kept")
    gained = min(member.partitions - own)
    since = member.since[gained]
    yield commit_is_accepted(group, member, gained, since, offset, "KIP1251-PERSIST-03", "new")
    yield commit_is_refused(group, member, gained, since - 1, offset, "KIP1251-PERSIST-03", "new")


@probe(
    "KIP1251-PERSIST-04",
    rig=ON_FORMER_LEVEL,
    examples=2,
    cases=["roll-back"],
    smoke=False,
    release=FORMER,
    bumps=integers(2, 4),
    offset=OFFSETS,
)
def group_on_the_former_release_again(group: Group, release: str, bumps: int, offset: int) -> Claims:
    """The former release loads the group from this release's records, and applies its strict rule."""
    member = group.sole_member(bumps)
    group.store(member, 0, offset)
    with on_release(group, release):
        found = group.describe_member(member)
        alive = (
            found is not None
            and found.member_epoch == member.epoch
            and group.assigned_partitions(found) == member.partitions
        )
        kept = group.committed_offset(0)
        yield held_if(
            alive and kept.shows(offset),
            kept,
            case="roll-back",
            detail=f"after the roll-back {member.id} at epoch {member.epoch} was described as {group.say_members(found)}",
        )
        for epoch in range(member.since[0], member.epoch):
            yield commit_is_refused(group, member, 0, epoch, offset, "KIP1251-PERSIST-04", "roll-back")
        yield commit_is_accepted(group, member, 0, member.epoch, offset, "KIP1251-PERSIST-04", "roll-back")


@probe(
    "KIP1251-STATIC-06",
    rig=ON_FORMER_LEVEL,
    examples=2,
    cases=["returned"],
    smoke=False,
    release=FORMER,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
)
def static_member_that_left_on_the_former_release(group: Group, release: str, bumps: int, offset: int) -> Claims:
    """A static member that left with -2 before the upgrade may commit from epoch 0 on after its return, and not at
    -1."""
    with on_release(group, release):
        old = group.sole_member(bumps, instance_id=group.bench.fresh_name("instance"))
        group.store(old, 0, offset)
        old.leave_to_return()
    new = group.member(old.instance_id)
    new.join()
    yield group.premise_of_holding(new, new.epoch, 0)
    answer = group.commit(new, {0: offset + 1}, -1)
    after = group.committed_offset(0)
    yield held_if(Error.NONE not in answer.errors and after.shows(offset), answer, after, case="returned")
    yield commit_is_accepted(group, new, 0, 0, offset + 2, "KIP1251-STATIC-06", "returned")


@probe(
    "KIP1251-PERSIST-01",
    rig=ON_FORMER_LEVEL,
    cases=["other-release"],
    examples=2,
    smoke=False,
    pick=integers(0, 5),
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
)
def group_of_another_release_with_epochs(group: Group, case: str, pick: int, bumps: int, offset: int) -> Claims:
    """A coordinator keeps the epochs that an older or newer release wrote."""
    others = [release for release in WITH_EPOCHS if release != group.bench.column.version]
    with on_release(group, others[pick % len(others)]):
        hand = group.hand_over_with_commit(offset, bumps, aged=2)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield from judged_as_before(group, hand, case, offset)


@probe(
    "KIP1251-PERSIST-05",
    rig=ROUTED_ON_FORMER_LEVEL,
    cases=["own-rule"],
    examples=2,
    smoke=False,
    release=FORMER,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
)
def coordinators_of_two_releases(group: RoutedGroup, release: str, bumps: int, offset: int) -> Claims:
    """While the coordinator moves between brokers of two releases, each applies its rule, and neither lets a zombie
    commit."""
    hand = group.hand_over_with_commit(offset, bumps, aged=2)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    with group.bench.faults(group.topic, group=group.name).standing_fault(
        Upgrade(role="group coordinator", to=release)
    ) as changed:
        [former] = changed.nodes
        own = next(name for name in group.bench.brokers if name != former)
        for name in (former, own, former, own):
            group.coordinate_at(name)
            yield commit_is_refused(group, hand.old, hand.lost, hand.before, offset, "KIP1251-PERSIST-05", "zombie")
            yield observe_by_rule(group, hand, offset, strict=name == former)


def observe_by_rule(group: Group, hand: HandOver, offset: int, *, strict: bool) -> Claim:
    """Observe a commit at the previous epoch for a partition that the member kept: refused by the strict rule, else
    accepted."""
    before = group.committed_offset(hand.kept).only_partition.offset
    if strict:
        answer = group.commit(hand.old, {hand.kept: offset}, hand.before)
        after = group.committed_offset(hand.kept)
        held = answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(before)
        return held_if(held, answer, after, case="own-rule")
    return commit_is_accepted(group, hand.old, hand.kept, hand.before, offset, "KIP1251-PERSIST-05", "own-rule")
