"""Partitions whose latest records are on min.insync.replicas brokers, of which all but one lose their disks."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from conformance.rigs.log.quiescence import read_whole
from fixtures.wire import WireError
from protocol.words import say

EACH = 2
"""The number of partitions of each shape."""


class Shape(NamedTuple):
    """A replication factor and min.insync.replicas."""

    factor: int
    min_insync_replicas: int


SHAPES = (Shape(2, 2), Shape(3, 2), Shape(3, 3))


class LostDisksData(msgspec.Struct, frozen=True):
    """The partitions of each shape, in the order of SHAPES."""

    partitions: list[list[PartitionData]]


class LostDisks:
    """The partitions, and the brokers by role: `victims` lose their disks, `holder`, which has the same records, is stopped
    cleanly and keeps its disk, `others` were stopped before the records were written."""

    def __init__(self, bench: Bench, data: LostDisksData) -> None:
        self.bench = bench
        self._data = data

    def take_shape(self, shape: Shape) -> None:
        """Continue with the partitions of this shape, and give the brokers their roles in it."""
        self.partitions = [Partition(self.bench, one) for one in self._data.partitions[SHAPES.index(shape)]]
        replicas = self.bench.brokers[: shape.factor]
        self.victims, [self.holder, *self.others] = (
            replicas[: shape.min_insync_replicas - 1],
            replicas[shape.min_insync_replicas - 1 :],
        )

    def await_isr(self, names: Sequence[str]) -> None:
        ids = {self.bench.id_of(name) for name in names}

        def is_so() -> bool:
            states = [one.state_known_to(names[0]) for one in self.partitions]
            return all(state is not None and {*state.isr} == ids for state in states)

        self.bench.eventually(is_so, f"an ISR of {say(names)}", every=0.1)

    def has_all_records(self, records: int) -> bool:
        """True if the broker that keeps its disk has all acknowledged records."""
        reads = [read_whole(one, self.bench.node(self.holder), one.state_by().leader_epoch) for one in self.partitions]
        return all(sum(len(batch.records) for batch in read.batches) == records for read in reads)

    def lose_disks(self) -> None:
        """Kill the victims together, and start them again without their replicas."""
        self.bench.processes.crash(*self.victims)
        for name in self.victims:
            for one in self.partitions:
                self.bench.disk(name, str(one)).remove_replica()
        for name in self.victims:
            self.bench.processes.start(name)

    def victims_are_up(self) -> bool:
        """True if the victims answer, and their Metadata lists each other."""
        ids = {self.bench.id_of(name) for name in self.victims}
        try:
            answers = [self.bench.node(name).metadata([]) for name in self.victims]
        except WireError:
            return False
        return all(ids <= {broker.node_id for broker in answer.brokers} for answer in answers)

    def watch(self, seconds: float) -> None:
        """Watch for this many seconds whether a victim leads."""
        began = self.bench.now().seconds

        def over() -> bool:
            for one in self.partitions:
                one.state_known_to(self.victims[0])
            return self.bench.now().seconds - began > seconds

        self.bench.eventually(over, f"the end of {seconds:g} s", within=seconds + 10.0, every=0.1, due=None)


def _prepare_partitions(bench: Bench) -> LostDisksData:
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    made = [
        new_topics(bench, [ids[: shape.factor]] * EACH, min_insync_replicas=str(shape.min_insync_replicas))
        for shape in SHAPES
    ]
    partitions = [[PartitionData(topic, 0) for topic in topics] for topics in made]
    for data in (one for found in partitions for one in found):
        Partition(bench, data).wait_until_whole()
    return LostDisksData(partitions)


LOST_DISKS = Rig(QUICK_CLUSTER, _prepare_partitions, LostDisks)
