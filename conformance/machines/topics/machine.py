"""The topics machine: topics and configurations are created, altered, described and deleted while brokers fail (GEN-01, GEN-19).

Some requests must be refused: they ask for values of their own, of which no broker may show a trace. At rest every broker
describes what was acknowledged last.
"""

from __future__ import annotations

from hypothesis.stateful import initialize, rule
from hypothesis.strategies import one_of

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import (
    AdministerRules,
    EchoRules,
    PartialHealRules,
    ReadEverythingRules,
    TransientFaultRules,
)
from conformance.core.topologies import QUICK_CLUSTER
from conformance.judging.topics.judges import TOPIC_JUDGES
from conformance.machines.topics.executor import TopicsExecutor
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.steps import (
    AddPartitions,
    AlterConfig,
    CreateTopic,
    DeleteTopic,
    Disturb,
    DisturbBriefly,
    Echo,
    ElectPreferredLeader,
    Heal,
    HealPartly,
    ReadEverything,
    RecreateTopic,
)
from strategies.topics import (
    ANCHOR,
    CLEANER_BACKOFF,
    LIMIT,
    RETENTION,
    SESSION_TIMEOUT,
    AlterOwnerConfig,
    MisassignPartitions,
    ProduceSized,
    RefusedAlteration,
    TopicsStep,
    creations,
    deletions,
    elections,
    more_partitions,
    owner_alterations,
    refused_alterations,
    refused_creations,
    refused_partitions,
    sized_produces,
    standing_faults,
    topic_alterations,
    transient_faults,
)


class TopicsMachine(
    PartialHealRules[FaultModel],
    TransientFaultRules[FaultModel],
    AdministerRules[FaultModel],
    EchoRules[FaultModel],
    ReadEverythingRules[FaultModel],
):
    """Topics and configurations under administration, some of it refused, while brokers fail."""

    model_type = FaultModel
    standing_faults = standing_faults()
    transient_faults = transient_faults()
    administration = one_of(
        creations(), refused_creations(), deletions(), more_partitions(), topic_alterations(), elections()
    )

    @initialize(step=creations())
    def create_a_topic_first(self, step: CreateTopic) -> None:
        self.do(step)

    @rule(step=refused_partitions())
    def misassign_partitions(self, step: MisassignPartitions) -> None:
        self.do(step)

    @rule(step=owner_alterations())
    def alter_a_broker_or_group(self, step: AlterOwnerConfig) -> None:
        self.do(step)

    @rule(step=refused_alterations())
    def alter_in_vain(self, step: RefusedAlteration) -> None:
        self.do(step)

    @rule(step=sized_produces())
    def produce(self, step: ProduceSized) -> None:
        self.do(step)


OPENING: list[TopicsStep] = [
    CreateTopic(on="topic-1", partitions=2, replication_factor=3, configs={LIMIT: "2000", RETENTION: "700000"}),
    CreateTopic(on="topic-2", partitions=7, replication_factor=4),
    CreateTopic(on="topic-2", partitions=8, replication_factor=1, configs={RETENTION: "4100", LIMIT: "-5"}),
    CreateTopic(on="topic-1", partitions=9, replication_factor=1, configs={RETENTION: "4200"}),
    AlterConfig(on="topic-1", key=LIMIT, value="3000"),
    RefusedAlteration(on="topic-1", key=LIMIT, value=2_050),
    AlterOwnerConfig(on="cluster-default", key=CLEANER_BACKOFF, value=16_000),
    RefusedAlteration(on="cluster-default", key=CLEANER_BACKOFF, value=16_050),
    AlterOwnerConfig(on="broker-1", key=CLEANER_BACKOFF, value=17_000),
    AlterOwnerConfig(on="group", key=SESSION_TIMEOUT, value=46_000),
    ReadEverything(),
    AddPartitions(on="topic-1", total=1),
    AddPartitions(on="topic-1", total=3),
    MisassignPartitions(on="topic-1", total=10),
    ElectPreferredLeader(on="topic-1"),
    DisturbBriefly(on=ANCHOR, fault=MoveLeader()),
    Disturb(on=ANCHOR, fault=CutOffFromControllers(role="leader")),
    CreateTopic(on="topic-2", partitions=1, replication_factor=2, configs={LIMIT: "2500"}),
    AlterConfig(on="topic-1", key=RETENTION),
    ReadEverything(),
    Disturb(on=ANCHOR, fault=Kill(role="follower")),
    AlterConfig(on="topic-1", key=LIMIT, value="3500"),
    AddPartitions(on="topic-1", total=2),
    HealPartly(),
    ProduceSized(on="topic-1", size=5_000),
    Heal(),
    RecreateTopic(on="topic-2", partitions=2, replication_factor=1),
    Disturb(on=ANCHOR, fault=PausePastFencing(role="follower")),
    AlterConfig(on="topic-2", key=LIMIT, value="2100"),
    Echo(),
    CreateTopic(on="topic-3", partitions=1, replication_factor=2),
    DeleteTopic(on="topic-3"),
    Heal(),
]

TOPICS_MACHINE = machine(
    MachineCheck(
        id="machines.topics.TopicsMachine",
        topology=QUICK_CLUSTER,
        machine=TopicsMachine,
        executor=TopicsExecutor,
        step=TopicsStep,
        judges=TOPIC_JUDGES,
        opening=OPENING,
    )
)
