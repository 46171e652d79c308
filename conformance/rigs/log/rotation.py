"""Replicas of one partition that lead in turn while the others are frozen, so that none gets another's records."""

from functools import partial
from typing import NamedTuple

from conformance.core.checks import Rig
from conformance.core.faulting import record_fault
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.epoch_checkpoint import entry_of, read_epochs
from conformance.rigs.log.partition import Partition, PartitionData, new_partition_with_epochs
from conformance.rigs.log.quiescence import read_whole
from conformance.rigs.log.unclean_elections import UNCLEAN
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.wire import NodeClient
from history.readings import File
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import FetchedPartition
from protocol.topics import ElectionType

BatchStamps = tuple[tuple[int, int, int], ...]
"""A log as (base offset, leader epoch, CRC) of each batch."""


RECORDS = 3
"""The number of records in each epoch of these partitions."""


def quick_partition(epochs: int, **configs: str) -> Rig[PartitionData, Partition]:
    """Return a rig with a new partition for each example, on a cluster with short broker sessions."""
    prepare = partial(new_partition_with_epochs, epochs=epochs, records=RECORDS, **configs)
    return Rig(QUICK_CLUSTER, prepare, Partition, name=f"quick_partition_{epochs}")


def epochs_and_checksums(read: FetchedPartition) -> BatchStamps:
    return tuple((batch.base_offset, batch.leader_epoch, batch.crc) for batch in read.batches)


def is_in_every_isr(partition: Partition, id: int) -> bool:
    """True if every broker's Metadata has the replica in the ISR."""
    states = [partition.state_known_to(name) for name in partition.bench.brokers]
    return all(state is not None and id in state.isr for state in states)


def is_out_of_isr(partition: Partition, id: int, *others: int) -> bool:
    """True if the others' Metadata has the replica outside the ISR: its broker is fenced or in controlled shutdown."""
    states = [partition.state_known_to(other) for other in others]
    return all(state is not None and id not in state.isr for state in states)


def put_first(partition: Partition, to: int, asked: int) -> None:
    """Make a replica the preferred leader, without electing it."""
    others = [id for id in partition.state_by(asked).replicas if id != to]
    partition.assign(to, *others, by=partition.bench.node(asked))


def elect_preferred(partition: Partition, to: int, after: int) -> PartitionMetadata:
    """Elect the preferred leader through its own broker; return the state once it leads at an epoch above `after`."""
    node = partition.bench.node(to)
    record_fault(partition.bench.tape, MoveLeader(), "inject", node=node.node)
    node.elect_leaders([(partition.name, partition.index)], ElectionType.PREFERRED)
    led = partition.bench.eventually(
        lambda: partition.acting_state(to, above=after, leading=True), f"{to} leading {partition.name}"
    )
    detail = {"epoch": [after, led.leader_epoch], "leader": to}
    record_fault(partition.bench.tape, MoveLeader(), "witness", node=node.node, detail=detail)
    return led


def prefer_leader(partition: Partition, to: int) -> PartitionMetadata:
    """Elect an in-sync replica at once by a request to its own broker, since the others may be frozen."""
    before = partition.state_by(to)
    put_first(partition, to, asked=to)
    return elect_preferred(partition, to, before.leader_epoch)


class LeaderLog(NamedTuple):
    """A leader's log at the end of its turn, and its leader-epoch-checkpoint."""

    id: int
    epoch: int
    read: FetchedPartition
    file: File

    @property
    def end(self) -> int:
        return self.read.batches[-1].last_offset + 1 if self.read.batches else self.read.high_watermark


class Rotation:
    """The leader and the frozen brokers; at first none is frozen."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.bench = partition.bench
        state = partition.wait_until_whole()
        self.replicas = state.replicas
        self.leader = state.leader
        self.epoch = state.leader_epoch
        self._frozen: set[int] = set()

    def freeze(self, *ids: int) -> None:
        for id in ids:
            if id not in self._frozen:
                self.bench.processes.pause(self.bench.name_of(id))
                self._frozen.add(id)

    def wake(self, *ids: int) -> None:
        for id in ids:
            if id in self._frozen:
                self.bench.processes.resume(self.bench.name_of(id))
                self._frozen.discard(id)

    def isolate_leader(self) -> NodeClient:
        """Return the leader's client once all other replicas are frozen, with none of their fetches in its
        purgatory."""
        node = self.bench.node(self.leader)
        awake = set(self.replicas) - self._frozen - {self.leader}
        self.freeze(*awake)
        if awake:
            self.partition.write(b"answers the fetches that wait", acks=1, to=node)
        return node

    def hand_over(self, to: int) -> NodeClient:
        """Freeze all others, then resume `to` and elect it, uncleanly if no eligible replica is up."""
        self.freeze(*(id for id in self.replicas if id != to))
        self.wake(to)
        found = self.bench.eventually(
            lambda: self._state_if_elected(to), f"{to} leading {self.partition.name}", every=0.2
        )
        self.leader, self.epoch = to, found.leader_epoch
        return self.bench.node(to)

    def _state_if_elected(self, to: int) -> PartitionMetadata | None:
        found = self.partition.acting_state(to, above=self.epoch, leading=True)
        state = None if found else self.partition.state_known_to(to)
        if state is not None and state.leader == -1:
            self._elect_uncleanly(to)
        return found

    def _elect_uncleanly(self, to: int) -> None:
        node, name = self.bench.node(to), self.bench.name_of(to)
        record_fault(self.bench.tape, UNCLEAN, "inject", node=name)
        answer = node.elect_leaders([(self.partition.name, self.partition.index)], ElectionType.UNCLEAN)
        [result] = answer.partitions or [answer]
        if result.error is Error.NONE:
            record_fault(self.bench.tape, UNCLEAN, "witness", node=name, detail={"leader": to})

    def write_alone(self, values: int) -> LeaderLog:
        """Write this many records to the leader in its turn; no other replica gets them."""
        node = self.isolate_leader()
        if values:
            records = [f"of {self.leader} at epoch {self.epoch}, {n}".encode() for n in range(values)]
            self.partition.write(*records, acks=1, to=node)
        epoch = self.epoch
        file = read_epochs(self.partition, self.leader, lambda file: entry_of(file, epoch) is not None)
        return LeaderLog(self.leader, epoch, read_whole(self.partition, node, epoch), file)
