"""Administration of topics as steps, for executors that inherit from `TopicAdministration`."""

from collections.abc import Mapping, Sequence
from functools import singledispatchmethod
from typing import TypeVar

from conformance.core.bench import Bench
from conformance.core.executor import StepExecutor
from conformance.core.faulting import Faults
from conformance.core.roles import Absent
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.messages import Topic
from protocol.topics import ElectionType, NewTopic, Reassignment
from protocol.words import say
from strategies import steps

S = TypeVar("S", bound=steps.Step)

CLUSTER_DEFAULT = (ResourceType.BROKER, "")
"""The config resource of the cluster-wide broker defaults, as IncrementalAlterConfigs names it."""
ASKED_FOR_MS = 5_000
"""The timeout in ms of a request to the controller; there may be no active one."""


class TopicAdministration(StepExecutor[S]):
    """An executor that sends each request once, to the first broker that can serve it.

    `topics` maps the machine's own names to topics, with the id of the last creation. A deleted topic remains, so that later
    requests can name it; one whose creation was never answered has no id.
    """

    def __init__(self, bench: Bench, faults: Faults) -> None:
        super().__init__(bench, faults)
        self.topics: dict[str, Topic] = {}

    def topic(self, on: str) -> Topic:
        """Return the topic with this name. Raises Absent if no step has created it yet."""
        if on not in self.topics:
            raise Absent(f"{on} was not created yet")
        return self.topics[on]

    def asked_broker(self) -> NodeClient:
        """Return the first running broker, preferably one without a standing fault, which may keep it from the controller."""
        down, hit = (
            self.bench.processes.stopped_or_frozen(self.bench.brokers),
            {node for one in self.standing for node in one.nodes},
        )
        running = [name for name in self.bench.brokers if name not in down]
        if not running:
            raise Absent("no broker runs")
        return self.bench.node(min(running, key=lambda name: name in hit))

    @singledispatchmethod
    def run(self, step: steps.Step) -> None:
        super().run(step)

    @run.register
    def _create_topic(self, step: steps.CreateTopic) -> None:
        name = self.topics[step.on].name if step.on in self.topics else self.bench.fresh_name(step.on)
        self._create_as(step.on, name, step.partitions, step.replication_factor, step.configs)

    def _create_as(
        self, on: str, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        self.topics.setdefault(on, Topic(name))
        wanted = NewTopic(name, num_partitions=partitions, replication_factor=replication_factor, configs=dict(configs))
        [created] = self.asked_broker().create_topics([wanted]).topics
        if created.error is Error.NONE:
            self.topics[on] = Topic(created.name, created.topic_id)

    @run.register
    def _delete_topic(self, step: steps.DeleteTopic) -> None:
        topic = self.topic(step.on)
        self.asked_broker().delete_topics([topic if topic.id is not None else topic.name])

    @run.register
    def _recreate_topic(self, step: steps.RecreateTopic) -> None:
        name = self.topic(step.on).name
        self.asked_broker().delete_topics([name])
        self._create_as(step.on, name, step.partitions, step.replication_factor, step.configs)

    @run.register
    def _add_partitions(self, step: steps.AddPartitions) -> None:
        self.asked_broker().create_partitions(self.topic(step.on).name, step.total)

    @run.register
    def _alter_config(self, step: steps.AlterConfig) -> None:
        name = self.topic(step.on).name
        self.asked_broker().incremental_alter_configs(ResourceType.TOPIC, name, {step.key: step.value})

    @run.register
    def _alter_cluster_default(self, step: steps.AlterClusterDefault) -> None:
        self.asked_broker().incremental_alter_configs(*CLUSTER_DEFAULT, {step.key: step.value})

    @run.register
    def _elect_preferred_leader(self, step: steps.ElectPreferredLeader) -> None:
        name = self.topic(step.on).name
        self.asked_broker().elect_leaders([(name, step.partition)], ElectionType.PREFERRED, timeout_ms=ASKED_FOR_MS)

    @run.register
    def _elect_uncleanly(self, step: steps.ElectUncleanly) -> None:
        name = self.topic(step.on).name
        self.asked_broker().elect_leaders([(name, step.partition)], ElectionType.UNCLEAN, timeout_ms=ASKED_FOR_MS)

    @run.register
    def _reassign_partition(self, step: steps.ReassignPartition) -> None:
        asked, name = self.asked_broker(), self.topic(step.on).name
        partitions = asked.metadata([name]).topic(name).partitions
        held = next((one.replicas for one in partitions if one.partition == step.partition), ())
        brokers = [self.bench.id_of(broker) for broker in self.bench.brokers]
        target = new_replicas(held, brokers, step.change, step.pick)
        asked.alter_partition_reassignments([Reassignment(name, step.partition, target)], timeout_ms=ASKED_FOR_MS)
        # The judges have to see the replicas during the reassignment, which may be complete by the next look.
        asked.metadata([name])

    @run.register
    def _cancel_reassignment(self, step: steps.CancelReassignment) -> None:
        cancelled = Reassignment(self.topic(step.on).name, step.partition, None)
        self.asked_broker().alter_partition_reassignments([cancelled], timeout_ms=ASKED_FOR_MS)


def new_replicas(held: Sequence[int], brokers: Sequence[int], change: steps.Change, pick: int) -> tuple[int, ...]:
    """Return the replicas to request, the preferred leader first. Raises Absent if the change is not possible.

    >>> new_replicas((1, 2), (1, 2, 3), "swap", 1), new_replicas((1, 2, 3), (1, 2, 3), "reorder", 1)
    ((1, 3), (2, 3, 1))
    """
    free = [broker for broker in brokers if broker not in held]
    place = pick % len(held) if held else 0
    if not held or (change in ("grow", "swap") and not free) or (change in ("shrink", "reorder") and len(held) < 2):
        raise Absent(f"replicas {say(list(held))} of brokers {say(list(brokers))} cannot {change}")
    before, after = tuple(held[:place]), tuple(held[place + 1 :])
    added = tuple(free[pick % len(free) :][:1]) if free else ()
    return {
        "grow": (*held, *added),
        "shrink": (*before, *after),
        "swap": (*before, *added, *after),
        "reorder": (*held[place:], *held[:place]),
    }[change]
