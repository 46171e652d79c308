"""A way through tens of thousands of epochs in half a minute: each is a record in the coordinator's log, which meanwhile has
only one replica, so that no record waits for another broker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.settings import alter_configs
from fixtures.views.coordinator import Coordinator
from protocol.cluster import CoordinatorType
from protocol.configs import ResourceType
from protocol.coordinators import partition_for
from protocol.messages import Topic
from protocol.topics import Reassignment
from protocol.words import say

MIN_ISR = "min.insync.replicas"


@contextmanager
def on_one_replica(bench: Bench, transactional_id: str) -> Iterator[None]:
    """Reassign the transactional id's partition of the coordinator's topic to its leader alone within the block.

    Afterwards the former replicas are assigned again. No-op if the coordinator's topic does not exist. Raises KitError
    if the cluster refuses a change, and Overdue if a reassignment does not complete with all replicas in sync.
    """
    coordinator = Coordinator(bench, transactional_id, CoordinatorType.TRANSACTION)
    partitions = len(coordinator.node().metadata([coordinator.topic]).topic(coordinator.topic).partitions)
    if not partitions:
        yield
        return
    log = Partition(bench, PartitionData(Topic(coordinator.topic), partition_for(transactional_id, partitions)))
    before = log.wait_until_whole()
    try:
        _alter_min_isr(log, "1")
        _reassign(log, (before.leader,))
        yield
    finally:
        _reassign(log, before.replicas)
        _alter_min_isr(log, None)


def _reassign(log: Partition, replicas: Sequence[int]) -> None:
    """Reassign the partition, and wait until these are the replicas and all in sync."""
    log.leader().alter_partition_reassignments([Reassignment(log.name, log.index, tuple(replicas))])
    log.bench.eventually(
        lambda: set(log.wait_until_whole().replicas) == set(replicas), f"{log} on {say(list(replicas))}"
    )


def _alter_min_isr(log: Partition, value: str | None) -> None:
    alter_configs(log.bench, log.leader(), ResourceType.TOPIC, log.name, {MIN_ISR: value})
