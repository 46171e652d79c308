"""Classic members: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, in groups of either protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.assignments import owned_in
from protocol.codes import Error
from tests.miniature.coordinators.balance import (
    bump_if_changed,
    put_assignment,
    put_member,
    reconcile,
    retarget,
)
from tests.miniature.coordinators.consumer import remove, replace
from tests.miniature.coordinators.convert import downgrade_if_due, encode_places, names_in, places_named, put_classic
from tests.miniature.coordinators.shard import Refused, Shard
from tests.miniature.coordinators.state import GROUP, TARGET, ClassicGroup, ClassicMember, Group, Member, Plain

NEEDS_ID_FROM = 4
"""The version of JoinGroup from which on a new member is given an id first."""
Wait = Callable[[Callable[[], bool]], Any]


def _new_id(shard: Shard) -> str:
    shard.given_ids += 1
    return f"classic-{shard.broker.id}.{shard.starts}-{shard.epoch}-{shard.replica.state.key[1]}-{shard.given_ids}"


def _joined(member: str, generation: int, leader: str = "", members: list[Plain] | None = None) -> Plain:
    return {
        "error_code": 0,
        "generation_id": generation,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "leader": leader,
        "skip_assignment": False,
        "member_id": member,
        "members": members or [],
    }


def join(shard: Shard, asked: Plain, wait: Wait) -> Plain:
    """Answer JoinGroup, in a classic group once all members have joined. Raises Refused."""
    id, instance = asked["member_id"], asked["group_instance_id"] or ""
    if not id and not instance and asked["version"] >= NEEDS_ID_FROM:
        return _give_id(shard, asked)
    group = shard.state.groups.get(asked["group_id"])
    if group is not None and group.members:
        answer = _join_consumers(shard, group, asked)
        if group.id in shard.state.groups:
            return answer
        if not shard.flush():
            raise Refused(Error.COORDINATOR_NOT_AVAILABLE)
        asked = {**asked, "member_id": answer["member_id"]}
    elif group is not None:
        shard.put(TARGET, {"group_id": group.id}, None)
        shard.put(GROUP, {"group_id": group.id}, None)
    classic = shard.state.classic.setdefault(asked["group_id"], ClassicGroup())
    return _join_classic(shard, classic, asked, wait)


def _give_id(shard: Shard, asked: Plain) -> Plain:
    id, group = _new_id(shard), asked["group_id"]
    if group not in shard.state.groups or not shard.state.groups[group].members:
        shard.state.classic.setdefault(group, ClassicGroup()).expected.add(id)
    return {**_joined(id, -1), "error_code": Error.MEMBER_ID_REQUIRED}


# --- in groups of the consumer protocol


def _join_consumers(shard: Shard, group: Group, asked: Plain) -> Plain:
    id, instance = asked["member_id"], asked["group_instance_id"] or ""
    metadata = asked["protocols"][0]["metadata"]
    known = group.static(instance) if instance else group.members.get(id)
    if known is not None and id and known.id != id:
        raise Refused(Error.FENCED_INSTANCE_ID)
    id = id or (_new_id(shard) if known is None or instance else known.id)
    wanted = Member(
        id,
        instance,
        names_in(metadata),
        rebalance_ms=asked["rebalance_timeout_ms"],
        session_ms=asked["session_timeout_ms"],
        is_classic=True,
    )
    changed = known is None or known.topics != wanted.topics or bool(known.pattern)
    if known is None:
        put_member(shard, group, wanted)
        put_assignment(shard, group, id, 0, -1, {}, {}, "STABLE")
    elif known.id != id:
        replace(shard, group, known, wanted)
    elif changed or not known.is_classic:
        put_member(shard, group, wanted)
    if known is not None and not known.is_classic and downgrade_if_due(shard, group):
        return _joined(id, -1)
    member = group.members[id]
    bump_if_changed(shard, group, changed=changed)
    retarget(shard, group)
    reconcile(shard, group, member, places_named(shard.broker, dict(owned_in(metadata) or {})))
    shard.renew_session(group.id, id, member.session_ms)
    return _joined(id, member.epoch)


def _must_rejoin(group: Group, member: Member) -> bool:
    if member.phase == "UNREVOKED_PARTITIONS" or member.epoch < group.epoch:
        return True
    others = {place for one in group.members.values() if one is not member for place in one.held}
    wanted = group.targets.get(member.id, frozenset()) - member.assigned.keys()
    return member.phase == "UNRELEASED_PARTITIONS" and not wanted & others


def _consumer_member(shard: Shard, group: Group, asked: Plain) -> Member:
    """Return the classic member of a request. Raises Refused."""
    id, instance = asked["member_id"], asked.get("group_instance_id") or ""
    known = group.static(instance) if instance else group.members.get(id)
    if known is None:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    if known.id != id:
        raise Refused(Error.FENCED_INSTANCE_ID)
    is_forgotten = "classic-members-forgotten-at-load" in shard.bugs and known.id in group.loaded_classic
    if not known.is_classic or is_forgotten:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    if asked["generation_id"] != known.epoch:
        raise Refused(Error.ILLEGAL_GENERATION)
    return known


# --- SyncGroup and Heartbeat


def sync(shard: Shard, asked: Plain) -> Plain:
    """Answer SyncGroup. Raises Refused."""
    assignment, group = b"", shard.state.groups.get(asked["group_id"])
    if group is not None:
        member = _consumer_member(shard, group, asked)
        if "syncs-refused-after-load" in shard.bugs and member.id in group.loaded_classic:
            raise Refused(Error.UNKNOWN_MEMBER_ID)
        if group.epoch > member.epoch and member.phase != "UNREVOKED_PARTITIONS":
            raise Refused(Error.REBALANCE_IN_PROGRESS)
        assignment = encode_places(shard.broker, {*member.assigned})
        shard.renew_session(group.id, member.id, member.session_ms)
    else:
        assignment = _sync_classic(shard, asked)
    return {"error_code": 0, "protocol_type": "consumer", "protocol_name": "range", "assignment": assignment}


def heartbeat(shard: Shard, asked: Plain) -> Plain:
    """Answer a classic member's Heartbeat. Raises Refused."""
    group = shard.state.groups.get(asked["group_id"])
    if group is not None:
        member = _consumer_member(shard, group, asked)
        shard.renew_session(group.id, member.id, member.session_ms)
        rejoins = _must_rejoin(group, member) and "classic-not-told" not in shard.bugs
    else:
        classic, one = _classic_member(shard, asked)
        shard.renew_session(asked["group_id"], one.id, one.session_ms)
        rejoins = classic.phase == "preparing"
    return {"error_code": Error.REBALANCE_IN_PROGRESS if rejoins else Error.NONE}


def leave(shard: Shard, asked: Plain) -> Plain:
    """Answer LeaveGroup of one or more members."""
    leaving = asked.get("members") or [{"member_id": asked.get("member_id", ""), "group_instance_id": None}]
    answers = []
    for one in leaving:
        error = _left(shard, asked["group_id"], one["member_id"], one["group_instance_id"] or "")
        answers.append({**one, "error_code": error})
    return {"error_code": 0, "members": answers} if "members" in asked else {"error_code": answers[0]["error_code"]}


def _left(shard: Shard, id: str, member: str, instance: str) -> Error:
    group, classic = shard.state.groups.get(id), shard.state.classic.get(id)
    if group is not None:
        known = group.static(instance) if instance else group.members.get(member)
    else:
        found = classic.static(instance) if classic is not None and instance else None
        by_id = classic.members.get(member) if classic is not None else None
        return _left_classic(shard, id, found if instance else by_id, member)
    if known is None:
        return Error.UNKNOWN_MEMBER_ID
    if member and known.id != member:
        return Error.FENCED_INSTANCE_ID
    remove(shard, group, known.id)
    return Error.NONE


# --- classic groups


def _left_classic(shard: Shard, id: str, known: ClassicMember | None, member: str) -> Error:
    if known is None:
        return Error.UNKNOWN_MEMBER_ID
    if member and known.id != member:
        return Error.FENCED_INSTANCE_ID
    remove_classic(shard, id, known.id)
    return Error.NONE


def remove_classic(shard: Shard, id: str, member: str) -> None:
    """Remove a member of a classic group; the others have to rejoin."""
    group = shard.state.classic[id]
    group.members.pop(member, None)
    group.joined = [one for one in group.joined if one != member]
    shard.end_timers(id, member)
    group.phase = "preparing" if group.members else "empty"
    if not group.members:
        group.generation += 1
        put_classic(shard, id, group)
        group = shard.state.classic[id]


def _join_classic(shard: Shard, group: ClassicGroup, asked: Plain, wait: Wait) -> Plain:
    id, instance = asked["member_id"], asked["group_instance_id"] or ""
    known = group.static(instance)
    if known is not None and id and known.id != id:
        raise Refused(Error.FENCED_INSTANCE_ID)
    if id and not instance and id not in group.members and id not in group.expected:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    if known is not None and not id:
        group.members.pop(known.id)
        group.joined = [one for one in group.joined if one != known.id]
        shard.end_timers(asked["group_id"], known.id)
    id = id or _new_id(shard)
    group.expected.discard(id)
    group.members[id] = ClassicMember(
        id, instance, asked["protocols"][0]["metadata"], asked["session_timeout_ms"], asked["rebalance_timeout_ms"]
    )
    group.phase = "preparing"
    group.joined.append(id)
    shard.renew_session(asked["group_id"], id, asked["session_timeout_ms"])
    began, until = group.generation, shard.now + max(one.rebalance_ms for one in group.members.values()) / 1000
    wait(lambda: group.generation > began or _is_complete(group) or shard.now >= until or not shard.is_current)
    if shard.state.classic.get(asked["group_id"]) is not group or not shard.is_current:
        raise Refused(Error.NOT_COORDINATOR if not shard.is_current else Error.REBALANCE_IN_PROGRESS)
    if group.generation == began:
        _complete(shard, asked["group_id"], group)
    if id not in group.members:
        raise Refused(Error.UNKNOWN_MEMBER_ID)
    listed = [
        {"member_id": one.id, "group_instance_id": one.instance or None, "metadata": one.metadata}
        for one in group.members.values()
    ]
    return _joined(id, group.generation, group.leader, listed if id == group.leader else [])


def _is_complete(group: ClassicGroup) -> bool:
    return set(group.members) <= set(group.joined) and not group.expected


def _complete(shard: Shard, id: str, group: ClassicGroup) -> None:
    """End the rebalance with those who joined."""
    for one in [member for member in group.members if member not in group.joined]:
        del group.members[one]
        shard.end_timers(id, one)
    group.expected.clear()
    group.generation += 1
    group.leader = group.leader if group.leader in group.members else next(iter(group.members))
    group.joined, group.phase = [], "completing"


def _classic_member(shard: Shard, asked: Plain) -> tuple[ClassicGroup, ClassicMember]:
    """Return the member of a request, with its group. Raises Refused."""
    group = shard.state.classic.get(asked["group_id"])
    if group is None or asked["member_id"] not in group.members:
        instance = asked.get("group_instance_id") or ""
        taken = group is not None and group.static(instance) is not None
        raise Refused(Error.FENCED_INSTANCE_ID if taken else Error.UNKNOWN_MEMBER_ID)
    if asked["generation_id"] != group.generation:
        raise Refused(Error.ILLEGAL_GENERATION)
    return group, group.members[asked["member_id"]]


def _sync_classic(shard: Shard, asked: Plain) -> bytes:
    group, one = _classic_member(shard, asked)
    if group.phase == "preparing":
        raise Refused(Error.REBALANCE_IN_PROGRESS)
    if group.phase == "completing" and one.id != group.leader:
        raise Refused(Error.REBALANCE_IN_PROGRESS)
    if group.phase == "completing":
        given = {each["member_id"]: each["assignment"] for each in asked["assignments"]}
        for member in group.members.values():
            member.assignment = given.get(member.id, b"")
        put_classic(shard, asked["group_id"], group)
        group = shard.state.classic[asked["group_id"]]
    shard.renew_session(asked["group_id"], one.id, one.session_ms)
    return group.members[one.id].assignment


__all__ = ["heartbeat", "join", "leave", "remove_classic", "sync"]
