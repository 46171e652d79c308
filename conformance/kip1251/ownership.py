"""Partitions that change owners: the time, the assignment epoch, and the commits that become invalid (KIP-848,
KIP-1251)."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis.strategies import booleans, integers, sampled_from

from conformance.core.checks import Claim, Claims, held_if, premise, probe
from conformance.judging.groups.story import SAFE_SHARE
from conformance.rigs.groups.group import MANY, SHORT_SESSION, Group, GroupMember, fresh_group, new_topic
from conformance.rigs.groups.members import lets_another_own, loses_all_for_a_while
from conformance.rigs.groups.three_brokers import ROUTED_CONSUMERS, RoutedGroup
from conformance.rigs.producers.three_brokers import How
from protocol.codes import Error
from protocol.since import since as since_version
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, OFFSETS

BESIDE = 9
"""The number of further groups of a coordinator that is replaced."""
HEARTBEATS = integers(6, 8)
HOW = sampled_from(["kill", "move"])
IMPATIENT_MS = 1_500
"""The rebalance timeout in milliseconds of a member that is removed for keeping a partition."""
SETTINGS_FROM = since_version("ConsumerGroupHeartbeat", "regular expressions")
"""The version of ConsumerGroupHeartbeat of the releases in which groups have settings of their own."""
INTERVAL = {"consumer.assignment.interval.ms": "500"}
"""The settings of a group whose coordinator delays assignments, so that some group epochs have none."""
LAG = {"consumer.assignment.interval.ms": "1500"}
"""The settings of a group whose assignment stays behind its epoch for as long as a few requests take."""
REMOVAL_TIMEOUT = 30.0
"""The most seconds from a member's rebalance timeout to its removal."""


# --- commits of an ownership that ended


@probe(
    "KIP1251-COMMIT-08",
    rig=fresh_group(),
    cases=["owned-between", "unowned-between"],
    bumps=integers(5, 7),
    later=EPOCH_BUMPS,
    offset=OFFSETS,
)
def partition_that_came_back(group: Group, case: str, bumps: int, later: int, offset: int) -> Claims:
    """After a partition was lost and given back, commits at each epoch of its first ownership are refused."""
    yield from ReturnedPartition.through(case, group, bumps, later).observe_former_epochs(offset)


@probe(
    "KIP1251-COMMIT-08",
    rig=ROUTED_CONSUMERS,
    examples=2,
    smoke=False,
    bumps=integers(1, 3),
    later=EPOCH_BUMPS,
    offset=OFFSETS,
    how=HOW,
)
def partition_that_came_back_before_a_fail_over(
    group: RoutedGroup, case: str, bumps: int, later: int, offset: int, how: How
) -> Claims:
    """After a fail-over, too, commits at each epoch of the first ownership of a partition that came back are refused."""
    groups = [group, *group.beside(BESIDE)]
    for one in groups:
        one.await_coordinator()
    returned = [ReturnedPartition.through(case, one, bumps, later) for one in groups]
    group.move_coordinator(how)
    for one, back in zip(groups, returned, strict=True):
        one.await_coordinator()
        yield from back.observe_former_epochs(offset)


class ReturnedPartition(NamedTuple):
    """A partition that its owner has lost and was given again, and the epochs of the first ownership."""

    group: Group
    member: GroupMember
    partition: int
    first: int
    last: int

    @classmethod
    def through(cls, case: str, group: Group, bumps: int, later: int) -> ReturnedPartition:
        member, partition = group.sole_member(bumps), group.partitions - 1
        first, last = member.since[partition], member.epoch
        lets_another_own(group, member, partition) if case == "owned-between" else loses_all_for_a_while(group, member)
        member.bump(later)
        return cls(group, member, partition, first, last)

    def observe_former_epochs(self, offset: int) -> Claims:
        """Observe COMMIT-08: a commit at each epoch of the first ownership is refused, and stores nothing."""
        group, member, partition = self.group, self.member, self.partition
        group.store(member, partition, offset)
        yield group.premise_of_holding(member, member.epoch, partition)
        again, promised = member.since[partition], ("KIP1251-BASE-03", "membership")
        yield premise(again > self.last, f"given back at epoch {again}, after {self.last}", promised=promised)
        for epoch in range(self.first, self.last + 1):
            answer = group.commit(member, {partition: offset + epoch + 1}, epoch)
            after = group.committed_offset(partition)
            yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(offset), answer, after)


# --- the assignment epoch, by the commits that it admits


def observe_first_admitted(group: Group, member: GroupMember, partition: int, epoch: int, offset: int) -> Claim:
    """Observe that a commit is accepted at this epoch, and refused at the one before."""
    below = group.commit(member, {partition: offset + 1}, epoch - 1)
    at = group.commit(member, {partition: offset}, epoch)
    after = group.committed_offset(partition)
    refused = below.all_answered(Error.STALE_MEMBER_EPOCH)
    accepted = at.all_answered(Error.NONE) and after.shows(offset)
    return held_if(refused and accepted, below, at, after)


@probe(
    "KIP1251-AE-01",
    rig=fresh_group(),
    cases=["membership", "subscription", "topics"],
    steps=integers(6, 7),
    offset=OFFSETS,
)
def kept_partition_keeps_its_epoch(group: Group, case: str, steps: int, offset: int) -> Claims:
    """The oldest epoch at which a member may commit a kept partition stays the same, however often the member epoch
    rises."""
    member = group.sole_member(aged=2)
    partition, epoch = 0, member.since[0]
    others: list[GroupMember] = []
    for step in range(steps):
        before = member.epoch
        if case == "membership":
            change_membership(group, member, others)
        elif case == "subscription":
            member.bump()
        else:
            change_topics(group, member, step)
        yield group.premise_of_holding(member, member.epoch, partition)
        yield premise(member.epoch > before, f"epoch {member.epoch} after {before}")
        yield observe_first_admitted(group, member, partition, epoch, offset + step)


def change_membership(group: Group, member: GroupMember, others: list[GroupMember]) -> None:
    """Let another member join or, if it has joined, leave again."""
    if others:
        others.pop().leave()
    else:
        others.append(group.member())
        others[0].join()
    group.heartbeat_until_settled(member, *others)


def change_topics(group: Group, member: GroupMember, step: int) -> None:
    """Let the member read one topic more, or, at each second step, a partition more of the group's topic."""
    name, others = group.topic.name, len(member.owned) - group.partitions
    if step % 2:
        group.grow()
    else:
        name, others = group.bench.fresh_name("more"), 1
        member.turn_to(group.topic.name, name)
        new_topic(group.bench, 1, name)
    wanted = group.partitions + others
    group.bench.eventually(
        lambda: member.keep_up() is not None and len(member.owned) == wanted, f"the new partition of {name} assigned"
    )


@probe("KIP1251-AE-02", rig=fresh_group(MANY), cases=["first"], aged=integers(2, 4), later=EPOCH_BUMPS, offset=OFFSETS)
def first_assignment_has_the_target_epoch(group: Group, aged: int, later: int, offset: int) -> Claims:
    """A joining member may commit a partition at the epoch of the answer that first assigned it, and above."""
    member = group.sole_member(later, aged=aged)
    yield group.premise_of_holding(member, member.epoch, *range(MANY))
    for partition, epoch in sorted(member.since.items()):
        yield observe_first_admitted(group, member, partition, epoch, offset)


@probe(
    "KIP1251-AE-02",
    rig=fresh_group(),
    cases=["first"],
    examples=2,
    smoke=False,
    later=EPOCH_BUMPS,
    offset=OFFSETS,
)
def assignment_behind_the_group_has_the_target_epoch(group: Group, later: int, offset: int) -> Claims:
    """A member that is assigned partitions while the target assignment lags behind the group epoch may commit them from
    the target epoch on."""
    group.configure(LAG)
    member, other = group.member(), group.member()
    other.join("nowhere")
    member.join()
    joined = group.describe().group_epoch
    group.bench.eventually(
        lambda: other.keep_up() and group.describe().assignment_epoch >= joined, f"{joined} assigned", every=0.05
    )
    other.heartbeat(owned=(), subscribed_topic_names=["nowhere", "elsewhere"], received=False)
    early = member.owned
    member.keep_up()
    shown = group.describe()
    lags = shown.group_epoch > shown.assignment_epoch == member.epoch
    yield premise(
        lags and not early and bool(member.since), f"{member.id} is assigned partitions while the target lags: {shown}"
    )
    group.configure(dict.fromkeys(LAG))
    member.bump(later)
    for partition, epoch in sorted(member.since.items()):
        yield observe_first_admitted(group, member, partition, epoch, offset)


@probe("KIP1251-AE-02", rig=fresh_group(MANY), cases=["later"], bumps=integers(1, 3), later=EPOCH_BUMPS, offset=OFFSETS)
def later_assignment_has_the_target_epoch(group: Group, bumps: int, later: int, offset: int) -> Claims:
    """A member may commit partitions of a later rebalance from its epoch on, and the others from an older one."""
    heir, _, epoch = group.inherit(bumps, later=later)
    yield group.premise_of_holding(heir, heir.epoch, *range(MANY))
    gained = [partition for partition, since in sorted(heir.since.items()) if since == epoch]
    for partition in gained:
        yield observe_first_admitted(group, heir, partition, epoch, offset)


# --- from one owner to the next


@probe(
    "KIP1251-BASE-02", rig=fresh_group(), cases=["acknowledged", "left", "removed"], bumps=EPOCH_BUMPS, waits=HEARTBEATS
)
def partition_is_given_once_it_is_free(group: Group, case: str, bumps: int, waits: int) -> Claims:
    """The next owner is not assigned a partition before the former one has given it up, has left or was removed."""
    old, new = group.sole_member(bumps), group.member()
    if case == "removed":
        old.rebalance_timeout_ms = IMPATIENT_MS
        old.require(
            old.heartbeat(owned=group.topic_partitions(old.partitions), subscribed_topic_names=[group.topic.name])
        )
    new.join()
    owned, since = group.topic_partitions(old.partitions), group.bench.now().seconds
    lost = group.heartbeat_until_revoking(old)
    for _ in range(waits):
        old.heartbeat(owned=owned, received=False)  # it still has them
        answer = new.keep_up()
        shown = new.partitions & lost
        if case == "removed" and group.describe_member(old) is None:
            break
        yield held_if(not shown, answer, case=case, detail=f"{old.id} has not yet revoked {say(sorted(lost))}")
    if case == "acknowledged":
        group.acknowledge(old)
    elif case == "left":
        old.leave()
    given, within = group.is_given(new, lost), group.bench.now().seconds - since
    on_time = case != "removed" or within >= SAFE_SHARE * IMPATIENT_MS / 1000
    yield held_if(
        given.require_also(on_time),
        case=case,
        detail=f"{new.id} has {say(sorted(new.partitions))} after {within:.2f} s, while {say(sorted(lost))} were free",
    )


@probe("KIP1251-BASE-02", rig=fresh_group(), cases=["removed"], examples=1, smoke=False, bumps=EPOCH_BUMPS)
def partitions_of_a_silent_member_are_given_once_its_session_ended(group: Group, bumps: int) -> Claims:
    """The next owner is not assigned the partitions of a member that is silent before that one's session is over."""
    has_settings = group.bench.column.ranges["ConsumerGroupHeartbeat"] >= SETTINGS_FROM
    yield premise(has_settings, "a group has a session timeout of its own")
    group.shorten_sessions()
    old, new = group.sole_member(bumps), group.member()
    since = group.bench.now().seconds
    old.keep_up()
    new.join()
    given, within = group.is_given(new, old.partitions), group.bench.now().seconds - since
    yield held_if(
        given.require_also(within >= SAFE_SHARE * SHORT_SESSION),
        case="removed",
        detail=f"{new.id} has {say(sorted(new.partitions))} after {within:.1f} s without a heartbeat of {old.id}",
    )


@probe(
    "KIP1251-BASE-03",
    rig=fresh_group(MANY),
    cases=["membership", "subscription", "assignment-interval"],
    bumps=EPOCH_BUMPS,
    leaves=booleans(),
)
def owners_never_share_an_epoch(group: Group, case: str, bumps: int, leaves: bool) -> Claims:
    """The next owner's first epoch with a partition is above the former owner's last."""
    if case == "assignment-interval":
        group.configure(INTERVAL)
    old, new = group.sole_member(bumps), group.member()
    before = dict(old.since)
    new.join()
    lost = group.heartbeat_until_revoking(old)
    last = old.epoch
    if case == "subscription":
        new.subscribe(group.topic.name, group.bench.fresh_name("nowhere"))
    group.heartbeat_until_settled(old, new)
    yield from later_owner(new, lost, last)
    if leaves:
        last = old.epoch
        old.leave()
        group.heartbeat_until_settled(new)
        yield from later_owner(new, frozenset(before) - lost, last)
    elif case == "subscription":
        last, own = old.epoch, old.partitions
        old.turn_to(group.bench.fresh_name("nowhere"))
        group.bench.eventually(
            lambda: old.keep_up() and new.keep_up() and new.partitions >= own,
            f"{new.id} being given {say(sorted(own))}",
        )
        yield from later_owner(new, own, last)


def later_owner(new: GroupMember, partitions: frozenset[int], last: int) -> Claims:
    for partition in sorted(partitions & new.partitions):
        first = new.since[partition]
        yield held_if(
            first > last,
            detail=f"{new.id} owns partition {partition} from epoch {first}, its former owner did up to {last}",
        )


@probe("KIP1251-BASE-05", rig=fresh_group(), bumps=EPOCH_BUMPS, offset=OFFSETS)
def member_that_keeps_a_partition_is_removed(group: Group, bumps: int, offset: int) -> Claims:
    """A member that sends heartbeats but does not revoke in time is removed, and the next owner gets the partition."""
    old, new = group.sole_member(bumps), group.member()
    old.rebalance_timeout_ms = IMPATIENT_MS
    kept = group.topic_partitions(old.partitions)
    old.require(old.heartbeat(owned=kept, subscribed_topic_names=[group.topic.name]))
    new.join()
    since = group.bench.now().seconds
    lost = group.heartbeat_until_revoking(old)
    partition = min(lost)

    def is_removed() -> bool:
        return old.heartbeat(owned=kept).error is Error.UNKNOWN_MEMBER_ID

    gone = group.bench.wait.becomes_true(is_removed, f"{old.id} removed", REMOVAL_TIMEOUT)
    within = group.bench.now().seconds - since
    gone = gone.require_also(within >= SAFE_SHARE * IMPATIENT_MS / 1000)
    commit = group.commit(old, {partition: offset}, old.epoch)
    after = group.committed_offset(partition)
    refused = gone.require_also(commit.all_answered(Error.UNKNOWN_MEMBER_ID) and after.shows(-1))
    yield held_if(
        refused,
        commit,
        after,
        case="removed",
        detail=f"{old.id}, which did not revoke in time, was removed after {within:.2f} s: {gone}",
    )
    given = group.is_given(new, lost)
    yield held_if(
        given,
        case="handed-over",
        detail=f"{new.id} has {say(sorted(new.partitions))}, while {say(sorted(lost))} were free",
    )
