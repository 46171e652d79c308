"""OffsetFetch by a member: its epoch must be the member epoch (KIP-848; KIP-1251 relaxes commits only)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.groups.group import Group, classic_member, fresh_group, join_mixed_group
from protocol.codes import Error
from protocol.groups import OffsetFetchAnswer
from strategies.inputs import OFFSETS


def fetch(group: Group, member_id: str | None, epoch: int, *, by_name: bool) -> OffsetFetchAnswer:
    """Fetch partition 0's offset as a member, at version 9 or the newest."""
    version = 9 if by_name else None
    return group.node.offset_fetch(
        group.name, [(group.topic, 0)], member_id=member_id, epoch=epoch, require_stable=True, version=version
    )


@probe("KIP1251-BASE-01", rig=fresh_group(), cases=["current", "no-member"], offset=OFFSETS, by_name=booleans())
def committed_offset_is_served(group: Group, case: str, offset: int, by_name: bool) -> Claims:
    """A member at its own epoch reads the committed offset, and so does a client without a member id."""
    member = group.sole_member()
    group.store(member, 0, offset)
    yield group.premise_of_holding(member, member.epoch, 0)
    named = (member.id, member.epoch) if case == "current" else (None, -1)
    answer = fetch(group, *named, by_name=by_name)
    yield held_if(answer.shows(offset), answer)


@probe(
    "KIP1251-BASE-01",
    rig=fresh_group(),
    cases=["older-epoch", "newer-epoch"],
    distance=integers(1, 3),
    by_name=booleans(),
)
def other_epoch(group: Group, case: str, distance: int, by_name: bool) -> Claims:
    """A member at any epoch but its own reads nothing."""
    member = group.sole_member(3)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    epoch = member.epoch + (distance if case == "newer-epoch" else -distance)
    answer = fetch(group, member.id, epoch, by_name=by_name)
    yield held_if(answer.error is Error.STALE_MEMBER_EPOCH and not answer.partitions, answer)


@probe("KIP1251-BASE-01", rig=fresh_group(), cases=["unknown-member"], distance=integers(-2, 2), by_name=booleans())
def unknown_member(group: Group, case: str, distance: int, by_name: bool) -> Claims:
    """A client that is not a member reads nothing, whatever epoch it sends."""
    member = group.sole_member(2)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    answer = fetch(group, group.bench.fresh_name("stranger"), member.epoch + distance, by_name=by_name)
    yield held_if(answer.error is Error.UNKNOWN_MEMBER_ID and not answer.partitions, answer)


@probe("KIP1251-BASE-01", rig=fresh_group(), cases=["classic-member"], distance=integers(-3, 2), by_name=booleans())
def other_generation(group: Group, case: str, distance: int, by_name: bool) -> Claims:
    """A classic member is refused at any generation but its own, with the classic protocol's error."""
    group.store(group.sole_member(3), 0, 10)
    classic = classic_member(group)
    yield join_mixed_group(classic)
    generation = classic.generation + (distance if distance < 0 else distance + 1)
    answer = fetch(group, classic.id, generation, by_name=by_name)
    own = fetch(group, classic.id, classic.generation, by_name=by_name)
    refused = answer.error is Error.ILLEGAL_GENERATION and not answer.partitions
    yield held_if(refused and own.shows(10), answer, own)
