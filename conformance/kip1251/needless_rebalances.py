"""A group whose members and topics have not changed keeps its assignment (GEN-14)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.groups.group import Group, GroupMember, fresh_group, known_to_the_coordinator, new_topic
from fixtures.views.member import list_partitions
from protocol.groups import DescribedGroup

ROUNDS = integers(6, 8)
UNEVEN = sampled_from([7, 13])
"""Numbers of partitions that two, three or four members cannot share evenly (KAFKA-18688)."""
ABSENT = "of-no-topic"


def with_others(group: Group, others: int, *, static: bool) -> list[GroupMember]:
    """Create members that subscribe to the group's topic and to a missing one, and let the group settle."""
    names = [group.bench.fresh_name("instance") if static else None for _ in range(1 + others)]
    members = [group.member(name) for name in names]
    for member in members:
        member.join(group.topic.name, ABSENT)
    group.heartbeat_until_settled(*members)
    return members


def subscribe(member: GroupMember, *topics: str) -> None:
    member.require(member.heartbeat(owned=list_partitions(member.owned), subscribed_topic_names=list(topics)))


def renew(group: Group, members: list[GroupMember], case: str, number: int) -> None:
    """Cause a rebalance without changing members, or what they read: subscriptions may name another topic that does not exist."""
    at = number % len(members)
    member = members[at]
    if case == "heartbeat":
        subscribe(member, group.topic.name, ABSENT)
    elif case == "subscription" and number % 2:
        for each in members:
            subscribe(each, group.topic.name, f"{ABSENT}-{number}")
    elif case == "subscription":
        subscribe(member, ABSENT, group.topic.name)
        subscribe(member, group.topic.name, ABSENT)
    elif case == "metadata":
        known_to_the_coordinator(group, new_topic(group.bench, 1), 1)
    else:
        member.leave_to_return()
        members[at] = group.member(member.instance_id)
        members[at].join(group.topic.name, ABSENT)


def owners(group: Group, shown: DescribedGroup) -> dict[int, str]:
    """Return each partition's owner: the instance id of a static member, else the member id."""
    return {
        p: member.instance_id or member.member_id for member in shown.members for p in group.assigned_partitions(member)
    }


@probe("GEN-14", rig=fresh_group(), partitions=UNEVEN, others=integers(1, 3), rounds=ROUNDS)
def nothing_moves(group: Group, case: str, partitions: int, others: int, rounds: int) -> Claims:
    """After the rebalance, each partition has the owner that it had before, and the group was never empty."""
    group = group.with_partitions(partitions)
    members = with_others(group, others, static=case == "static-return")
    before = group.describe()
    for number in range(rounds):
        renew(group, members, case, number)
        between = group.describe()
        after = group.heartbeat_until_settled(*members)
        same = owners(group, after) == owners(group, before)
        never_empty = between.group_state.lower() != "empty"
        yield held_if(same and never_empty, before, between, after)
