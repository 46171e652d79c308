"""The producer machine: transactions and idempotent writes while leaders and coordinators fail (KIP-360, KIP-98, KIP-890).

Idempotent and transactional producers, in both transaction protocols, write to replicated partitions by raw requests: honest
ones, which repeat requests of unknown outcome, and requests that have to be refused, such as skipped sequences and those of
fenced instances. In addition, kafka-python's own producer decides by itself which requests it sends, and when. Leaders and
coordinators are moved, killed, frozen and cut off in any state of a transaction; records are deleted. `executor` runs the steps,
`conformance.judging.producers` judges the history by the catalogue's invariants.
"""

from conformance.core.machines import MachineCheck, machine
from conformance.core.model import FaultModel
from conformance.core.rules import EpisodeRules
from conformance.core.topologies import PRODUCERS
from conformance.machines.producers.executor import ProducersExecutor
from fixtures.faults.kinds.elections import MoveCoordinator, MoveLeader
from fixtures.faults.kinds.process import Kill, PausePastFencing
from fixtures.faults.kinds.producers import ForgetProducers
from strategies import producers as do
from strategies import producers_offer, steps


class ProducerMachine(EpisodeRules[FaultModel]):
    """Producers on three strict partitions and a loose one, while leaders and coordinators fail."""

    model_type = FaultModel
    offer = producers_offer.OFFER


OPENING: list[do.ProducerStep] = [
    do.Write(producer="tv2-1", on="strict-0", records=2),
    do.Write(producer="tv2-1", on="strict-1"),
    do.CommitOffset(producer="tv2-1"),
    do.EndTransaction(producer="tv2-1", commit=True),
    do.Write(producer="legacy-1", on="strict-0"),
    do.WriteToSeveral(producer="legacy-1", on="strict-2"),
    do.CommitOffset(producer="legacy-1"),
    do.FetchCommitted(on="strict-0"),
    do.EndTransaction(producer="legacy-1", commit=False),
    do.EndNothing(producer="legacy-1", commit=True),
    do.CommitOffset(producer="legacy-1", unadded=True),
    do.Write(producer="legacy-1", on="strict-0", records=2),
    do.EndTransaction(producer="legacy-1", commit=True),
    do.Write(producer="plain-1", on="strict-1", records=2),
    do.Write(producer="plain-1", on="strict-1"),
    do.RepeatBatch(producer="plain-1", on="strict-1", back=1),
    do.SkipSequence(producer="plain-1", on="strict-1", gap=2),
    do.WriteInFlight(producer="plain-2", on="strict-2", batches=3),
    do.Collect(),
    do.BumpEpoch(producer="plain-1"),
    do.Write(producer="plain-1", on="strict-1"),
    do.RaiseEpoch(producer="plain-1", to=32_767),
    do.Write(producer="plain-1", on="strict-1"),
    do.BumpEpoch(producer="plain-1"),
    do.Write(producer="plain-1", on="strict-1"),
    do.RaiseEpoch(producer="legacy-1", to=100),
    do.Write(producer="tv2-1", on="strict-0"),
    do.BumpEpoch(producer="tv2-1"),
    do.Write(producer="tv2-1", on="strict-2"),
    steps.DisturbBriefly(on="strict-0", fault=MoveCoordinator(role="transaction coordinator")),
    do.Write(producer="tv2-1", on="strict-1"),
    do.InitProducerId(producer="tv2-1"),
    do.SendAsFenced(producer="tv2-1", on="strict-1", request="produce", seen=True),
    do.SendAsFenced(producer="tv2-1", on="strict-1", request="commit"),
    do.Write(producer="tv2-1", on="strict-1"),
    do.Describe(),
    do.EndTransaction(producer="tv2-1", commit=True),
    steps.Echo(),
    do.PythonWrite(producer="python-plain", on="strict-1", records=2),
    do.PythonWrite(on="strict-0", records=2),
    do.PythonWrite(on="strict-2"),
    do.PythonFlush(producer="python-plain"),
    do.PythonCommitOffset(),
    do.PythonEnd(),
    do.PythonWrite(on="strict-1"),
    do.PythonReopen(),
    do.PythonWrite(on="strict-0"),
    do.Write(producer="tv2-2", on="strict-0"),
    steps.Disturb(on="strict-0", fault=Kill(role="leader")),
    do.Write(producer="tv2-2", on="strict-0"),
    do.PythonWrite(on="strict-0"),
    do.Write(producer="legacy-1", on="strict-1"),
    do.EndTransaction(producer="tv2-2", commit=True),
    do.PythonEnd(commit=False),
    steps.Disturb(on="strict-1", fault=PausePastFencing(role="follower")),
    do.EndTransaction(producer="legacy-1", commit=True),
    steps.ReadEverything(),
    steps.HealPartly(),
    steps.Heal(),
    steps.DisturbBriefly(on="strict-1", fault=MoveLeader()),
    do.Write(producer="plain-2", on="strict-1"),
    steps.ReassignPartition(on="strict", partition=1),
    steps.ElectPreferredLeader(on="strict", partition=1),
    steps.CancelReassignment(on="strict", partition=1),
    do.DeleteRecords(on="strict-0", keep=1),
    do.Write(producer="plain-2", on="strict-0"),
    steps.Sweep(turn=2),
    do.InitProducerId(producer="legacy-2"),
    do.InitProducerId(producer="legacy-2", timeout_ms=2_000),
    do.Write(producer="legacy-2", on="strict-1"),
    do.OutlastTimeout(producer="legacy-2"),
    do.EndTransaction(producer="legacy-2", commit=True),
    steps.DisturbBriefly(on="strict-1", fault=ForgetProducers(role="all brokers", own_producer=False)),
    do.RepeatBatch(producer="plain-2", on="strict-1"),
    do.BumpAsFenced(producer="legacy-2"),
]

PRODUCER_MACHINE = machine(
    MachineCheck(
        id="machines.producers.ProducerMachine",
        topology=PRODUCERS,
        machine=ProducerMachine,
        executor=ProducersExecutor,
        step=do.ProducerStep,
        aims=("transactional-id", "producer"),
        opening=OPENING,
        injects=(
            *(one.kind for one in producers_offer.FAULTS),
            *producers_offer.BRIEF,
            MoveCoordinator,
            ForgetProducers,
        ),
    )
)
