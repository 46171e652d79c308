"""The log machine: replicated partitions under writes, reads, trims and rebalances, while leaders come and go (KIP-101, KIP-320).

Producers write with acks 0, 1 and all, to leaders and to who led before. Raw fetchers name epochs of their choice. Consumers of
kafka-python read alone and in a group. Brokers are killed, cut off, frozen and woken; tails and epoch files are lost; a replica
that lags is elected. `log_executor` does what the steps say, `conformance.judges.log` holds the history against the catalogue.
"""

from __future__ import annotations

from hypothesis.stateful import precondition, rule

from conformance.judges.log import LOG_JUDGES
from conformance.kip101.log_executor import LogExecutor
from conformance.machines import KafkaMachine, MachineCheck, machine
from conformance.models.log import LogModel
from conformance.topologies import QUICK_CLUSTER
from fixtures.faults.elections import MoveLeader
from fixtures.faults.process import Kill
from fixtures.faults.unclean import UncleanElection
from fixtures.faults.zombies import CutOffFromControllers
from strategies.log_steps import (
    AskCommitted,
    AskEpoch,
    AskOffsets,
    Consume,
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
    disturbances,
    epoch_questions,
    fetches,
    fills,
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

    @rule(step=produces())
    def produce(self, step: Produce) -> None:
        self.model.batches += 1
        self.do(step)

    @rule(step=fills())
    def write_to_every_partition(self, step: Fill) -> None:
        self.model.batches += 1
        self.do(step)

    # --- raw fetchers

    @precondition(lambda self: self.model.batches > 0)
    @rule()
    def read_every_replica(self) -> None:
        self.model.reads += 1
        self.do(Survey())

    @rule(step=reads())
    def read(self, step: Read) -> None:
        self.model.reads += 1
        self.do(step)

    @precondition(lambda self: self.model.batches > 0)
    @rule(step=fetches())
    def fetch_at_a_position(self, step: FetchAt) -> None:
        self.do(step)

    @precondition(lambda self: self.model.reads > 0)
    @rule(step=recalls())
    def go_back_to_a_record_that_was_read(self, step: Recall) -> None:
        self.do(step)

    @rule(step=epoch_questions())
    def ask_for_the_end_of_an_epoch(self, step: AskEpoch) -> None:
        self.do(step)

    @rule(step=offset_questions())
    def ask_for_offsets(self, step: AskOffsets) -> None:
        self.do(step)

    # --- the head of the log

    @precondition(lambda self: self.model.batches > 0)
    @rule(step=trims())
    def delete_records(self, step: Trim) -> None:
        self.do(step)

    # --- consumers

    @precondition(lambda self: self.model.batches > 0)
    @rule()
    def consume_alone(self) -> None:
        self.do(Consume())

    @precondition(lambda self: self.model.may_join)
    @rule()
    def join_the_group(self) -> None:
        self.model.members += 1
        self.do(Join())

    @precondition(lambda self: self.model.members > 0)
    @rule()
    def poll_and_commit(self) -> None:
        self.model.committed = True
        self.do(PollGroup())

    @precondition(lambda self: self.model.members > 1)
    @rule()
    def leave_the_group(self) -> None:
        self.model.members -= 1
        self.do(Leave())

    @precondition(lambda self: self.model.committed)
    @rule()
    def ask_what_is_committed(self) -> None:
        self.do(AskCommitted())

    # --- faults

    @precondition(lambda self: self.model.whole)
    @rule(step=disturbances())
    def disturb(self, step: Disturb) -> None:
        self.model.broken = True
        self.do(step)

    @precondition(lambda self: not self.model.whole)
    @rule()
    def heal(self) -> None:
        self.model.broken = False
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
    Produce(on="strict-0", records=1, to="deposed"),
    Produce(on="strict-0", records=2, acks=1, to="deposed"),
    Read(on="strict-0", role="deposed", epochs_back=1),
    Read(on="strict-0", role="deposed"),
    AskEpoch(on="strict-0", epochs_back=0, claimed_back=1),
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
    Read(on="strict-1", whole=True),
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
