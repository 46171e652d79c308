"""Commits and fetches of a group's offsets, in and outside of transactions."""

from contextlib import suppress
from typing import Any, NamedTuple

from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.judging.producers.outcomes import ENDED
from conformance.machines.groups.ground import Ground
from conformance.machines.groups.slots import Slot
from fixtures.views.producer import LEGACY, TV2, Producer
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient
from fixtures.wire.retriable import NOT_READY_FOR_TRANSACTION, error_of
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.groups import NewOffset, OffsetFetchAnswer
from protocol.messages import Topic
from strategies import groups as do

SETTLED_WITHIN = 10.0
"""Seconds for which the end of an example waits for the markers of a transaction."""
ENDED_WITHIN = 3.0
"""Seconds for which a step tries to begin or end a transaction."""


Fields = dict[str, Any]


class PreparedCommit(NamedTuple):
    """An OffsetCommit, as it is sent now or later."""

    offsets: list[NewOffset]
    fields: dict[str, Any]


class Offsets:
    """The offsets that members commit and fetch, and the commits that are held back."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._held_back: dict[do.GroupName, list[PreparedCommit]] = {on: [] for on in do.GROUPS}

    def commit(self, step: do.Commit, member: Slot) -> None:
        """Commit offsets of the member, or hold the request back. Raises Absent if it has no such partition."""
        chosen = self._choose(member, step.of, step.partitions, step.pick)
        if step.across:
            chosen += [one for one in member.partitions(step.of) if one[0] != chosen[0][0]][:1]
        if step.mixed:
            chosen += member.partitions("never-owned")[:1]
        fields = {
            "member_id": member.id,
            "epoch": member.epoch(step.epoch, chosen[0]),
            "instance_id": member.instance,
            "version": step.version,
        }
        prepared = PreparedCommit([self._offset(*one) for one in chosen], fields)
        if step.held_back:
            self._held_back[step.on].append(prepared)
        else:
            self._send(step.on, prepared)

    def commit_at(self, node: NodeClient, on: do.GroupName, member: Slot) -> None:
        """Commit an offset of an owned partition at this broker."""
        [chosen] = self._choose(member, "kept", 1)
        fields: Fields = {"member_id": member.id, "epoch": member.epoch("current"), "instance_id": member.instance}
        node.offset_commit(self._ground.names[on], [self._offset(*chosen)], **fields)

    def _choose(self, member: Slot, hold: do.Hold, most: int, pick: int = 0) -> list[tuple[Topic, int]]:
        """Return partitions of one topic; those that the member owns if it has none of this kind. Raises Absent."""
        found = member.partitions(hold) or member.partitions("kept")
        if not found:
            raise Absent(f"{member.id} has no partition")
        first = pick % len(found)
        return [one for one in found[first:] if one[0] == found[first][0]][:most]

    def _offset(self, topic: Topic, partition: int) -> NewOffset:
        return NewOffset(topic, partition, offset=self._ground.next_offset())

    def _send(self, on: do.GroupName, commit: PreparedCommit) -> None:
        name = self._ground.names[on]
        self._ground.ask(lambda: self._ground.coordinator(on).offset_commit(name, commit.offsets, **commit.fields))

    def commit_as_stranger(self, step: do.CommitAsStranger) -> None:
        """Commit without a member id, or with one that the group does not have."""
        fields = {"member_id": "stranger", "epoch": 1} if step.named else {}
        self._send(step.on, PreparedCommit([self._offset(self._ground.topic_named("wide"), 0)], fields))

    def release(self, step: do.ReleaseCommit) -> None:
        """Send a commit that was held back. Raises Absent if there is none."""
        held = self._held_back[step.on]
        if not held:
            raise Absent("no commit is held back")
        self._send(step.on, held[-1 - step.back % len(held)])

    # --- fetches

    def fetch(self, step: do.FetchOffsets, member: Slot) -> None:
        """Fetch the offsets of all partitions, as the member or as anyone."""
        named = {} if step.anonymous else {"member_id": member.id, "epoch": member.epoch(step.epoch)}
        node = self._ground.coordinator(step.on)
        self._ground.ask(lambda: self.fetch_all(step.on, node, stable=step.stable, **named))

    def fetch_all(self, on: do.GroupName, node: NodeClient, *, stable: bool = True, **fields: Any) -> OffsetFetchAnswer:
        """Fetch the offsets of all partitions of the topics."""
        wanted = self._ground.partitions()
        return node.offset_fetch(self._ground.names[on], wanted, require_stable=stable, **fields)


class Transactions:
    """Two producers that commit offsets of groups in transactions."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        bench = ground.bench
        dialect = TV2 if bench.column.ranges.get("transaction.version", 0) >= 2 else LEGACY
        self._producers = {
            name: self._producer(bench.fresh_name(name), dialect) for name in ("producer-1", "producer-2")
        }
        self._groups: dict[str, set[str]] = {name: set() for name in self._producers}
        """The groups in each producer's open transaction."""
        self._broken = set(self._producers)
        """The producers that have to begin as a new instance."""

    def _producer(self, transactional_id: str, dialect: Any) -> Producer:
        roles = self._ground.roles
        return Producer(
            self._ground.bench,
            transactional_id,
            dialect,
            coordinator=lambda: roles.coordinator(transactional_id, CoordinatorType.TRANSACTION),
            patient=False,
        )

    def commit(self, step: do.CommitInTransaction, member: Slot) -> None:
        """Commit an offset of the member in the producer's transaction. Raises Absent where that cannot begin."""
        held = member.partitions(step.of) or member.partitions("kept")
        if not held:
            raise Absent(f"{member.id} has no partition")
        producer, group = self._begin(step.producer), self._ground.names[step.on]
        if not producer.dialect.bumps and group not in self._groups[step.producer]:
            self._require(step.producer, self._ask(lambda: producer.add_offsets(group)))
        self._groups[step.producer].add(group)
        offset = NewOffset(*held[0], offset=self._ground.next_offset())
        fields = {
            "member_id": member.id,
            "group_instance_id": member.instance,
            "generation_id_or_member_epoch": member.epoch(step.epoch, held[0]),
        }
        self._ask(
            lambda: producer.commit_offsets(
                group, [offset], coordinator=lambda: self._ground.coordinator(step.on), **fields
            )
        )

    def end(self, step: do.EndOpenTransaction) -> None:
        """End the producer's transaction. Raises Absent if none is open."""
        name, producer = step.producer, self._producers[step.producer]
        if not self._groups[name] or name in self._broken:
            raise Absent(f"{name} has no open transaction")
        self._broken.add(name)
        answer = self._require(name, self._ask(lambda: producer.finish(step.commit)))
        if producer.dialect.bumps:
            producer.continue_at(answer.producer_id, answer.producer_epoch)
        self._groups[name].clear()
        self._broken.discard(name)

    def end_all(self) -> None:
        """Abort all open transactions; a new instance does so for a producer whose last request was refused or lost."""
        for name, groups in self._groups.items():
            with suppress(*UNANSWERED, Absent):
                if groups and name in self._broken:
                    self._begin(name)
                elif groups:
                    self.end(do.EndOpenTransaction(producer=name, commit=False))  # type: ignore[arg-type]

    def await_ends(self) -> None:
        """Wait until no producer's transaction is open or unfinished, so that no offset is pending."""
        for producer in self._producers.values():
            if producer.producer_id >= 0:
                with suppress(*UNANSWERED, Absent, Overdue):
                    self._ground.bench.eventually(
                        lambda producer=producer: producer.describe().state in ENDED,  # type: ignore[misc]
                        f"the end of the transaction of {producer.transactional_id}",
                        within=SETTLED_WITHIN,
                        every=0.2,
                        due=None,
                    )

    def _begin(self, name: str) -> Producer:
        producer = self._producers[name]
        if name in self._broken:
            given = self._require(name, self._ask(producer.init_once))
            producer.continue_at(given.producer_id, given.producer_epoch)
            self._groups[name].clear()
            self._broken.discard(name)
        return producer

    def _ask(self, ask: Any) -> Any:
        answers: list[Any] = []

        def is_served() -> bool:
            answers.append(ask())
            return error_of(answers[-1]) not in NOT_READY_FOR_TRANSACTION

        with suppress(Overdue):
            self._ground.bench.eventually(
                is_served, "a transaction's coordinator", within=ENDED_WITHIN, every=0.1, due=None
            )
        return answers[-1]

    def _require(self, name: str, answer: Any) -> Any:
        if (error := error_of(answer)) is not Error.NONE:
            self._broken.add(name)
            raise Absent(f"{name} was refused: {error.name}")
        return answer
