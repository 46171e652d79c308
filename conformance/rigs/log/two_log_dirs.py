"""A broker that has lost one of its log directories and goes on with the other."""

from __future__ import annotations

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import TWO_DISKS
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from fixtures.errors import KitError
from fixtures.wire import Error
from fixtures.wire.cluster import LogDir

LOST = "second"
TOPICS = 4
"""So many that each directory gets some: a broker puts a new one where the fewest are."""

HEARD_WITHIN = 5.0
"""Seconds in which the controller's answer to a lost directory is there, where releases have one."""


class TwoDisksData(msgspec.Struct, frozen=True):
    """Partitions of the directory that is left, and of the one that is lost."""

    sound: tuple[PartitionData, ...]
    offline: tuple[PartitionData, ...]


class TwoDisks:
    def __init__(self, bench: Bench, data: TwoDisksData) -> None:
        self.bench = bench
        [self.broker] = bench.brokers
        self.node = bench.node(self.broker)
        self.sound = [Partition(bench, one) for one in data.sound]
        self.offline = [Partition(bench, one) for one in data.offline]

    def lost(self) -> LogDir | None:
        """The failed directory, by the broker's own word; None while it says nothing of the kind."""
        failed = [found for found in self.node.describe_log_dirs().log_dirs if found.error is Error.KAFKA_STORAGE_ERROR]
        return next((found for found in failed if found.log_dir.endswith(LOST)), None)

    def leaderless(self) -> bool:
        """Does no lost partition have a leader any more, as the broker sees it?"""
        return all(partition.state().leader == -1 for partition in self.offline)


def two_disks(bench: Bench) -> TwoDisksData:
    """Partitions with a few records, half of which are lost."""
    [broker] = bench.brokers
    topics = new_topics(bench, [(bench.id_of(broker),)] * TOPICS)
    for topic in topics:
        partition = Partition(bench, PartitionData(topic, 0))
        partition.whole()
        partition.write(b"before the loss")
    told = bench.node(broker).describe_log_dirs().log_dirs
    on_lost = {replica.topic for found in told if found.log_dir.endswith(LOST) for replica in found.replicas}
    placed = [
        [PartitionData(topic, 0) for topic in topics if (topic.name in on_lost) == lost] for lost in (False, True)
    ]
    if not all(placed):
        raise KitError(f"all of {TOPICS} topics are in one of two log directories: {told}")
    data = TwoDisksData(*map(tuple, placed))
    bench.disk(broker, LOST).fail()
    disks = TwoDisks(bench, data)
    bench.eventually(disks.lost, f"{broker} without its log directory {LOST}")
    # Since 3.7 (KIP-858) the broker tells the controller, which takes the lead away, and has to act on that in turn.
    bench.settles(disks.leaderless, f"nobody leads what {broker} had in {LOST}", within=HEARD_WITHIN)
    return data


HALF_LOST = Rig(TWO_DISKS, two_disks, TwoDisks, shared=True)
