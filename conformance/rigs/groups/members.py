"""Members of one group that come and go, with the partitions that each owns, has to revoke or has lost."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from conformance.rigs.groups.group import Group, GroupMember
from protocol.groups import LEAVE_TO_RETURN

Hold = Literal["assigned", "pending revocation", "lost"]


class Members:
    """Members of one group that join, leave and change subscriptions; the first one stays. New ones may be static."""

    def __init__(self, group: Group, *, static: bool = True) -> None:
        self.group = group
        self._static = static
        self.present = [group.sole_member()]

    def change(self, kind: str) -> None:
        """Make one change. After "revoke", members have partitions to revoke, unacknowledged until the next change."""
        self.bring_all_back()
        if kind in ("join", "revoke") or (kind != "bump" and len(self.present) == 1):
            self._join()
            if kind == "revoke":
                for member in self.present:
                    member.require(member.heartbeat())
                return
        elif kind == "bump":
            self.present[0].bump()
        elif kind == "return":
            last = self.present[-1]
            last.leave_to_return()
            return
        else:
            self.present.pop().leave()
        self.bring_all_back()

    def bring_all_back(self) -> None:
        """Bring all members back, and balance the group."""
        for member in self.present:
            if member.instance_id and self._is_away(member):
                member.join()
        self.group.heartbeat_until_settled(*self.present)

    def _join(self) -> None:
        if len(self.present) == self.group.partitions:
            self.present.pop().leave()
            self.bring_all_back()
        self.present.append(self.group.member(self.group.bench.fresh_name("instance") if self._static else None))
        self.present[-1].join()

    def _is_away(self, member: GroupMember) -> bool:
        found = self.group.describe_member(member)
        return found is not None and found.member_epoch == LEAVE_TO_RETURN


class Ownership(NamedTuple):
    """A partition assigned to a member at epoch `since`, which it still had at epoch `until`."""

    member: GroupMember
    partition: int
    since: int
    until: int
    hold: Hold


class Owners:
    """Dynamic members that come and go, and the partitions that each present one has owned, as its client saw it."""

    def __init__(self, group: Group) -> None:
        self._members = Members(group, static=False)
        self._ended: list[Ownership] = []
        self._known: dict[GroupMember, dict[int, int]] = {}
        self._epochs: dict[GroupMember, int] = {}
        self._note()

    @property
    def present(self) -> list[GroupMember]:
        return self._members.present

    def change(self, kind: str) -> list[Ownership]:
        """Make one change ("join", "bump", "leave" or "revoke"). Returns the ownerships after it."""
        self._members.bring_all_back()
        self._note()
        self._members.change(kind)
        if kind != "revoke":
            self._note()
        return [*self._current(), *self._pending(), *(one for one in self._ended if self._has_lost(one))]

    def _note(self) -> None:
        """Note what every member owns and no longer owns."""
        for member, since in self._known.items():
            gone = [(p, epoch) for p, epoch in since.items() if member.since.get(p) != epoch]
            self._ended += [Ownership(member, p, epoch, self._epochs[member], "lost") for p, epoch in gone]
        self._known = {member: member.since for member in self.present}
        self._epochs = {member: member.epoch for member in self.present}

    def _current(self) -> Iterator[Ownership]:
        for member in self.present:
            for partition, since in sorted(member.since.items()):
                yield Ownership(member, partition, since, member.epoch, "assigned")

    def _pending(self) -> Iterator[Ownership]:
        """Yield the partitions that the last answers revoked, whose members stay at their epoch until they acknowledge
        that."""
        for member, since in self._known.items():
            for partition in sorted(since.keys() - member.since.keys() if member in self.present else ()):
                yield Ownership(member, partition, since[partition], member.epoch, "pending revocation")

    def _has_lost(self, one: Ownership) -> bool:
        """True if the member is in the group but no longer owns the partition."""
        has = {*one.member.since, *self._known.get(one.member, {})}
        return one.member in self.present and one.partition not in has


def loses_all_for_a_while(group: Group, member: GroupMember, *others: GroupMember) -> None:
    """Subscribe the member to another topic until it has lost all partitions, then to its own again."""
    member.turn_to("nowhere")
    group.bench.eventually(lambda: member.keep_up() and not member.partitions, f"{member.id} without partitions")
    for other in others:
        group.heartbeat_until_settled(other)
    member.turn_to(group.topic.name)
    group.heartbeat_until_settled(member, *others)


def lets_another_own(group: Group, member: GroupMember, partition: int) -> None:
    """Let another member temporarily own partitions that include this one."""
    other = group.member()
    other.join()
    group.heartbeat_until_settled(member, other)
    if partition in member.partitions:
        # The assignor moved other partitions: this member gives up all of its own for a moment, so that this one moves too.
        loses_all_for_a_while(group, member, other)
    other.leave()
    group.heartbeat_until_settled(member)
