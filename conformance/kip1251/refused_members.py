"""Refused heartbeats and joins leave a group as it was (GEN-01; errors of KIP-848)."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import msgspec
from hypothesis.strategies import lists, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import Group, GroupMember, classic_member, fresh_group
from conformance.rigs.groups.members import Members
from fixtures.wire.retriable import error_of
from protocol.codes import Error
from protocol.groups import JOIN, LEAVE, DescribedGroup, TopicPartitions
from protocol.messages import Answer
from protocol.words import say_change

CHANGES = lists(sampled_from(["join", "bump", "leave"]), min_size=2, max_size=4)
BEYOND = 7
"""The number of epochs above a member's own, which no coordinator has reached."""

Refused: TypeAlias = Callable[[Group, Sequence[GroupMember]], Answer]


def join_as_newcomer(group: Group, **fields: object) -> Answer:
    """Send a new member's first heartbeat with one wrong field."""
    asked = {"member_epoch": JOIN, "owned": (), "subscribed_topic_names": [group.topic.name]}
    return group.member().heartbeat(received=False, **asked | fields)


def join_with_taken_instance(group: Group, present: Sequence[GroupMember]) -> Answer:
    """Join with the instance id of a static member that has not left, or without one if there is no such member."""
    taken = next((one.instance_id for one in present if one.instance_id), "")
    return join_as_newcomer(group, instance_id=taken)


def join_with_foreign_partitions(group: Group, present: Sequence[GroupMember]) -> Answer:
    """Join with owned partitions of a topic that does not exist."""
    return join_as_newcomer(group, owned=[TopicPartitions(UUID(int=7), (0,))])


REFUSED: Mapping[str, Refused] = {
    "epoch beyond": lambda group, present: present[0].heartbeat(received=False, member_epoch=present[0].epoch + BEYOND),
    "unknown member": lambda group, present: group.member().heartbeat(received=False, member_epoch=1),
    "unknown member leaves": lambda group, present: group.member().heartbeat(received=False, member_epoch=LEAVE),
    "epoch below": lambda group, present: present[0].heartbeat(received=False, member_epoch=-7),
    "no subscription": lambda group, present: join_as_newcomer(group, subscribed_topic_names=None),
    "no rebalance time-out": lambda group, present: join_as_newcomer(group, rebalance_timeout_ms=-1),
    "unknown assignor": lambda group, present: join_as_newcomer(group, server_assignor="no-assignor"),
    "empty assignor": lambda group, present: join_as_newcomer(group, server_assignor=""),
    "foreign partitions": join_with_foreign_partitions,
    "taken instance": join_with_taken_instance,
    "another protocol type": lambda group, present: classic_member(group).join(protocol_type="connect"),
}
"""The requests that must be refused, by their fault."""
PROMISED = {"epoch beyond": ("KIP1251-BASE-04", "greater-epoch")}
"""The row and case that promise the refusal; some requests have none."""


def at_rest(group: Group) -> DescribedGroup:
    """Return the group's description without the fields that differ from answer to answer."""
    return msgspec.structs.replace(group.describe(), version=0, throttle_time_ms=0)


@probe(
    "GEN-01",
    rig=fresh_group(),
    cases=["group"],
    changes=CHANGES,
    wrong=lists(sampled_from(sorted(REFUSED)), min_size=8, max_size=10, unique=True),
)
def refused_members_leave_the_group_as_it_was(
    group: Group, case: str, changes: Sequence[str], wrong: Sequence[str]
) -> Claims:
    """The description has the same epochs, members and assignments after each refusal, and after the next valid
    heartbeats."""
    members = Members(group)
    for change in changes:
        members.change(change)
    for kind in wrong:
        before = at_rest(group)
        answer = REFUSED[kind](group, members.present)
        yield premise(error_of(answer) is not Error.NONE, f"{kind} is refused: {answer}", promised=PROMISED.get(kind))
        after = at_rest(group)
        yield held_if(
            before == after, after, case=case, detail=f"after a refusal ({kind}): {say_change(before, after)}"
        )
        members.bring_all_back()
        later = at_rest(group)
        yield held_if(
            before == later,
            later,
            case=case,
            detail=f"after a refusal ({kind}) and valid heartbeats: {say_change(before, later)}",
        )
