"""Commits at a coordinator that has loaded the group from its log (KIP-1251, Compatibility)."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import MANY, Group, fresh_group
from conformance.rigs.groups.group_log import OFFSETS_TOPIC, GroupLog
from conformance.rigs.groups.kept_epochs import judged_as_before
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.producers.three_brokers import How
from conformance.rigs.settings import alter_configs
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, OFFSETS

COMPACTING = {
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1",
    "segment.ms": "1",
}
"""Settings for immediate compaction, except of the active segment, which rolls at nearly each record."""
OFTEN = {"log.cleaner.backoff.ms": "100"}
COMPACTION_TIMEOUT = 60.0


@probe(
    "KIP1251-PERSIST-01",
    rig=fresh_group(),
    cases=["restart", "kill"],
    examples=2,
    smoke=False,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
)
def restarted_coordinator_keeps_the_epochs(group: Group, case: str, bumps: int, offset: int) -> Claims:
    """After a restart, commits are accepted and refused as before."""
    hand = group.hand_over_with_commit(offset, bumps, aged=2)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    group.restart_coordinator(clean=case == "restart")
    yield from judged_as_before(group, hand, case, offset)


@probe(
    "KIP1251-PERSIST-01",
    rig=fresh_group(MANY),
    cases=["restart", "kill"],
    examples=1,
    smoke=False,
    bumps=EPOCH_BUMPS,
    waits=integers(1, 3),
    offset=OFFSETS,
)
def restarted_coordinator_keeps_what_is_to_be_given_up(
    group: Group, case: str, bumps: int, waits: int, offset: int
) -> Claims:
    """After a restart, a partition that a member has to give up is still its own, and an instance that is away has its own."""
    old, away, new = group.sole_member(bumps, aged=2), group.member(group.bench.fresh_name("instance")), group.member()
    away.join()
    group.heartbeat_until_settled(old, away)
    away.leave_to_return()
    new.join()
    before = old.since
    lost = group.heartbeat_until_revoking(old)
    partition = min(lost)
    since = before[partition]
    yield group.premise_of_waiting(old, partition)
    group.restart_coordinator(clean=case == "restart")
    for _ in range(waits):
        answer = new.keep_up()
        theirs = new.partitions & (lost | away.partitions)
        yield held_if(not theirs, answer, case=case, detail=f"{say(sorted(lost))} are still to be given up by {old.id}")
    for epoch in (since - 1, since, old.epoch):
        commit = group.commit(old, {partition: offset + epoch}, epoch)
        wanted = Error.NONE if epoch >= since else Error.STALE_MEMBER_EPOCH
        yield held_if(commit.all_answered(wanted), commit, case=case)
    group.acknowledge(old)
    free = lost & group.target_of(new)
    detail = f"{say(sorted(free))} were free, and {new.id} has {say(sorted(new.partitions))}"
    yield held_if(group.is_given(new, free), case=case, detail=detail)
    back = group.member(away.instance_id)
    answer = back.join()
    group.heartbeat_until_settled(old, back, new)
    reserved = away.partitions & group.target_of(back)
    detail = f"{back.id} is back with {say(sorted(back.partitions))}, and {say(sorted(reserved))} were reserved for it"
    yield held_if(back.partitions >= reserved, answer, case=case, detail=detail)


@probe(
    "KIP1251-PERSIST-01",
    rig=ROUTED_GROUP,
    cases=["moved-coordinator"],
    examples=2,
    smoke=False,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
    how=sampled_from(["move", "kill", "freeze"]),
)
def next_coordinator_keeps_the_epochs(group: RoutedGroup, bumps: int, offset: int, how: How) -> Claims:
    """After another broker has become the group's coordinator, commits are accepted and refused as before."""
    hand = group.hand_over_with_commit(offset, bumps, aged=2)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    group.move_coordinator(how)
    yield from judged_as_before(group, hand, "moved-coordinator", offset)


@contextmanager
def compact_logs_soon(group: Group) -> Iterator[None]:
    """Have coordinators' logs compacted as soon as possible within the block."""
    changes = ((ResourceType.TOPIC, OFFSETS_TOPIC, COMPACTING), (ResourceType.BROKER, "", OFTEN))
    for kind, name, settings in changes:
        alter_configs(group.bench, group.node, kind, name, settings)
    try:
        yield
    finally:
        for kind, name, settings in changes:
            alter_configs(group.bench, group.node, kind, name, dict.fromkeys(settings))


@probe("KIP1251-PERSIST-06", rig=fresh_group(), examples=2, smoke=False, bumps=EPOCH_BUMPS, offset=OFFSETS)
def compacted_log_keeps_the_epochs(group: Group, case: str, bumps: int, offset: int) -> Claims:
    """If compaction has left only a member's newest record, a restarted coordinator accepts and refuses its commits as
    before."""
    log, hand = GroupLog(group), group.hand_over(bumps, aged=2)
    group.await_assignment(hand.new, hand.lost)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    written = len(log.assignments(hand.old.id))

    def is_compacted() -> bool:
        # Compaction may take longer than a session lasts. The old owner did not receive its present epoch.
        for member, epoch in ((hand.old, hand.moved_epoch), (hand.new, hand.new.epoch)):
            member.require(member.heartbeat(received=False, member_epoch=epoch))
        group.store(hand.new, hand.lost, offset)  # a later segment
        return len(log.assignments(hand.old.id)) == 1

    with compact_logs_soon(group):
        group.bench.eventually(is_compacted, f"{OFFSETS_TOPIC} compacted", COMPACTION_TIMEOUT, 0.3)
    yield premise(written > 1, f"{written} records of {hand.old.id} became one")
    group.restart_coordinator(clean=True)
    yield from judged_as_before(group, hand, case, offset)
