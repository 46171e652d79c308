"""The log machine: replicated partitions under writes, reads and administration, while faults overlap (KIP-101,
KIP-320).

Producers write with acks 0, 1 and all, idempotently, in transactions, and without waiting, to leaders and to former
leaders. Raw fetchers send drawn leader epochs. Consumers of kafka-python read alone and in a group. Topics are created,
reassigned, altered and deleted. Brokers and controllers are killed, cut off, frozen and woken; files and disks are
lost; replicas out of the ISR are elected. Up to three faults are active at once, and are healed in any order. `executor`
runs the steps, `conformance.judging.log` judges the history by the catalogue.
"""

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import EpisodeRules
from conformance.core.topologies import LAGGING, LOG_DIRECTORIES, LOG_PROMPT, LOG_QUORUM, QUICK_CLUSTER
from conformance.machines.log.executor import LogExecutor
from fixtures.faults.kinds import elections, process, unclean, zombies
from strategies import log as do
from strategies import log_offer, steps


class LogMachine(EpisodeRules[FaultModel]):
    """Two partitions with min.insync.replicas=2, one that may be elected uncleanly, one compacted, one of a single replica, and
    topics that are drawn."""

    model_type = FaultModel
    offer = log_offer.OFFER


OPENING: list[do.LogStep] = [
    steps.CreateTopic(on="drawn", partitions=1, replication_factor=2),
    do.ProduceToAll(records=2),
    do.ProduceIdempotently(on="strict-0"),
    do.Transact(on="strict-1", end="commit"),
    do.Produce(on="strict-0", records=3),
    do.Produce(on="loose-0", records=2),
    do.Produce(on="compacted-0", records=3),
    do.Read(on="strict-0", full_log=True),
    do.Read(on="strict-0", role="follower", full_log=True),
    do.Consume(),
    do.Join(),
    do.PollGroup(),
    steps.DisturbBriefly(on="strict-0", fault=elections.MoveLeader()),
    do.Produce(on="strict-0", records=2, acks=1),
    do.OffsetForLeaderEpoch(on="strict-0", epochs_back=1),
    do.RevisitPosition(on="strict-0", back=1),
    do.ListOffsets(on="strict-0"),
    do.ProduceInFlight(on="strict-0"),
    do.FetchInFlight(on="loose-0"),
    do.FetchInSession(on="strict-0"),
    steps.ReassignPartition(on="drawn", change="grow"),
    steps.Disturb(on="strict-0", fault=zombies.CutOffFromControllers(role="leader")),
    do.Produce(on="strict-0", records=2),
    do.Read(on="strict-0"),
    do.Read(on="strict-0", role="former-leader", current_back=1),
    do.Produce(on="strict-0", records=1, to="former-leader"),
    do.Produce(on="strict-0", records=2, acks=1, to="former-leader"),
    do.Read(on="strict-0", role="former-leader", current_back=1),
    do.Read(on="strict-0", role="former-leader"),
    do.OffsetForLeaderEpoch(on="strict-0", epochs_back=0, current_back=1),
    do.Collect(),
    do.ProbeLeaders(),
    steps.Heal(),
    steps.Sweep(turn=1),
    steps.Echo(),
    do.FetchAt(on="strict-0", before_end=0, last_fetched_back=1),
    do.Join(),
    do.PollGroup(),
    steps.Disturb(on="loose-0", fault=unclean.UncleanElection(own_topic=False)),
    do.ProduceToAll(records=2),
    do.FetchAt(on="loose-0", before_end=0, last_fetched_back=1),
    steps.Heal(),
    steps.ReadEverything(),
    do.Leave(),
    do.OffsetFetch(),
    steps.Disturb(on="strict-1", fault=process.Kill(role="leader")),
    do.Produce(on="strict-1", records=2, acks=0),
    steps.Disturb(on="strict-1", fault=process.PausePastFencing(role="follower")),
    steps.CreateTopic(on="fleeting", partitions=1, replication_factor=3),
    steps.AlterConfig(on="loose", key="unclean.leader.election.enable", value="true"),
    steps.AlterClusterDefault(key="unclean.leader.election.enable", value="false"),
    steps.ElectPreferredLeader(on="strict"),
    steps.ElectUncleanly(on="loose"),
    steps.CancelReassignment(on="drawn"),
    do.ProbeLeaders(),
    steps.HealPartly(which=1),
    steps.RecreateTopic(on="fleeting", partitions=1, replication_factor=2),
    steps.AddPartitions(on="drawn", total=2),
    steps.ReadEverything(),
    steps.DeleteTopic(on="fleeting"),
    steps.Heal(),
    do.DeleteRecords(on="strict-0", keep=2),
    do.ListOffsets(on="strict-0"),
    do.Produce(on="strict-0", records=1),
    do.Read(on="strict-0"),
]

LOG_MACHINE = machine(
    MachineCheck(
        id="machines.log.LogMachine",
        topology=QUICK_CLUSTER,
        topologies=(LOG_QUORUM, LAGGING, LOG_PROMPT, LOG_DIRECTORIES),
        machine=LogMachine,
        executor=LogExecutor,
        step=do.LogStep,
        aims=("partition",),
        opening=OPENING,
        injects=(*(one.kind for one in log_offer.FAULTS), *log_offer.BRIEF, *log_offer.BRIEF_ON_SEGMENTS),
    )
)
