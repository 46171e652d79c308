"""A broker that lost one of its log directories and continues with the other."""

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import TWO_DISKS
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from protocol.cluster import LogDir
from protocol.codes import Error
from protocol.errors import KitError
from protocol.words import say

LOST = "second"
TOPICS = 4
"""Enough topics for both directories: a broker places a new partition where the fewest are."""

CONTROLLER_REACTION_TIMEOUT = 5.0
"""Seconds within which the controller reacts to a reported directory failure."""


class TwoLogDirsData(msgspec.Struct, frozen=True):
    """The partitions in the remaining directory, and those in the failed one."""

    sound: tuple[PartitionData, ...]
    offline: tuple[PartitionData, ...]


class TwoLogDirs:
    def __init__(self, bench: Bench, data: TwoLogDirsData) -> None:
        self.bench = bench
        [self.broker] = bench.brokers
        self.node = bench.node(self.broker)
        self.sound = [Partition(bench, one) for one in data.sound]
        self.offline = [Partition(bench, one) for one in data.offline]

    def failed_directory(self) -> LogDir | None:
        """Return the failed directory as its broker describes it; None while it reports no failure."""
        failed = [found for found in self.node.describe_log_dirs().log_dirs if found.error is Error.KAFKA_STORAGE_ERROR]
        return next((found for found in failed if found.log_dir.endswith(LOST)), None)

    def leaderless(self) -> bool:
        """True if the broker's Metadata has no leader for any partition of the failed directory."""
        return all(partition.state_by().leader == -1 for partition in self.offline)


def two_disks(bench: Bench) -> TwoLogDirsData:
    """Create partitions with a few records in both directories, and fail one directory."""
    [broker] = bench.brokers
    topics = new_topics(bench, [(bench.id_of(broker),)] * TOPICS)
    for topic in topics:
        partition = Partition(bench, PartitionData(topic, 0))
        partition.wait_until_whole()
        partition.write(b"before the loss")
    described = bench.node(broker).describe_log_dirs().log_dirs
    on_lost = {replica.topic for found in described if found.log_dir.endswith(LOST) for replica in found.replicas}
    placed = [
        [PartitionData(topic, 0) for topic in topics if (topic.name in on_lost) == lost] for lost in (False, True)
    ]
    if not all(placed):
        raise KitError(f"all of {TOPICS} topics are in one of two log directories: {say(described)}")
    data = TwoLogDirsData(*map(tuple, placed))
    bench.disk(broker, LOST).fail_directory()
    disks = TwoLogDirs(bench, data)
    bench.eventually(disks.failed_directory, f"{broker} without its log directory {LOST}")
    # From 3.7 (KIP-858) the broker reports the failure, and the controller elects new leaders, here none; the broker
    # then has to apply that.
    bench.wait.becomes_true(
        disks.leaderless, f"nobody leads what {broker} had in {LOST}", within=CONTROLLER_REACTION_TIMEOUT
    )
    return data


HALF_LOST = Rig(TWO_DISKS, two_disks, TwoLogDirs, shared=True)
