"""Members of the classic protocol, in groups of their own and in groups that a member of the new one upgrades (KIP-848)."""

from __future__ import annotations

from conformance.core.checks import PremiseClaim, premise
from conformance.rigs.groups.group import SESSION, Group, GroupData, GroupMember, classic_member
from fixtures.views.member import ClassicMember
from fixtures.wire.groups import NewOffset, OffsetCommitAnswer


def rejoined(group: Group, member: ClassicMember) -> None:
    """Join again, or for the first time, and take all partitions."""
    granted = group.bench.granted
    granted(member.join(member_id=member.id), "member", SESSION)
    granted(member.sync({group.topic.name: range(group.partitions)}), "member", SESSION)


def classic_alone(group: Group, rejoins: int) -> ClassicMember:
    """A classic member that has all partitions, in the generation after some rejoins.

    The coordinator knows the topic, as another group has it: one that does not would upgrade the member without its partitions.
    """
    scout = Group(group.bench, GroupData(group.bench.fresh("group"), group.topic, group.partitions)).alone()
    scout.leave()
    member = classic_member(group)
    for _ in range(rejoins + 1):
        rejoined(group, member)
    return member


def upgraded(group: Group, classic: ClassicMember) -> tuple[GroupMember, PremiseClaim]:
    """A consumer-protocol member joins. Premise: the coordinator then describes a consumer group with the classic member."""
    newcomer = group.member()
    newcomer.join()
    found = next((member for member in group.describe().members if member.member_id == classic.id), None)
    at_generation = found is not None and found.member_epoch == classic.generation
    has_all = found is not None and group.of(found) == frozenset(range(group.partitions))
    what = f"{classic.id} is a member at its generation {classic.generation}, with all partitions: {found}"
    promised = None if at_generation else ("KIP1251-UPG-01", "generation")
    return newcomer, premise(at_generation and has_all, what, promised=promised)


def commit(group: Group, member: ClassicMember, partition: int, offset: int, generation: int) -> OffsetCommitAnswer:
    return member.commit([NewOffset(group.topic, partition, offset)], epoch=generation)
