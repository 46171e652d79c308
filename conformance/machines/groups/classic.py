"""Members of the classic protocol, alone in a group or beside members of the consumer protocol (KIP-848, migration)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from conformance.core.roles import Absent
from conformance.machines.groups.ground import Ground
from conformance.machines.groups.slots import Epochs, Slot
from fixtures.views.member import ASSIGNOR, LoneClassicMember
from fixtures.wire import NodeClient, WireError
from protocol.assignments import assigned_in, encode_assignment, subscription
from protocol.codes import Error
from protocol.groups import GroupAnswer, JoinGroupAnswer
from protocol.messages import Topic
from strategies import groups as do

REBALANCE_MS = 5_000
"""The time in ms that other members have for rejoining, and that a follower waits for its leader's assignment."""
LOST = frozenset((Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID, Error.UNRELEASED_INSTANCE_ID))
"""Errors after which a client joins as a new member."""


class ClassicMember(LoneClassicMember):
    """A classic member that leads, or follows another leader."""

    def __init__(self, ground: Ground, on: do.GroupName, slot: do.Slot, instance_id: str | None) -> None:
        super().__init__(ground.bench, ground.names[on])
        self.instance_id = instance_id
        self._ground, self._on = ground, on
        self.place = f"{on} {slot}"
        self.joined: JoinGroupAnswer | None = None
        self.owned: frozenset[tuple[str, int]] = frozenset()
        self.to_give_up: frozenset[tuple[str, int]] = frozenset()
        self.ever: dict[tuple[str, int], int] = {}
        """The generation at which each partition was last assigned."""

    def coordinator(self) -> NodeClient:
        """Return a connection of its own to the coordinator, since a JoinGroup may wait for others."""
        return self._ground.bench.node(self._ground.coordinator(self._on).node, purpose=self.place)

    def send_join(self, node: NodeClient, cooperative: bool) -> None:
        """Send JoinGroup, for the first time or again. An eager member gives everything up before."""
        if not cooperative:
            self.to_give_up = self.owned = frozenset()
        topics = self._ground.read_by[self.id or self.place]
        owned = {topic: [p for of, p in sorted(self.owned) if of == topic] for topic, _ in self.owned}
        answer = node.join_group(
            self.group_id,
            {ASSIGNOR: subscription(topics, owned if cooperative else None)},
            member_id=self.id,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        self.joined = answer
        if answer.error is Error.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            self._ground.read_by[self.id] = topics
        elif answer.error is Error.NONE:
            self.id, self.epoch = answer.member_id, answer.generation_id
            self._ground.read_by[self.id] = topics

    def send_sync(self, *, received: bool = True, generation: int | None = None) -> Error:
        """Send SyncGroup, as a leader with everyone's assignment."""
        answer = self.coordinator().sync_group(
            self.group_id,
            self.id,
            self.epoch if generation is None else generation,
            self._assign(self.joined.members if self.joined else ()),
            instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=ASSIGNOR,
            wait_ms=REBALANCE_MS,
        )
        if received and answer.error is Error.NONE:
            self._take({(topic, p) for topic, given in assigned_in(answer.assignment).items() for p in given})
        return answer.error

    def _assign(self, members: Sequence[object]) -> dict[str, bytes]:
        """Return each member's partitions, dealt out in turn among those that read their topic."""
        ids = [getattr(one, "member_id", "") for one in members]
        given: dict[str, dict[str, list[int]]] = {id: {} for id in ids}
        for topic, index in self._ground.partitions_now() if ids else ():
            readers = [id for id in ids if topic.name in self._ground.read_by.get(id, ())]
            if readers:
                given[readers[index % len(readers)]].setdefault(topic.name, []).append(index)
        return {id: encode_assignment(partitions) for id, partitions in given.items()}

    def _take(self, owned: set[tuple[str, int]]) -> None:
        gone = self.owned - owned
        self.to_give_up = frozenset(gone)
        self.ever |= dict.fromkeys(owned - self.owned, self.epoch)
        self.owned = frozenset(owned)


class ClassicSlot(Slot):
    """A place for one classic member at a time; `peers` are all such places of the group."""

    def __init__(self, ground: Ground, on: do.GroupName, slot: do.Slot, peers: list["ClassicSlot"]) -> None:
        super().__init__(ground, on, slot)
        self._instance = f"{ground.names[on]}-static-1" if slot == "eager-static-1" else None
        self._cooperative = slot == "cooperative-1"
        self._peers = peers
        self._member: ClassicMember | None = None

    @property
    def is_taken(self) -> bool:
        return self._member is not None

    @property
    def known_id(self) -> str:
        return self._member.id if self._member is not None else ""

    @property
    def present(self) -> ClassicMember:
        """The member, which has joined. A new member joins if there is none. Raises Absent."""
        if self._member is None or self._member.epoch < 0:
            self._begin("wide")
            self.rejoin()
        if self._member is None or self._member.epoch < 0:
            raise Absent(f"{self.slot} could not join")
        return self._member

    def _begin(self, to: do.Subscription) -> None:
        topics = self.ground.topic_names(to)
        self._member = ClassicMember(self.ground, self.on, self.slot, self._instance)
        self.ground.read_by[self._member.place] = topics

    def join(self, step: do.JoinGroup) -> None:
        """Let a new member join in place of the former one, which leaves."""
        if self._member is not None:
            self.leave()
        self._begin(step.reads_from)
        self.rejoin()

    def rejoin(self) -> None:
        """Join again, together with all other classic members: in a classic group JoinGroup waits for them."""
        self._join_together()
        together = [one for one in self._peers if one._member is not None and one._member.epoch >= 0]
        for slot in sorted(together, key=lambda one: not one._leads()):
            with suppress(WireError):
                slot._sync()

    def _join_together(self) -> None:
        members = [(one, one._member) for one in self._peers if one._member is not None and not one.silent]
        nodes = {one.slot: member.coordinator() for one, member in members}
        for one, member in members:
            if not member.id and member.instance_id is None:
                member.send_join(nodes[one.slot], one._cooperative)  # the answer is its id; the group waits for it now

        def join(slot: ClassicSlot, member: ClassicMember) -> None:
            with suppress(WireError):
                member.send_join(nodes[slot.slot], slot._cooperative)

        self.ground.bench.run_in_parallel([partial(join, one, member) for one, member in members])
        for slot, member in members:
            if member.joined is not None and member.joined.error in LOST:
                slot._retire()

    def _leads(self) -> bool:
        joined = self._member.joined if self._member is not None else None
        return joined is not None and joined.leader == joined.member_id

    def _sync(self) -> None:
        if self._member is not None and self._member.send_sync() in LOST:
            self._retire()

    def _retire(self) -> None:
        self._member, self.silent = None, False

    # --- what it sends

    def beat(self) -> None:
        """Send Heartbeat, and rejoin if the answer asks for that."""
        if self._member is None or self._member.epoch < 0:
            _ = self.present
        elif self._heartbeat().error in (Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION):
            self.rejoin()

    def _heartbeat(self, generation: int | None = None) -> GroupAnswer:
        member = self.present
        at = member.epoch if generation is None else generation
        answer = self.ground.ask(lambda: member.heartbeat(generation_id=at, instance_id=self._instance))
        if answer.error in LOST:
            self._retire()
        return answer

    def beat_at_rest(self) -> bool:
        before = self._member.epoch if self._member is not None else -1
        self.beat()
        return self._member is not None and self._member.epoch == before

    def beat_quietly(self) -> None:
        """Send Heartbeat, and nothing else."""
        self._heartbeat()

    def beat_at(self, epoch: do.Epoch) -> None:
        """Send Heartbeat at another generation."""
        member, at = self.present, self.epoch(epoch)
        self.ground.ask(lambda: member.heartbeat(generation_id=at, instance_id=self._instance))

    def subscribe(self, to: do.Subscription) -> None:
        """Rejoin with another subscription."""
        member = self.present
        self.ground.read_by[member.id] = self.ground.topic_names(to)
        self.rejoin()

    def leave(self) -> None:
        """Send LeaveGroup. Raises Absent without a member."""
        if (member := self._member) is None:
            raise Absent(f"{self.slot} has no member")
        self.ground.ask(
            lambda: member.coordinator().leave_group(member.group_id, member.id, instance_id=self._instance)
        )
        self._retire()

    def expel_former(self) -> None:
        """Do nothing: only the coordinator knows the ids of classic members that a copy brings back, and describes them."""

    def lose_sync(self) -> None:
        """Send JoinGroup, and a SyncGroup whose answer is not received."""
        member = self.present
        self._join_together()
        member.send_sync(received=False)

    def sync_late(self) -> None:
        """Send SyncGroup at the generation before."""
        member = self.present
        member.send_sync(received=False, generation=member.epoch - 1)

    # --- offsets

    @property
    def id(self) -> str:
        return self.present.id

    @property
    def instance(self) -> str | None:
        return self._instance

    def partitions(self, hold: do.Hold) -> list[tuple[Topic, int]]:
        member = self.present
        every = {(topic.name, index) for topic, index in self.ground.partitions()}
        held: Mapping[str, frozenset[tuple[str, int]] | set[tuple[str, int]]] = {
            "kept": member.owned,
            "to-give-up": member.to_give_up,
            "lost": member.ever.keys() - member.owned - member.to_give_up,
            "never-owned": every - member.ever.keys(),
        }
        known = {topic.name: topic for topic in self.ground.topics.values()}
        return [(known[name], index) for name, index in sorted(held[hold]) if name in known]

    def epochs(self, partition: tuple[Topic, int] | None = None) -> Epochs:
        member = self.present
        since = member.ever.get((partition[0].name, partition[1]), member.epoch) if partition else member.epoch
        return Epochs(member.epoch, since, member.epoch - 1, 1)
