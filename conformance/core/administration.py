"""Administration of topics as steps: an executor that inherits from `TopicAdministration` takes all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatchmethod
from typing import TypeVar

from conformance.core.bench import Bench
from conformance.core.executor import StepExecutor
from conformance.core.faulting import Faults
from conformance.core.roles import Absent
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import Topic
from fixtures.wire.configs import ResourceType
from fixtures.wire.topics import ElectionType, NewTopic
from strategies.steps import (
    AddPartitions,
    AlterConfig,
    CreateTopic,
    DeleteTopic,
    ElectPreferredLeader,
    RecreateTopic,
    Step,
)

S = TypeVar("S", bound=Step)


class TopicAdministration(StepExecutor[S]):
    """Sends each request once, to the first broker that runs.

    `topics` are those of the example by the machine's own name for them, with the id that was told when they were created
    last. One that was deleted stays among them, so that later requests name a topic that is gone; one of which a creation was
    never answered is there without an id.
    """

    def __init__(self, bench: Bench, faults: Faults) -> None:
        super().__init__(bench, faults)
        self.topics: dict[str, Topic] = {}

    def topic(self, on: str) -> Topic:
        """Raises Absent for one that no step has created yet."""
        if on not in self.topics:
            raise Absent(f"{on} was not created yet")
        return self.topics[on]

    def asked_broker(self) -> NodeClient:
        """The first broker that runs."""
        down = self.bench.silent()
        running = [name for name in self.bench.brokers if name not in down]
        if not running:
            raise Absent("no broker runs")
        return self.bench.node(running[0])

    @singledispatchmethod
    def run(self, step: Step) -> None:
        super().run(step)

    @run.register
    def _create(self, step: CreateTopic) -> None:
        name = self.topics[step.on].name if step.on in self.topics else self.bench.fresh(step.on)
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
    def _delete(self, step: DeleteTopic) -> None:
        topic = self.topic(step.on)
        self.asked_broker().delete_topics([topic if topic.id is not None else topic.name])

    @run.register
    def _recreate(self, step: RecreateTopic) -> None:
        name = self.topic(step.on).name
        self.asked_broker().delete_topics([name])
        self._create_as(step.on, name, step.partitions, step.replication_factor, step.configs)

    @run.register
    def _add_partitions(self, step: AddPartitions) -> None:
        self.asked_broker().create_partitions(self.topic(step.on).name, step.total)

    @run.register
    def _alter_config(self, step: AlterConfig) -> None:
        name = self.topic(step.on).name
        self.asked_broker().incremental_alter_configs(ResourceType.TOPIC, name, {step.key: step.value})

    @run.register
    def _elect(self, step: ElectPreferredLeader) -> None:
        name = self.topic(step.on).name
        self.asked_broker().elect_leaders([(name, step.partition)], ElectionType.PREFERRED)


__all__ = ["TopicAdministration"]
