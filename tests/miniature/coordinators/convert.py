"""Groups that change their protocol with members in them, up and down (KIP-848, migration)."""

from __future__ import annotations

from protocol.assignments import assigned_in, encode_assignment, subscription
from tests.miniature.coordinators.balance import (
    put_assignment,
    put_epoch,
    put_member,
    put_removal,
    put_target,
    put_target_epoch,
)
from tests.miniature.coordinators.shard import Shard
from tests.miniature.coordinators.state import (
    CLASSIC,
    GROUP,
    TARGET,
    ClassicGroup,
    ClassicMember,
    Group,
    Member,
    Place,
    by_topic,
)
from tests.miniature.core.broker import Broker


def names_in(metadata: bytes) -> tuple[str, ...]:
    """Return the topics of a classic member's subscription."""
    found, at = [], 6
    for _ in range(int.from_bytes(metadata[2:6])):
        length = int.from_bytes(metadata[at : at + 2])
        found.append(metadata[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return tuple(sorted(found))


def places_named(broker: Broker, named: dict[str, tuple[int, ...]]) -> set[Place]:
    """Return partitions by topic id; those of unknown topics are left out."""
    known = ((broker.topics.get(name), each) for name, each in named.items())
    return {(str(topic.id), one) for topic, each in known if topic is not None for one in each}


def encode_places(broker: Broker, places: set[Place]) -> bytes:
    """Return a classic member's assignment."""
    names = {str(topic.id): name for name, topic in broker.topics.items()}
    return encode_assignment({names[id]: each for id, each in by_topic(places) if id in names})


def upgrade(shard: Shard, id: str) -> Group:
    """Make a classic group one of the consumer protocol: its members keep what their leader gave them."""
    classic = shard.state.classic[id]
    shard.put(CLASSIC, {"group": id}, None)
    group = shard.state.groups.setdefault(id, Group(id))
    if not classic.members:
        return group
    epoch = classic.generation
    for one in classic.members.values():
        topics = names_in(one.metadata)
        put_member(
            shard,
            group,
            Member(
                one.id,
                one.instance,
                topics,
                rebalance_ms=one.rebalance_ms,
                session_ms=one.session_ms,
                is_classic=True,
            ),
        )
    put_epoch(shard, group, epoch)
    for one in classic.members.values():
        places = places_named(shard.broker, assigned_in(one.assignment)) if one.assignment else set()
        put_target(shard, group, one.id, places)
    put_target_epoch(shard, group, epoch)
    for one in classic.members.values():
        places = {*group.targets[one.id]}
        put_assignment(shard, group, one.id, epoch, epoch, dict.fromkeys(places, epoch), {}, "STABLE")
        shard.renew_session(id, one.id, one.session_ms)
    return group


def downgrade_if_due(shard: Shard, group: Group) -> bool:
    """Make the group a classic one if all its members are classic. True if it is."""
    if not group.members or not all(one.is_classic for one in group.members.values()):
        return False
    classic = ClassicGroup(1 if "generation-starts-again" in shard.bugs else group.epoch)
    for one in group.members.values():
        given = encode_places(shard.broker, {*one.assigned})
        classic.members[one.id] = ClassicMember(
            one.id, one.instance, subscription(one.topics), one.session_ms, one.rebalance_ms, given
        )
    for member in list(group.members):
        put_removal(shard, group, member)
        shard.rebalances.pop((group.id, member), None)
    shard.put(TARGET, {"group_id": group.id}, None)
    shard.put(GROUP, {"group_id": group.id}, None)
    put_classic(shard, group.id, classic)
    shard.state.classic[group.id].phase = "preparing"
    return True


def put_classic(shard: Shard, id: str, group: ClassicGroup) -> None:
    """Write a classic group after a rebalance."""
    members = [
        {
            "member_id": one.id,
            "group_instance_id": one.instance or None,
            "subscription": one.metadata.hex(),
            "session_timeout": one.session_ms,
            "rebalance_timeout": one.rebalance_ms,
            "assignment": one.assignment.hex(),
        }
        for one in group.members.values()
    ]
    value = {"protocol_type": "consumer", "protocol": "range", "generation": group.generation, "leader": group.leader}
    shard.put(CLASSIC, {"group": id}, {**value, "members": members})


__all__ = ["downgrade_if_due", "encode_places", "names_in", "places_named", "put_classic", "upgrade"]
