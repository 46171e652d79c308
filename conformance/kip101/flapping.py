"""Leader changes under load over a slow link: replicas that share a record must share all records below it
(KIP101-SC-14).

A soak test for a race: for one minute on one partition in the quick profile, for ten on several partitions, with
unclean elections, in the nightly one. A change of leader counts only with data in flight: records that the next leader
had not fetched.
"""

from collections.abc import Sequence
from itertools import combinations, count, zip_longest

import msgspec
from hypothesis.strategies import integers, lists

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.rotation import elect_preferred, put_first
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.kinds.network import RateLimit
from fixtures.faults.kinds.unclean import UncleanElection
from history.readings import HeldBatch, HeldReplica
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.errors import KitError
from protocol.records import batch
from protocol.words import say

SEGMENT_SIZES = ("segment.bytes", "internal.segment.bytes")
"""The names of the segment size setting: newer releases refuse less than 1 MiB under the older one."""
SEGMENT_BYTES = "16384"
"""Far less than the mebibyte that a follower fetches at once."""
KBIT = 128
BURST = 8
"""Batches appended by the leader right before it is replaced: copying them over the slow link takes seconds."""
PAYLOAD = b"." * 3_000
OFTEN = 0.1
MOVES = 20
IN_FLIGHT = 5
"""The fewest leader changes with data in flight that prove anything. Twice as many are usual; the slow link is that of
one broker, which leads part of the time."""
PARTITIONS = 4
LASTING = 600.0
"""The duration of the long form in seconds."""


def small_segments(bench: Bench) -> PartitionData:
    """Create a partition on all brokers, whose segments hold only a few batches."""
    partition = new_partition(bench, min_insync_replicas="1")
    node = partition.leader()
    tried = [
        node.incremental_alter_configs(ResourceType.TOPIC, partition.name, {n: SEGMENT_BYTES}) for n in SEGMENT_SIZES
    ]
    if all(answer.error is not Error.NONE for answer in tried):
        raise KitError(f"{partition.name} cannot have small segments: {say(tried)}")
    return partition.data


class FlappingData(msgspec.Struct, frozen=True):
    partitions: tuple[PartitionData, ...]


class FlappingPartitions:
    """Partitions on all brokers; one answer to a follower has records of several of them."""

    def __init__(self, bench: Bench, data: FlappingData) -> None:
        self.bench = bench
        self.partitions = [Partition(bench, one) for one in data.partitions]


def create_partitions(bench: Bench) -> FlappingData:
    """Create the partitions. Half of them have small segments; the others fill a follower's fetches."""
    kinds = [small_segments if n % 2 else large_segments for n in range(PARTITIONS)]
    return FlappingData(tuple(kind(bench) for kind in kinds))


def large_segments(bench: Bench) -> PartitionData:
    return new_partition(bench, min_insync_replicas="1").data


class Flapping:
    """A partition whose leader keeps changing, and its state as the participating nodes see it."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.bench = partition.bench
        self.state: PartitionMetadata = partition.wait_until_whole()
        self.in_flight = 0
        self._end = -1
        self._moved = False

    def append(self, acks: int) -> None:
        """Write a batch to the leader, which may refuse it or not answer."""
        value = b"at epoch %d " % self.state.leader_epoch + PAYLOAD
        node = self.bench.node(self.state.leader)
        answer = node.produce(self.partition.topic, self.partition.index, batch(value), acks=acks, timeout_ms=500)
        if answer.error is Error.NONE:
            # At this offset the former leader took another record, which this leader had not fetched.
            self.in_flight += self._moved and answer.base_offset <= self._end
            self._end, self._moved = answer.base_offset, False

    def move(self, pick: int) -> None:
        """Elect another in-sync replica, however far it lags behind records with acks=1."""
        others = [id for id in self.state.replicas if id != self.state.leader]
        isr = self.partition.state_by(others[0]).isr
        able = [id for id in others if id in isr]
        if able:
            to = able[pick % len(able)]
            put_first(self.partition, to, asked=to)
            self.continue_from(elect_preferred(self.partition, to, self.state.leader_epoch))

    def isolate(self) -> None:
        """Freeze the leader until another one has taken over."""
        others = [id for id in self.state.replicas if id != self.state.leader]

        def state_if_led() -> PartitionMetadata | None:
            return next(
                (
                    led
                    for id in others
                    if (led := self.partition.acting_state(id, above=self.state.leader_epoch, leading=True))
                ),
                None,
            )

        with frozen_broker(self.bench, self.bench.name_of(self.state.leader)):
            self.continue_from(
                self.bench.eventually(state_if_led, f"another leader of {self.partition.name}", every=OFTEN)
            )

    def continue_from(self, state: PartitionMetadata) -> None:
        self._moved = self._moved or state.leader != self.state.leader
        self.state = state


def load(flock: list[Flapping], seconds: float, acks: int) -> None:
    """Write to all leaders for a while, then in a burst; ignore refused and unanswered batches."""
    bench = flock[0].bench
    began = bench.now().seconds

    def over() -> bool:
        for flapping in flock:
            flapping.append(acks)
        return bench.now().seconds - began > seconds

    bench.eventually(over, "the end of a while", every=OFTEN)
    for flapping in flock * BURST:
        flapping.append(1)


def change_leaders(flock: list[Flapping], picks: list[int], tenths: list[int], safe: int) -> None:
    """Change the leader of one partition after another. Each isolation may also cost other partitions their leader."""
    for number, (pick, tenth) in enumerate(zip(picks, tenths, strict=True)):
        load(flock, tenth / 10, acks=-1 if number % safe == 0 else 1)
        moving = flock[number % len(flock)]
        if number % 8 == 7:
            moving.isolate()
            for other in flock:
                if other is not moving:
                    other.continue_from(other.partition.await_agreement())
        else:
            moving.move(pick)


# --- violations


def held_replicas(partition: Partition) -> tuple[HeldReplica, ...]:
    return partition.bench.replicas({str(partition): partition.bench.brokers}).replicas


def last_shared(one: HeldReplica, other: HeldReplica) -> int | None:
    """Return the highest last offset of a batch that both have with the same leader epoch; None without one."""
    theirs = {(b.last_offset, b.leader_epoch) for b in other.batches}
    return max((b.last_offset for b in one.batches if (b.last_offset, b.leader_epoch) in theirs), default=None)


def first_difference(
    one: HeldReplica, other: HeldReplica, upto: int
) -> tuple[HeldBatch | None, HeldBatch | None] | None:
    """Return the first pair of batches up to this offset in which two replicas differ; None without one."""
    mine, theirs = ([batch for batch in replica.batches if batch.last_offset <= upto] for replica in (one, other))
    return next((pair for pair in zip_longest(mine, theirs) if pair[0] != pair[1]), None)


def shared_prefixes_are_identical(partition: Partition, tested: bool) -> Claims:
    """Check that no two replicas differ below a record that both have with the same leader epoch.

    Equal logs are evidence only if this was `tested`; a difference is always a violation.
    """
    for one, other in combinations(held_replicas(partition), 2):
        shared = last_shared(one, other)
        if shared is not None:
            found = first_difference(one, other, shared)
            detail = f"{one.node} and {other.node} share offset {shared}; below it they part at {say(found)}"
            label = "divergent-prefix" if found else ""
            if tested or found is not None:
                yield held_if(found is None, row="KIP101-TRUNC-05", case="race", detail=detail, label=label)


def enough_in_flight(flock: Sequence[Flapping]) -> bool:
    """True if leaders changed often enough before their followers had fetched all records."""
    return sum(flapping.in_flight for flapping in flock) >= IN_FLIGHT


@log_scenario(
    "KIP101-SC-14",
    "KIP101-TRUNC-05",
    rig=Rig(QUICK_CLUSTER, small_segments, Partition),
    picks=lists(integers(0, 1), min_size=MOVES, max_size=MOVES),
    tenths=lists(integers(3, 12), min_size=MOVES, max_size=MOVES),
    safe=integers(2, 5),
)
def leaders_flap_under_load(partition: Partition, picks: list[int], tenths: list[int], safe: int) -> Claims:
    """The leader changes every second or so while it takes more than its link lets through."""
    flock = [Flapping(partition)]
    with partition.bench.faults(partition.topic).standing_fault(RateLimit(role="leader", peer="brokers", kbit=KBIT)):
        change_leaders(flock, picks, tenths, safe)
    at_rest(partition)
    yield from shared_prefixes_are_identical(partition, enough_in_flight(flock))
    yield premise(enough_in_flight(flock), f"changes of leader with data in flight: {flock[0].in_flight}")


@log_scenario(
    "KIP101-SC-14",
    "KIP101-TRUNC-05",
    rig=Rig(QUICK_CLUSTER, create_partitions, FlappingPartitions),
    examples=1,
    lasts=LASTING,
    picks=lists(integers(0, 1), min_size=MOVES, max_size=MOVES),
    tenths=lists(integers(3, 12), min_size=MOVES, max_size=MOVES),
    safe=integers(2, 5),
)
def leaders_flap_for_long(several: FlappingPartitions, picks: list[int], tenths: list[int], safe: int) -> Claims:
    """The same on several partitions for ten minutes, in rounds; after each round one of them has an unclean election."""
    bench, partitions = several.bench, several.partitions
    began, flocks = bench.now().seconds, list[Flapping]()
    for number in count():
        if bench.now().seconds - began > LASTING:
            break
        flock = [Flapping(partition) for partition in partitions]
        flocks += flock
        chosen = partitions[number % len(partitions)]
        faults = bench.faults(chosen.topic)
        with faults.standing_fault(RateLimit(role="leader", peer="brokers", kbit=KBIT * len(partitions))):
            change_leaders(flock, picks, tenths, safe)
        with faults.standing_fault(UncleanElection(own_topic=False)):
            pass
        for partition in partitions:
            partition.wait_until_whole()
            yield from shared_prefixes_are_identical(partition, enough_in_flight(flock))
            partition.leader().delete_records(partition.name, partition.index, -1)
    at_rest(*partitions)
    in_flight = [flapping.in_flight for flapping in flocks]
    yield premise(enough_in_flight(flocks), f"changes of leader with data in flight: {say(in_flight)}")
