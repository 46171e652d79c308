"""Fetches in purgatory: events that complete them before MaxWaitMs (KIP-320 as released, delayed fetch)."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from hypothesis.strategies import booleans

from conformance.core.bench import Bench
from conformance.core.checks import Claim, PremiseClaim, held_if, premise, probe
from conformance.rigs.log.epoch_requests import DIVERGES_FROM, FENCED_FROM, FOLLOWERS_SERVE_FROM, diverges
from conformance.rigs.log.follower_fetches import frozen, reassign
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.versions import BACK, spoken
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import PendingRequest
from fixtures.wire.log import CONSUMER, FetchedPartition, FetchOptions, FetchPartition
from fixtures.wire.topics import ElectionType, Reassignment
from strategies.batches import RECORDS

MAX_WAIT = 12.0
"""Seconds that the broker may wait for data, which never comes."""
SOON, EARLY = MAX_WAIT / 3, MAX_WAIT * 2 / 3
"""The completing event happens before the first, and an answer before the second is not an expiry but came well before it."""
FUTURE_REPLICA = -3
"""Reads up to the log end, beyond the high watermark, and from any replica."""
FETCH_WAIT = 0.6
"""Seconds after which a follower's own fetch has ended: replica.fetch.wait.max.ms is 0.5 s."""


class DelayedFetch(NamedTuple):
    """A fetch sent and not yet answered, and the time of sending in seconds."""

    bench: Bench
    client: NodeClient
    parked: PendingRequest
    since: float

    def still_early(self) -> PremiseClaim:
        """Premise: the fetch was not close to expiry when the event that should complete it occurred."""
        age = self.bench.now().seconds - self.since
        return premise(age < SOON, f"{SOON:g} s were not over when the fetch was to be released: {age:.2f} s")

    def released(self) -> tuple[FetchedPartition, bool]:
        """The answer, and whether it came well before MaxWaitMs."""
        answer = self.client.parked_fetch(self.parked, within=MAX_WAIT + 10.0)
        took = self.bench.now().seconds - self.since
        return answer.partitions[0], took < EARLY


def send_delayed(
    partition: Partition, node: NodeClient, wanted: FetchPartition, version: int, id: int = CONSUMER
) -> DelayedFetch:
    """Send a fetch for which there is no data yet."""
    client = partition.bench.node(node.node, purpose="parked")
    options = FetchOptions(replica_id=id, max_wait_ms=int(MAX_WAIT * 1000), min_bytes=1)
    since = partition.bench.now().seconds
    return DelayedFetch(partition.bench, client, client.park_fetch([wanted], options, version=version), since)


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["superseded"], at_leader=booleans(), back=BACK)
def fetch_of_an_old_epoch_is_completed(
    partition: Partition, at_leader: bool, back: int
) -> Generator[Claim, None, None]:
    """A delayed fetch with the current epoch is fenced as soon as another broker leads."""
    waiting = delayed_at_log_end(partition, at_leader, back)
    # A follower that becomes the leader itself completes nothing in any release, and the row does not require it.
    asked = partition.bench.id_of(waiting.client.node)
    state = partition.settled()
    partition.move_leader(to=next(id for id in state.replicas if id not in (state.leader, asked)))
    yield waiting.still_early()
    answer, early = waiting.released()
    yield held_if(early and answer.error is Error.FENCED_LEADER_EPOCH and not answer.batches, answer)


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["removed"], at_leader=booleans(), back=BACK)
def fetch_at_a_removed_replica_is_completed(
    partition: Partition, at_leader: bool, back: int
) -> Generator[Claim, None, None]:
    """A delayed fetch at a broker whose replica is removed is answered that the partition is not there."""
    waiting = delayed_at_log_end(partition, at_leader, back)
    asked = partition.bench.id_of(waiting.client.node)
    reassign(partition, tuple(id for id in partition.settled().replicas if id != asked))
    yield waiting.still_early()
    answer, early = waiting.released()
    yield held_if(early and answer.error is Error.NOT_LEADER_OR_FOLLOWER and not answer.batches, answer)


def delayed_at_log_end(partition: Partition, at_leader: bool, back: int) -> DelayedFetch:
    """A consumer at the leader or a follower whose fetch waits at the log end, with the current epoch."""
    state = partition.settled()
    follower = next(id for id in state.replicas if id != state.leader)
    node = partition.bench.node(state.leader if at_leader else follower)
    low = FENCED_FROM if at_leader else FOLLOWERS_SERVE_FROM
    wanted = FetchPartition(
        topic=partition.topic,
        partition=0,
        fetch_offset=replica_log(partition, node).end,
        current_leader_epoch=state.leader_epoch,
    )
    return send_delayed(partition, node, wanted, spoken(partition.bench, "Fetch", back, low=low))


# --- truncated


@probe("KIP320-FETCH-12", rig=fresh_partition(), cases=["diverged"], records=RECORDS, back=BACK)
def fetch_past_a_truncation_is_completed(partition: Partition, records: int, back: int) -> Generator[Claim, None, None]:
    """A delayed fetch past records that a new leader lacks is answered with the end of its epoch."""
    bench, version = partition.bench, spoken(partition.bench, "Fetch", back, low=DIVERGES_FROM)
    heir = prefer_follower(partition)
    state = partition.whole()
    old = bench.node(state.leader)
    with frozen(bench, bench.name_of(heir)) as since:
        # A fetch answer in flight would give the new leader the very records that it must lack.
        bench.eventually(
            lambda: bench.now().seconds - since > FETCH_WAIT, "the end of the heir's last fetch", every=0.1
        )
        tail = partition.write(*[b"nobody else's"] * records, acks=1, to=old).base_offset
        waiting = send_delayed(
            partition, old, behind(partition, tail + records, state.leader_epoch), version, FUTURE_REPLICA
        )
        old.elect_leaders([(partition.name, 0)], ElectionType.PREFERRED)
        bench.eventually(lambda: partition.state(old.node).leader == heir, f"{heir} leading {partition.name}")
    partition.whole()
    partition.write(b"of the next epoch")
    log = replica_log(partition, old)
    yield premise(
        log.end == tail + 1, f"{records} records from {tail} on truncated, one written: {log.stamps}, {log.end}"
    )
    yield waiting.still_early()
    answer, early = waiting.released()
    yield held_if(early and diverges(answer, state.leader_epoch, tail), answer)


def behind(partition: Partition, offset: int, last: int) -> FetchPartition:
    return FetchPartition(topic=partition.topic, partition=0, fetch_offset=offset, last_fetched_epoch=last)


def prefer_follower(partition: Partition) -> int:
    """Make a follower the preferred leader without an election; returns the follower's id."""
    state = partition.whole()
    order = (state.replicas[1], state.replicas[0], *state.replicas[2:])
    broker = partition.bench.node(state.leader)
    broker.alter_partition_reassignments([Reassignment(partition.name, 0, order)])
    partition.bench.eventually(lambda: partition.settled().replicas == order, f"replicas {order} of {partition.name}")
    return order[0]
