"""Fetch: what the current leader epoch of a request lets through (KIP-320, fencing)."""

from __future__ import annotations

from collections.abc import Generator

from hypothesis.strategies import integers

from conformance.checks import Said, held_if, premise, probe
from conformance.rigs.log import Partition, partition_at_epoch
from fixtures.wire import Error
from fixtures.wire.log import CONSUMER


def as_replica(partition: Partition, case: str) -> int:
    """The replica id of a consumer, or of a real follower of the partition."""
    state = partition.settled()
    return next(id for id in state.replicas if id != state.leader) if case == "replica" else CONSUMER


@probe("KIP320-FETCH-02", rig=partition_at_epoch(3), cases=["consumer", "replica"], epochs_back=integers(1, 3))
def older_epoch_is_fenced(partition: Partition, case: str, epochs_back: int) -> Generator[Said, None, None]:
    """A fetch that names an older epoch is refused, and nothing is read."""
    before = partition.settled()
    answer = partition.leader().fetch(
        partition.topic,
        0,
        0,
        current_leader_epoch=before.leader_epoch - epochs_back,
        replica_id=as_replica(partition, case),
    )
    yield premise(partition.epoch() == before.leader_epoch, f"still epoch {before.leader_epoch}")
    refused = answer.error is Error.FENCED_LEADER_EPOCH and not answer.batches
    yield held_if(refused and answer.high_watermark == -1 and answer.log_start_offset == -1, answer)
