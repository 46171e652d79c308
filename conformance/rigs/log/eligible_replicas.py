"""Partitions whose replicas may become eligible to lead (ELR, KIP-966), and one that only reveals the brokers'
state."""

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.crashes import Crashing
from conformance.rigs.log.partition import PartitionData, new_partition
from conformance.rigs.settings import alter_configs
from conformance.rigs.topics import delete_topics
from fixtures.wire.errors import NotOffered
from history.due import START_TIMEOUT
from protocol.configs import ResourceType


class EligibleData(msgspec.Struct, frozen=True):
    strict: PartitionData
    alone: PartitionData
    shown: PartitionData


class EligibleReplicas:
    """Three partitions. `strict` has as many replicas as its min.insync.replicas: one that leaves the ISR is eligible to
    lead. `alone` has the same setting but only the last of those replicas. `shown` is on all brokers. `asked` is a broker
    that stays up and is asked about all of them."""

    def __init__(self, bench: Bench, data: EligibleData) -> None:
        self.bench = bench
        self.strict = Crashing(bench, data.strict)
        self.alone = Crashing(bench, data.alone)
        self.shown = Crashing(bench, data.shown)
        self.asked, *_ = self.shown.replicas

    def eligible(self) -> tuple[int, ...]:
        """Return the eligible leader replicas; empty for a release that describes none."""
        try:
            [topic] = self.bench.node(self.asked).describe_topic_partitions([self.strict.name]).topics
        except NotOffered:
            return ()
        return topic.partition(self.strict.index).eligible_leader_replicas or ()

    def alter_min_insync_replicas(self, value: str) -> None:
        node, change = self.bench.node(self.asked), {"min.insync.replicas": value}
        alter_configs(self.bench, node, ResourceType.TOPIC, self.strict.name, change)

    def delete_topic(self) -> None:
        """Delete the topic of `strict`, and wait until the asked broker no longer knows it."""
        delete_topics(self.bench, [self.strict.name], by=self.bench.node(self.asked))
        self.strict.wait_until(lambda: self.strict.state_known_to(self.asked) is None, "the topic deleted")

    def await_fenced(self, id: int) -> None:
        """Wait until the broker is fenced."""
        self.shown.wait_until(lambda: not self.shown.is_listed(self.asked, id), f"{id} fenced")

    def await_unfenced(self, id: int) -> None:
        """Wait until the broker is unfenced."""
        self.shown.wait_until(lambda: self.shown.is_listed(self.asked, id), f"{id} unfenced", "node", START_TIMEOUT)


def eligible_replicas(replicas: int) -> Rig[EligibleData, EligibleReplicas]:
    """Return a rig whose `strict` is on the last `replicas` brokers, and needs all of them."""

    def prepare(bench: Bench) -> EligibleData:
        ids = tuple(bench.id_of(name) for name in bench.brokers)
        strict, alone = [new_partition(bench, ids[-n:], min_insync_replicas=str(replicas)) for n in (replicas, 1)]
        return EligibleData(strict.data, alone.data, new_partition(bench).data)

    prepare.__qualname__ = f"eligible_replicas_{replicas}"
    return Rig(QUICK_CLUSTER, prepare, EligibleReplicas)
