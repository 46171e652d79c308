"""Consumer groups of the new protocol (KIP-848), whose members keep the state that real clients would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Self
from uuid import UUID

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import PremiseClaim, Rig, premise
from conformance.core.topologies import FORMER_LEVEL, GROUPS
from conformance.core.waiting import Settled
from conformance.rigs.restarts import await_answer
from conformance.rigs.settings import alter_configs
from conformance.rigs.topics import create_topics
from fixtures.views.member import ConsumerMember, LoneClassicMember, list_partitions
from fixtures.views.nodes import ask_until_granted
from fixtures.wire import NodeClient
from fixtures.wire.retriable import NOT_COORDINATED_YET, ask_again
from history.due import COORDINATOR_TIMEOUT
from protocol import groups
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.errors import KitError
from protocol.messages import Topic
from protocol.since import since
from protocol.topics import NewTopic
from protocol.words import say

WITHOUT_GROUPS = since("OffsetFetchRequest", "Groups") - 1
SESSION = 45.0
"""A member's session timeout in seconds, the default of every release."""
SHORT_SESSION = 6.0
"""A session timeout in seconds that a group may be given; it has to exceed the heartbeat interval of five seconds."""
ASSIGNMENT_TIMEOUT = 30.0
"""Seconds within which free or released partitions must have their next owner."""
MANY = 12
"""The number of partitions of a large topic, so that one rebalance moves many."""


class GroupData(msgspec.Struct, frozen=True):
    """A group without members, and the topic that members will read."""

    name: str
    topic: Topic
    partitions: int


class GroupMember(ConsumerMember):
    """A member of the group that reads the group's topic. Partitions are given by index in that topic."""

    def __init__(self, group: Group, id: str, instance_id: str | None = None) -> None:
        super().__init__(group.bench, group.name, id, instance_id=instance_id, coordinator=lambda: group.node)
        self.group = group
        self._base: tuple[str, ...] = ()
        self._detours = 0

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(partition for topic, partition in self.owned if topic == self.group.topic.id)

    @property
    def since(self) -> dict[int, int]:
        """The assignment epochs (KIP-1251): the epoch of the answer that first assigned each partition."""
        topic = self.group.topic.id
        return {partition: epoch for (of, partition), epoch in self.owned_since.items() if of == topic}

    def join(self, *topics: str) -> groups.HeartbeatAnswer:
        """Send the first heartbeat, which subscribes to the group's topic by default."""
        self._base = topics or (self.group.topic.name,)
        return super().join(*self._base)

    def subscribe(self, *topics: str) -> None:
        """Change the subscription, and wait for the epoch that results."""
        before = self.epoch
        self.require(self.heartbeat(owned=list_partitions(self.owned), subscribed_topic_names=list(topics)))
        if self.epoch == before:
            self.group.bench.eventually(
                lambda: self.keep_up().member_epoch > before, f"{self.id} beyond epoch {before}"
            )

    def bump(self, times: int = 1) -> int:
        """Reach later epochs with the same partitions, by subscribing to topics that do not exist. Return the epoch."""
        for _ in range(times):
            self._detours += 1
            self.subscribe(*self._base, f"nowhere-{self._detours}")
        return self.epoch

    def turn_to(self, *topics: str) -> None:
        """Replace the subscription permanently."""
        self._base = topics
        self.subscribe(*topics)

    def leave(self) -> groups.HeartbeatAnswer:
        """Leave the group. Raises KitError if that is refused."""
        return self.require(super().leave())

    def leave_to_return(self) -> groups.HeartbeatAnswer:
        """Leave the group temporarily, as a static member. Raises KitError if that is refused."""
        return self.require(super().leave_to_return())

    def require(self, answer: groups.HeartbeatAnswer) -> groups.HeartbeatAnswer:
        return self.group.bench.require(answer, "member", SESSION)


def classic_member(group: Group) -> LoneClassicMember:
    """Return a classic member, not joined yet, of a consumer group (KIP-848, online migration)."""
    return LoneClassicMember(group.bench, group.name, group.topic.name, coordinator=lambda: group.node)


def join_mixed_group(member: LoneClassicMember) -> PremiseClaim:
    """Join a group that has members of the consumer protocol.

    Returns the premise that the coordinator accepts the classic member's JoinGroup and Heartbeat.
    """
    answer, alive = member.join(), member.heartbeat()
    met = answer.error is Error.NONE and alive.error in {Error.NONE, Error.REBALANCE_IN_PROGRESS}
    return premise(met, f"{member.id} is a classic member: JoinGroup has {answer}, Heartbeat {alive}")


class HandOver(NamedTuple):
    """The state after one member owned all partitions, another joined, and the first revoked some but missed the answer
    to that.

    `before` is the epoch at which the first owned all, which it takes for its current one. `kept` and `lost` are
    partitions.
    """

    old: GroupMember
    new: GroupMember
    kept: int
    lost: int
    before: int
    missed: groups.HeartbeatAnswer

    @property
    def moved_epoch(self) -> int:
        """The epoch to which the coordinator moved the old member."""
        return self.missed.member_epoch


class Inheritance(NamedTuple):
    """A member that was assigned another's partition at `epoch`, some epochs after it had joined."""

    heir: GroupMember
    partition: int
    epoch: int


class Group:
    """A consumer group with its own topic, and its coordinator."""

    def __init__(self, bench: Bench, data: GroupData) -> None:
        self.bench = bench
        self.name = data.name
        self.topic = data.topic
        self.partitions = data.partitions

    @property
    def node(self) -> NodeClient:
        """The client of its coordinator."""
        return self.bench.node(self.bench.brokers[0])

    def with_partitions(self, partitions: int) -> Self:
        """Return another new group, whose topic has this many partitions."""
        return type(self)(self.bench, new_group(self.bench, partitions))

    def grow(self) -> None:
        """Add a partition to the group's topic."""
        self.partitions += 1
        node = self.bench.node(self.bench.brokers[0])
        ask_until_granted(
            self.bench,
            lambda: node.create_partitions(self.topic.name, self.partitions),
            f"a partition added to {self.topic.name}",
        )

    def configure(self, settings: Mapping[str, str | None]) -> None:
        """Change settings of the group; None removes one."""
        alter_configs(self.bench, self.node, ResourceType.GROUP, self.name, settings)

    # --- members

    def member(self, instance_id: str | None = None) -> GroupMember:
        """Return a member that has not joined yet."""
        return GroupMember(self, self.bench.fresh_name("member"), instance_id)

    def sole_member(self, bumps: int = 0, *, aged: int = 0, instance_id: str | None = None) -> GroupMember:
        """Return a member that owns all partitions, which it got after `aged` epochs of the group; `bumps` epochs have
        passed since."""
        member = self.member(instance_id)
        if aged:
            member.join("nowhere")
            member.bump(aged)
            member.turn_to(self.topic.name)
        else:
            member.join()
        self.heartbeat_until_settled(member)
        member.bump(bumps)
        return member

    def heartbeat_until_settled(self, *members: GroupMember) -> groups.DescribedGroup:
        """Heartbeat in turn until these members share all partitions in the group's epoch."""

        def agreed_description() -> groups.DescribedGroup | None:
            for member in members:
                member.keep_up()
            return self._description_if_agreed(members)

        return self.bench.eventually(
            agreed_description, f"{self.name} in balance among {say([member.id for member in members])}"
        )

    def _description_if_agreed(self, members: tuple[GroupMember, ...]) -> groups.DescribedGroup | None:
        held = [partition for member in members for partition in member.partitions]
        if sorted(held) != list(range(self.partitions)) or not all(member.partitions for member in members):
            return None
        seen = self.describe()
        current = {member.epoch for member in members} == {seen.group_epoch}
        stable = seen.group_state.lower() == "stable"  # 3.7 writes it in lower case
        return seen if stable and current else None

    def heartbeat_until_revoking(self, member: GroupMember) -> frozenset[int]:
        """Heartbeat until the member has to revoke partitions, without acknowledging that. Returns these partitions."""

        def partitions_to_revoke() -> frozenset[int] | None:
            had = member.partitions
            member.require(member.heartbeat())
            return (had - member.partitions) or None

        return self.bench.eventually(partitions_to_revoke, f"{member.id} having to revoke partitions")

    def hand_over(self, bumps: int = 0, *, aged: int = 0) -> HandOver:
        """Bring the group into the state of HandOver; `new` has joined and has no partition yet."""
        old = self.sole_member(bumps, aged=aged)
        before = old.epoch
        new = self.member()
        new.join()
        lost = self.heartbeat_until_revoking(old)
        return HandOver(old, new, min(old.partitions), min(lost), before, self.acknowledge(old))

    def hand_over_with_commit(self, offset: int, bumps: int, *, aged: int = 0) -> HandOver:
        """Bring the group into the state of HandOver, in which `new` also owns the lost partition and has committed
        the offset for it.
        """
        hand = self.hand_over(bumps, aged=aged)
        self.await_assignment(hand.new, hand.lost)
        self.store(hand.new, hand.lost, offset)
        return hand

    def acknowledge(self, member: GroupMember) -> groups.HeartbeatAnswer:
        """Acknowledge the revocation for the member until the coordinator moves it to a later epoch, in an answer that
        it misses."""

        def answer_if_moved() -> groups.HeartbeatAnswer | None:
            answer = member.require(member.heartbeat(owned=list_partitions(member.owned), received=False))
            return answer if answer.member_epoch > member.epoch else None

        return self.bench.eventually(answer_if_moved, f"{member.id} beyond epoch {member.epoch}")

    def inherit(self, bumps: int, *, later: int) -> Inheritance:
        """Bring the group into the state of Inheritance; `later` bumps follow it."""
        first, heir = self.sole_member(), self.member()
        heir.join()
        self.heartbeat_until_settled(first, heir)
        heir.bump(bumps)
        own = heir.partitions
        first.leave()
        self.heartbeat_until_settled(heir)
        partition = min(heir.partitions - own)
        epoch = heir.since[partition]
        heir.bump(later)
        return Inheritance(heir, partition, epoch)

    def await_assignment(self, member: GroupMember, partition: int) -> None:
        """Heartbeat until the member is assigned the partition."""
        self.bench.eventually(
            lambda: member.keep_up() and partition in member.partitions, f"{member.id} being given {partition}"
        )

    def has_member(self, shown: groups.DescribedGroup, member: GroupMember, epoch: int, *partitions: int) -> bool:
        """True if a description has the member at this epoch, with these partitions."""
        found = next((one for one in shown.members if one.member_id == member.id), None)
        return self._is_shown(found, epoch, partitions)

    def _is_shown(self, found: groups.DescribedMember | None, epoch: int, partitions: Sequence[int]) -> bool:
        return found is not None and found.member_epoch == epoch and self.assigned_partitions(found) >= set(partitions)

    def is_given(self, member: GroupMember, partitions: frozenset[int]) -> Settled:
        """Return whether the member, which heartbeats, is assigned all of these partitions in time."""
        return self.bench.wait.becomes_true(
            lambda: bool(member.keep_up()) and member.partitions >= partitions,
            f"{member.id} being given {sorted(partitions)}",
            ASSIGNMENT_TIMEOUT,
        )

    # --- offsets

    def commit(
        self, member: GroupMember | None, offsets: Mapping[int, int], epoch: int, *, version: int | None = None
    ) -> groups.OffsetCommitAnswer:
        """Commit an offset for each partition at this epoch, with the member's id, or without one for None."""
        wanted = [groups.NewOffset(self.topic, partition, offset) for partition, offset in offsets.items()]
        return self.commit_all(member, wanted, epoch, version=version)

    def commit_all(
        self, member: GroupMember | None, offsets: Sequence[groups.NewOffset], epoch: int, *, version: int | None = None
    ) -> groups.OffsetCommitAnswer:
        """Commit offsets of any topics with any metadata, otherwise like `commit`."""
        return self.node.offset_commit(
            self.name,
            offsets,
            member_id=member.id if member else "",
            epoch=epoch,
            instance_id=member.instance_id if member else None,
            version=version,
        )

    def store(self, member: GroupMember, partition: int, offset: int) -> None:
        """Commit an offset at the member's epoch; KitError if that is refused."""
        self.bench.require(self.commit(member, {partition: offset}, member.epoch), "commit", SESSION)

    def committed_offset(self, partition: int, topic: Topic | None = None) -> groups.OffsetFetchAnswer:
        """Return the committed offset as any client reads it."""
        return self.node.offset_fetch(self.name, [(topic or self.topic, partition)], require_stable=True)

    def stable_offset(self, partition: int) -> groups.OffsetFetchAnswer:
        """Return the committed offset once no transaction is pending on it."""

        def offset_if_stable() -> groups.OffsetFetchAnswer | None:
            answer = self.committed_offset(partition)
            errors = {found.error for found in answer.partitions}
            return None if Error.UNSTABLE_OFFSET_COMMIT in errors else answer

        return self.bench.eventually(offset_if_stable, f"the decided offset of {self.name}", due="transaction end")

    def shorten_sessions(self) -> None:
        """Set the session timeout of the group's consumer members to SHORT_SESSION."""
        self.configure({"consumer.session.timeout.ms": f"{SHORT_SESSION * 1000:.0f}"})

    def restart_coordinator(self, *, clean: bool = False) -> None:
        """Kill or stop the node, start it again, and wait until it has loaded the group."""
        name = self.bench.brokers[0]
        (self.bench.processes.stop if clean else self.bench.processes.kill)(name, role="group coordinator")
        self.bench.processes.start(name)
        await_answer(self.bench, name)
        await_coordinator(self.bench, self.name)

    # --- the coordinator's answers

    def describe(self) -> groups.DescribedGroup:
        return self.node.consumer_group_describe(self.name)

    def describe_member(self, member: GroupMember) -> groups.DescribedMember | None:
        """Return the coordinator's description of the member; None if it has no such member."""
        return next((found for found in self.describe().members if found.member_id == member.id), None)

    def premise_of_holding(self, member: GroupMember, epoch: int, *partitions: int) -> PremiseClaim:
        """Return the premise that the coordinator has the member at this epoch, with these partitions."""
        found = self.describe_member(member)
        met = self._is_shown(found, epoch, partitions)
        # The member may have been removed while the kit was slow; an epoch that was answered is never taken back.
        back = found is not None and groups.LEAVE_TO_RETURN < found.member_epoch < epoch
        what = f"{member.id} at epoch {epoch} with partitions {say(partitions)}; described: {self.say_members(found)}"
        return premise(met, what, promised=("KIP1251-BASE-08", "one-coordinator") if back else None)

    def premise_of_waiting(self, member: GroupMember, partition: int) -> PremiseClaim:
        """Return the premise that the coordinator has the member at its epoch, and has not given the partition that it
        must revoke to another.

        Releases differ in whether they still describe the partition as the member's.
        """
        shown = {found.member_id: found for found in self.describe().members}
        met = member.id in shown and shown[member.id].member_epoch == member.epoch
        others = [id for id, found in shown.items() if id != member.id and partition in self.assigned_partitions(found)]
        described = self.say_members(*shown.values())
        what = f"{member.id} at epoch {member.epoch} has to revoke {partition}; described: {described}"
        return premise(met and not others, what, promised=("KIP1251-BASE-02", "acknowledged") if others else None)

    def unassigned(self, partition: int) -> PremiseClaim:
        """Return the premise that no member has the partition."""
        holders = [found for found in self.describe().members if partition in self.assigned_partitions(found)]
        return premise(not holders, f"no member has partition {partition}: {say(holders)}")

    def assigned_partitions(self, member: groups.DescribedMember) -> frozenset[int]:
        """Return a described member's assigned partitions."""
        return self._partitions_in(member.assignment.topic_partitions)

    def say_members(self, *members: groups.DescribedMember | None) -> str:
        """Describe members in words, for texts: their epochs and partitions; None is a member that is not described."""
        found = [one for one in members if one is not None]
        shown = [
            f"{one.member_id} at epoch {one.member_epoch} with {say(sorted(self.assigned_partitions(one)))}"
            for one in found
        ]
        return ", ".join(shown) or "no member"

    def target_of(self, member: GroupMember) -> frozenset[int]:
        """Return what the coordinator describes as the member's target; nothing if it has no such member."""
        found = self.describe_member(member)
        return self._partitions_in(found.target_assignment.topic_partitions if found else ())

    def assigned_in(self, answer: groups.HeartbeatAnswer) -> frozenset[int]:
        """Return the partitions in an answer's assignment."""
        return self._partitions_in(answer.assignment.topic_partitions if answer.assignment else ())

    def topic_partitions(self, partitions: Iterable[int]) -> list[groups.TopicPartitions]:
        """Return the partitions of the group's topic as a heartbeat names them."""
        return list_partitions(frozenset((id_of(self.topic), partition) for partition in partitions))

    def _partitions_in(self, topics: Iterable[groups.TopicPartitions]) -> frozenset[int]:
        return frozenset(p for topic in topics if topic.topic_id == self.topic.id for p in topic.partitions)


def id_of(topic: Topic) -> UUID:
    if topic.id is None:
        raise KitError(f"{topic.name} has no topic id; groups of the new protocol need one")
    return topic.id


def new_topic(bench: Bench, partitions: int, name: str | None = None) -> Topic:
    """Create a topic with this many partitions, by default with a new name."""
    wanted = NewTopic(
        name or bench.fresh_name("topic"), tuple((bench.id_of(bench.brokers[0]),) for _ in range(partitions))
    )
    node = bench.node(bench.brokers[0])
    [topic] = create_topics(bench, [wanted])
    bench.eventually(lambda: _knows_topic(node, topic), f"the broker knowing {topic}")
    return topic


def known_to_the_coordinator(group: Group, topic: Topic, partitions: int) -> None:
    """Wait until the coordinator's metadata has this topic, as shown by an assignment to a member of another group."""
    scout = type(group)(group.bench, GroupData(group.bench.fresh_name("group"), topic, partitions)).sole_member()
    scout.leave()


def _knows_topic(node: NodeClient, topic: Topic) -> bool:
    [found] = node.metadata([topic.name]).topics
    led = found.error is Error.NONE and all(partition.leader >= 0 for partition in found.partitions)
    return led and found.topic_id == topic.id


def await_coordinator(bench: Bench, group: str) -> None:
    """Wait until the group has a coordinator that has loaded its part of __consumer_offsets."""
    node = bench.node(bench.brokers[0])

    def ready() -> bool:
        found = node.find_coordinator(group)
        return found.error is Error.NONE and not ask_again(
            node.offset_fetch(group, version=WITHOUT_GROUPS), NOT_COORDINATED_YET
        )

    bench.eventually(ready, f"a coordinator of {group}", COORDINATOR_TIMEOUT, due="coordinator")


def new_group(bench: Bench, partitions: int = 4) -> GroupData:
    data = GroupData(bench.fresh_name("group"), new_topic(bench, partitions), partitions)
    await_coordinator(bench, data.name)
    return data


ON_FORMER_LEVEL = Rig(FORMER_LEVEL, new_group, Group)
"""A group on a node with data that a release without assignment epochs (KIP-1251) can load."""


def fresh_group(partitions: int = 4) -> Rig[GroupData, Group]:
    """Return a rig with a new group and topic for each example."""
    return Rig(GROUPS, partial(new_group, partitions=partitions), Group, name=f"fresh_group_{partitions}")
