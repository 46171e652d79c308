"""Members of the consumer protocol, as honest clients keep them, and what they send as hostile ones."""

from typing import Any

from conformance.core.roles import Absent
from conformance.machines.groups.ground import Ground
from conformance.machines.groups.slots import Epochs, Slot
from fixtures.views.member import ConsumerMember, Owned, list_partitions
from fixtures.wire import NodeClient
from fixtures.wire.groups import REGEX_FROM
from protocol.codes import Error
from protocol.groups import JOIN, HeartbeatAnswer, TopicPartitions
from protocol.messages import Topic
from strategies import groups as do

FENCED = frozenset((Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH))
"""Errors after which a client gives up its partitions and joins again with the same id."""
REPLACED = frozenset((Error.UNRELEASED_INSTANCE_ID, Error.FENCED_INSTANCE_ID))
"""Errors that end a client: another one has its instance id."""
HASTY_MS = 2_000


class Member(ConsumerMember):
    """A member of the consumer protocol that remembers its epochs and what it owned."""

    def __init__(self, ground: Ground, on: do.GroupName, id: str, instance_id: str | None) -> None:
        super().__init__(
            ground.bench, ground.names[on], id, instance_id=instance_id, coordinator=lambda: ground.coordinator(on)
        )
        self.epochs: list[int] = []
        self.ever_since: dict[tuple[Any, int], int] = {}
        """The epoch at which each partition was last assigned, also of those that it lost."""
        self.to_give_up: Owned = frozenset()
        self.has_missed = False
        """True from an answer that was not received until one to a full heartbeat, which repeats the assignment."""

    def heartbeat(self, *, received: bool = True, **fields: Any) -> HeartbeatAnswer:
        had_missed, self.has_missed = self.has_missed, True
        answer = super().heartbeat(received=received, **fields)
        if received and answer.error is Error.NONE:
            self.has_missed = had_missed and "subscribed_topic_names" not in fields
        return answer

    def receive(self, answer: HeartbeatAnswer) -> None:
        before = self.owned
        super().receive(answer)
        self.to_give_up = (self.to_give_up | before) - self.owned
        self.ever_since |= self.owned_since
        if self.epoch not in self.epochs:
            self.epochs.append(self.epoch)

    def lose_all(self) -> None:
        """Give everything up, as a client that was fenced."""
        self.epoch, self.owned, self.owned_since, self.to_give_up = JOIN, frozenset(), {}, frozenset()

    def acknowledge(self, *, received: bool = True, **fields: Any) -> HeartbeatAnswer:
        """Send a heartbeat that names all partitions owned."""
        given_up = self.to_give_up
        answer = self.heartbeat(owned=list_partitions(self.owned), received=received, **fields)
        if answer.error is Error.NONE:
            self.to_give_up -= given_up - self.owned
        return answer


class ConsumerSlot(Slot):
    """A place for one member of the consumer protocol at a time."""

    def __init__(self, ground: Ground, on: do.GroupName, slot: do.Slot) -> None:
        super().__init__(ground, on, slot)
        self.retired: list[str] = []
        """The ids of former members."""
        self._instance = f"{ground.names[on]}-{slot}" if slot in do.STATIC else None
        self._member: Member | None = None
        self._away = False
        self._how: do.JoinGroup = do.JoinGroup(on=on, member=slot)

    @property
    def is_taken(self) -> bool:
        return self._member is not None

    @property
    def known_id(self) -> str:
        return self._member.id if self._member is not None else ""

    @property
    def instance(self) -> str | None:
        return self._instance

    @property
    def is_away(self) -> bool:
        return self._away

    @property
    def is_hasty(self) -> bool:
        return self._how.hasty

    @property
    def present(self) -> Member:
        """The member, which has joined. A new member joins if there is none. Raises Absent."""
        if self._member is None or self._away or self._member.epoch == JOIN:
            self.beat()
        if self._member is None or self._member.epoch == JOIN:
            raise Absent(f"{self.slot} could not join")
        return self._member

    def join(self, step: do.JoinGroup) -> None:
        """Let a new member join in place of the former one, which leaves."""
        if self._member is not None:
            self.leave()
        self._how = step
        self._begin(step.known_id)
        self.beat()

    def _begin(self, known_id: bool) -> None:
        """Begin a member with a new id, or with the id that this place has in all groups."""
        bench = self.ground.bench
        id = f"{self.slot}-{bench.tape.example.example}" if known_id else bench.fresh_name(self.slot)
        self._member, self._away = Member(self.ground, self.on, id, self._instance), False
        if self._how.hasty:
            self._member.rebalance_timeout_ms = HASTY_MS

    # --- honest heartbeats

    def beat(self) -> HeartbeatAnswer:
        """Send an honest heartbeat: it joins, joins again, or acknowledges all partitions."""
        if self._member is None:
            self._begin(known_id=False)
        member = self._require()
        answer = self.ground.ask(lambda: self._next_beat(member))
        self._note(answer)
        return answer

    def beat_at_rest(self) -> bool:
        """Send an honest heartbeat. True if its answer assigns nothing and keeps the epoch."""
        before = self._require().epoch
        answer = self.beat()
        return answer.error is Error.NONE and answer.assignment is None and answer.member_epoch == before

    def _next_beat(self, member: Member, *, received: bool = True) -> HeartbeatAnswer:
        """Send what an honest client sends next: it joins, returns, or acknowledges all partitions."""
        if member.epoch == JOIN or self._away:
            return self._send_join(member, received=received)
        full = self._subscribed(self._how.reads_from) if member.has_missed else {}
        return member.acknowledge(received=received, **full)

    def _send_join(self, member: Member, *, received: bool = True) -> HeartbeatAnswer:
        subscribed = self._subscribed(self._how.reads_from)
        assignor = None if self._how.assignor == "default" else self._how.assignor
        joined = {"member_epoch": JOIN, "owned": (), "server_assignor": assignor}
        return member.heartbeat(received=received, **joined, **subscribed)

    def _note(self, answer: HeartbeatAnswer) -> None:
        """Act on the error of an honest heartbeat as a client does."""
        if answer.error is Error.NONE:
            self._away = False
        elif answer.error in FENCED:
            self._require().lose_all()
        elif answer.error in REPLACED:
            self._retire()

    def _require(self) -> Member:
        if self._member is None:
            raise Absent(f"{self.slot} has no member")
        return self._member

    def _retire(self) -> None:
        if self._member is not None:
            self.retired.append(self._member.id)
        self._member, self._away, self.silent = None, False, False

    def beat_quietly(self) -> HeartbeatAnswer:
        """Send a heartbeat that names no partitions."""
        member = self.present
        answer = self.ground.ask(member.heartbeat)
        self._note(answer)
        return answer

    def rejoin(self) -> None:
        """Join again with the same id at epoch 0."""
        self.present.lose_all()
        self.beat()

    def subscribe(self, to: do.Subscription) -> None:
        """Change the subscription, acknowledging nothing."""
        member, subscribed = self.present, self._subscribed(to)
        self._how = do.JoinGroup(
            on=self.on, member=self.slot, reads_from=to, assignor=self._how.assignor, hasty=self._how.hasty
        )
        self._note(self.ground.ask(lambda: member.heartbeat(**subscribed)))

    def _subscribed(self, to: do.Subscription) -> dict[str, Any]:
        """Return the fields of a subscription. Names stand for a regular expression in releases that know none."""
        bench = self.ground.bench
        knows_patterns = bench.column.ranges["ConsumerGroupHeartbeat"] >= REGEX_FROM
        if to.startswith("pattern") and knows_patterns:
            two = "|".join(self.ground.topics[on].name for on in do.TOPICS[:2])
            every = f"(wide|narrow|passing)-{bench.tape.example.example}-[0-9]+"
            pattern = f"({two})" if to == "pattern-of-two" else every
            return {"subscribed_topic_regex": pattern, "subscribed_topic_names": []}
        topics = self.ground.topic_names(to)
        emptied = (
            {"subscribed_topic_regex": ""} if self._how.reads_from.startswith("pattern") and knows_patterns else {}
        )
        return {"subscribed_topic_names": topics, **emptied}

    # --- leaving

    def leave(self) -> None:
        """Leave for good. Raises Absent without a member."""
        if self._away:
            self.beat()  # who does not return first holds partitions until its session ends
        member = self._require()
        self.ground.ask(member.leave)
        self._retire()

    def leave_to_return(self, *, keeps_id: bool) -> None:
        """Leave temporarily; the next heartbeat returns, with the same id or a new one."""
        member = self.present
        if self._instance is None:
            raise Absent(f"{self.slot} is not static")
        if self.ground.ask(member.leave_to_return).error is not Error.NONE:
            return
        self._away = True
        if keeps_id:
            member.lose_all()
        else:
            self.retired.append(member.id)
            self._begin(known_id=False)
            self._away = True

    def take_instance(self) -> None:
        """Let another member join with the instance id; it replaces the member if it is admitted."""
        if self._instance is None:
            raise Absent(f"{self.slot} is not static")
        held = self.present
        other = Member(self.ground, self.on, self.ground.bench.fresh_name(self.slot), self._instance)
        if self.ground.ask(lambda: self._send_join(other)).error is Error.NONE:
            self.retired.append(held.id)
            self._member = other

    def expel_former(self) -> None:
        """Let former members leave, whom a late copy of a request may have brought back."""
        present = self._member.id if self._member is not None else ""
        for id in dict.fromkeys(one for one in self.retired if one != present):
            member = Member(self.ground, self.on, id, None)
            self.ground.ask(member.leave)
        self.retired.clear()

    # --- hostile heartbeats

    def beat_to(self, node: NodeClient) -> None:
        """Send a heartbeat to this broker, and do not receive the answer."""
        member = self.present
        node.consumer_group_heartbeat(member.group_id, member.id, member.epoch, self._instance)

    def beat_keeping(self) -> None:
        """Name all partitions that the member should have given up, besides its own."""
        member = self.present
        owned = list_partitions(member.owned | member.to_give_up)
        self._note(self.ground.ask(lambda: member.heartbeat(owned=owned)))

    def lose_answers(self, times: int) -> None:
        """Send honest heartbeats whose answers are not received; they join if there is no member."""
        if self._member is None:
            self._begin(known_id=False)
        member = self._require()
        for _ in range(times):
            self.ground.ask(lambda: self._next_beat(member, received=False))

    def beat_at(self, epoch: do.Epoch) -> None:
        """Send a heartbeat at another epoch, and do not receive the answer."""
        member = self.present
        at = self.epoch(epoch)
        subscribed = self._subscribed(self._how.reads_from) if at == JOIN else {}
        owned = [] if at == JOIN else list_partitions(member.owned)
        self.ground.ask(lambda: member.heartbeat(member_epoch=at, owned=owned, received=False, **subscribed))

    def beat_owning(self, owned: str) -> None:
        """Name fewer or more partitions than owned, or one that no topic has, and do not receive the answer."""
        member = self.present
        more = self._every()
        named = {
            "fewer": list_partitions(frozenset(sorted(member.owned)[1:])),
            "more": list_partitions(member.owned | more),
            "unknown": [*list_partitions(member.owned), *self._beyond_the_end()],
        }[owned]
        self.ground.ask(lambda: member.heartbeat(owned=named, received=False))

    def _every(self) -> Owned:
        return frozenset((topic.id, index) for topic, index in self.ground.partitions() if topic.id is not None)

    def _beyond_the_end(self) -> list[TopicPartitions]:
        topic = self.ground.topic_named("anchor")
        return [TopicPartitions(topic.id, (9,))] if topic.id is not None else []

    # --- offsets

    @property
    def id(self) -> str:
        return self.present.id

    def partitions(self, hold: do.Hold) -> list[tuple[Topic, int]]:
        """Return partitions by what the member knows of them, the topics by name."""
        member = self.present
        owned, told, ever = member.owned, member.to_give_up, frozenset(member.ever_since)
        every = self._every()
        held = {
            "kept": owned,
            "to-give-up": told,
            "lost": ever - owned - told,
            "never-owned": every - ever,
        }[hold]
        return sorted(
            ((self.ground.topic_with(id), index) for id, index in held), key=lambda one: (one[0].name, one[1])
        )

    def epochs(self, partition: tuple[Topic, int] | None = None) -> Epochs:
        member = self.present
        since = member.ever_since.get((partition[0].id, partition[1]), member.epoch) if partition else member.epoch
        previous = member.epochs[-2] if len(member.epochs) > 1 else member.epoch - 1
        return Epochs(member.epoch, since, previous, member.epochs[0])
