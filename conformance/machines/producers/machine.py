"""The producer machine: transactions and idempotent writes while leaders and coordinators fail (KIP-360, KIP-98, KIP-890).

Idempotent and transactional producers, in both transaction protocols, write from raw requests to replicated partitions: honest
ones, which send again what is unknown, and requests that have to be refused, such as skipped sequences and those of fenced
instances. Beside them is kafka-python's own producer, which decides by itself what it asks for, and when. Leaders and
coordinators are moved, killed, frozen and cut off in any state of a transaction; records are deleted. `executor` runs the steps,
`conformance.judging.producers` judges the history by the catalogue's invariants.
"""

from __future__ import annotations

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import EpisodeRules
from conformance.core.topologies import PRODUCERS
from conformance.judging.producers.judges import PRODUCER_JUDGES
from conformance.machines.producers.executor import ProducersExecutor
from fixtures.faults.kinds.elections import MoveCoordinator, MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.producers import ForgetProducers
from strategies.producers import (
    BumpAsFenced,
    BumpEpoch,
    Collect,
    CommitOffset,
    DeleteRecords,
    Describe,
    EndNothing,
    EndTransaction,
    FetchCommitted,
    InitProducerId,
    OutlastTimeout,
    ProducerStep,
    PythonCommitOffset,
    PythonEnd,
    PythonFlush,
    PythonReopen,
    PythonWrite,
    RaiseEpoch,
    RepeatBatch,
    SendAsFenced,
    SkipSequence,
    Write,
    WriteInFlight,
    WriteToSeveral,
)
from strategies.producers_offer import producers_offer
from strategies.steps import (
    CancelReassignment,
    Disturb,
    DisturbBriefly,
    Echo,
    ElectPreferredLeader,
    Heal,
    HealPartly,
    ReadEverything,
    ReassignPartition,
    Sweep,
)


class ProducerMachine(EpisodeRules[FaultModel]):
    """Producers on three strict partitions and a loose one, while leaders and coordinators fail."""

    model_type = FaultModel
    offer = producers_offer()


OPENING: list[ProducerStep] = [
    Write(producer="tv2-1", on="strict-0", records=2),
    Write(producer="tv2-1", on="strict-1"),
    CommitOffset(producer="tv2-1"),
    EndTransaction(producer="tv2-1", commit=True),
    Write(producer="legacy-1", on="strict-0"),
    WriteToSeveral(producer="legacy-1", on="strict-2"),
    CommitOffset(producer="legacy-1"),
    FetchCommitted(on="strict-0"),
    EndTransaction(producer="legacy-1", commit=False),
    EndNothing(producer="legacy-1", commit=True),
    CommitOffset(producer="legacy-1", unadded=True),
    Write(producer="legacy-1", on="strict-0", records=2),
    EndTransaction(producer="legacy-1", commit=True),
    Write(producer="plain-1", on="strict-1", records=2),
    Write(producer="plain-1", on="strict-1"),
    RepeatBatch(producer="plain-1", on="strict-1", back=1),
    SkipSequence(producer="plain-1", on="strict-1", gap=2),
    WriteInFlight(producer="plain-2", on="strict-2", batches=3),
    Collect(),
    BumpEpoch(producer="plain-1"),
    Write(producer="plain-1", on="strict-1"),
    RaiseEpoch(producer="plain-1", to=32_767),
    Write(producer="plain-1", on="strict-1"),
    BumpEpoch(producer="plain-1"),
    Write(producer="plain-1", on="strict-1"),
    RaiseEpoch(producer="legacy-1", to=100),
    Write(producer="tv2-1", on="strict-0"),
    BumpEpoch(producer="tv2-1"),
    Write(producer="tv2-1", on="strict-2"),
    DisturbBriefly(on="strict-0", fault=MoveCoordinator(role="transaction coordinator")),
    Write(producer="tv2-1", on="strict-1"),
    InitProducerId(producer="tv2-1"),
    SendAsFenced(producer="tv2-1", on="strict-1", request="produce", seen=True),
    SendAsFenced(producer="tv2-1", on="strict-1", request="commit"),
    Write(producer="tv2-1", on="strict-1"),
    Describe(),
    EndTransaction(producer="tv2-1", commit=True),
    Echo(),
    PythonWrite(producer="python-plain", on="strict-1", records=2),
    PythonWrite(on="strict-0", records=2),
    PythonWrite(on="strict-2"),
    PythonFlush(producer="python-plain"),
    PythonCommitOffset(),
    PythonEnd(),
    PythonWrite(on="strict-1"),
    PythonReopen(),
    PythonWrite(on="strict-0"),
    Write(producer="tv2-2", on="strict-0"),
    Disturb(on="strict-0", fault=Kill(role="leader")),
    Write(producer="tv2-2", on="strict-0"),
    PythonWrite(on="strict-0"),
    Write(producer="legacy-1", on="strict-1"),
    EndTransaction(producer="tv2-2", commit=True),
    PythonEnd(commit=False),
    Disturb(on="strict-1", fault=PausePastFencing(role="follower")),
    EndTransaction(producer="legacy-1", commit=True),
    ReadEverything(),
    HealPartly(),
    Heal(),
    DisturbBriefly(on="strict-1", fault=MoveLeader()),
    Write(producer="plain-2", on="strict-1"),
    ReassignPartition(on="strict", partition=1),
    ElectPreferredLeader(on="strict", partition=1),
    CancelReassignment(on="strict", partition=1),
    DeleteRecords(on="strict-0", keep=1),
    Write(producer="plain-2", on="strict-0"),
    Sweep(turn=2),
    InitProducerId(producer="legacy-2"),
    InitProducerId(producer="legacy-2", timeout_ms=2_000),
    Write(producer="legacy-2", on="strict-1"),
    OutlastTimeout(producer="legacy-2"),
    EndTransaction(producer="legacy-2", commit=True),
    DisturbBriefly(on="strict-1", fault=ForgetProducers(role="all brokers", own_producer=False)),
    RepeatBatch(producer="plain-2", on="strict-1"),
    BumpAsFenced(producer="legacy-2"),
]

PRODUCER_MACHINE = machine(
    MachineCheck(
        id="machines.producers.ProducerMachine",
        topology=PRODUCERS,
        machine=ProducerMachine,
        executor=ProducersExecutor,
        step=ProducerStep,
        judges=PRODUCER_JUDGES,
        opening=OPENING,
    )
)
