"""The log machine: one replicated partition under writes, reads, trims, kills and elections (KIP-101, KIP-320)."""

from __future__ import annotations

from contextlib import suppress
from functools import singledispatchmethod

from hypothesis.stateful import precondition, rule

from conformance.bench import Bench
from conformance.judges.log import LOG_JUDGES
from conformance.judges.reading import AT_REST, FUTURE_REPLICA
from conformance.machines import KafkaMachine, MachineCheck, machine
from conformance.models.partition import PartitionModel
from conformance.rigs.log import Partition, new_partition
from conformance.topologies import CLUSTER
from fixtures.wire import Error, NodeClient, WireError
from fixtures.wire.cluster import PartitionMetadata
from fixtures.wire.log import CONSUMER, EARLIEST, LATEST, FetchedPartition
from fixtures.wire.records import batch
from fixtures.wire.topics import ElectionType
from strategies.log_steps import (
    AskEpoch,
    AskOffsets,
    Kill,
    LogStep,
    MoveLeader,
    PreferredElection,
    Produce,
    Read,
    ReplicaRole,
    Restart,
    Trim,
    epoch_questions,
    kills,
    produces,
    reads,
    trims,
)


class LogMachine(KafkaMachine):
    """Writes, reads, trims, kills and elections on one replicated partition."""

    model: PartitionModel

    @property
    def partition(self) -> PartitionModel:
        if "model" not in self.__dict__:
            self.model = PartitionModel()
        return self.model

    @rule(step=produces())
    def produce(self, step: Produce) -> None:
        self.partition.produced(step.records)
        self.do(step)

    @rule(step=reads())
    def read(self, step: Read) -> None:
        self.do(step)

    @rule(step=epoch_questions())
    def ask_for_the_end_of_an_epoch(self, step: AskEpoch) -> None:
        self.do(step)

    @rule()
    def ask_for_offsets(self) -> None:
        self.do(AskOffsets())

    @precondition(lambda self: self.partition.written > 0)
    @rule(step=trims())
    def delete_records(self, step: Trim) -> None:
        self.do(step)

    @precondition(lambda self: self.partition.may_kill)
    @rule(step=kills())
    def kill_a_replica(self, step: Kill) -> None:
        self.partition.killed()
        self.do(step)

    @precondition(lambda self: not self.partition.all_up)
    @rule()
    def restart_it(self) -> None:
        self.partition.restarted()
        self.do(Restart())

    @precondition(lambda self: self.partition.all_up)
    @rule()
    def move_the_leader(self) -> None:
        self.partition.moved()
        self.do(MoveLeader())

    @rule()
    def elect_the_preferred_leader(self) -> None:
        self.do(PreferredElection())


class LogExecutor:
    """Runs log steps on a partition of its own. What the cluster refuses is recorded by the tape and left to the judges."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.partition: Partition = new_partition(bench, min_insync_replicas="2")
        self._written = 0
        self._down: str | None = None

    def step(self, step: LogStep) -> None:
        """A step that gets no answer has an unknown outcome (info); the schedule goes on."""
        with suppress(WireError):
            self.run(step)

    @singledispatchmethod
    def run(self, step: LogStep) -> None:
        raise TypeError(f"{step!r} is no step of the log machine")

    # --- operations

    @run.register
    def _(self, step: Produce) -> None:
        values = [f"value {self._written + n}".encode() for n in range(step.records)]
        self._written += step.records
        self._leader().produce(
            self.partition.topic, 0, batch(*values, timestamp=self.bench.now().unix_ms), acks=step.acks
        )

    @run.register
    def _(self, step: Read) -> None:
        self._read(self._in_role(step.role), step.whole, self._state().leader_epoch - step.epochs_back)

    @run.register
    def _(self, step: AskEpoch) -> None:
        epoch = self._state().leader_epoch
        asked, claimed = max(0, epoch - step.epochs_back), max(0, epoch - step.claimed_back)
        self._in_role(step.role).offset_for_leader_epoch(self.partition.name, 0, asked, current_leader_epoch=claimed)

    @run.register
    def _(self, step: AskOffsets) -> None:
        leader = self._leader()
        leader.list_offsets(self.partition.name, 0, EARLIEST)
        leader.list_offsets(self.partition.name, 0, LATEST)

    @run.register
    def _(self, step: Trim) -> None:
        leader = self._leader()
        latest = leader.list_offsets(self.partition.name, 0, LATEST).offset
        leader.delete_records(self.partition.name, 0, max(0, latest - step.keep), timeout_ms=2_000)

    # --- faults and elections

    @run.register
    def _(self, step: Kill) -> None:
        before = self._state()
        victim = before.leader if step.role == "leader" else next(id for id in before.isr if id != before.leader)
        self._down = self.bench.name_of(victim)
        self.bench.kill(self._down, role=f"{step.role} of the partition")
        self.bench.eventually(lambda: self._without(victim), f"a leader other than {victim} and an ISR without it")

    def _without(self, victim: int) -> PartitionMetadata | None:
        state = self._state()
        return state if state.leader != victim and victim not in state.isr else None

    @run.register
    def _(self, step: Restart) -> None:
        if self._down is not None:
            self.bench.start(self._down)
            self._down = None
            self.partition.whole()

    @run.register
    def _(self, step: MoveLeader) -> None:
        self.partition.move_leader()

    @run.register
    def _(self, step: PreferredElection) -> None:
        self._leader().elect_leaders([(self.partition.name, 0)], ElectionType.PREFERRED)

    # --- rest

    def rest(self) -> None:
        """Everything up and in sync, then the log of every replica, and every epoch's end, read at rest."""
        self.run(Restart())
        state = self.partition.whole()
        self.bench.eventually(self._caught_up, "all replicas at one high watermark and log end")
        self.bench.tape.premise(AT_REST, True)
        for id in state.replicas:
            self._read(self.bench.node(id), True, state.leader_epoch)
            self._read(self.bench.node(id), False, state.leader_epoch)
        for epoch in range(state.leader_epoch + 1):
            leader = self.bench.node(state.leader)
            leader.offset_for_leader_epoch(self.partition.name, 0, epoch, current_leader_epoch=state.leader_epoch)

    def _caught_up(self) -> bool:
        """Log starts may differ: that of a new leader may be lower than that of the one that was trimmed."""
        state = self._state()
        answers = [self._read(self.bench.node(id), True, state.leader_epoch) for id in state.replicas]
        seen = {(a.error, a.high_watermark, _log_end(a)) for a in answers}
        return len(seen) == 1 and all(a.error is Error.NONE and a.high_watermark == _log_end(a) for a in answers)

    # --- by role

    def _state(self) -> PartitionMetadata:
        return self.partition.settled([name for name in self.bench.brokers if name != self._down])

    def _leader(self) -> NodeClient:
        return self.bench.node(self._state().leader)

    def _in_role(self, role: ReplicaRole) -> NodeClient:
        state = self._state()
        followers = [id for id in state.replicas if id != state.leader and self.bench.name_of(id) != self._down]
        return self.bench.node(state.leader if role == "leader" else followers[0])

    def _read(self, node: NodeClient, whole: bool, epoch: int) -> FetchedPartition:
        replica = FUTURE_REPLICA if whole else CONSUMER
        start = node.list_offsets(self.partition.name, 0, EARLIEST, replica_id=-2).offset
        return node.fetch(
            self.partition.topic, 0, max(0, start), current_leader_epoch=max(0, epoch), replica_id=replica
        )


def _log_end(answer: FetchedPartition) -> int:
    """Of an answer that shows a whole log; an empty one ends where its high watermark is, since nothing is left to copy."""
    return answer.batches[-1].last_offset + 1 if answer.batches else answer.high_watermark


LOG_MACHINE = machine(
    MachineCheck(
        id="kip101.log_machine.LogMachine",
        topology=CLUSTER,
        machine=LogMachine,
        executor=LogExecutor,
        step=LogStep,
        judges=LOG_JUDGES,
        opening=[
            Produce(records=3, acks=-1),
            Read(role="leader", whole=True),
            Read(role="follower", whole=True),
            MoveLeader(),
            Produce(records=2, acks=1),
            Read(role="leader", whole=False),
            Kill(role="leader"),
            Produce(records=2, acks=-1),
            AskEpoch(role="leader", epochs_back=1),
            AskEpoch(role="leader", epochs_back=0, claimed_back=1),
            AskEpoch(role="leader", epochs_back=0, claimed_back=-1),
            Read(role="leader", whole=True),
            Read(role="leader", whole=True, epochs_back=1),
            Restart(),
            Read(role="follower", whole=False, epochs_back=1),
            AskEpoch(role="follower", epochs_back=0),
            PreferredElection(),
            Trim(keep=2),
            AskOffsets(),
            Produce(records=1, acks=-1),
            Read(role="leader", whole=False),
        ],
    )
)
