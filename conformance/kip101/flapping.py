"""Leaders that change under load over a slow link: replicas that share a record share all records below it (KIP101-SC-14).

This is a short soak test for a race; one quiet minute is weak evidence.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import combinations, zip_longest

from hypothesis.strategies import integers, lists

from conformance.core.bench import Bench
from conformance.core.checks import Claim, Rig, held_if, premise
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.follower_fetches import frozen
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.rotation import elect_preferred, put_first
from conformance.rigs.log.scenarios import log_scenario
from fixtures.disk.held import HeldBatch, HeldReplica
from fixtures.errors import KitError
from fixtures.faults.kinds.network import RateLimit
from fixtures.wire import Error
from fixtures.wire.cluster import PartitionMetadata
from fixtures.wire.configs import ResourceType
from fixtures.wire.records import batch

SEGMENT_SIZES = ("segment.bytes", "internal.segment.bytes")
"""The setting that may be small: newer releases refuse less than 1 MiB for the older name."""
SEGMENT_BYTES = "16384"
"""Far less than the mebibyte that a follower fetches at once."""
KBIT = 128
BURST = 8
"""Batches that the leader takes right before it is replaced: over the slow link they take some seconds."""
PAYLOAD = b"." * 3_000
OFTEN = 0.1
MOVES = 20


def small_segments(bench: Bench) -> PartitionData:
    """A partition on all brokers whose segments hold a few batches."""
    partition = new_partition(bench, min_insync_replicas="1")
    node = partition.leader()
    tried = [
        node.incremental_alter_configs(ResourceType.TOPIC, partition.name, {n: SEGMENT_BYTES}) for n in SEGMENT_SIZES
    ]
    if all(answer.error is not Error.NONE for answer in tried):
        raise KitError(f"{partition.name} cannot have small segments: {tried}")
    return partition.data


class Flapping:
    """The leader as the nodes taking part see it. The wait for a node is no longer than an election takes."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.bench = partition.bench
        self.state: PartitionMetadata = partition.whole()
        self.epochs = {self.state.leader_epoch}
        self.taken = 0

    def load(self, seconds: float, acks: int) -> None:
        """Write to the leader for a while, and end with a burst; refused and unanswered batches are ignored."""
        began = self.bench.now().seconds

        def over() -> bool:
            self._append(acks)
            return self.bench.now().seconds - began > seconds

        self.bench.eventually(over, "the end of a while", every=OFTEN)
        for _ in range(BURST):
            self._append(1)

    def _append(self, acks: int) -> None:
        value = b"at epoch %d " % self.state.leader_epoch + PAYLOAD
        node = self.bench.node(self.state.leader)
        answer = node.produce(self.partition.topic, self.partition.index, batch(value), acks=acks, timeout_ms=500)
        self.taken += answer.error is Error.NONE

    def move(self, pick: int) -> None:
        """Elect another in-sync replica, however much it lacks of what the leader took with acks=1."""
        others = [id for id in self.state.replicas if id != self.state.leader]
        isr = self.partition.state(others[0]).isr
        able = [id for id in others if id in isr]
        if able:
            to = able[pick % len(able)]
            put_first(self.partition, to, asked=to)
            self._goes_on(elect_preferred(self.partition, to, self.state.leader_epoch))

    def isolate(self) -> None:
        """Freeze the leader until another one has taken over."""
        others = [id for id in self.state.replicas if id != self.state.leader]

        def led() -> PartitionMetadata | None:
            return next(
                (
                    led
                    for id in others
                    if (led := self.partition.acting(id, above=self.state.leader_epoch, leading=True))
                ),
                None,
            )

        with frozen(self.bench, self.bench.name_of(self.state.leader)):
            self._goes_on(self.bench.eventually(led, f"another leader of {self.partition.name}", every=OFTEN))

    def _goes_on(self, state: PartitionMetadata) -> None:
        self.state = state
        self.epochs.add(state.leader_epoch)


# --- violations


def held(partition: Partition) -> tuple[HeldReplica, ...]:
    return partition.bench.replicas(f"{partition.name}-{partition.index}").replicas


def last_shared(one: HeldReplica, other: HeldReplica) -> int | None:
    """The highest offset at which both have a record of the same leader epoch."""
    theirs = {(b.last_offset, b.leader_epoch) for b in other.batches}
    return max((b.last_offset for b in one.batches if (b.last_offset, b.leader_epoch) in theirs), default=None)


def first_difference(
    one: HeldReplica, other: HeldReplica, upto: int
) -> tuple[HeldBatch | None, HeldBatch | None] | None:
    """The first pair of batches up to this offset that differ between two replicas, None if all are the same."""
    mine, theirs = ([batch for batch in replica.batches if batch.last_offset <= upto] for replica in (one, other))
    return next((pair for pair in zip_longest(mine, theirs) if pair[0] != pair[1]), None)


def shared_prefixes_are_identical(partition: Partition) -> Iterator[Claim]:
    """No two replicas differ below a record that both have with the same leader epoch."""
    for one, other in combinations(held(partition), 2):
        shared = last_shared(one, other)
        if shared is not None:
            found = first_difference(one, other, shared)
            detail = f"{one.node} and {other.node} share offset {shared}; below it they part at {found}"
            label = "divergent-prefix" if found else ""
            yield held_if(found is None, row="KIP101-TRUNC-05", case="race", detail=detail, label=label)


@log_scenario(
    "KIP101-SC-14",
    "KIP101-TRUNC-05",
    rig=Rig(QUICK_CLUSTER, small_segments, Partition),
    picks=lists(integers(0, 1), min_size=MOVES, max_size=MOVES),
    tenths=lists(integers(3, 12), min_size=MOVES, max_size=MOVES),
    safe=integers(2, 5),
)
def leaders_flap_under_load(
    partition: Partition, picks: list[int], tenths: list[int], safe: int
) -> Generator[Claim, None, None]:
    """The leader changes every second or so while it takes more than its link lets through."""
    flapping = Flapping(partition)
    with partition.bench.faults(partition.topic).under(RateLimit(role="leader", peer="brokers", kbit=KBIT)):
        for number, (pick, tenth) in enumerate(zip(picks, tenths, strict=True)):
            flapping.load(tenth / 10, acks=-1 if number % safe == 0 else 1)
            if number % 8 == 7:
                flapping.isolate()
            else:
                flapping.move(pick)
    at_rest(partition)
    kept = max(len(replica.batches) for replica in held(partition))
    detail = f"{len(flapping.epochs)} epochs; {kept} of {flapping.taken} batches that were taken are left"
    yield premise(len(flapping.epochs) >= MOVES // 2 and kept < flapping.taken, detail)
    yield from shared_prefixes_are_identical(partition)
