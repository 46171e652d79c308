"""The log machine: replicated partitions under writes, reads, trims and rebalances, while leaders come and go (KIP-101, KIP-320).

Producers write with acks 0, 1 and all, to leaders and to who led before. Raw fetchers name epochs of their choice. Consumers of
kafka-python read alone and in a group. Brokers are killed, cut off, frozen and woken; tails and epoch files are lost; a replica
that lags is elected. `log_executor` does what the steps say, `conformance.judging.log` holds the history against the
catalogue.
"""

from __future__ import annotations

from hypothesis.stateful import initialize, precondition, rule
from hypothesis.strategies import one_of

from conformance.core.machines import KafkaMachine, MachineCheck, machine
from conformance.core.topologies import QUICK_CLUSTER
from conformance.judging.log.judges import LOG_JUDGES
from conformance.machines.log.executor import LogExecutor
from conformance.machines.log.model import LogModel
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.log_steps import (
    AskCommitted,
    AskEpoch,
    AskOffsets,
    Confront,
    Consume,
    ConsumerStep,
    Disturb,
    FetchAt,
    Fill,
    Heal,
    Join,
    Leave,
    LogStep,
    PollGroup,
    Produce,
    Read,
    Recall,
    Shake,
    Survey,
    Trim,
    consumer_steps,
    disturbances,
    epoch_questions,
    fetches,
    fills,
    first_consumers,
    group_questions,
    offset_questions,
    produces,
    reads,
    recalls,
    shakes,
    trims,
)


class LogMachine(KafkaMachine):
    """Two partitions of two in-sync replicas at least, one that may be elected uncleanly, one compacted, one of one replica."""

    @property
    def model(self) -> LogModel:
        found: LogModel = self.__dict__.setdefault("_model", LogModel())
        return found

    # --- producers

    @initialize(step=fills())
    def write_to_every_partition_first(self, step: Fill) -> None:
        self.do(step)

    @rule(step=fills())
    def write_to_every_partition(self, step: Fill) -> None:
        self.do(step)

    @rule(step=produces())
    def produce(self, step: Produce) -> None:
        self.do(step)

    # --- raw fetchers

    @rule()
    def read_every_replica(self) -> None:
        self.do(Survey())

    @rule(step=one_of(reads(), fetches(), recalls()))
    def fetch(self, step: Read | FetchAt | Recall) -> None:
        self.do(step)

    @rule(step=one_of(epoch_questions(), offset_questions()))
    def ask_for_epochs_and_offsets(self, step: AskEpoch | AskOffsets) -> None:
        self.do(step)

    # --- the head of the log

    @rule(step=trims())
    def delete_records(self, step: Trim) -> None:
        self.do(step)

    # --- consumers

    @initialize(step=first_consumers())
    def begin_to_consume(self, step: Consume | Join) -> None:
        self.model.consumers = True
        self.do(step)
        self.do(PollGroup())

    @rule(step=consumer_steps())
    def consume_or_rebalance(self, step: ConsumerStep) -> None:
        self.model.consumers = True
        self.do(step)

    @precondition(lambda self: self.model.consumers)
    @rule(step=group_questions())
    def commit_and_ask_what_is_committed(self, step: PollGroup | AskCommitted) -> None:
        self.do(step)

    # --- faults

    @precondition(lambda self: self.model.may_disturb)
    @rule(step=disturbances())
    def disturb(self, step: Disturb) -> None:
        self.model.faults += 1
        self.do(step)

    @precondition(lambda self: not self.model.whole)
    @rule()
    def heal(self) -> None:
        self.model.faults = 0
        self.do(Confront())
        self.do(Heal())

    @precondition(lambda self: self.model.whole)
    @rule(step=shakes())
    def shake(self, step: Shake) -> None:
        self.do(step)


OPENING: list[LogStep] = [
    Fill(records=2),
    Produce(on="strict-0", records=3),
    Produce(on="loose-0", records=2),
    Produce(on="compacted-0", records=3),
    Read(on="strict-0", whole=True),
    Read(on="strict-0", role="follower", whole=True),
    Consume(),
    Join(),
    PollGroup(),
    Shake(on="strict-0", fault=MoveLeader()),
    Produce(on="strict-0", records=2, acks=1),
    AskEpoch(on="strict-0", epochs_back=1),
    Recall(on="strict-0", back=1),
    AskOffsets(on="strict-0"),
    Disturb(on="strict-0", fault=CutOffFromControllers(role="leader")),
    Produce(on="strict-0", records=2),
    Read(on="strict-0"),
    Read(on="strict-0", role="deposed", epochs_back=1),
    Produce(on="strict-0", records=1, to="deposed"),
    Produce(on="strict-0", records=2, acks=1, to="deposed"),
    Read(on="strict-0", role="deposed", epochs_back=1),
    Read(on="strict-0", role="deposed"),
    AskEpoch(on="strict-0", epochs_back=0, claimed_back=1),
    Confront(),
    Heal(),
    FetchAt(on="strict-0", before_end=0, last_back=1),
    Join(),
    PollGroup(),
    Disturb(on="loose-0", fault=UncleanElection(own_topic=False)),
    Fill(records=2),
    FetchAt(on="loose-0", before_end=0, last_back=1),
    Heal(),
    Survey(),
    Leave(),
    AskCommitted(),
    Disturb(on="strict-1", fault=Kill(role="leader")),
    Produce(on="strict-1", records=2, acks=0),
    Disturb(on="strict-1", fault=PausePastFencing(role="follower")),
    Confront(),
    Survey(),
    Heal(),
    Trim(on="strict-0", keep=2),
    AskOffsets(on="strict-0"),
    Produce(on="strict-0", records=1),
    Read(on="strict-0"),
]

LOG_MACHINE = machine(
    MachineCheck(
        id="kip101.log_machine.LogMachine",
        topology=QUICK_CLUSTER,
        machine=LogMachine,
        executor=LogExecutor,
        step=LogStep,
        judges=LOG_JUDGES,
        opening=OPENING,
    )
)
