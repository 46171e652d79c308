"""Partitions on two brokers, with various settings of unclean.leader.election.enable, that lose their whole ISR while
the other replica lags.

A bystander, a broker without a replica that stays up, observes everything.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.settings import alter_configs
from history.due import START_TIMEOUT
from protocol.cluster import MetadataAnswer, PartitionMetadata
from protocol.configs import ResourceType

UNCLEAN = "unclean.leader.election.enable"
KINDS: dict[str, dict[str, str]] = {
    "permitted": {"unclean_leader_election_enable": "true"},
    "forbidden": {"unclean_leader_election_enable": "false"},
    "wiped": {"unclean_leader_election_enable": "false"},
    "switched": {},
    "silent": {},
}
"""The kinds, by the topic configuration at creation. The last in-sync replica of the `wiped` kind loses its disk."""
EACH = 2
"""The number of partitions of each other kind."""


class SettingsData(msgspec.Struct, frozen=True):
    """The partitions by kind, and the brokers: first leader, other replica, and one without a replica."""

    partitions: dict[str, list[PartitionData]]
    first: str
    second: str
    bystander: str


class ElectionSettings:
    def __init__(self, bench: Bench, data: SettingsData) -> None:
        self.bench = bench
        self.first, self.second, self.bystander = data.first, data.second, data.bystander
        self.partitions = {kind: [Partition(bench, one) for one in found] for kind, found in data.partitions.items()}
        self.leaders: dict[str, set[int]] = {one.name: set() for one in self.all_partitions}
        """The leaders seen since the lagging replica was started, by topic."""

    @property
    def all_partitions(self) -> list[Partition]:
        return [one for found in self.partitions.values() for one in found]

    def bystander_metadata(self) -> MetadataAnswer:
        """Return the bystander's Metadata of all partitions."""
        return self.bench.node(self.bystander).metadata([one.name for one in self.all_partitions])

    def are_led_by(self, broker: str, kinds: Sequence[str] = tuple(KINDS)) -> bool:
        """True if this broker leads all partitions of these kinds. Notes the leaders of all partitions."""
        answer = self.bystander_metadata()
        for one in self.all_partitions:
            self.leaders[one.name].add(answer.topic(one.name).partition(0).leader)
        wanted = [one for kind in kinds for one in self.partitions[kind]]
        return all(answer.topic(one.name).partition(0).leader == self.bench.id_of(broker) for one in wanted)

    def note_leader(self, partition: Partition) -> MetadataAnswer:
        """Note the leader of one partition, and return the Metadata of the bystander that shows it."""
        answer = self.bench.node(self.bystander).metadata([partition.name])
        self.leaders[partition.name].add(answer.topic(partition.name).partition(0).leader)
        return answer

    # --- what happens to them

    def lose_isr(self, records: int) -> None:
        """Kill the second broker, let the first append records alone, kill it, and start the second again."""
        first = self.bench.id_of(self.first)
        self.bench.processes.kill(self.second, role="follower")
        self._await_state(lambda one: one.isr == (first,), f"{self.first} alone in the ISR")
        for one in self.all_partitions:
            one.write(*[b"on the first only"] * records, to=self.bench.node(self.first))
        self.bench.processes.kill(self.first, role="leader")
        self._await_state(lambda one: one.leader == -1, "no leader")
        for one in self.partitions["wiped"]:
            self.bench.disk(self.first, f"{one.name}-0").remove_replica()
        self.bench.processes.start(self.second)
        self.bench.eventually(self._is_listed, f"{self.second} unfenced", START_TIMEOUT, due="node")

    def _await_state(self, holds: Callable[[PartitionMetadata], bool], what: str) -> None:
        def all_hold() -> bool:
            answer = self.bystander_metadata()
            return all(holds(answer.topic(one.name).partition(0)) for one in self.all_partitions)

        self.bench.eventually(all_hold, what, every=0.1)

    def _is_listed(self) -> bool:
        self.are_led_by(self.second)
        return self.bench.id_of(self.second) in {broker.node_id for broker in self.bystander_metadata().brokers}

    def watch(self, seconds: float) -> None:
        """Note the leaders for this many seconds."""
        began = self.bench.now().seconds

        def over() -> bool:
            self.are_led_by(self.second)
            return self.bench.now().seconds - began > seconds

        self.bench.eventually(over, f"the end of {seconds:g} s", within=seconds + 10.0, every=0.1, due=None)
        if "DescribeTopicPartitions" in self.bench.column.ranges:  # for the judges, the eligible leader replicas
            self.bench.node(self.bystander).describe_topic_partitions([one.name for one in self.all_partitions])

    def recover_partitions(self) -> None:
        """Restart the last in-sync replica, write a record to each partition, and wait until the replicas agree."""
        self.bench.processes.start(self.first)
        for one in self.all_partitions:
            one.wait_until_whole()
            one.write(b"at the end")
        at_rest(*self.all_partitions)

    # --- configuration

    def permit_unclean(self) -> None:
        for one in self.partitions["switched"]:
            self._alter(ResourceType.TOPIC, one.name, "true")

    @contextmanager
    def unclean_by_default(self) -> Iterator[None]:
        """Permit unclean elections by the cluster-wide default within the block."""
        try:
            self._alter(ResourceType.BROKER, "", "true")
            yield
        finally:
            self._alter(ResourceType.BROKER, "", None)

    def _alter(self, type: ResourceType, name: str, value: str | None) -> None:
        alter_configs(self.bench, self.bench.node(self.bystander), type, name, {UNCLEAN: value})


def _prepare_partitions(bench: Bench) -> SettingsData:
    bystander, second, first = bench.brokers
    replicas = (bench.id_of(first), bench.id_of(second))
    topics = {
        kind: new_topics(bench, [replicas] * (1 if kind == "wiped" else EACH), min_insync_replicas="1", **configs)
        for kind, configs in KINDS.items()
    }
    partitions = {kind: [PartitionData(topic, 0) for topic in made] for kind, made in topics.items()}
    for data in (one for found in partitions.values() for one in found):
        partition = Partition(bench, data)
        partition.wait_until_whole()
        partition.write(b"on both")
    return SettingsData(partitions, first, second, bystander)


ELECTIONS = Rig(QUICK_CLUSTER, _prepare_partitions, ElectionSettings)
