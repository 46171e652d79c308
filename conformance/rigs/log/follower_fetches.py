"""Partitions on two brokers, for requests that only their follower may send."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import CLUSTER, SHRINKING
from conformance.rigs.log.partition import (
    Partition,
    PartitionData,
    new_partition,
    new_partition_with_epochs,
    new_topics,
)
from fixtures.wire import NodeClient, WireError
from protocol.cluster import MetadataAnswer, PartitionMetadata
from protocol.log import FetchAnswer, FetchedPartition, FetchOptions, FetchPartition, ProduceAnswer, ProducePartition
from protocol.messages import Topic
from protocol.records import batch
from protocol.words import say

PATIENCE = 2.3
"""Seconds that a broker can be frozen without being fenced: its session of 3 s was renewed at most 0.5 s ago."""

OFTEN = 0.05
A_WHILE = 1.0
"""Seconds in which a leader could have added a follower to the ISR many times: it decides at each of its fetches."""


# --- what happens to brokers


@contextmanager
def frozen_broker(bench: Bench, name: str) -> Iterator[float]:
    """Freeze the broker within the block. Yields the time in seconds at which that began."""
    began = bench.now().seconds
    bench.processes.pause(name)
    try:
        yield began
    finally:
        bench.processes.resume(name)


@contextmanager
def controlled_shutdown(bench: Bench, name: str) -> Iterator[Callable[[], None]]:
    """Begin a controlled shutdown of the broker before the block, and start it again after it.

    Yields a function that waits until the process has ended.
    """
    ended: list[object] = []

    def await_end() -> None:
        if not ended:
            ended.append(bench.processes.stop(name))

    bench.processes.terminate(name)
    try:
        yield await_end
    finally:
        await_end()
        bench.processes.start(name)
        await_whole_cluster(bench)


def await_whole_cluster(bench: Bench) -> None:
    """Wait until all brokers answer, know of each other, and every partition has its full ISR."""
    bench.eventually(lambda: all(_knows_all(bench, name) for name in bench.brokers), "all brokers in all Metadata")
    bench.eventually(
        lambda: all(_sees_whole(bench, name) for name in bench.brokers), "a full ISR everywhere", every=0.2
    )


def _knows_all(bench: Bench, name: str) -> bool:
    try:
        answer = bench.node(name).metadata([])
    except WireError:
        return False
    return {broker.node_id for broker in answer.brokers} == {bench.id_of(broker) for broker in bench.brokers}


def _sees_whole(bench: Bench, name: str) -> bool:
    partitions = [partition for topic in bench.node(name).metadata().topics for partition in topic.partitions]
    return all(set(p.isr) == set(p.replicas) and p.leader >= 0 for p in partitions)


def reassign_replicas(partition: Partition, replicas: tuple[int, ...]) -> PartitionMetadata:
    """Reassign the partition to these replicas; return the state once all are in the ISR."""
    partition.assign(*replicas, by=partition.bench.node(partition.bench.brokers[0]))

    def state_if_done() -> PartitionMetadata | None:
        state = partition.wait_until_whole()
        return state if state.replicas == replicas else None

    return partition.bench.eventually(state_if_done, f"replicas {say(replicas)} of {partition.name}")


# --- one partition whose follower is impersonated


class FollowerRoles(NamedTuple):
    """The roles of the brokers: the leader, its only follower, and a broker that does not host the partition."""

    leader: NodeClient
    follower: int
    outsider: NodeClient
    state: PartitionMetadata


class IsrAttempt(NamedTuple):
    """The outcome of an attempt to join the ISR, and its last fetch."""

    inside: bool
    last: FetchedPartition


class OneFollower(Partition):
    """A partition with one follower, whose fetches alone advance the high watermark."""

    def choose_roles(self) -> FollowerRoles:
        state = self.wait_until_whole()
        [follower] = [id for id in state.replicas if id != state.leader]
        [outsider] = [name for name in self.bench.brokers if self.bench.id_of(name) not in state.replicas]
        return FollowerRoles(self.bench.node(state.leader), follower, self.bench.node(outsider), state)

    def append_records(self, cast: FollowerRoles, records: int) -> int:
        """Append at the leader without waiting for the follower; return the new log end offset."""
        return self.write(*[b"ahead"] * records, acks=1, to=cast.leader).base_offset + records

    def fetch_as_follower(
        self,
        cast: FollowerRoles,
        offset: int,
        *,
        epoch_ahead: int = 0,
        last: int = -1,
        broker_epoch: int = -1,
        at: str = "leader",
    ) -> FetchedPartition:
        """Fetch with the follower's id. `epoch_ahead` is its current leader epoch minus the leader's."""
        node = cast.leader if at == "leader" else cast.outsider
        return node.fetch(
            self.fetch_from(
                offset, current_leader_epoch=cast.state.leader_epoch + epoch_ahead, last_fetched_epoch=last
            ),
            FetchOptions(replica_id=cast.follower, replica_epoch=broker_epoch),
        )

    def look(self, cast: FollowerRoles, offset: int) -> FetchedPartition:
        """Return the leader's answer to a consumer's fetch at `offset`."""
        return cast.leader.fetch(self.fetch_from(offset))

    def isr(self, cast: FollowerRoles) -> set[int]:
        """Return the ISR in the leader's Metadata."""
        return set(self.state_by(cast.state.leader).isr)

    def try_to_join_isr(self, cast: FollowerRoles, offset: int, broker_epoch: int, within: float) -> IsrAttempt:
        """Fetch with the id of a follower outside the ISR, until it is in the ISR or `within` seconds have passed."""
        began = self.bench.now().seconds

        def try_once() -> IsrAttempt | None:
            answer = self.fetch_as_follower(cast, offset, broker_epoch=broker_epoch)
            inside = cast.follower in self.isr(cast)
            over = inside or self.bench.now().seconds - began > within
            return IsrAttempt(inside, answer) if over else None

        return self.bench.eventually(try_once, "the end of the tries", every=OFTEN)


def prepare_duo(bench: Bench) -> PartitionData:
    """Create a partition on two brokers, with three leader changes and records in each epoch."""
    partition = new_partition(bench, (bench.id_of(bench.brokers[0]), bench.id_of(bench.brokers[1])))
    for move in range(4):
        if move:
            partition.move_leader()
        partition.write(*[b"settled"] * 3)
    return PartitionData(partition.topic, 0)


DUO = Rig(CLUSTER, prepare_duo, OneFollower, shared=True)
"""A shared partition whose high watermark rises above records that its real follower lacks, so that it serves nothing else."""


# --- one partition of all brokers


def moving_partition(name: str, moves: int, **configs: str) -> Rig[PartitionData, Partition]:
    """Return a rig with a partition after several leader changes, for probes that append to it and reassign it."""
    prepare = partial(new_partition_with_epochs, epochs=moves, records=3, **configs)
    return Rig(CLUSTER, prepare, Partition, shared=True, name=name)


TRIO = moving_partition("trio", 2)
RECOMPRESSING = moving_partition("recompressing", 1, compression_type="gzip")


# --- many partitions, for one costly fault


class SharedFollowerData(msgspec.Struct, frozen=True):
    """Topics with one partition each, led by `leader`: `free` ones need one in-sync replica, `strict` ones two."""

    leader: str
    follower: str
    bystander: str
    free: tuple[Topic, ...]
    strict: tuple[Topic, ...]


class FollowerFetch(NamedTuple):
    """A fetch with the follower's id, and the leader's Metadata just before it."""

    seen: MetadataAnswer
    fetched: FetchAnswer


class SharedFollower:
    """Several partitions with the same leader and follower, all of which one fault affects."""

    def __init__(self, bench: Bench, data: SharedFollowerData) -> None:
        self.bench = bench
        self.data = data
        self.leader = bench.node(data.leader)
        self.follower = data.follower
        self.topics = data.free + data.strict

    @property
    def follower_id(self) -> int:
        return self.bench.id_of(self.follower)

    def look(self) -> MetadataAnswer:
        """Return the leader's Metadata of all partitions."""
        return self.leader.metadata([topic.name for topic in self.topics])

    def states(self, seen: MetadataAnswer | None = None) -> list[PartitionMetadata]:
        """Return the partitions in the order of the topics."""
        answer = seen or self.look()
        return [answer.topic(topic.name).partition(0) for topic in self.topics]

    def states_with_isr(self, size: int) -> list[PartitionMetadata]:
        """Return the states once all their ISRs have this size."""

        def states_if_sized() -> list[PartitionMetadata] | None:
            states = self.states()
            return states if all(len(state.isr) == size for state in states) else None

        return self.bench.eventually(states_if_sized, f"ISRs of {size}")

    def produce(self, topics: tuple[Topic, ...], *values: bytes, timeout_ms: int = 5_000) -> ProduceAnswer:
        """Produce one batch to each topic with acks=all; the answer has a result for each."""
        wanted = [ProducePartition(topic, 0, batch(*values)) for topic in topics]
        return self.leader.produce_many(wanted, timeout_ms=timeout_ms)

    def fetch_as_follower(self, offset: int) -> FollowerFetch:
        """Fetch all partitions at `offset`, with the follower's id and the epochs that the leader names."""
        seen = self.look()
        wanted = [
            FetchPartition(topic=topic, partition=0, fetch_offset=offset, current_leader_epoch=state.leader_epoch)
            for topic, state in zip(self.topics, self.states(seen), strict=True)
        ]
        return FollowerFetch(seen, self.leader.fetch_many(wanted, FetchOptions(replica_id=self.follower_id)))

    def fetch_for_a_while(self, offset: int, seconds: float = A_WHILE) -> list[FollowerFetch]:
        """Repeat `fetch_as_follower` until `seconds` have passed."""
        began = self.bench.now().seconds
        tries: list[FollowerFetch] = []

        def enough() -> bool:
            tries.append(self.fetch_as_follower(offset))
            return self.bench.now().seconds - began > seconds

        self.bench.eventually(enough, "the end of a while", every=OFTEN)
        return tries

    def is_listed(self, seen: MetadataAnswer) -> bool:
        """True if the leader's Metadata lists the follower, as it does all brokers that are not fenced."""
        return self.follower_id in {broker.node_id for broker in seen.brokers}


def prepare_pairs(bench: Bench) -> SharedFollowerData:
    """Create five topics of each kind, and one led by the follower, so that its shutdown takes several steps."""
    leader, follower, bystander = bench.brokers
    replicas = (bench.id_of(leader), bench.id_of(follower))
    free = new_topics(bench, [replicas] * 5, min_insync_replicas="1")
    strict = new_topics(bench, [replicas] * 5, min_insync_replicas="2")
    led = new_topics(bench, [replicas[::-1]])
    for topic in (*free, *strict, *led):
        Partition(bench, PartitionData(topic, 0)).wait_until_whole()
    return SharedFollowerData(leader, follower, bystander, tuple(free), tuple(strict))


PAIRS = Rig(CLUSTER, prepare_pairs, SharedFollower)
PAIRS_WITH_A_SHORT_LAG = Rig(SHRINKING, prepare_pairs, SharedFollower)
