"""The topics machine: topics and configurations are created, altered, described and deleted while brokers fail (GEN-01, GEN-19).

Some requests must be refused. Their values are in no other request, so no broker may ever show one of them. At rest every
broker describes what was acknowledged last.
"""

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
from conformance.machines.topics.executor import TopicsExecutor
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies import steps
from strategies import topics as do


class TopicsMachine(
    PartialHealRules[FaultModel],
    TransientFaultRules[FaultModel],
    AdministerRules[FaultModel],
    EchoRules[FaultModel],
    ReadEverythingRules[FaultModel],
):
    """Topics and configurations under administration, some of it refused, while brokers fail."""

    model_type = FaultModel
    standing_faults = do.standing_faults()
    transient_faults = do.transient_faults()
    administration = one_of(
        do.creations(),
        do.refused_creations(),
        do.deletions(),
        do.more_partitions(),
        do.topic_alterations(),
        do.elections(),
    )

    @initialize(step=do.creations())
    def create_a_topic_first(self, step: steps.CreateTopic) -> None:
        self.do(step)

    @rule(step=do.refused_partitions())
    def misassign_partitions(self, step: do.MisassignPartitions) -> None:
        self.do(step)

    @rule(step=do.owner_alterations())
    def alter_a_broker_or_group(self, step: do.AlterOwnerConfig) -> None:
        self.do(step)

    @rule(step=do.refused_alterations())
    def alter_in_vain(self, step: do.RefusedAlteration) -> None:
        self.do(step)

    @rule(step=do.sized_produces())
    def produce(self, step: do.ProduceSized) -> None:
        self.do(step)


OPENING: list[do.TopicsStep] = [
    steps.CreateTopic(
        on="topic-1", partitions=2, replication_factor=3, configs={do.LIMIT: "2000", do.RETENTION: "700000"}
    ),
    steps.CreateTopic(on="topic-2", partitions=7, replication_factor=4),
    steps.CreateTopic(on="topic-2", partitions=8, replication_factor=1, configs={do.RETENTION: "4100", do.LIMIT: "-5"}),
    steps.CreateTopic(on="topic-1", partitions=9, replication_factor=1, configs={do.RETENTION: "4200"}),
    steps.AlterConfig(on="topic-1", key=do.LIMIT, value="3000"),
    do.RefusedAlteration(on="topic-1", key=do.LIMIT, value=2_050),
    do.AlterOwnerConfig(on="cluster-default", key=do.CLEANER_BACKOFF, value=16_000),
    do.RefusedAlteration(on="cluster-default", key=do.CLEANER_BACKOFF, value=16_050),
    do.AlterOwnerConfig(on="broker-1", key=do.CLEANER_BACKOFF, value=17_000),
    do.AlterOwnerConfig(on="group", key=do.SESSION_TIMEOUT, value=46_000),
    steps.ReadEverything(),
    steps.AddPartitions(on="topic-1", total=1),
    steps.AddPartitions(on="topic-1", total=3),
    do.MisassignPartitions(on="topic-1", total=10),
    steps.ElectPreferredLeader(on="topic-1"),
    steps.DisturbBriefly(on=do.ANCHOR, fault=MoveLeader()),
    steps.Disturb(on=do.ANCHOR, fault=CutOffFromControllers(role="leader")),
    steps.CreateTopic(on="topic-2", partitions=1, replication_factor=2, configs={do.LIMIT: "2500"}),
    steps.AlterConfig(on="topic-1", key=do.RETENTION),
    steps.ReadEverything(),
    steps.Disturb(on=do.ANCHOR, fault=Kill(role="follower")),
    steps.AlterConfig(on="topic-1", key=do.LIMIT, value="3500"),
    steps.AddPartitions(on="topic-1", total=2),
    steps.HealPartly(),
    do.ProduceSized(on="topic-1", size=5_000),
    steps.Heal(),
    steps.RecreateTopic(on="topic-2", partitions=2, replication_factor=1),
    steps.Disturb(on=do.ANCHOR, fault=PausePastFencing(role="follower")),
    steps.AlterConfig(on="topic-2", key=do.LIMIT, value="2100"),
    steps.Echo(),
    steps.CreateTopic(on="topic-3", partitions=1, replication_factor=2),
    steps.DeleteTopic(on="topic-3"),
    steps.Heal(),
]

TOPICS_MACHINE = machine(
    MachineCheck(
        id="machines.topics.TopicsMachine",
        topology=QUICK_CLUSTER,
        machine=TopicsMachine,
        executor=TopicsExecutor,
        step=do.TopicsStep,
        aims=("resource",),
        opening=OPENING,
        injects=(*do.STANDING, MoveLeader),
    )
)
