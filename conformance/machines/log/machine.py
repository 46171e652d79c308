"""The log machine: replicated partitions under writes, reads and rebalances, while leaders change (KIP-101, KIP-320).

Producers write with acks 0, 1 and all, to leaders and to former leaders. Raw fetchers send drawn leader epochs.
Consumers of kafka-python read alone and in a group. Brokers are killed, cut off, frozen and woken; uncommitted suffixes and
leader-epoch-checkpoint files are lost; a replica out of the ISR is elected. `executor` runs the steps,
`conformance.judging.log` judges the history by the catalogue.
"""

from __future__ import annotations

from hypothesis.stateful import initialize, precondition, rule
from hypothesis.strategies import one_of

from conformance.core.machines import MachineCheck, machine
from conformance.core.rules import DisturbRules, ReadEverythingRules, TransientFaultRules
from conformance.core.topologies import QUICK_CLUSTER
from conformance.judging.log.judges import LOG_JUDGES
from conformance.machines.log.executor import LogExecutor
from conformance.machines.log.model import LogModel
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.log import (
    Consume,
    ConsumerStep,
    DeleteRecords,
    FetchAt,
    Join,
    Leave,
    ListOffsets,
    LogStep,
    OffsetFetch,
    OffsetForLeaderEpoch,
    PollGroup,
    ProbeLeaders,
    Produce,
    ProduceToAll,
    Read,
    RevisitPosition,
    commits_and_offset_fetches,
    consumer_steps,
    deletions,
    epoch_requests,
    fetches,
    first_consumers,
    offset_requests,
    produces,
    produces_to_all,
    reads,
    revisits,
    standing_faults,
    transient_faults,
)
from strategies.steps import Disturb, DisturbBriefly, Heal, ReadEverything, Step


class LogMachine(DisturbRules[LogModel], TransientFaultRules[LogModel], ReadEverythingRules[LogModel]):
    """Two partitions with min.insync.replicas=2, one that may be elected uncleanly, one compacted, one of a single replica."""

    model_type = LogModel
    standing_faults = standing_faults()
    transient_faults = transient_faults()

    # --- producers

    @initialize(step=produces_to_all())
    def write_to_every_partition_first(self, step: ProduceToAll) -> None:
        self.do(step)

    @rule(step=produces_to_all())
    def write_to_every_partition(self, step: ProduceToAll) -> None:
        self.do(step)

    @rule(step=produces())
    def produce(self, step: Produce) -> None:
        self.do(step)

    # --- raw fetchers

    @rule(step=one_of(reads(), fetches(), revisits()))
    def fetch(self, step: Read | FetchAt | RevisitPosition) -> None:
        self.do(step)

    @rule(step=one_of(epoch_requests(), offset_requests()))
    def ask_for_epochs_and_offsets(self, step: OffsetForLeaderEpoch | ListOffsets) -> None:
        self.do(step)

    @rule(step=deletions())
    def delete_records(self, step: DeleteRecords) -> None:
        self.do(step)

    # --- consumers

    @initialize(step=first_consumers())
    def begin_to_consume(self, step: Consume | Join) -> None:
        self.do(step)
        self.do(PollGroup())

    @rule(step=consumer_steps())
    def consume_or_rebalance(self, step: ConsumerStep) -> None:
        self.do(step)

    @precondition(lambda self: self.model.consumers)
    @rule(step=commits_and_offset_fetches())
    def commit_or_fetch_offsets(self, step: PollGroup | OffsetFetch) -> None:
        self.do(step)

    # --- faults

    def before_heal(self) -> list[Step]:
        return [ProbeLeaders()]


OPENING: list[LogStep] = [
    ProduceToAll(records=2),
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
    Disturb(on="strict-0", fault=CutOffFromControllers(role="leader")),
    Produce(on="strict-0", records=2),
    Read(on="strict-0"),
    Read(on="strict-0", role="former-leader", current_back=1),
    Produce(on="strict-0", records=1, to="former-leader"),
    Produce(on="strict-0", records=2, acks=1, to="former-leader"),
    Read(on="strict-0", role="former-leader", current_back=1),
    Read(on="strict-0", role="former-leader"),
    OffsetForLeaderEpoch(on="strict-0", epochs_back=0, current_back=1),
    ProbeLeaders(),
    Heal(),
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
    ProbeLeaders(),
    ReadEverything(),
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
        machine=LogMachine,
        executor=LogExecutor,
        step=LogStep,
        judges=LOG_JUDGES,
        opening=OPENING,
    )
)
