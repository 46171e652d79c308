"""The steps of the log machine besides the shared ones: requests by role, producers and consumers, around some partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial, singledispatchmethod

import msgspec

from conformance.core.administration import CLUSTER_DEFAULT, TopicAdministration
from conformance.core.bench import Bench
from conformance.core.echoing import echoed
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.core.sweeping import Swept, turn_of
from conformance.judging.timeline import CONVERGES_WITHIN, UNCLEAN_ELECTION
from conformance.machines.log.producers import IdempotentProducers, InFlight, TransactionalProducer
from conformance.machines.log.sessions import FetchSessions
from conformance.rigs.log.partition import Partition, PartitionData, keep_last
from conformance.rigs.log.quiescence import at_rest, log_start, read_whole
from fixtures.cluster.topology import rack_of
from fixtures.consumers import Consumer, ConsumerTrouble
from fixtures.faults.base.roles import CONTROLLER_ROLES
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error
from protocol.errors import KitError
from protocol.log import EARLIEST, LATEST, FetchedPartition
from protocol.messages import Topic
from protocol.records import Codec, NewBatch, NewRecord
from protocol.topics import NewTopic
from strategies import log as do
from strategies.log_offer import EVERY_PARTITION
from strategies.steps import AddPartitions, AlterConfig, DeleteTopic, Echo, RecreateTopic, Step, Sweep

SETTINGS: dict[str, dict[str, str]] = {
    "strict": {"min.insync.replicas": "2"},
    "loose": {"min.insync.replicas": "1"},
    "compacted": {
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "1000",
    },
    "lone": {"min.insync.replicas": "1"},
}
SMALL_SEGMENTS = {"segment.bytes": "16384"}
KEYS = 3
"""Keys of the compacted partition: few, so that there is always something to clean."""
ACKNOWLEDGED_WITHIN_MS = 1_500
STALE_WITHIN_MS = 300
"""For a stale leader, which never gets the acknowledgements that it waits for."""
FORMER_EPOCHS = 3
"""Leader epochs before the current one at which a leader is asked."""
GROUP = "group"
MOST_MEMBERS = 3
REVISITED: tuple[do.ReplicaRole, ...] = ("leader", "follower")
"""The roles that get requests with former positions at rest."""


class LogExecutor(TopicAdministration[do.LogStep]):
    """Runs log steps on fresh topics: two strict partitions, a loose and a compacted one on all three brokers, and a lone one;
    and on the topics that its steps create."""

    def __init__(self, bench: Bench) -> None:
        self.partitions = _new_partitions(bench)
        super().__init__(bench, bench.faults(self.partitions["strict-0"].topic))
        self.topics = {on.rpartition("-")[0]: made.topic for on, made in self.partitions.items()}
        self._forget_defaults()
        self.roles = Roles(bench, {on: (made.name, made.index) for on, made in self.partitions.items()})
        self._written = 0
        self._ends: dict[str, int] = defaultdict(int)
        self._positions: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._alone: dict[int | None, Consumer] = {}
        self._members: list[Consumer] = []
        self._joined = 0
        self._idempotent = IdempotentProducers(bench)
        self._transactional = TransactionalProducer(bench, self.roles, f"transactions-{bench.tape.example.example}")
        self._in_flight = InFlight()
        self._sessions = FetchSessions()
        self._deleted: set[str] = set()
        self._refusing: set[str] = set()
        """Partitions whose last acks=all write found fewer replicas in sync than min.insync.replicas."""

    @singledispatchmethod
    def run(self, step: Step) -> None:
        super().run(step)

    # --- producers

    @run.register
    def _(self, step: do.ProduceToAll) -> None:
        with self.roles.one_look():
            for on in filter(self.partitions.__contains__, EVERY_PARTITION):
                self.attempt(do.Produce(on=on, records=step.records, acks=step.acks, to=step.to))

    @run.register
    def _(self, step: do.Produce) -> None:
        batch = self._batch(step.on, step.records, step.size, Codec[step.codec.upper()])
        self._write(step.on, self.roles.node(step.on, step.to), step.acks, batch)

    def _write(
        self, on: str, node: NodeClient, acks: int, batch: NewBatch, within_ms: int = ACKNOWLEDGED_WITHIN_MS
    ) -> None:
        partition = self.partition(on)
        answer = node.produce(partition.topic, partition.index, batch, acks=acks, timeout_ms=within_ms)
        if answer.error is Error.NONE:
            self._ends[on] = max(self._ends[on], answer.base_offset + len(batch.records))
        if acks == -1:
            (self._refusing.add if answer.error is Error.NOT_ENOUGH_REPLICAS else self._refusing.discard)(on)

    def _batch(self, on: str, count: int = 1, size: int = 0, codec: Codec = Codec.NONE) -> NewBatch:
        """A batch of numbered values, filled up to `size` bytes each."""
        numbers = range(self._written, self._written + count)
        self._written += count
        keyed = on == "compacted-0"
        records = [
            NewRecord(f"value {n}".encode().ljust(size, b"."), key=f"key {n % KEYS}".encode() if keyed else None)
            for n in numbers
        ]
        return NewBatch(tuple(records), timestamp=self.bench.now().unix_ms, codec=codec)

    @run.register
    def _(self, step: do.ProduceIdempotently) -> None:
        leader, batch = self.roles.node(step.on, step.to), self._batch(step.on, step.records)
        self._idempotent.write(step.producer, step.on, self.partition(step.on), leader, batch)

    @run.register
    def _(self, step: do.Transact) -> None:
        leader, batch = self.roles.node(step.on, "leader"), self._batch(step.on, step.records)
        self._transactional.write(step.on, self.partition(step.on), leader, batch)
        if step.end != "open":
            self._transactional.end(committed=step.end == "commit")

    @run.register
    def _(self, step: do.ProduceInFlight) -> None:
        node, batch = self.roles.node(step.on, step.to), self._batch(step.on, step.records)
        self._in_flight.produce(self.partition(step.on), node, batch)

    @run.register
    def _(self, step: do.FetchInFlight) -> None:
        node, epoch = self.roles.node(step.on, step.role), self.roles.epoch(step.on)
        self._in_flight.fetch(self.partition(step.on), node, self._ends[step.on], epoch)

    @run.register
    def _(self, step: do.FetchInSession) -> None:
        node, epoch = self.roles.node(step.on, step.role), self.roles.epoch(step.on, step.current_back)
        self._sessions.fetch(self.partition(step.on), node, self._ends[step.on], epoch)

    @run.register
    def _(self, step: do.Collect) -> None:
        self._in_flight.collect()

    # --- leaders and former leaders

    @run.register
    def _(self, step: do.ProbeLeaders) -> None:
        for on in self.partitions:
            with suppress(Absent, WireError):
                self._probe_leader(on)
            with suppress(Absent, WireError):
                self._probe_former_leader(on)

    def _probe_leader(self, on: str) -> None:
        """Whether it commits, whether its high watermark waits for the present ISR, and which leader epochs it serves."""
        with self.roles.one_look():
            leader, epoch = self.roles.node(on, "leader"), self.roles.epoch(on)
        for acks in (-1, 1, -1):
            self._write(on, leader, acks, self._batch(on))
            self.roles.state(on)
        for _ in range(3):
            self._note_positions(on, read_whole(self.partitions[on], leader, epoch))
        for other in (*range(max(0, epoch - FORMER_EPOCHS), epoch), epoch + 1):
            self._fetch(on, leader, log_start(self.partition(on), leader), other)
        self.roles.state(on)

    def _probe_former_leader(self, on: str) -> None:
        """A former leader commits nothing, whatever epoch it is at, and rejects requests that name a newer leader epoch."""
        with self.roles.one_look():
            former, state = self.roles.node(on, "former-leader"), self.roles.state(on)
        if former.node == self.bench.name_of(state.leader):
            raise Absent(f"{on} has no former leader that can be reached")
        old = max(0, state.leader_epoch - 1)
        for acks in (1, -1, -1, -1):
            self._fetch(on, former, log_start(self.partition(on), former), old)
            self._write(on, former, acks, self._batch(on), within_ms=STALE_WITHIN_MS)
        for epoch in (old, state.leader_epoch):
            self._fetch(on, former, log_start(self.partition(on), former), epoch)

    # --- raw fetchers

    def read_everything(self) -> None:
        """Read the full log of every running replica, and what it shows to consumers; and which replicas may lead."""
        self.roles.describe_eligible()
        self._describe_directories()
        for on, partition in self.partitions.items():
            with suppress(Absent):
                state = self.roles.state(on)
                for id in filter(self.roles.is_running, state.replicas):
                    self._read_replica(on, partition, self.bench.node(id), state.leader_epoch)

    def _read_replica(self, on: str, partition: Partition, node: NodeClient, epoch: int) -> None:
        with suppress(WireError):
            self._note_positions(on, read_whole(partition, node, epoch))
            self._note_positions(on, self._fetch(on, node, log_start(self.partition(on), node), epoch))

    @run.register
    def _(self, step: do.Read) -> None:
        node, partition = self.roles.node(step.on, step.role), self.partition(step.on)
        epoch = -1 if step.current_back is None else self.roles.epoch(step.on, step.current_back)
        if step.full_log:
            self._note_positions(step.on, read_whole(partition, node, epoch))
        else:
            self._note_positions(step.on, self._fetch(step.on, node, log_start(self.partition(step.on), node), epoch))

    @run.register
    def _(self, step: do.FetchAt) -> None:
        node = self.roles.node(step.on, step.role)
        offset = max(0, self._ends[step.on] - step.before_end)
        last = self.roles.epoch(step.on, step.last_fetched_back)
        self._note_positions(
            step.on, self._fetch(step.on, node, offset, self.roles.epoch(step.on, step.current_back), last)
        )

    @run.register
    def _(self, step: do.RevisitPosition) -> None:
        positions = self._positions[step.on]
        if not positions:
            raise Absent(f"nothing was read from {step.on} yet")
        self._revisit(step.on, step.role, *positions[-1 - step.back % len(positions)])

    def _revisit(self, on: str, role: do.ReplicaRole, offset: int, epoch: int) -> None:
        current = self.roles.state(on).leader_epoch
        partition, leader = self.partition(on), self.roles.node(on, "leader")
        self._fetch(on, self.roles.node(on, role), offset + 1, current, last=epoch)
        leader.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)

    def _fetch(self, on: str, node: NodeClient, offset: int, epoch: int, last: int = -1) -> FetchedPartition:
        partition = self.partition(on)
        return node.fetch(partition.at(offset, current_leader_epoch=epoch, last_fetched_epoch=last))

    def _note_positions(self, on: str, answer: FetchedPartition) -> None:
        """Remember the highest end seen, and each committed record as the position (offset, leader epoch) of a client."""
        self._ends[on] = max(self._ends[on], answer.high_watermark)
        read = [(record.offset, b.leader_epoch) for b in answer.batches if not b.control for record in b.records]
        self._positions[on] += [position for position in read if position[0] < answer.high_watermark]

    @run.register
    def _(self, step: do.OffsetForLeaderEpoch) -> None:
        node, partition = self.roles.node(step.on, step.role), self.partition(step.on)
        epoch, current = self.roles.epoch(step.on, step.epochs_back), self.roles.epoch(step.on, step.current_back)
        node.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)

    @run.register
    def _(self, step: do.ListOffsets) -> None:
        node, partition = self.roles.node(step.on, step.role), self.partition(step.on)
        current = self.roles.epoch(step.on, step.current_back)
        for timestamp in (EARLIEST, LATEST):
            node.list_offsets(partition.name, partition.index, timestamp, current_leader_epoch=current)

    @run.register
    def _(self, step: do.DeleteRecords) -> None:
        node, partition = self.roles.node(step.on, step.to), self.partition(step.on)
        keep_last(partition, node, step.keep)

    # --- consumers

    @run.register
    def _(self, step: do.Consume) -> None:
        if step.rack not in self._alone:
            name = "consumer" if step.rack is None else f"consumer-in-rack-{step.rack}"
            made = self._new_consumer(name, rack=None if step.rack is None else rack_of(step.rack))
            made.assign([(partition.name, partition.index) for partition in self.partitions.values()])
            self._alone[step.rack] = made
        self._alone[step.rack].poll()

    @run.register
    def _(self, step: do.Join) -> None:
        if len(self._members) == MOST_MEMBERS:
            raise Absent(f"the group has {MOST_MEMBERS} members")
        self._joined += 1
        member = self._new_consumer(f"member-{self._joined}", self._group)
        self._members.append(member)
        member.subscribe(self._topics)
        self._poll_all()

    def _new_consumer(self, name: str, group: str | None = None, rack: str | None = None) -> Consumer:
        """One that does not wait for brokers that are down. Raises Absent where none runs."""
        running = self.roles.running()
        if not running:
            raise Absent("no broker runs")
        return self.bench.consumer(name, group, rack, running)

    @run.register
    def _(self, step: do.PollGroup) -> None:
        self._poll_all()
        for member in self._members if step.commit else ():
            with suppress(ConsumerTrouble):
                member.commit()

    @run.register
    def _(self, step: do.Leave) -> None:
        if not self._members:
            raise Absent("the group has no member")
        self._members.pop().close()
        self._poll_all()

    def _poll_all(self) -> None:
        """All members at the same time: a rebalance ends only when each of them polls."""
        self.bench.together([partial(_polled, member) for member in self._members])

    @run.register
    def _(self, step: do.OffsetFetch) -> None:
        coordinator = self.roles.coordinator(self._group)
        wanted = [(partition.topic, partition.index) for partition in self.partitions.values()]
        # A new coordinator shows what is above its high watermark only when asked for what is stable.
        coordinator.offset_fetch(self._group, wanted, require_stable=True)

    @property
    def _topics(self) -> list[str]:
        return sorted({partition.name for partition in self.partitions.values()})

    @property
    def _group(self) -> str:
        return f"{GROUP}-{self.bench.tape.example.example}"

    # --- topics that steps create and delete

    def partition(self, on: str) -> Partition:
        """Raises Absent for one that no step has created yet."""
        if on not in self.partitions:
            raise Absent(f"{on} was not created yet")
        return self.partitions[on]

    def _create_as(
        self, on: str, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        named = {self._setting(key): value for key, value in configs.items()}
        super()._create_as(on, name, partitions, replication_factor, named)
        made = self.topics[on]
        if made.id is not None and made not in self._known_as(on):
            self._deleted.discard(on)
            for index in range(partitions):
                self._enter(f"{on}-{index}", Partition(self.bench, PartitionData(made, index)))

    def _known_as(self, on: str) -> list[Topic]:
        """The topics whose partitions are known under this name."""
        return [made.topic for name, made in self.partitions.items() if name.rpartition("-")[0] == on]

    def _enter(self, on: str, partition: Partition) -> None:
        if on in EVERY_PARTITION:
            self.partitions[on] = partition
            self.roles.add(on, partition.name, partition.index)
            self._ends[on] = 0
            self._positions[on] = []

    @run.register
    def _(self, step: AddPartitions) -> None:
        """Those that a broker names afterwards take part from now on."""
        super().run(step)
        topic = self.topic(step.on)
        for made in self.asked_broker().metadata([topic.name]).topic(topic.name).partitions:
            if f"{step.on}-{made.partition}" not in self.partitions:
                data = PartitionData(topic, made.partition)
                self._enter(f"{step.on}-{made.partition}", Partition(self.bench, data))

    @run.register
    def _(self, step: DeleteTopic) -> None:
        self.topic(step.on)
        self._deleted.add(step.on)
        super().run(step)

    @run.register
    def _(self, step: RecreateTopic) -> None:
        self.topic(step.on)
        self._deleted.add(step.on)
        super().run(step)

    @run.register
    def _(self, step: Echo) -> None:
        """A copy of DeleteTopics may delete a topic that was created in the meantime under the same name."""
        call = echoed(self.bench, step.back)
        if call.op == "delete_topics":
            self._deleted |= {on for on, topic in self.topics.items() if topic.name in call.request["topics"]}
        super().run(step)

    def _forget_defaults(self) -> None:
        """An earlier example may have ended before it could do so."""
        with suppress(*UNANSWERED, Absent):
            self.asked_broker().incremental_alter_configs(*CLUSTER_DEFAULT, {UNCLEAN_ELECTION: None})

    @run.register
    def _(self, step: AlterConfig) -> None:
        super().run(msgspec.structs.replace(step, key=self._setting(step.key)))

    def _setting(self, key: str) -> str:
        return self._segment_size if key == "segment.bytes" else key

    @cached_property
    def _segment_size(self) -> str:
        """The setting that may be small: newer releases refuse less than 1 MiB for segment.bytes."""
        wanted = NewTopic(self.bench.fresh("small"), num_partitions=1, replication_factor=1, configs=SMALL_SEGMENTS)
        [tried] = self.asked_broker().create_topics([wanted], validate_only=True).topics
        return "internal.segment.bytes" if tried.error is Error.INVALID_CONFIG else "segment.bytes"

    # --- faults

    def around(self, on: str) -> tuple[Topic, int]:
        partition = self.partition(on)
        return partition.topic, partition.index

    def before_fault(self) -> None:
        self.roles.remember_leaders()

    def after_fault(self) -> None:
        self.roles.refresh()
        self.roles.describe_eligible()

    def await_reaction(self) -> None:
        """Where faults only keep brokers from doing anything, or take a log directory of theirs, an election is due all the same
        (GEN-08). Judges see whether it came from the answers in between."""
        self._describe_directories()
        effects = [fault.effects for fault, _ in self.standing if fault.role not in CONTROLLER_ROLES]
        if len(effects) == len(self.standing) and all(one.idles or one.fails_directory for one in effects):
            with suppress(Overdue):
                self.bench.eventually(
                    lambda: not self.roles.leaderless(), "a leader", within=CONVERGES_WITHIN + 2, every=0.5, due=None
                )

    def _describe_directories(self) -> None:
        """Ask brokers of which a log directory has failed which replicas they have beside it (GEN-20)."""
        hit = {node for fault, nodes in self.standing if fault.effects.fails_directory for node in nodes}
        for name in sorted(hit - self.roles.down):
            with suppress(WireError):
                self.bench.node(name).describe_log_dirs()

    # --- rest

    def before_rest(self, *, healed: bool) -> None:
        self.run(do.Collect())
        with suppress(*UNANSWERED, Absent):
            self._transactional.end(committed=False)
        self._forget_defaults()
        self.attempt(do.OffsetFetch())
        if healed:
            # All that was written before is then followed by a later leader epoch, where the leader has changed.
            self.run(do.ProduceToAll())
            self._transactional.settle(self._refusing)

    def agrees(self) -> bool:
        """Of the partitions that no step has asked to delete."""
        kept = {on: made for on, made in self.partitions.items() if on.rpartition("-")[0] not in self._deleted}
        self.partitions = kept
        met = at_rest(*kept.values())
        self.bench.registrations([(one.topic, one.index) for one in kept.values()])
        return met

    def at_rest(self) -> None:
        with self.roles.one_look():
            self._revisit_positions()
            self.attempt(Sweep(turn=turn_of(self.bench.tape.example.example)))
            # The content of a replica's log is certain between two reads of it.
            self.read_everything()

    def swept(self) -> Swept:
        return Swept([self.around(on) for on in self.partitions], self._group)

    def _revisit_positions(self) -> None:
        """Positions that a client may still have: the last record read of each leader epoch, and one past the epoch's end."""
        for on, positions in self._positions.items():
            last = {epoch: offset for offset, epoch in sorted(positions)}
            for epoch, offset in list(last.items())[-3:]:
                for role in REVISITED:
                    with suppress(WireError, Absent):
                        self._revisit(on, role, offset, epoch)
                        node, current = self.roles.node(on, role), self.roles.epoch(on)
                        self._fetch(on, node, self._ends[on], current, last=epoch)


def _polled(member: Consumer) -> None:
    with suppress(ConsumerTrouble):
        member.poll()


def _new_partitions(bench: Bench) -> dict[str, Partition]:
    """Fresh topics; the two strict partitions are led by different brokers."""
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    turned = (*ids[1:], ids[0])
    assignments = {"strict": (ids, turned), "loose": (turned,), "compacted": (ids,), "lone": ((ids[-1],),)}
    wanted = [NewTopic(bench.fresh(kind), assignments[kind], configs=SETTINGS[kind]) for kind in SETTINGS]
    answer = bench.node(bench.brokers[0]).create_topics(wanted)
    topics = {kind: Topic(made.name, made.topic_id) for kind, made in zip(SETTINGS, answer.topics, strict=True)}
    refused = [made for made in answer.topics if made.error is not Error.NONE]
    if refused:
        raise KitError(f"topics could not be created: {refused}")
    partitions = {
        "strict-0": Partition(bench, PartitionData(topics["strict"], 0)),
        "strict-1": Partition(bench, PartitionData(topics["strict"], 1)),
        "loose-0": Partition(bench, PartitionData(topics["loose"], 0)),
        "compacted-0": Partition(bench, PartitionData(topics["compacted"], 0)),
        "lone-0": Partition(bench, PartitionData(topics["lone"], 0)),
    }
    for partition in partitions.values():
        partition.whole()
    return partitions
