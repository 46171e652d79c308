"""Commits at a coordinator that has loaded the group from its log (KIP-1251, Compatibility)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from hypothesis.strategies import sampled_from

from conformance.core.checks import Claim, held_if, probe
from conformance.rigs.groups.group import Group, HandOver, fresh_group
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.producers.three_brokers import How
from fixtures.wire import Error
from strategies.epochs import EPOCH_BUMPS
from strategies.offsets import OFFSETS


def judged_as_before(group: Group, hand: HandOver, case: str, offset: int) -> Iterator[Claim]:
    """COMMIT-02, -03 and -05 of a member that kept one partition and lost another, at the epoch that it knows."""
    since = hand.old.since[hand.kept]
    below = group.commit(hand.old, {hand.kept: offset + 1}, since - 1)
    unset = group.stored(hand.kept)
    refused = below.all_answered(Error.STALE_MEMBER_EPOCH) and unset.shows(-1)
    yield held_if(refused, below, unset, case=case)
    lost = group.commit(hand.old, {hand.lost: offset + 1}, hand.before)
    owners = group.stored(hand.lost)
    refused = lost.all_answered(Error.STALE_MEMBER_EPOCH) and owners.shows(offset)
    yield held_if(refused, lost, owners, case=case)
    for epoch in (since, hand.before):
        kept = group.commit(hand.old, {hand.kept: offset}, epoch)
        after = group.stored(hand.kept)
        yield held_if(kept.all_answered(Error.NONE) and after.shows(offset), kept, after, case=case)


@probe(
    "KIP1251-PERSIST-01",
    rig=fresh_group(),
    cases=["restart", "kill"],
    examples=2,
    smoke=False,
    bumps=EPOCH_BUMPS,
    offset=OFFSETS,
)
def restarted_coordinator_keeps_the_epochs(
    group: Group, case: str, bumps: int, offset: int
) -> Generator[Claim, None, None]:
    """After a restart commits are accepted and refused as they were before it."""
    hand = group.hand_over(bumps, aged=2)
    group.given(hand.new, hand.lost)
    group.store(hand.new, hand.lost, offset)
    yield group.holding(hand.old, hand.now, hand.kept)
    group.restart_coordinator(clean=case == "restart")
    yield from judged_as_before(group, hand, case, offset)


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
def next_coordinator_keeps_the_epochs(
    group: RoutedGroup, bumps: int, offset: int, how: How
) -> Generator[Claim, None, None]:
    """Another broker coordinates the group: commits are accepted and refused as they were before."""
    hand = group.hand_over(bumps, aged=2)
    group.given(hand.new, hand.lost)
    group.store(hand.new, hand.lost, offset)
    yield group.holding(hand.old, hand.now, hand.kept)
    group.move_coordinator(how)
    yield from judged_as_before(group, hand, "moved-coordinator", offset)
