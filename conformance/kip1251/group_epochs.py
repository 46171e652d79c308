"""Group epoch, target assignment epoch, member epoch and assignment epochs: ordered, and never lower than before."""

from collections.abc import Generator
from typing import NamedTuple

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.group import Group, GroupMember, fresh_group
from conformance.rigs.groups.group_log import GroupLog, StoredAssignment
from conformance.rigs.groups.members import Members
from conformance.rigs.groups.three_brokers import ROUTED_CONSUMERS, RoutedGroup
from conformance.rigs.producers.three_brokers import How
from protocol.groups import LEAVE_TO_RETURN, DescribedGroup
from protocol.words import say

CHANGES = lists(sampled_from(["join", "bump", "revoke", "return", "leave"]), min_size=6, max_size=8)
HOW = sampled_from(["kill", "move"])
BESIDE = 7
"""The number of further groups of a coordinator that is replaced."""
INTERVAL = {"consumer.assignment.interval.ms": "200"}
"""The settings of a group whose target assignment lags behind its epoch for a while."""
OF_DYNAMIC_MEMBERS = lists(sampled_from(["join", "bump", "revoke", "leave"]), min_size=6, max_size=8)
"""Changes without static members, which the protocol's preview before 4.0 lacks."""


@probe("KIP1251-AE-03", rig=fresh_group(), cases=["described"], changes=CHANGES, lags=booleans())
def described_epochs_are_ordered(group: Group, changes: list[str], lags: bool) -> Claims:
    """In each description, member epoch <= target assignment epoch <= group epoch, also while the target lags."""
    if lags:
        group.configure(INTERVAL)
    group_members = Members(group)
    for change in changes:
        group_members.change(change)
        shown = group.describe()
        yield held_if(are_ordered(shown), shown, case="described")


def are_ordered(shown: DescribedGroup) -> bool:
    members = [member.member_epoch for member in shown.members]
    return all(epoch <= shown.assignment_epoch for epoch in members) and shown.assignment_epoch <= shown.group_epoch


@probe("KIP1251-AE-03", rig=fresh_group(), cases=["record"], changes=CHANGES)
def stored_epochs_are_ordered(group: Group, changes: list[str]) -> Claims:
    """In a member's record, no assignment epoch is above the member epoch; all are 0 after the member left to
    return. The member epoch is not above the target assignment epoch, nor this above the group epoch."""
    log, group_members = GroupLog(group), Members(group)
    for change in changes:
        group_members.change(change)
        for member in group_members.present:
            yield record_in_order(log, member)
    for record, target, epoch in log.epochs_at_assignments():
        if min(target, epoch) >= 0:
            detail = (
                f"target assignment epoch {target} and group epoch {epoch} when a member has the record {say(record)}"
            )
            yield held_if(record.member_epoch <= target <= epoch, record, case="record", detail=detail)


def record_in_order(log: GroupLog, member: GroupMember, *by: object) -> Claim:
    """Observe that no assignment epoch in the member's record is above the member epoch."""
    record = log.current_assignment(member)
    detail = f"{member.id} at epoch {member.epoch} has the record {say(record)}"
    return held_if(in_order(record), record, *by, row="KIP1251-AE-03", case="record", detail=detail)


def in_order(record: StoredAssignment) -> bool:
    """True if each partition's assignment epoch is at most the member epoch; all are 0 for a member that left to
    return."""
    listed = [*record.assigned_partitions, *record.partitions_pending_revocation]
    epochs = [epoch for topic in listed for epoch in topic.assignment_epochs or ()]
    away = record.member_epoch == LEAVE_TO_RETURN
    return len(epochs) == sum(len(topic.partitions) for topic in listed) and all(
        epoch == 0 if away else 0 <= epoch <= record.member_epoch for epoch in epochs
    )


@probe("KIP1251-BASE-08", rig=fresh_group(), cases=["one-coordinator"], changes=OF_DYNAMIC_MEMBERS)
def epochs_never_go_back(group: Group, changes: list[str]) -> Claims:
    """Neither the group's epochs nor a member's are lower than in an earlier answer."""
    group_members, before = Members(group, static=False), group.describe()
    for change in changes:
        group_members.change(change)
        before = yield from not_before(group, before, "one-coordinator")


@probe(
    "KIP1251-BASE-08",
    "KIP1251-AE-03",
    rig=ROUTED_CONSUMERS,
    cases=["fail-over"],
    examples=2,
    smoke=False,
    bumps=lists(integers(1, 3), min_size=2, max_size=2),
    how=HOW,
)
def epochs_survive_a_fail_over(group: RoutedGroup, bumps: list[int], how: How) -> Claims:
    """The next coordinator, which loads the records of some groups, answers no epoch below an earlier answer's."""
    pairs = [pair_of(one) for one in (group, *group.beside(BESIDE))]
    for times in bumps:
        before = [pair.after_bumps(times) for pair in pairs]
        group.move_coordinator(how)
        for pair, described in zip(pairs, before, strict=True):
            pair.group.await_coordinator()
            known = (pair.member.epoch, pair.other.epoch)
            answers = {member: member.keep_up() for member in (pair.member, pair.other)}
            kept = pair.member.epoch >= known[0] and pair.other.epoch >= known[1]
            yield from not_before(pair.group, described, "fail-over", also=kept)
            for member, answer in answers.items():
                yield record_in_order(pair.log, member, answer)


class Pair(NamedTuple):
    """A group with two members that share its partitions, and its part of the log."""

    group: RoutedGroup
    log: GroupLog
    member: GroupMember
    other: GroupMember

    def after_bumps(self, times: int) -> DescribedGroup:
        """Let the group reach later epochs; return its description."""
        self.member.bump(times)
        return self.group.describe()


def pair_of(group: RoutedGroup) -> Pair:
    group.await_coordinator()
    pair = Pair(group, GroupLog(group, group.log.index), group.sole_member(), group.member())
    pair.other.join()
    group.heartbeat_until_settled(pair.member, pair.other)
    return pair


def not_before(
    group: Group, before: DescribedGroup, case: str, *, also: bool = True
) -> Generator[Claim, None, DescribedGroup]:
    """Describe the group again and observe that no epoch is lower than in `before`; return the new description."""
    after = group.describe()
    were = {member.member_id: member.member_epoch for member in before.members if member.member_epoch >= 0}
    members = all(
        member.member_epoch >= were.get(member.member_id, 0) for member in after.members if member.member_epoch >= 0
    )
    groups = after.group_epoch >= before.group_epoch and after.assignment_epoch >= before.assignment_epoch
    yield held_if(members and groups and also, before, after, case=case)
    return after
