"""The execution of the topics machine's steps: an administrator's requests, and reads of every broker's
descriptions."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import singledispatchmethod

from conformance.core.administration import CLUSTER_DEFAULT, TopicAdministration
from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent
from conformance.judging.facts.topics import Resource
from conformance.judging.timeline import AT_REST, HEALED
from conformance.judging.topics.judges import acknowledged_values
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.topics import create_topics
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.configs import ConfigsAnswer, ResourceType
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import NewTopic
from strategies import topics as do
from strategies.steps import Step

Owner = tuple[ResourceType, str]
"""A resource type and a name, as IncrementalAlterConfigs takes them."""

DESCRIBED_WITHIN = 30.0
"""The seconds in which every broker must describe acknowledged changes (GEN-19)."""
KEYS = {
    ResourceType.TOPIC: (do.LIMIT, do.RETENTION),
    ResourceType.BROKER: (do.CLEANER_BACKOFF,),
    ResourceType.GROUP: (do.SESSION_TIMEOUT,),
}
NO_SUCH_BROKER = 99
REFUSED_BESIDE = {
    ResourceType.TOPIC: {"no.such.key": "1"},
    ResourceType.BROKER: {"background.threads": "0"},
    ResourceType.GROUP: {"no.such.key": "1"},
}
"""Settings that make an alteration invalid. Brokers accept keys that they do not know, so theirs is an invalid
value."""
SIZES_AT_REST = (100, 5_000)
"""Sizes in bytes of the values produced at rest: below and above every limit that may be drawn."""


class TopicsExecutor(TopicAdministration[do.TopicsStep]):
    """The executor of steps on up to three topics, the brokers' configuration and one group's, on three brokers."""

    def __init__(self, bench: Bench) -> None:
        self._anchor = _anchor(bench)
        super().__init__(bench, bench.faults(self._anchor))
        self._group = bench.fresh_name("group")
        self._delete_broker_configs()

    @singledispatchmethod
    def run(self, step: Step) -> None:
        super().run(step)

    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        return self._anchor, 0

    # --- administration

    @run.register
    def _alter_owner_config(self, step: do.AlterOwnerConfig) -> None:
        self._alter(self._owner(step.on), {step.key: None if step.value is None else str(step.value)})

    @run.register
    def _refused_alteration(self, step: do.RefusedAlteration) -> None:
        owner = self._owner(step.on)
        self._alter(owner, {step.key: str(step.value), **REFUSED_BESIDE[owner[0]]})

    def _alter(self, owner: Owner, changes: Mapping[str, str | None]) -> None:
        self._broker_for(owner).incremental_alter_configs(*owner, changes)

    @run.register
    def _misassign(self, step: do.MisassignPartitions) -> None:
        """Request partitions on a broker that does not exist: one for each partition to add, or, if the topic is gone, one
        for each partition that it was meant to have."""
        name, node = self.topic(step.on).name, self.asked_broker()
        added = step.total - len(node.metadata([name]).topic(name).partitions)
        node.create_partitions(name, step.total, assignment=((NO_SUCH_BROKER,),) * added)

    def _broker_for(self, owner: Owner) -> NodeClient:
        """Return the broker to ask about an owner; only a broker itself alters and describes its own configuration."""
        type, name = owner
        if type is not ResourceType.BROKER or not name:
            return self.asked_broker()
        broker = self.bench.name_of(int(name))
        if broker in self.bench.processes.stopped_or_frozen(self.bench.brokers):
            raise Absent(f"{broker} does not run")
        return self.bench.node(broker)

    def _owner(self, on: str) -> Owner:
        """Return a configuration's owner. Raises Absent for a topic that was not created yet, and for a group if the
        cluster has no group configuration."""
        if on == "cluster-default":
            return CLUSTER_DEFAULT
        if on == "group":
            if not self._has_group_configs:
                raise Absent("this cluster has no group configuration")
            return ResourceType.GROUP, self._group
        if on in self.bench.members:
            return ResourceType.BROKER, str(self.bench.id_of(on))
        return ResourceType.TOPIC, self.topic(on).name

    @property
    def _has_group_configs(self) -> bool:
        return self.bench.column.ranges.get("group.version", 0) >= 1

    @run.register
    def _produce(self, step: do.ProduceSized) -> None:
        self._produce_sized(self.topic(step.on), step.size)

    def _produce_sized(self, topic: Topic, size: int) -> None:
        metadata = self.asked_broker().metadata([topic.name]).topic(topic.name)
        leader = metadata.partitions[0].leader if metadata.partitions else -1
        if leader < 0 or self.bench.name_of(leader) in self.bench.processes.stopped_or_frozen(self.bench.brokers):
            raise Absent(f"{topic.name} has no leader that can be reached")
        known = Topic(topic.name, metadata.topic_id)
        self.bench.node(leader).produce(known, 0, batch(b"v" * size), timeout_ms=2_000)

    # --- reads

    def read_everything(self) -> None:
        """Read topics and configurations as every running broker describes them."""
        down = self.bench.processes.stopped_or_frozen(self.bench.brokers)
        for broker in self.bench.brokers:
            if broker not in down:
                with suppress(*UNANSWERED):
                    self._read(broker)

    def _read(self, broker: str) -> dict[Owner, ConfigsAnswer]:
        node = self.bench.node(broker)
        if names := [topic.name for topic in self.topics.values()]:
            node.metadata(names)
        return {(type, name): node.describe_configs(type, name, KEYS[type]) for type, name in self._owners_at(broker)}

    def _owners_at(self, broker: str) -> Iterator[Owner]:
        yield from ((ResourceType.TOPIC, topic.name) for topic in self.topics.values())
        yield CLUSTER_DEFAULT
        yield ResourceType.BROKER, str(self.bench.id_of(broker))
        if self._has_group_configs:
            yield ResourceType.GROUP, self._group

    # --- rest

    def agrees(self) -> bool:
        """Wait until every broker describes the acknowledged changes, within the bound of GEN-19, and read
        everything."""
        self.bench.tape.premise(HEALED, not self.bench.remaining_damage())
        met = self._settles("every broker describes what was acknowledged")
        self.bench.tape.premise(AT_REST, met)
        self.read_everything()
        for topic in self.topics.values():
            for size in SIZES_AT_REST:
                with suppress(*UNANSWERED, Absent):
                    self._produce_sized(topic, size)
        return met

    def at_rest(self) -> None:
        """Reset the brokers' configuration to its defaults for the next example, and read its description."""
        self._delete_broker_configs()
        self._settles("every broker describes its defaults again")
        self.read_everything()

    def _settles(self, what: str) -> bool:
        wanted = acknowledged_values(self.bench.tape.history)

        def is_described() -> bool:
            with suppress(*UNANSWERED):
                return all(
                    values.items() <= _own_values(answer, Resource(*owner)).items()
                    for broker in self.bench.brokers
                    for owner, answer in self._read(broker).items()
                    if (values := wanted.get(Resource(*owner)))
                )
            return False

        return self.bench.wait.becomes_true(is_described, what, DESCRIBED_WITHIN).outcome is True

    def _delete_broker_configs(self) -> None:
        """Delete what an earlier example that ended early may have left in the brokers' configuration."""
        owners = [CLUSTER_DEFAULT, *((ResourceType.BROKER, str(self.bench.id_of(name))) for name in self.bench.brokers)]
        for owner in owners:
            with suppress(*UNANSWERED, Absent):
                self._alter(owner, {do.CLEANER_BACKOFF: None})


def _own_values(answer: ConfigsAnswer, resource: Resource) -> dict[str, str | None]:
    """Return the values set on the resource itself; None for defaults."""
    own = {one.name: one.value for one in answer.configs if one.config_source == resource.own_source}
    return {key: own.get(key) for key in KEYS[ResourceType(resource.type)]} if answer.error is Error.NONE else {}


def _anchor(bench: Bench) -> Topic:
    """Create a topic with a replica on every broker. Raises KitError if it is refused."""
    assignment = (tuple(bench.id_of(name) for name in bench.brokers),)
    [topic] = create_topics(bench, [NewTopic(bench.fresh_name(do.ANCHOR), assignment)])
    Partition(bench, PartitionData(topic, 0)).wait_until_whole()
    return topic
