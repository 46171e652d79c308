"""Group epochs, target assignments, and what a member is assigned next (KIP-848, with the assignment epochs of KIP-1251)."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Collection, Mapping

from protocol.groups import LEAVE_TO_RETURN
from tests.miniature.coordinators.assignors import ASSIGNORS
from tests.miniature.coordinators.shard import Shard
from tests.miniature.coordinators.state import (
    ASSIGNMENT,
    GROUP,
    MEMBER,
    TARGET,
    TARGET_MEMBER,
    Group,
    Member,
    Phase,
    Place,
    by_topic,
    with_epochs,
)
from tests.miniature.core.broker import Broker

Read = dict[str, int]
"""The numbers of partitions of topics, by id."""


def topics_of(broker: Broker, member: Member, bugs: Collection[str] = ()) -> Read:
    """Return the topics to which a member is subscribed, as far as the broker knows them."""
    found: Read = {}
    for name, topic in broker.topics.items():
        by_pattern = bool(member.pattern) and re.fullmatch(member.pattern, name) is not None
        if name in member.topics or (by_pattern and not name.startswith("__")):
            found[str(topic.id)] = sum(key[0] == name for key in broker.views)
    return found


def hash_of(shard: Shard, group: Group) -> str:
    """Return a word for what the topics of all subscriptions are like."""
    read = {key: count for one in group.members.values() for key, count in topics_of(shard.broker, one).items()}
    if "growth-unseen" in shard.bugs:
        read = dict.fromkeys(read, 1)
    return f"{zlib.crc32(repr(sorted(read.items())).encode()):x}" if read else ""


# --- records


def put_member(shard: Shard, group: Group, member: Member) -> None:
    classic = {"session_timeout_ms": member.session_ms} if member.is_classic else None
    value = {
        "instance_id": member.instance or None,
        "subscribed_topic_names": sorted(member.topics),
        "subscribed_topic_regex": member.pattern or None,
        "rebalance_timeout_ms": member.rebalance_ms,
        "server_assignor": member.assignor or None,
        "classic_member_metadata": classic,
    }
    shard.put(MEMBER, {"group_id": group.id, "member_id": member.id}, value)


def put_assignment(
    shard: Shard,
    group: Group,
    member: str,
    epoch: int,
    previous: int,
    assigned: Mapping[Place, int],
    pending: Mapping[Place, int],
    phase: Phase,
) -> None:
    value = {
        "member_epoch": epoch,
        "previous_member_epoch": previous,
        "state": phase,
        "assigned_partitions": with_epochs(assigned),
        "partitions_pending_revocation": with_epochs(pending),
    }
    shard.put(ASSIGNMENT, {"group_id": group.id, "member_id": member}, value)


def put_epoch(shard: Shard, group: Group, epoch: int) -> None:
    shard.put(GROUP, {"group_id": group.id}, {"epoch": epoch, "metadata_hash": hash_of(shard, group)})


def put_target(shard: Shard, group: Group, member: str, places: Collection[Place]) -> None:
    value = {"topic_partitions": [{"topic_id": id, "partitions": each} for id, each in by_topic(places)]}
    shard.put(TARGET_MEMBER, {"group_id": group.id, "member_id": member}, value)


def put_target_epoch(shard: Shard, group: Group, epoch: int) -> None:
    shard.put(TARGET, {"group_id": group.id}, {"assignment_epoch": epoch})


def put_removal(shard: Shard, group: Group, member: str) -> None:
    for kind in (ASSIGNMENT, TARGET_MEMBER, MEMBER):
        shard.put(kind, {"group_id": group.id, "member_id": member}, None)


# --- group epoch and target


def bump_if_changed(shard: Shard, group: Group, *, changed: bool) -> None:
    """Raise the group epoch for a changed member, or if the topics have changed."""
    if changed or group.hash != hash_of(shard, group):
        put_epoch(shard, group, group.epoch + 1)


def retarget(shard: Shard, group: Group) -> None:
    """Compute the target assignment for a new group epoch, unless the last one is too recent."""
    interval = shard.setting(group.id, "consumer.assignment.interval.ms") / 1000
    if group.epoch == group.target_epoch or shard.now < shard.assigned_at.get(group.id, -1e9) + interval:
        return
    shard.assigned_at[group.id] = shard.now
    wished = Counter(one.assignor or "uniform" for one in group.members.values())
    assignor = ASSIGNORS[max(sorted(wished), key=lambda name: wished[name], default="uniform")]
    read = {one.id: topics_of(shard.broker, one) for one in group.members.values()}
    before = group.targets
    if "shares-change-hands" in shard.bugs and group.epoch % 2:
        before = dict(zip(before, [*before.values()][::-1], strict=True))
    if "uneven-shares-change-hands" in shard.bugs and group.epoch % 2 and _is_uneven(read):
        before = dict(zip(before, [*before.values()][::-1], strict=True))
    target = assignor(read, before)
    if "last-partition-unassigned" in shard.bugs:
        target = _without_the_last(target)
    for member in sorted(target):
        if target[member] != group.targets.get(member, frozenset()):
            put_target(shard, group, member, target[member])
    behind = "target-epoch-ahead" in shard.bugs
    put_target_epoch(shard, group, group.epoch + behind)


def _is_uneven(read: Mapping[str, Read]) -> bool:
    return any(count % len(read) for one in read.values() for count in one.values())


def _without_the_last(target: Mapping[str, frozenset[Place]]) -> dict[str, frozenset[Place]]:
    last = max((place for places in target.values() for place in places), default=None)
    return {member: places - {last} for member, places in target.items()}


# --- the next assignment of a member


def reconcile(shard: Shard, group: Group, member: Member, owned: Collection[Place] | None) -> None:
    """Bring a member nearer to the target. `owned` is what it says that it owns, None if nothing has changed."""
    if member.phase == "UNREVOKED_PARTITIONS":
        if not _still_owns(shard, member.pending, owned):
            _advance(shard, group, member, owned)
    elif member.phase == "UNRELEASED_PARTITIONS" or member.epoch != group.target_epoch:
        _advance(shard, group, member, owned)


def _still_owns(shard: Shard, places: Collection[Place], owned: Collection[Place] | None) -> bool:
    if owned is None:
        return "given-up-by-silence" not in shard.bugs
    return not {*places}.isdisjoint(owned)


def _advance(shard: Shard, group: Group, member: Member, owned: Collection[Place] | None) -> None:
    target, now = group.targets.get(member.id, frozenset()), group.target_epoch
    kept = {place: epoch for place, epoch in member.assigned.items() if place in target}
    leaving = {place: epoch for place, epoch in member.assigned.items() if place not in target}
    wanted = target - kept.keys()
    free = {place for place in wanted if not _is_held(shard, group, member, place)}
    if leaving and _still_owns(shard, leaving, owned):
        _assign(shard, group, member, member.epoch, kept, leaving, "UNREVOKED_PARTITIONS")
        return
    phase: Phase = "UNRELEASED_PARTITIONS" if free != wanted else "STABLE"
    if "shared-epoch" in shard.bugs and (member.epoch == 0 or free):
        now = member.epoch or max(1, now - 1)
    since = group.epoch if "given-at-the-group-epoch" in shard.bugs else now
    given = kept | dict.fromkeys(sorted(free), since)
    grown = {place[0] for place in free} & {place[0] for place in kept} if len(group.members) == 1 else set()
    if "assignment-epoch-renewed" in shard.bugs or (grown and "renewed-by-growth" in shard.bugs):
        given = dict.fromkeys(given, since)
    if "assignment-epoch-ahead" in shard.bugs and free:
        given = kept | dict.fromkeys(sorted(free), since + 1)
    if "converges-never" in shard.bugs and len(group.members) > 1:
        phase, now = "UNRELEASED_PARTITIONS", max(member.epoch, now - 1)
    _assign(shard, group, member, now, given, {}, phase)


def _is_held(shard: Shard, group: Group, member: Member, place: Place) -> bool:
    """True if another member has the partition, or has to give it up."""
    for other in group.members.values():
        if other is member:
            continue
        if "pending-given-away" in shard.bugs and place not in other.assigned:
            continue
        if "away-instance-robbed" in shard.bugs and other.is_away:
            continue
        if "classic-owner-ignored" in shard.bugs and other.is_classic:
            continue
        if place in other.held:
            return True
    return False


def _assign(
    shard: Shard,
    group: Group,
    member: Member,
    epoch: int,
    assigned: Mapping[Place, int],
    pending: Mapping[Place, int],
    phase: Phase,
) -> None:
    same = (epoch, assigned, pending, phase) == (member.epoch, member.assigned, member.pending, member.phase)
    previous = member.previous if epoch == member.epoch else member.epoch
    if not same:
        put_assignment(shard, group, member.id, epoch, previous, assigned, pending, phase)
    key = (group.id, member.id)
    if phase != "UNREVOKED_PARTITIONS":
        if "rebalance-timer-stays" not in shard.bugs:
            shard.rebalances.pop(key, None)
    elif key not in shard.rebalances or not same:
        share = 4 if "rebalance-ends-early" in shard.bugs else 1
        shard.rebalances[key] = shard.now + member.rebalance_ms / 1000 / share


def put_away(shard: Shard, group: Group, member: Member) -> None:
    """Let a static member leave to return: its partitions stay, with assignment epochs 0."""
    kept = dict.fromkeys(member.assigned, 0)
    put_assignment(shard, group, member.id, LEAVE_TO_RETURN, member.epoch, kept, {}, "STABLE")
