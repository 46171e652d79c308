"""Producers on three brokers: replicated partitions, and coordinators that do not lead them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from typing import Literal

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import TRANSACTIONS
from conformance.core.waiting import Settled
from conformance.rigs.log.partition import Partition, PartitionData, new_partition, new_topics
from conformance.rigs.log.quiescence import DEBUGGING_CONSUMER
from conformance.rigs.producers.outcomes import MARKER_TIMEOUT
from conformance.rigs.producers.producer import CheckProducer
from fixtures.views.coordinator import Coordinator
from fixtures.views.nodes import ask_until_served
from fixtures.views.producer import DIALECTS
from fixtures.wire import NodeClient
from history.due import START_TIMEOUT
from protocol.cluster import CoordinatorType, PartitionMetadata
from protocol.codes import Error
from protocol.coordinators import LOGS
from protocol.log import EARLIEST, LATEST, READ_COMMITTED
from protocol.messages import Topic
from protocol.records import ControlType
from protocol.transactions import DescribedTransaction, EndTxnAnswer, ProducersOfPartition, ProducerState

How = Literal["move", "kill", "stop", "freeze"]
"""How a broker loses leadership: by an ordinary election, or by being killed, stopped or frozen."""


class TransactionOutcome(msgspec.Struct, frozen=True):
    """The outcome of a producer's last transaction on a partition: its last marker, and the offset from which the
    leader still has it open (-1 if it does not). `answers` show it."""

    marker: ControlType | None
    open_from: int
    stable_end: int
    end: int
    answers: tuple[object, ...] = ()

    def __str__(self) -> str:
        marker = self.marker.name if self.marker is not None else "none"
        still_open = "nothing open" if self.open_from == -1 else f"open from {self.open_from}"
        return f"last marker {marker}, {still_open}, last stable offset {self.stable_end}, log end {self.end}"

    def is_complete(self, wanted: ControlType) -> bool:
        return self.marker is wanted and self.open_from == -1 and 0 <= self.stable_end == self.end


class TransactionStateTopic(msgspec.Struct, frozen=True):
    """The internal topic of the transaction coordinators' state."""

    transactions: Topic


class ThreeBrokers:
    """The brokers, with a check's producers and partitions."""

    def __init__(self, bench: Bench, data: TransactionStateTopic) -> None:
        self.bench = bench
        self.began = bench.now().unix_ms
        self._transactions = data.transactions

    @property
    def dialects(self) -> tuple[str, ...]:
        """The transaction protocols that the cluster's feature level allows."""
        return ("legacy", "tv2") if self.bench.column.ranges.get("transaction.version", 0) >= 2 else ("legacy",)

    # --- partitions

    def partitions(self, **configs: str) -> list[Partition]:
        """Create one partition per broker, led by it and followed by the others."""
        ids = [self.bench.id_of(name) for name in self.bench.brokers]
        topics = new_topics(self.bench, [(*ids[n:], *ids[:n]) for n, _ in enumerate(ids)], **configs)
        made = [Partition(self.bench, PartitionData(topic, 0)) for topic in topics]
        for partition in made:
            partition.wait_until_whole()
        return made

    def partition(self, *brokers: str, **configs: str) -> Partition:
        """Create a partition on these brokers (by default on all), led by the first."""
        return new_partition(self.bench, tuple(self.bench.id_of(name) for name in brokers), **configs)

    def leader_of(self, partition: Partition) -> str:
        return self.bench.name_of(partition.await_agreement().leader)

    def others(self, *names: str) -> list[str]:
        return [name for name in self.bench.brokers if name not in names]

    # --- producers and their coordinators

    def idempotent(self, epoch: int = 0) -> CheckProducer:
        producer = CheckProducer(
            self.bench, self.began, coordinator=lambda: self.bench.node(self.bench.brokers[0])
        ).start()
        producer.continue_at(producer.producer_id, epoch)
        return producer

    def transactional(self, dialect: str, timeout_ms: int = 60_000, name: str = "") -> CheckProducer:
        """Return a producer with this transactional id, or with a new one."""
        name = name or self.bench.fresh_name("tid")
        return CheckProducer(self.bench, self.began, name, DIALECTS[dialect], timeout_ms=timeout_ms).start()

    def coordinated_together(self, number: int, dialect: str = "legacy") -> list[CheckProducer]:
        """Return producers whose transactional ids are in one partition of __transaction_state."""
        first = self.transactional(dialect)
        return [first, *islice(self.beside(first), number - 1)]

    def beside(self, one: CheckProducer, timeout_ms: int = 60_000) -> Iterator[CheckProducer]:
        """Yield producers whose transactional ids share the partition of __transaction_state with this one's."""
        view = Coordinator(self.bench, one.transactional_id, CoordinatorType.TRANSACTION)
        names = view.keys_beside(self.bench.fresh_name("tid") for _ in count())
        return (self.transactional(one.dialect.name, timeout_ms, name) for name in names)

    def coordinator_of(self, producer: CheckProducer, excluding: Sequence[str] = ()) -> str:
        """Return the name of the broker that coordinates the transactional id."""
        view = Coordinator(self.bench, producer.transactional_id, CoordinatorType.TRANSACTION)
        return self.bench.name_of(self.bench.eventually(lambda: view.newest(excluding), str(view), due="coordinator"))

    def await_takeover(self, producer: CheckProducer, former: str) -> str:
        """Return the name of the next coordinator, as soon as one other than `former` is named."""
        view = Coordinator(self.bench, producer.transactional_id, CoordinatorType.TRANSACTION)

        def other() -> int | None:
            found = view.newest(excluding=[former])
            return None if found == self.bench.id_of(former) else found

        return self.bench.name_of(
            self.bench.eventually(other, f"{view}, after {former}", START_TIMEOUT, due="coordinator")
        )

    def at_most(self, api: str, version: int) -> int:
        """Return `version`, or the highest that brokers offer if that is lower."""
        return min(version, self.bench.column.ranges[api])

    def state_partition(self, producer: CheckProducer) -> Partition:
        """Return the partition of __transaction_state that holds a transactional id."""
        index = Coordinator(self.bench, producer.transactional_id, CoordinatorType.TRANSACTION).index()
        return Partition(self.bench, PartitionData(self._transactions, index))

    def successor_and_outsider(self, producer: CheckProducer) -> tuple[str, str]:
        """Return the next broker to coordinate a transactional id, and the one without a replica of its log."""
        state = self.state_partition(producer).await_agreement()
        [heir] = [self.bench.name_of(id) for id in state.replicas if id != state.leader]
        return heir, next(name for name in self.bench.brokers if self.bench.id_of(name) not in state.replicas)

    # --- fail-over

    @contextmanager
    def replace_leader(self, partition: Partition, how: How) -> Iterator[PartitionMetadata]:
        """Let another broker lead the partition within the block; afterwards all brokers are up again.

        To replace a coordinator, pass its partition of the internal topic. All replicas are in the ISR before, so that
        another may lead.
        """
        partition.wait_until_whole()
        if how == "move":
            yield partition.move_leader()
            return
        old = self.leader_of(partition)
        with self.without_broker(old, how):
            alive = self.others(old)
            yield self.bench.eventually(
                lambda: state_led_by_another(partition, self.bench.id_of(old), alive),
                f"another leader of {partition}",
                START_TIMEOUT,
                due="leader",
            )
        partition.wait_until_whole()

    @contextmanager
    def without_broker(self, name: str, how: How) -> Iterator[None]:
        """Kill, stop or freeze the broker within the block."""
        processes = self.bench.processes
        {"kill": processes.kill, "stop": processes.stop, "freeze": processes.pause}[how](name, role="broker")
        try:
            yield
        finally:
            (processes.resume if how == "freeze" else processes.start)(name)

    @contextmanager
    def lose_coordinator_of_prepared(
        self, producer: CheckProducer, leader: str, how: How, *, committed: bool
    ) -> Iterator[tuple[EndTxnAnswer, DescribedTransaction]]:
        """Freeze this leader so that its markers stay pending, send EndTxn, and let another broker coordinate within
        the block.

        Yields the answer, and the transaction as described before its coordinator was lost.
        """
        coordinator = self.coordinator_of(producer)
        asked = producer.with_coordinator(self.bench.node(coordinator))
        with ExitStack() as broken:
            with self.without_broker(leader, "freeze"):
                ended = asked.require(asked.finish(committed), "producer")
                prepared = asked.describe()
                broken.enter_context(self.without_broker(coordinator, how))
            self.await_takeover(producer, coordinator)
            yield ended, prepared

    def await_leader(self, partition: Partition, name: str, seen_by: str) -> None:
        """Wait until this broker serves as leader and the broker `seen_by` names it."""
        id, node = self.bench.id_of(name), self.bench.node(name)

        def is_led() -> bool:
            serves = node.list_offsets(partition.name, partition.index).error is Error.NONE
            return serves and partition.state_by(seen_by).leader == id

        self.bench.eventually(is_led, f"{name} leading {partition}", START_TIMEOUT, due="leader")

    def await_no_leader(self, partition: Partition, seen_by: str) -> None:
        """Wait until the broker `seen_by` shows no leader for the partition."""

        def has_no_leader() -> bool:
            return partition.state_by(seen_by).leader == -1

        self.bench.eventually(has_no_leader, f"no leader of {partition}", START_TIMEOUT, due="leader")

    def move_to(self, partition: Partition, name: str) -> None:
        """Reassign the partition to this broker alone, which copies its log and then leads."""
        id = self.bench.id_of(name)
        partition.assign(id, by=partition.leader())

        def alone() -> bool:
            state = partition.await_agreement()
            return (state.leader, state.replicas) == (id, (id,)) and partition.is_served_by_isr(state)

        self.bench.eventually(alone, f"{partition} on {name} alone", START_TIMEOUT, due="replica")

    # --- what a partition holds

    def producer_state(
        self, partition: Partition, producer: CheckProducer, node: NodeClient | None = None
    ) -> ProducerState | None:
        """Return a replica's state of a producer, by default the leader's."""
        return self.describe_producers(partition, node or partition.leader()).producer(producer.producer_id)

    def describe_producers(self, partition: Partition, node: NodeClient) -> ProducersOfPartition:
        return ask_until_served(self.bench, lambda: node.describe_producers(partition.name, partition.index))

    def outcome(self, partition: Partition, producer: CheckProducer) -> TransactionOutcome:
        leader = partition.leader()
        start = max(0, leader.list_offsets(partition.name, partition.index, EARLIEST).offset)
        fetched = leader.fetch(partition.fetch_from(start))
        own = [one for one in fetched.batches if one.control and one.producer_id == producer.producer_id]
        known = self.producer_state(partition, producer, leader)
        stable = leader.list_offsets(partition.name, partition.index, LATEST, isolation_level=READ_COMMITTED)
        marker = own[-1].records[0].control_type if own else None
        open_from = known.current_txn_start_offset if known else -1
        return TransactionOutcome(marker, open_from, stable.offset, log_end(partition, leader), (fetched, stable))

    def await_marker(
        self, partition: Partition, producer: CheckProducer, wanted: ControlType
    ) -> tuple[Settled, TransactionOutcome]:
        """Wait for the transaction's marker on the partition. Returns whether it came in time with nothing left open,
        and the last outcome seen.
        """
        met = self.bench.wait.becomes_true(
            lambda: self.outcome(partition, producer).is_complete(wanted),
            f"{wanted.name} on {partition}",
            MARKER_TIMEOUT,
        )
        return met, self.outcome(partition, producer)


def log_end(partition: Partition, node: NodeClient) -> int:
    """Return a leader's log end offset as the debugging consumer: others get none until a new leader's high watermark
    has reached its own epoch."""
    return node.list_offsets(partition.name, partition.index, LATEST, replica_id=DEBUGGING_CONSUMER).offset


def state_led_by_another(partition: Partition, old: int, alive: Sequence[str]) -> PartitionMetadata | None:
    """Return the state on which these brokers agree, once a broker other than `old` leads."""
    states = [partition.state_known_to(name) for name in alive]
    first = states[0]
    same = len({(one.leader, one.leader_epoch) if one else None for one in states}) == 1
    return first if first is not None and same and first.leader not in (-1, old) else None


def await_coordinator_topic(bench: Bench) -> TransactionStateTopic:
    """Create the coordinators' topic by a first look-up, and wait until its ISRs are full."""
    CheckProducer(bench, 0, bench.fresh_name("tid")).start()
    name = LOGS[CoordinatorType.TRANSACTION]
    described = bench.node(bench.brokers[0]).metadata([name]).topic(name)
    internal = TransactionStateTopic(Topic(name, described.topic_id))
    for one in described.partitions:
        Partition(bench, PartitionData(internal.transactions, one.partition)).wait_until_whole()
    return internal


THREE_BROKERS = Rig(TRANSACTIONS, await_coordinator_topic, ThreeBrokers, shared=True)
