"""Members of the classic protocol, alone or in groups that a member of the consumer protocol upgrades (KIP-848)."""

from collections.abc import Iterable
from typing import TypeVar

from conformance.core.checks import PremiseClaim, premise
from conformance.rigs.groups.group import SESSION, Group, GroupMember, classic_member, known_to_the_coordinator
from fixtures.views.member import ASSIGNOR, LoneClassicMember
from protocol.assignments import assigned_in, subscription
from protocol.codes import Error
from protocol.groups import GroupAnswer, NewOffset, OffsetCommitAnswer, SyncGroupAnswer
from protocol.messages import Answer

A = TypeVar("A", bound=Answer)


def rejoin(group: Group, member: LoneClassicMember) -> None:
    """Rejoin, or join for the first time, and take all partitions."""
    granted = group.bench.require
    granted(member.join(member_id=member.id), "member", SESSION)
    granted(member.sync({group.topic.name: range(group.partitions)}), "member", SESSION)


def classic_alone(group: Group, rejoins: int) -> LoneClassicMember:
    """Return a classic member that owns all partitions, after some rejoins.

    Waits for the coordinator to know the topic: otherwise an upgrade would drop the member's partitions.
    """
    known_to_the_coordinator(group, group.topic, group.partitions)
    member = classic_member(group)
    for _ in range(rejoins + 1):
        rejoin(group, member)
    return member


def upgrade_group(group: Group, classic: LoneClassicMember) -> tuple[GroupMember, PremiseClaim]:
    """Let a member of the consumer protocol join. Returns it, and the premise that the coordinator then describes a
    consumer group with the classic member."""
    newcomer = group.member()
    newcomer.join()
    found = next((member for member in group.describe().members if member.member_id == classic.id), None)
    at_generation = found is not None and found.member_epoch == classic.generation
    has_all = found is not None and group.assigned_partitions(found) == frozenset(range(group.partitions))
    wanted = f"{classic.id} is a member at its generation {classic.generation}, with all partitions"
    what = f"{wanted}; described: {group.say_members(found)}"
    promised = None if at_generation else ("KIP1251-UPG-01", "generation")
    return newcomer, premise(at_generation and has_all, what, promised=promised)


def commit_offset(
    group: Group, member: LoneClassicMember, partition: int, offset: int, generation: int
) -> OffsetCommitAnswer:
    return member.commit([NewOffset(group.topic, partition, offset)], epoch=generation)


class MixedMember:
    """A classic member in a group with members of the consumer protocol, which takes what the coordinator assigns.

    `owned` are its partitions: an eager member revokes all of them before it rejoins, a cooperative one lists them.
    """

    def __init__(
        self, group: Group, classic: LoneClassicMember, owned: Iterable[int] = (), *, cooperative: bool = False
    ) -> None:
        self.group = group
        self.classic = classic
        self.owned = frozenset(owned)
        self.cooperative = cooperative

    @property
    def id(self) -> str:
        return self.classic.id

    def has_to_rejoin(self) -> bool:
        """True if the answer to a heartbeat asks the member to rejoin."""
        return self.beat().error is Error.REBALANCE_IN_PROGRESS

    def beat(self) -> GroupAnswer:
        answer = self.classic.heartbeat()
        return answer if answer.error is Error.REBALANCE_IN_PROGRESS else self._require(answer)

    def rejoin(self) -> None:
        """Send JoinGroup, for the first time or again; `owned` is then what the member keeps."""
        if not self.cooperative:
            self.owned = frozenset()
        topic = self.group.topic.name
        named = {topic: sorted(self.owned)} if self.cooperative else None
        self._require(self.classic.join(member_id=self.id, protocols={ASSIGNOR: subscription([topic], named)}))

    def sync(self, *, received: bool = True) -> SyncGroupAnswer:
        """Send SyncGroup, and take the assignment. The coordinator refuses it if the member has to rejoin once more."""
        answer = self.classic.sync({})
        if answer.error is Error.REBALANCE_IN_PROGRESS:
            return answer
        self._require(answer)
        if received:
            self.owned = frozenset(assigned_in(answer.assignment).get(self.group.topic.name, ()))
        return answer

    def leave(self) -> None:
        self._require(self.classic.leave())

    def _require(self, answer: A) -> A:
        return self.group.bench.require(answer, "member", SESSION)
