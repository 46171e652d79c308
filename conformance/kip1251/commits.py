"""OffsetCommit by a member: the epochs accepted for each partition (KIP-1251, relaxed validation)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, probe
from conformance.rigs.groups.group import ON_FORMER_LEVEL, SESSION, Group, HandOver, fresh_group
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.producers.three_brokers import How
from protocol.codes import Error
from strategies.inputs import EPOCH_BUMPS, EPOCHS_AHEAD, OFFSETS

VERSIONS = {"v9": 9, "v10": 10}


@probe("KIP1251-COMMIT-01", rig=fresh_group(), bumps=EPOCH_BUMPS, partition=integers(0, 3), offset=OFFSETS)
def current_epoch(group: Group, bumps: int, partition: int, offset: int) -> Claims:
    """A commit at the member epoch for an owned partition is accepted and can be read."""
    member = group.sole_member(bumps)
    yield group.premise_of_holding(member, member.epoch, partition)
    answer = group.commit(member, {partition: offset}, member.epoch)
    after = group.committed_offset(partition)
    yield held_if(answer.all_answered(Error.NONE) and after.shows(offset), answer, after, case="owned")


@probe(
    "KIP1251-COMMIT-02",
    "KIP1251-GATE-01",
    rig=fresh_group(),
    cases=list(VERSIONS),
    earlier=EPOCH_BUMPS,
    later=EPOCH_BUMPS,
    offset=OFFSETS,
)
def kept_partition_at_an_older_epoch(group: Group, case: str, earlier: int, later: int, offset: int) -> Claims:
    """A commit that a member sent before its epoch rose is accepted for a partition that it kept."""
    hand = group.hand_over(earlier)
    now = later_epoch(hand, later)
    yield group.premise_of_holding(hand.old, now, hand.kept)
    answer = group.commit(hand.old, {hand.kept: offset}, hand.before, version=VERSIONS[case])
    after = group.committed_offset(hand.kept)
    accepted = answer.all_answered(Error.NONE) and after.shows(offset)
    yield held_if(accepted, answer, after)
    yield held_if(accepted, answer, after, row="KIP1251-GATE-01", case=f"offset-commit-{case}")


def later_epoch(hand: HandOver, bumps: int) -> int:
    """Let the old member receive the answer that it missed, then bump it; return its epoch at the coordinator."""
    if not bumps:
        return hand.moved_epoch
    hand.old.receive(hand.missed)
    return hand.old.bump(bumps)


@probe(
    "KIP1251-GATE-01",
    rig=ON_FORMER_LEVEL,
    cases=["former-level"],
    smoke=False,
    earlier=EPOCH_BUMPS,
    later=EPOCH_BUMPS,
    offset=OFFSETS,
)
def kept_partition_at_a_former_level(group: Group, earlier: int, later: int, offset: int) -> Claims:
    """The rule is also relaxed at the feature levels of a release whose records have no assignment epochs."""
    hand = group.hand_over(earlier)
    yield group.premise_of_holding(hand.old, later_epoch(hand, later), hand.kept)
    for step, version in enumerate(VERSIONS.values()):
        answer = group.commit(hand.old, {hand.kept: offset + step}, hand.before, version=version)
        after = group.committed_offset(hand.kept)
        accepted = answer.all_answered(Error.NONE) and after.shows(offset + step)
        yield held_if(accepted, answer, after, case="former-level")


@probe("KIP1251-COMMIT-03", rig=fresh_group(), back=integers(1, 3), later=integers(1, 3), offset=OFFSETS)
def epoch_before_the_assignment(group: Group, back: int, later: int, offset: int) -> Claims:
    """A commit below the partition's assignment epoch is refused; at that epoch it is accepted."""
    heir, partition, epoch = group.inherit(2, later=later)
    group.store(heir, partition, offset)
    yield group.premise_of_holding(heir, heir.epoch, partition)
    below = group.commit(heir, {partition: offset + 1}, epoch - back)
    unchanged = group.committed_offset(partition)
    refused = below.all_answered(Error.STALE_MEMBER_EPOCH) and unchanged.shows(offset)
    yield held_if(refused, below, unchanged, case="below")
    just_below = group.commit(heir, {partition: offset + 2}, epoch - 1)
    between = group.committed_offset(partition)
    at = group.commit(heir, {partition: offset + 3}, epoch)
    after = group.committed_offset(partition)
    refused = just_below.all_answered(Error.STALE_MEMBER_EPOCH) and between.shows(offset)
    accepted = at.all_answered(Error.NONE) and after.shows(offset + 3)
    yield held_if(refused and accepted, just_below, between, at, after, case="boundary")


@probe("KIP1251-COMMIT-04", rig=fresh_group(), ahead=EPOCHS_AHEAD, offset=OFFSETS)
def epoch_from_the_future(group: Group, case: str, ahead: int, offset: int) -> Claims:
    """A commit at an epoch that the member has not reached is refused and changes nothing."""
    hand = group.hand_over()
    partition = hand.kept if case == "owned" else hand.lost
    group.bench.require(group.commit(hand.old, {partition: offset}, hand.moved_epoch), "commit", SESSION)
    if case == "unowned":
        group.await_assignment(hand.new, partition)
        yield group.premise_of_holding(hand.new, hand.new.epoch, partition)
    elif case == "without-owner":
        yield group.unassigned(partition)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    answer = group.commit(hand.old, {partition: offset + 1}, hand.moved_epoch + ahead)
    after = group.committed_offset(partition)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset), answer, after)


@probe("KIP1251-COMMIT-05", rig=fresh_group(), cases=["reassigned"], bumps=EPOCH_BUMPS, offset=OFFSETS)
def zombie_of_a_reassigned_partition(group: Group, case: str, bumps: int, offset: int) -> Claims:
    """A late commit for a partition that has a new owner is refused, and the owner's offset stays."""
    hand = group.hand_over_with_commit(offset, bumps)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    answer = group.commit(hand.old, {hand.lost: offset + 1}, hand.before)
    after = group.committed_offset(hand.lost)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset), answer, after)


@probe("KIP1251-COMMIT-05", rig=fresh_group(), cases=["not-yet-reassigned"], bumps=EPOCH_BUMPS, offset=OFFSETS)
def zombie_of_a_free_partition(group: Group, case: str, bumps: int, offset: int) -> Claims:
    """A late commit for a partition that was revoked and has no owner yet is refused and not stored."""
    hand = group.hand_over(bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.unassigned(hand.lost)
    answer = group.commit(hand.old, {hand.lost: offset}, hand.before)
    after = group.committed_offset(hand.lost)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(-1), answer, after)


@probe(
    "KIP1251-COMMIT-05",
    rig=ROUTED_GROUP,
    cases=["three-brokers"],
    examples=3,
    smoke=False,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
    how=sampled_from(["move", "kill", "freeze"]),
)
def zombie_at_the_next_coordinator(group: RoutedGroup, bumps: int, offset: int, how: How) -> Claims:
    """On three brokers, a late commit is refused before the partition is assigned again, and afterwards by the next
    coordinator."""
    hand = group.hand_over(bumps)
    yield group.unassigned(hand.lost)
    before = group.commit(hand.old, {hand.lost: offset}, hand.before)
    unset = group.committed_offset(hand.lost)
    yield held_if(before.all_answered(Error.STALE_MEMBER_EPOCH) and unset.shows(-1), before, unset)
    group.move_coordinator(how)
    group.await_assignment(hand.new, hand.lost)
    group.store(hand.new, hand.lost, offset)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    answer = group.commit(hand.old, {hand.lost: offset + 1}, hand.before)
    after = group.committed_offset(hand.lost)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset), answer, after)


@probe("KIP1251-COMMIT-06", rig=fresh_group(), bumps=EPOCH_BUMPS, offset=OFFSETS)
def unowned_partition_at_the_current_epoch(group: Group, case: str, bumps: int, offset: int) -> Claims:
    """A commit at the member epoch is accepted, whichever member owns the partition."""
    hand = group.hand_over(bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    if case == "other-owner":
        group.await_assignment(hand.new, hand.lost)
        yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    else:
        yield group.unassigned(hand.lost)
    answer = group.commit(hand.old, {hand.lost: offset}, hand.moved_epoch)
    after = group.committed_offset(hand.lost)
    yield held_if(answer.all_answered(Error.NONE) and after.shows(offset), answer, after)


@probe(
    "KIP1251-COMMIT-07",
    "KIP1251-GATE-02-L",
    rig=fresh_group(),
    bumps=integers(1, 3),
    back=integers(1, 3),
    offset=OFFSETS,
)
def partition_waiting_to_be_revoked(group: Group, bumps: int, back: int, offset: int) -> Claims:
    """A member may commit at the assignment epoch and above until it acknowledges the revocation, and not after."""
    member = group.sole_member(bumps, aged=3)
    since = dict(member.since)
    group.member().join()
    partition = min(group.heartbeat_until_revoking(member))
    epoch = since[partition]
    yield group.premise_of_waiting(member, partition)
    below = group.commit(member, {partition: offset}, epoch - back)
    unset = group.committed_offset(partition)
    refused = below.all_answered(Error.STALE_MEMBER_EPOCH) and unset.shows(-1)
    yield held_if(refused, below, unset, case="below")
    sent = min(epoch + back - 1, member.epoch)
    pending = group.commit(member, {partition: offset}, sent)
    taken = group.committed_offset(partition)
    accepted = pending.all_answered(Error.NONE) and taken.shows(offset)
    yield held_if(accepted, pending, taken, case="pending")
    if sent < member.epoch:
        yield kept_if("KIP1251-GATE-02-L", accepted, pending, taken, case="pending-revocation")
    group.acknowledge(member)
    yield group.unassigned(partition)
    late = group.commit(member, {partition: offset + 1}, epoch)
    after = group.committed_offset(partition)
    refused = late.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset)
    yield held_if(refused, late, after, case="acknowledged")
