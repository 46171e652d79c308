"""Partitions on all brokers whose leaders move together, in one step instead of one per partition."""

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.faulting import record_fault
from conformance.core.topologies import CLUSTER, QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.views.nodes import ask_until_granted
from protocol.cluster import PartitionMetadata
from protocol.errors import KitError
from protocol.log import EARLIEST
from protocol.records import batch
from protocol.topics import ElectionType, Reassignment


class SpreadData(msgspec.Struct, frozen=True):
    partitions: tuple[PartitionData, ...]


class SpreadPartitions:
    """Partitions with records, whose leaders are spread over the brokers."""

    def __init__(self, bench: Bench, data: SpreadData) -> None:
        self.bench = bench
        self.partitions = [Partition(bench, one) for one in data.partitions]

    def write(self, *values: bytes) -> list[int]:
        """Write one batch to each partition; return their base offsets."""
        return [partition.write(*values).base_offset for partition in self.partitions]

    def move_leaders(self) -> list[PartitionMetadata]:
        """Move every leader by an ordinary election: make the last replica the preferred leader, and elect it."""
        before = [partition.wait_until_whole() for partition in self.partitions]
        orders = [(*state.replicas[-1:], *state.replicas[:-1]) for state in before]
        moves = [Reassignment(one.name, one.index, order) for one, order in zip(self.partitions, orders, strict=True)]
        broker = self.bench.node(self.bench.brokers[0])
        record_fault(self.bench.tape, MoveLeader(role="leaders"), "inject", node=broker.node)
        ask_until_granted(
            self.bench, lambda: broker.alter_partition_reassignments(moves), "the replicas' new order accepted"
        )
        broker.elect_leaders([(one.name, one.index) for one in self.partitions], ElectionType.PREFERRED)
        after = [self._await_leader(one, order[0]) for one, order in zip(self.partitions, orders, strict=True)]
        epochs = [[old.leader_epoch, new.leader_epoch] for old, new in zip(before, after, strict=True)]
        record_fault(
            self.bench.tape, MoveLeader(role="leaders"), "witness", node=broker.node, detail={"epochs": epochs}
        )
        return after

    def _await_leader(self, partition: Partition, leader: int) -> PartitionMetadata:
        def state_if_led() -> PartitionMetadata | None:
            state = partition.wait_until_whole()
            return state if state.leader == leader else None

        return self.bench.eventually(state_if_led, f"{leader} leading {partition.name}")

    def untrimmed_partition(self) -> Partition:
        """Return a partition whose log start never moved."""
        for partition in self.partitions:
            if partition.leader().list_offsets(partition.name, partition.index, EARLIEST).offset == 0:
                return partition
        raise KitError(f"all of {len(self.partitions)} logs are trimmed already; make more of them")


def several_partitions(name: str, count: int, epochs: int) -> Rig[SpreadData, SpreadPartitions]:
    """Return a rig with `count` shared partitions after `epochs` leader changes, with 3 records in each epoch."""

    def prepare(bench: Bench) -> SpreadData:
        ids = [bench.id_of(broker) for broker in bench.brokers]
        turned = [tuple(ids[(n + i) % len(ids)] for i in range(len(ids))) for n in range(count)]
        data = SpreadData(tuple(PartitionData(topic, 0) for topic in new_topics(bench, turned)))
        several = SpreadPartitions(bench, data)
        for partition in several.partitions:
            partition.wait_until_whole()
        for move in range(epochs + 1):
            if move:
                several.move_leaders()
            several.write(*[b"epoch %d" % move] * 3)
        return data

    return Rig(CLUSTER, prepare, SpreadPartitions, shared=True, name=name)


def led_by_one(count: int) -> Rig[SpreadData, SpreadPartitions]:
    """Return a rig with `count` new partitions, all led by one broker, with min.insync.replicas=2."""

    def prepare(bench: Bench) -> SpreadData:
        ids = tuple(bench.id_of(broker) for broker in bench.brokers)
        topics = new_topics(bench, [ids] * count, min_insync_replicas="2")
        return SpreadData(tuple(PartitionData(topic, 0) for topic in topics))

    return Rig(QUICK_CLUSTER, prepare, SpreadPartitions, name=f"led_by_one_{count}")


def retained_partitions(bench: Bench) -> SpreadData:
    """Create partitions with one batch per segment and two segments in each of four epochs: offsets 0 to 7."""
    ids = [bench.id_of(broker) for broker in bench.brokers]
    topics = new_topics(bench, [tuple(ids)] * RETAINED_COUNT, segment_ms="1")
    data = SpreadData(tuple(PartitionData(topic, 0) for topic in topics))
    several, began = SpreadPartitions(bench, data), bench.now().unix_ms
    for partition in several.partitions:
        partition.wait_until_whole()
    for segment in range(SEGMENTS):
        if segment and segment % 2 == 0:
            several.move_leaders()
        for partition in several.partitions:
            partition.append(batch(b"\0" * SEGMENT_BYTES, timestamp=began + 10 * segment))
    return data


RETAINED_COUNT = 8
SEGMENTS = 8
SEGMENT_BYTES = 1_000
"""Bytes of the record in each batch."""

RETAINED = Rig(QUICK_CLUSTER, retained_partitions, SpreadPartitions, shared=True)
"""Partitions whose oldest segments retention deletes, once per partition."""

FIVE = several_partitions("five", 5, epochs=0)
"""The partitions for leader changes and appends."""

TRIMMABLE = several_partitions("trimmable", 10, epochs=2)
"""Partitions for DeleteRecords, once per partition: offsets 0 to 8 in three epochs."""
