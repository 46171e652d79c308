"""Partitions of one replica each, all on the same broker."""

from __future__ import annotations

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_topics

PARTITIONS = 6


class LoneReplicasData(msgspec.Struct, frozen=True):
    partitions: list[PartitionData]


class LoneReplicas:
    """The partitions; no other broker has their records."""

    def __init__(self, bench: Bench, data: LoneReplicasData) -> None:
        self.bench = bench
        self.partitions = [Partition(bench, one) for one in data.partitions]

    def are_led(self) -> bool:
        """Does every partition have a leader, as the brokers that answer describe it?"""
        states = [one.newest() for one in self.partitions]
        return all(state is not None and state.leader >= 0 for state in states)


def _prepare(bench: Bench) -> LoneReplicasData:
    host = bench.id_of(bench.brokers[-1])
    partitions = [PartitionData(topic, 0) for topic in new_topics(bench, [(host,)] * PARTITIONS)]
    for data in partitions:
        Partition(bench, data).whole()
    return LoneReplicasData(partitions)


LONE_REPLICAS = Rig(QUICK_CLUSTER, _prepare, LoneReplicas)
