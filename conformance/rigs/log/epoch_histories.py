"""Partitions with a prepared history of epochs, shared by read-only probes."""

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_partition, new_partition_with_epochs
from fixtures.views.nodes import ask_until_granted
from protocol.errors import KitError

RECORDS = (b"first", b"second", b"third")


# --- on two of the three brokers


def _on_two_brokers(bench: Bench) -> PartitionData:
    first, second, *_ = (bench.id_of(name) for name in bench.brokers)
    partition = new_partition(bench, (first, second))
    partition.write(*RECORDS)
    partition.move_leader()
    partition.write(*RECORDS)
    return PartitionData(partition.topic, 0)


ON_TWO_BROKERS = Rig(CLUSTER, _on_two_brokers, Partition, shared=True)
"""A partition that one broker does not host; its leader moved once."""
JOINED = Rig(CLUSTER, _on_two_brokers, Partition)
"""The same partition, prepared for a single example, which may also use the third broker."""


# --- two partitions under different leaders


class OppositeLeadersData(msgspec.Struct, frozen=True):
    one: PartitionData
    other: PartitionData


class OppositeLeaders:
    """Two partitions on all brokers, with logs of different lengths. While no leader moves, the leader of each is a
    follower of the other."""

    def __init__(self, bench: Bench, data: OppositeLeadersData) -> None:
        self.bench = bench
        self.one = Partition(bench, data.one)
        self.other = Partition(bench, data.other)


def _led_apart(bench: Bench) -> OppositeLeadersData:
    one = new_partition(bench)
    ids = one.await_agreement().replicas
    other = new_partition(bench, (*ids[1:], ids[0]))
    one.write(*RECORDS)
    other.write(*RECORDS, b"of the other only")
    return OppositeLeadersData(PartitionData(one.topic, 0), PartitionData(other.topic, 0))


LED_APART = Rig(CLUSTER, _led_apart, OppositeLeaders, shared=True)


# --- an epoch that left no entry


class GapData(msgspec.Struct, frozen=True):
    """`gap` is the epoch without a record, `floor` the one before it."""

    topic: PartitionData
    floor: int
    gap: int


class Gap:
    def __init__(self, bench: Bench, data: GapData) -> None:
        self.partition = Partition(bench, data.topic)
        self.floor = data.floor
        self.gap = data.gap


def _prepare_gap(bench: Bench) -> GapData:
    partition = new_partition(bench)
    floor = partition.epoch()
    first = partition.await_agreement().leader
    partition.write(*RECORDS)
    gap = partition.move_leader().leader_epoch
    partition.move_leader(to=first)
    partition.write(*RECORDS)
    return GapData(PartitionData(partition.topic, 0), floor, gap)


AWAY_AND_BACK = Rig(CLUSTER, _prepare_gap, Gap, shared=True)
"""A partition led by one broker, then by another that appended nothing, then by the first again."""


# --- trimmed


class RaisedStartData(msgspec.Struct, frozen=True):
    """Partitions, each with the log start offset that DeleteRecords set."""

    partitions: tuple[PartitionData, ...]
    starts: tuple[int, ...]
    end: int


class RaisedStart:
    """One partition of the rig: the original start offsets of its epochs, and its current log start."""

    def __init__(self, partition: Partition, start: int, end: int) -> None:
        self.partition = partition
        self.start = start
        self.end = end
        self._boundaries = partition.data.boundaries

    @property
    def epochs(self) -> list[int]:
        return [boundary.epoch for boundary in self._boundaries]

    @property
    def first_kept(self) -> int:
        """The epoch that includes the log start."""
        return max(boundary.epoch for boundary in self._boundaries if boundary.start <= self.start)

    @property
    def purged_epochs(self) -> list[int]:
        """The epochs that end at or before the log start."""
        return [epoch for epoch in self.epochs if epoch < self.first_kept]


class RaisedStartPartitions:
    def __init__(self, bench: Bench, data: RaisedStartData) -> None:
        self._all = [
            RaisedStart(Partition(bench, partition), start, data.end)
            for partition, start in zip(data.partitions, data.starts, strict=True)
        ]

    def one(self, number: int) -> RaisedStart:
        return self._all[number % len(self._all)]


def trimmed_to(*starts: int) -> Rig[RaisedStartData, RaisedStartPartitions]:
    """Return a rig with a partition per log start; its epochs began at offsets 0, 3 and 6, and its log ends at 9."""

    def prepare(bench: Bench) -> RaisedStartData:
        partitions = tuple(new_partition_with_epochs(bench, 2) for _ in starts)
        for data, start in zip(partitions, starts, strict=True):
            _trim_log(Partition(bench, data), start)
        return RaisedStartData(partitions, starts, 9)

    name = "trimmed_to_" + "_".join(map(str, starts))
    return Rig(CLUSTER, prepare, RaisedStartPartitions, shared=True, name=name)


def _trim_log(partition: Partition, start: int) -> None:
    what = f"{partition.name} trimmed to {start}"
    answer = ask_until_granted(
        partition.bench, lambda: partition.leader().delete_records(partition.name, partition.index, start), what
    )
    if answer.low_watermark != start:
        raise KitError(f"{what}, but not by the answer: {answer}")
