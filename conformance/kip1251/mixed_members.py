"""Groups with members of the classic and of the consumer protocol: no partition has two owners (KIP-848)."""

from typing import TypeAlias

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.classic import MixedMember, classic_alone, upgrade_group
from conformance.rigs.groups.group import MANY, Group, GroupMember, classic_member, fresh_group
from protocol.words import say

CHANGES = lists(sampled_from(["classic", "consumer", "leave"]), min_size=4, max_size=5)
TURNS = 4
"""The rounds of heartbeats after a change: enough to revoke a partition, give it up and assign it to its next owner."""
REJOIN_TIMEOUT = 10.0
"""Seconds within which a classic member's heartbeats tell it to rejoin after a new assignment."""


Member: TypeAlias = MixedMember | GroupMember


class Holders:
    """The partitions that each member was assigned and has not reported as given up since."""

    def __init__(self) -> None:
        self._held: dict[object, frozenset[int]] = {}

    def note_kept(self, member: object, partitions: frozenset[int]) -> None:
        """Note that the member is about to report exactly these partitions as its own."""
        self._held[member] = partitions

    def note_given(self, member: object, partitions: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Note that the member was assigned these partitions; return those that are new to it, and those that another
        one still has."""
        had = self._held.get(member, frozenset())
        others = frozenset[int]().union(*(held for other, held in self._held.items() if other is not member))
        self._held[member] = had | partitions
        return partitions - had, partitions & others

    def leave(self, member: object) -> None:
        self._held.pop(member, None)


class MixedGroup:
    """A group of classic and consumer members, in which the first of each kind stays."""

    def __init__(self, group: Group, classic: MixedMember, consumer: GroupMember) -> None:
        self.group = group
        self.members: list[Member] = [classic, consumer]
        self._holders = Holders()
        self._holders.note_kept(classic, classic.owned)

    def change(self, kind: str, *, cooperative: bool) -> Claims:
        """Let another member join, or the newest one leave."""
        if kind == "leave" and len(self.members) > 2:
            gone = self.members.pop()
            self._holders.leave(gone)
            gone.leave()
        elif kind == "classic":
            newcomer = MixedMember(self.group, classic_member(self.group), cooperative=cooperative)
            self.members.append(newcomer)
            yield from self._rejoin(newcomer, lost=False)
        else:
            member = self.group.member()
            self.members.append(member)
            yield from self.gets_no_others(member, member.join())

    def heartbeat_round(self, *, lost: bool, newest_first: bool = False) -> Claims:
        """Send each member's next heartbeat. Classic members rejoin if told to; the answer to a SyncGroup may be lost."""
        for member in self.members[:: -1 if newest_first else 1]:
            if isinstance(member, GroupMember):
                self._holders.note_kept(member, member.partitions)
                yield from self.gets_no_others(member, member.keep_up())
            elif member.has_to_rejoin():
                yield from self._rejoin(member, lost=lost)

    def _rejoin(self, member: MixedMember, *, lost: bool) -> Claims:
        self._holders.note_kept(member, member.owned if member.cooperative else frozenset())
        member.rejoin()
        if lost:
            member.sync(received=False)
        yield from self.gets_no_others(member, member.sync())

    def gets_no_others(self, member: Member, answer: object) -> Claims:
        """Check that the member's latest answer assigns it no partition that another still has."""
        partitions = member.owned if isinstance(member, MixedMember) else member.partitions
        new, shared = self._holders.note_given(member, partitions)
        if new:
            detail = f"{member.id} is given {say(sorted(new))}, of which others have {say(sorted(shared))}"
            yield held_if(not shared, answer, case="single-owner", detail=detail)

    def names_one_owner(self) -> Claim:
        """Check that the group's description has at most one owner of each partition."""
        shown = self.group.describe()
        named = [partition for member in shown.members for partition in self.group.assigned_partitions(member)]
        return held_if(len(named) == len({*named}), shown, case="single-owner")


@probe(
    "KIP1251-UPG-04",
    rig=fresh_group(MANY),
    cases=["single-owner"],
    examples=3,
    smoke=False,
    changes=CHANGES,
    cooperative=booleans(),
    lost=booleans(),
    loads=integers(0, 4),
)
def a_partition_has_one_owner(group: Group, changes: list[str], cooperative: bool, lost: bool, loads: int) -> Claims:
    """While members of both kinds come and go, none is assigned a partition that another has not given up, also by a
    coordinator that loads the group after one of the changes, while partitions move."""
    first = classic_alone(group, 0)
    newcomer, is_upgraded = upgrade_group(group, first)
    yield is_upgraded
    classic = MixedMember(group, first, range(MANY), cooperative=cooperative)
    mixed = MixedGroup(group, classic, newcomer)
    yield from mixed.gets_no_others(newcomer, "the answer to its join")
    for number, kind in enumerate([None, *changes]):
        if kind is not None:
            yield from mixed.change(kind, cooperative=cooperative)
        for turn in range(TURNS):
            # Newcomers ask first after the load: what others still have to give up is not free.
            yield from mixed.heartbeat_round(lost=lost and turn == 0, newest_first=number == loads and turn == 1)
            if number == loads and turn == 0:
                group.restart_coordinator()
            yield mixed.names_one_owner()


@probe(
    "KIP1251-UPG-04",
    rig=fresh_group(),
    cases=["classic-revocation"],
    rejoins=integers(0, 2),
    waits=integers(1, 3),
    cooperative=booleans(),
)
def classic_member_is_told_before_the_next_owner(group: Group, rejoins: int, waits: int, cooperative: bool) -> Claims:
    """A classic member gets REBALANCE_IN_PROGRESS; after it has rejoined without its partitions, the next owner gets
    them."""
    first = classic_alone(group, rejoins)
    newcomer, is_upgraded = upgrade_group(group, first)
    yield is_upgraded
    classic = MixedMember(group, first, range(group.partitions), cooperative=cooperative)
    early = [newcomer.keep_up() for _ in range(waits)]
    shown = newcomer.partitions
    noticed = group.bench.wait.becomes_true(classic.has_to_rejoin, f"{classic.id} told to rejoin", REJOIN_TIMEOUT)
    yield held_if(
        noticed if not shown else False,
        *early,
        case="classic-revocation",
        detail=f"{classic.id} was told to rejoin: {noticed}; {newcomer.id} had {say(sorted(shown))} before that",
    )
    classic.rejoin()
    classic.sync()
    kept = classic.owned
    if cooperative:
        still = newcomer.keep_up()
        yield held_if(not newcomer.partitions, still, case="classic-revocation")
        classic.rejoin()
        classic.sync()
    given = group.is_given(newcomer, frozenset(range(group.partitions)) - kept)
    apart = not newcomer.partitions & classic.owned and bool(kept) and classic.owned == kept
    detail = f"{classic.id} kept {say(sorted(kept))}, {newcomer.id} was given {say(sorted(newcomer.partitions))}"
    yield held_if(given if apart else False, case="classic-revocation", detail=detail)
