"""A high watermark that stays behind the log end: an in-sync follower is frozen while the leader appends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from conformance.core.checks import PremiseClaim, premise
from conformance.judging.facts.log import FUTURE_REPLICA
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient
from protocol.log import DEBUGGER, LATEST, FetchOptions
from protocol.words import say


class LaggingLeader(NamedTuple):
    """A leader whose log end is above its high watermark. Send requests to it only: frozen brokers do not answer."""

    leader: NodeClient
    epoch: int
    watermark: int
    end: int
    copiers: tuple[int, ...] = ()
    """The followers that are not frozen and copy the records above the high watermark."""

    def premise_of_lag(self, partition: Partition) -> PremiseClaim:
        """Return the premise that high watermark and log end differ, and are unchanged."""
        now = watermark_and_end(partition, self.leader)
        met = now == (self.watermark, self.end) and self.watermark < self.end
        return premise(met, f"the high watermark held at {self.watermark} below the log end {self.end}: now {say(now)}")

    def await_copy(self, partition: Partition) -> NodeClient:
        """Return a follower that has the records above the high watermark, once it also knows the high watermark."""
        node = partition.bench.node(self.copiers[0])

        def has_copied() -> bool:
            read = node.fetch(partition.fetch_from(self.watermark), FetchOptions(replica_id=FUTURE_REPLICA))
            end = read.batches[-1].last_offset + 1 if read.batches else self.watermark
            return end >= self.end and read.high_watermark >= self.watermark

        partition.bench.eventually(has_copied, f"{node.node} at the log end {self.end} of {partition.name}")
        return node


@contextmanager
def watermark_behind(partition: Partition, records: int) -> Iterator[LaggingLeader]:
    """Write `records` records with acks=1 that stay uncommitted within the block.

    Keep the block short: after broker.session.timeout.ms the follower is fenced and leaves the ISR.
    """
    bench, state = partition.bench, partition.wait_until_whole()
    leader = bench.node(state.leader)
    follower, *others = (id for id in state.isr if id != state.leader)
    with frozen_broker(bench, bench.name_of(follower)):
        partition.write(*(f"uncommitted {n}".encode() for n in range(records)), acks=1, to=leader)
        yield LaggingLeader(leader, state.leader_epoch, *watermark_and_end(partition, leader), tuple(others))


def watermark_and_end(partition: Partition, node: NodeClient) -> tuple[int, int]:
    """Return a replica's high watermark and log end offset, from its own answers."""
    end = node.list_offsets(partition.name, partition.index, LATEST, replica_id=DEBUGGER).offset
    return node.fetch(partition.fetch_from(0)).high_watermark, end
