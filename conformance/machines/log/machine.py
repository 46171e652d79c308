"""The log machine: replicated partitions under writes, reads and administration, while faults meet (KIP-101, KIP-320).

Producers write with acks 0, 1 and all, idempotently, in transactions, and without waiting, to leaders and to former leaders. Raw
fetchers send drawn leader epochs. Consumers of kafka-python read alone and in a group. Topics are created, reassigned, altered
and deleted. Brokers and controllers are killed, cut off, frozen and woken; files and disks are lost; replicas out of the ISR
are elected. Up to three faults stand at once, and are healed in any order. `executor` runs the steps, `conformance.judging.log`
judges the history by the catalogue.
"""

from __future__ import annotations

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import EpisodeRules
from conformance.core.topologies import LAGGING, LOG_DIRECTORIES, LOG_PROMPT, LOG_QUORUM, QUICK_CLUSTER
from conformance.judging.log.judges import LOG_JUDGES
from conformance.machines.log.executor import LogExecutor
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.log import (
    Collect,
    Consume,
    DeleteRecords,
    FetchAt,
    FetchInFlight,
    FetchInSession,
    Join,
    Leave,
    ListOffsets,
    LogStep,
    OffsetFetch,
    OffsetForLeaderEpoch,
    PollGroup,
    ProbeLeaders,
    Produce,
    ProduceIdempotently,
    ProduceInFlight,
    ProduceToAll,
    Read,
    RevisitPosition,
    Transact,
)
from strategies.log_offer import log_offer
from strategies.steps import (
    AddPartitions,
    AlterClusterDefault,
    AlterConfig,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    Disturb,
    DisturbBriefly,
    Echo,
    ElectPreferredLeader,
    ElectUncleanly,
    Heal,
    HealPartly,
    ReadEverything,
    ReassignPartition,
    RecreateTopic,
    Sweep,
)


class LogMachine(EpisodeRules[FaultModel]):
    """Two partitions with min.insync.replicas=2, one that may be elected uncleanly, one compacted, one of a single replica, and
    topics that are drawn."""

    model_type = FaultModel
    offer = log_offer()


OPENING: list[LogStep] = [
    CreateTopic(on="drawn", partitions=1, replication_factor=2),
    ProduceToAll(records=2),
    ProduceIdempotently(on="strict-0"),
    Transact(on="strict-1", end="commit"),
    Produce(on="strict-0", records=3),
    Produce(on="loose-0", records=2),
    Produce(on="compacted-0", records=3),
    Read(on="strict-0", full_log=True),
    Read(on="strict-0", role="follower", full_log=True),
    Consume(),
    Join(),
    PollGroup(),
    DisturbBriefly(on="strict-0", fault=MoveLeader()),
    Produce(on="strict-0", records=2, acks=1),
    OffsetForLeaderEpoch(on="strict-0", epochs_back=1),
    RevisitPosition(on="strict-0", back=1),
    ListOffsets(on="strict-0"),
    ProduceInFlight(on="strict-0"),
    FetchInFlight(on="loose-0"),
    FetchInSession(on="strict-0"),
    ReassignPartition(on="drawn", change="grow"),
    Disturb(on="strict-0", fault=CutOffFromControllers(role="leader")),
    Produce(on="strict-0", records=2),
    Read(on="strict-0"),
    Read(on="strict-0", role="former-leader", current_back=1),
    Produce(on="strict-0", records=1, to="former-leader"),
    Produce(on="strict-0", records=2, acks=1, to="former-leader"),
    Read(on="strict-0", role="former-leader", current_back=1),
    Read(on="strict-0", role="former-leader"),
    OffsetForLeaderEpoch(on="strict-0", epochs_back=0, current_back=1),
    Collect(),
    ProbeLeaders(),
    Heal(),
    Sweep(turn=1),
    Echo(),
    FetchAt(on="strict-0", before_end=0, last_fetched_back=1),
    Join(),
    PollGroup(),
    Disturb(on="loose-0", fault=UncleanElection(own_topic=False)),
    ProduceToAll(records=2),
    FetchAt(on="loose-0", before_end=0, last_fetched_back=1),
    Heal(),
    ReadEverything(),
    Leave(),
    OffsetFetch(),
    Disturb(on="strict-1", fault=Kill(role="leader")),
    Produce(on="strict-1", records=2, acks=0),
    Disturb(on="strict-1", fault=PausePastFencing(role="follower")),
    CreateTopic(on="fleeting", partitions=1, replication_factor=3),
    AlterConfig(on="loose", key="unclean.leader.election.enable", value="true"),
    AlterClusterDefault(key="unclean.leader.election.enable", value="false"),
    ElectPreferredLeader(on="strict"),
    ElectUncleanly(on="loose"),
    CancelReassignment(on="drawn"),
    ProbeLeaders(),
    HealPartly(which=1),
    RecreateTopic(on="fleeting", partitions=1, replication_factor=2),
    AddPartitions(on="drawn", total=2),
    ReadEverything(),
    DeleteTopic(on="fleeting"),
    Heal(),
    DeleteRecords(on="strict-0", keep=2),
    ListOffsets(on="strict-0"),
    Produce(on="strict-0", records=1),
    Read(on="strict-0"),
]

LOG_MACHINE = machine(
    MachineCheck(
        id="machines.log.LogMachine",
        topology=QUICK_CLUSTER,
        topologies=(LOG_QUORUM, LAGGING, LOG_PROMPT, LOG_DIRECTORIES),
        machine=LogMachine,
        executor=LogExecutor,
        step=LogStep,
        judges=LOG_JUDGES,
        opening=OPENING,
    )
)
