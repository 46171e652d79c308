"""Records above the high watermark that are lost when a follower without them is elected."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from conformance.core.checks import PremiseClaim, premise
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.replica_log import replica_log
from fixtures.wire import NodeClient
from protocol.topics import ElectionType, Reassignment
from protocol.words import say

FETCH_WAIT = 0.6
"""Seconds after which any follower fetch has been answered: replica.fetch.wait.max.ms is 0.5 s."""


class Suffix(NamedTuple):
    """The uncommitted records from `start` to `end`, written at `epoch` to the leader `node`."""

    node: NodeClient
    epoch: int
    start: int
    end: int

    def is_replaced(self, partition: Partition) -> PremiseClaim:
        """Return the premise that the suffix was truncated and replaced by one record of a later epoch."""
        log = replica_log(partition, self.node)
        written = f"{self.end - self.start} records from {self.start} on truncated, one written"
        return premise(log.end == self.start + 1, f"{written}: {say(log.epoch_starts)}, {log.end}")


@contextmanager
def suffix_to_truncate(partition: Partition, records: int) -> Iterator[Suffix]:
    """Yield a suffix that has been truncated by the end of the block: a follower without it then leads, and has
    appended one record."""
    bench = partition.bench
    heir = prefer_follower(partition)
    state = partition.wait_until_whole()
    old = bench.node(state.leader)
    with frozen_broker(bench, bench.name_of(heir)) as since:
        # A fetch answer in flight would give the new leader the very records that it must lack.
        bench.eventually(
            lambda: bench.now().seconds - since > FETCH_WAIT, "the end of the heir's last fetch", every=0.1
        )
        start = partition.write(*[b"nobody else's"] * records, acks=1, to=old).base_offset
        yield Suffix(old, state.leader_epoch, start, start + records)
        old.elect_leaders([(partition.name, 0)], ElectionType.PREFERRED)
        bench.eventually(lambda: partition.state_by(old.node).leader == heir, f"{heir} leading {partition.name}")
    partition.wait_until_whole()
    partition.write(b"of the next epoch")


def prefer_follower(partition: Partition) -> int:
    """Make a follower the preferred leader without an election; return its id."""
    state = partition.wait_until_whole()
    order = (state.replicas[1], state.replicas[0], *state.replicas[2:])
    broker = partition.bench.node(state.leader)
    broker.alter_partition_reassignments([Reassignment(partition.name, 0, order)])
    partition.bench.eventually(
        lambda: partition.await_agreement().replicas == order, f"replicas {say(order)} of {partition.name}"
    )
    return order[0]
