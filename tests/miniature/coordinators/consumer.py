"""Members of the consumer protocol: heartbeats that join, acknowledge and leave."""

from __future__ import annotations

import uuid

from protocol.codes import Error
from protocol.groups import JOIN, LEAVE, LEAVE_TO_RETURN
from tests.miniature.coordinators.balance import (
    bump_if_changed,
    put_assignment,
    put_away,
    put_epoch,
    put_member,
    put_removal,
    put_target,
    reconcile,
    retarget,
)
from tests.miniature.coordinators.convert import downgrade_if_due, upgrade
from tests.miniature.coordinators.shard import Refused, Shard
from tests.miniature.coordinators.state import Group, Member, Place, Plain, by_topic


def heartbeat(shard: Shard, asked: Plain) -> Plain:
    """Answer a heartbeat. Raises Refused."""
    epoch = asked["member_epoch"]
    if epoch in (LEAVE, LEAVE_TO_RETURN):
        return _leave(shard, asked)
    group = _group_for(shard, asked["group_id"], joins=epoch == JOIN)
    before = _member_before(shard, group, asked)
    before_places = set(before.assigned) if before is not None else set()
    member = _present(shard, group, asked, before)
    changed = before is None or before.id != member.id
    changed = _subscribe(shard, group, member, asked) or (changed and before is None)
    bump_if_changed(shard, group, changed=changed)
    retarget(shard, group)
    reconcile(shard, group, member, _owned(asked))
    shard.renew_session(group.id, member.id, -1)
    is_full = asked["topic_partitions"] is not None and _names_topics(asked)
    if before is not None and before.is_classic:
        downgrade_if_due(shard, group)
    shows = epoch == JOIN or is_full or {*member.assigned} != before_places
    return _answer(member, shows=shows)


def _names_topics(asked: Plain) -> bool:
    return asked.get("subscribed_topic_names") is not None or asked.get("subscribed_topic_regex") is not None


def _owned(asked: Plain) -> set[Place] | None:
    if asked["topic_partitions"] is None:
        return None
    return {(str(topic["topic_id"]), one) for topic in asked["topic_partitions"] for one in topic["partitions"]}


def _answer(member: Member, *, shows: bool) -> Plain:
    assignment = [{"topic_id": uuid.UUID(id), "partitions": each} for id, each in by_topic(member.assigned)]
    return {
        "error_code": 0,
        "error_message": None,
        "member_id": member.id,
        "member_epoch": member.epoch,
        "heartbeat_interval_ms": 5_000,
        "assignment": {"topic_partitions": assignment} if shows else None,
    }


def _group_for(shard: Shard, id: str, *, joins: bool) -> Group:
    """Return the group, which begins with its first member, or is upgraded for it. Raises Refused."""
    if (group := shard.state.groups.get(id)) is not None:
        return group
    if not joins:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    if id in shard.state.classic:
        return upgrade(shard, id)
    return shard.state.groups.setdefault(id, Group(id))


def _member_before(shard: Shard, group: Group, asked: Plain) -> Member | None:
    """Return the member whose place it is; None for a new one. Raises Refused."""
    id, instance, epoch = asked["member_id"], asked["instance_id"] or "", asked["member_epoch"]
    known = group.static(instance) if instance else group.members.get(id)
    if known is None:
        if epoch != JOIN:
            raise Refused(Error.UNKNOWN_MEMBER_ID)
        return None
    if known.id != id:
        if epoch != JOIN:
            raise Refused(Error.FENCED_INSTANCE_ID)
        if not known.is_away and not known.is_classic:
            raise Refused(Error.UNRELEASED_INSTANCE_ID)
        return known
    if epoch == JOIN:
        if "joins-once" in shard.bugs:
            raise Refused(Error.UNKNOWN_MEMBER_ID)
        return known
    if "taken-for-classic-at-load" in shard.bugs and group.loaded_classic:
        raise Refused(Error.INCONSISTENT_GROUP_PROTOCOL)
    granted = epoch == known.epoch or _is_retry(known, epoch, _owned(asked))
    granted = granted or (epoch > known.epoch and "newer-epoch-granted" in shard.bugs)
    if not granted or ("third-epoch-fenced" in shard.bugs and known.epoch % 3 == 0):
        raise Refused(Error.FENCED_MEMBER_EPOCH)
    return known


def _is_retry(member: Member, epoch: int, owned: set[Place] | None) -> bool:
    """True for the repetition of the heartbeat whose answer told the member's epoch."""
    return epoch == member.previous and owned is not None and owned <= member.assigned.keys()


def _present(shard: Shard, group: Group, asked: Plain, before: Member | None) -> Member:
    """Return the member of a heartbeat: the same, a new one, or one that takes the place of an instance."""
    id, instance = asked["member_id"], asked["instance_id"] or ""
    if before is None:
        put_member(shard, group, Member(id, instance, rebalance_ms=asked["rebalance_timeout_ms"]))
        put_assignment(shard, group, id, 0, -1, {}, {}, "STABLE")
    elif before.id != id or before.is_away:
        replace(shard, group, before, Member(id, instance, before.topics, before.pattern, before.assignor))
    return group.members[id]


def replace(shard: Shard, group: Group, before: Member, after: Member) -> None:
    """Put a member in the place of another one with the same instance id; it has that one's partitions and target."""
    kept, target, epochs = dict(before.assigned), group.targets.get(before.id, frozenset()), before.pending
    put_removal(shard, group, before.id)
    shard.end_timers(group.id, before.id)
    after.rebalance_ms = after.rebalance_ms if after.rebalance_ms > 0 else before.rebalance_ms
    put_member(shard, group, after)
    put_target(shard, group, after.id, target)
    put_assignment(shard, group, after.id, 0, -1, kept, epochs, before.phase)


def _subscribe(shard: Shard, group: Group, member: Member, asked: Plain) -> bool:
    """Take over what a heartbeat changes. True if its subscription or assignor changed."""
    names, pattern = asked.get("subscribed_topic_names"), asked.get("subscribed_topic_regex")
    wanted = Member(
        member.id,
        asked["instance_id"] or member.instance,
        member.topics if names is None else tuple(sorted(names)),
        member.pattern if pattern is None else pattern,
        asked["server_assignor"] or member.assignor,
        asked["rebalance_timeout_ms"] if asked["rebalance_timeout_ms"] > 0 else member.rebalance_ms,
    )
    now = (wanted.topics, wanted.pattern, wanted.assignor)
    is_same = now == (member.topics, member.pattern, member.assignor)
    if not is_same or (wanted.rebalance_ms, False) != (member.rebalance_ms, member.is_classic):
        put_member(shard, group, wanted)
    return not is_same


# --- leaving


def _leave(shard: Shard, asked: Plain) -> Plain:
    group = shard.state.groups.get(asked["group_id"])
    instance = asked["instance_id"] or ""
    member = None if group is None else group.static(instance) if instance else group.members.get(asked["member_id"])
    if group is None or member is None:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    if member.id != asked["member_id"]:
        raise Refused(Error.FENCED_INSTANCE_ID)
    if asked["member_epoch"] == LEAVE_TO_RETURN and member.instance:
        put_away(shard, group, member)
        shard.rebalances.pop((group.id, member.id), None)
    else:
        remove(shard, group, member.id)
    epoch = {"member_epoch": asked["member_epoch"], "member_id": asked["member_id"], "heartbeat_interval_ms": 0}
    return {"error_code": 0, "error_message": None, "assignment": None, **epoch}


def remove(shard: Shard, group: Group, member: str) -> None:
    """Remove a member that leaves, or whose time is over, and begin a rebalance; who is left may be all classic."""
    put_removal(shard, group, member)
    shard.end_timers(group.id, member)
    if not downgrade_if_due(shard, group):
        put_epoch(shard, group, group.epoch + 1)
