"""One replicated partition and its leaders."""

from collections.abc import Iterator
from functools import partial

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.faulting import record_fault
from conformance.core.topologies import CLUSTER
from conformance.rigs.topics import create_topics, delete_topics
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.views.nodes import ask_until_granted
from fixtures.views.partition import PartitionView
from fixtures.wire import NodeClient
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import LATEST, ProducedPartition
from protocol.messages import Topic
from protocol.records import NewBatch, batch
from protocol.topics import ElectionType, NewTopic, Reassignment
from protocol.words import say


class Boundary(msgspec.Struct, frozen=True):
    """The start of an epoch: its number, and its first record's offset."""

    epoch: int
    start: int


class PartitionData(msgspec.Struct, frozen=True):
    """A partition created for a check. `boundaries` are those of the epochs with records."""

    topic: Topic
    partition: int
    boundaries: tuple[Boundary, ...] = ()


class Partition(PartitionView):
    """A partition as checks use it: its brokers by role, and actions on it."""

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        super().__init__(bench, data.topic, data.partition)
        self.bench = bench
        self.data = data

    def leader(self) -> NodeClient:
        """Return the leader once all brokers name it, so that requests do not race with a leader change."""
        return self.bench.node(self.await_agreement().leader)

    # --- writing, moving

    def write(self, *values: bytes, acks: int = -1, to: NodeClient | None = None) -> ProducedPartition:
        """Write one batch of plain values to the leader."""
        return self.append(batch(*values), acks=acks, to=to)

    def append(self, records: NewBatch, *, acks: int = -1, to: NodeClient | None = None) -> ProducedPartition:
        return ask_until_granted(
            self.bench,
            lambda: (to or self.leader()).produce(self.topic, self.index, records, acks=acks),
            f"a write to {self} acknowledged",
        )

    def assign(self, *replicas: int, by: NodeClient | None = None) -> None:
        """Request this assignment, by default from its first broker, without waiting for its effect."""
        node, wanted = by or self.bench.node(replicas[0]), Reassignment(self.name, self.index, replicas)
        ask_until_granted(
            self.bench,
            lambda: node.alter_partition_reassignments([wanted]),
            f"the replicas {say(replicas)} of {self} accepted",
        )

    def move_leader(self, to: int | None = None) -> PartitionMetadata:
        """Move the leader by an ordinary election: make a follower the preferred leader, and elect it."""
        before = self.wait_until_whole()
        new = to if to is not None else next(id for id in before.replicas if id != before.leader)
        order = (new, *(id for id in before.replicas if id != new))
        record_fault(self.bench.tape, MoveLeader(), "inject", node=self.bench.name_of(before.leader))
        broker = self.bench.node(before.leader)
        self.assign(*order, by=broker)
        broker.elect_leaders([(self.name, self.index)], ElectionType.PREFERRED)
        after = self.bench.eventually(lambda: self._agreed_state_if_led(new), f"{new} leading {self}")
        detail = {"epoch": [before.leader_epoch, after.leader_epoch], "leader": [before.leader, after.leader]}
        record_fault(self.bench.tape, MoveLeader(), "witness", node=self.bench.name_of(new), detail=detail)
        return after

    def _agreed_state_if_led(self, id: int) -> PartitionMetadata | None:
        state = self.await_agreement()
        return state if state.leader == id and self.is_served_by_isr(state) else None


def keep_last(partition: Partition, node: NodeClient, keep: int) -> None:
    """Send DeleteRecords to a node, up to `keep` offsets below the high watermark; any answer is on the tape."""
    latest = node.list_offsets(partition.name, partition.index, LATEST).offset
    node.delete_records(partition.name, partition.index, max(0, latest - keep), timeout_ms=2_000)


def new_partition(bench: Bench, replicas: tuple[int, ...] = (), **configs: str) -> Partition:
    """Create a topic of one partition, by default on all brokers; return the partition once its ISR is full."""
    ids = replicas or tuple(bench.id_of(name) for name in bench.brokers)
    [topic] = new_topics(bench, [ids], **configs)
    partition = Partition(bench, PartitionData(topic, 0))
    partition.wait_until_whole()
    return partition


def recreate(partition: Partition) -> Partition:
    """Delete the topic and create it again with its name; return the new partition once its leader serves it."""
    bench, replicas = partition.bench, partition.await_agreement().replicas
    delete_topics(bench, [partition.name])
    [topic] = create_topics(bench, [NewTopic(partition.name, (replicas,))])
    again = Partition(bench, PartitionData(topic, 0))

    def is_served() -> bool:
        return again.leader().fetch(again.fetch_from(0)).error is Error.NONE

    bench.eventually(is_served, f"{say(topic)} served by its id", due="leader")
    return again


def new_topics(bench: Bench, assignments: list[tuple[int, ...]], **configs: str) -> list[Topic]:
    """Create topics of one partition each in one request. `configs` are written with underscores for dots."""
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    return create_topics(
        bench, [NewTopic(bench.fresh_name("topic"), (replicas,), configs=settings) for replicas in assignments]
    )


def new_topic(bench: Bench, assignment: list[tuple[int, ...]]) -> Topic:
    """Create a topic with these replicas for each of its partitions."""
    [topic] = create_topics(bench, [NewTopic(bench.fresh_name("topic"), tuple(assignment))])
    return topic


def new_partition_with_epochs(bench: Bench, /, epochs: int, records: int = 3, **configs: str) -> PartitionData:
    """Create a partition whose leader moved `epochs` times, with `records` acknowledged records per epoch."""
    partition = new_partition(bench, (), **configs)
    return PartitionData(partition.topic, 0, tuple(_write_history(partition, epochs, records)))


def _write_history(partition: Partition, epochs: int, records: int) -> Iterator[Boundary]:
    for moves in range(epochs + 1):
        if moves:
            partition.move_leader()
        epoch = partition.epoch()
        values = [f"epoch {epoch} record {n}".encode() for n in range(records)]
        yield Boundary(epoch, partition.write(*values).base_offset)


def partition_at_epoch(epochs: int) -> Rig[PartitionData, Partition]:
    """Return a rig with a shared partition after `epochs` leader changes, for read-only probes."""
    prepare = partial(new_partition_with_epochs, epochs=epochs)
    return Rig(CLUSTER, prepare, Partition, shared=True, name=f"partition_at_epoch_{epochs}")


def fresh_partition(epochs: int = 0, records: int = 3, **configs: str) -> Rig[PartitionData, Partition]:
    """Return a rig with a new partition for each example, for probes that change it."""
    prepare = partial(new_partition_with_epochs, epochs=epochs, records=records, **configs)
    return Rig(CLUSTER, prepare, Partition, name=f"fresh_partition_{epochs}")
