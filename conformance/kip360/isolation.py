"""Transactions next to one that cannot complete, which must not keep others from ending (KIP-98; the general law
GEN-20)."""

from itertools import islice
from typing import NamedTuple

from hypothesis.strategies import booleans, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.partition import Partition
from conformance.rigs.producers.outcomes import MARKERS
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.three_brokers import THREE_BROKERS, How, ThreeBrokers
from fixtures.wire import NodeClient
from history.due import START_TIMEOUT
from protocol.records import ControlType
from strategies.inputs import FEW_RECORDS

BESIDE_MS = 2_000
"""The timeout in milliseconds of the transaction left open next to the stuck one."""


OF_EACH = 2
"""The number of other transactions that end by EndTxn, and of those that end by their timeout."""


class AtLeader(Partition):
    """A partition with a known leader: a look-up would wait for a broker that does not answer."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition.bench, partition.data)
        self._leader = partition.leader()

    def leader(self) -> NodeClient:
        return self._leader


def await_short_isr(brokers: ThreeBrokers, partition: Partition, seen_by: str) -> None:
    """Wait until a broker shows an ISR without some replicas."""

    def is_short() -> bool:
        state = partition.state_by(seen_by)
        return len(state.isr) < len(state.replicas)

    brokers.bench.eventually(is_short, f"{partition} short of replicas", START_TIMEOUT, due="step")


class Beside(NamedTuple):
    """A transaction that is to end beside the stuck one, by the request of its producer or by its timeout."""

    case: str
    producer: CheckProducer
    partition: Partition

    def end(self, committed: bool) -> ControlType:
        """Ask for the end, unless the timeout is to come; return the marker that is owed."""
        if self.case == "stuck-time-out":
            return ControlType.ABORT
        self.producer.require(self.producer.finish(committed), "producer")
        return MARKERS[committed]


@probe(
    "GEN-20",
    rig=THREE_BROKERS,
    cases=["stuck-transaction", "stuck-time-out"],
    smoke=False,
    examples=3,
    how=sampled_from(["freeze", "kill", "stop"]),
    newest=booleans(),
    committed=booleans(),
    records=FEW_RECORDS,
)
def transactions_end_beside_one_that_hangs(
    brokers: ThreeBrokers, how: How, newest: bool, committed: bool, records: int
) -> Claims:
    """While a partition is short of replicas, and takes no marker, other transactions end by EndTxn or their timeout.

    They write at another leader: a coordinator sends a broker no markers while it waits for the answer to others.
    """
    stuck = brokers.transactional(brokers.dialects[-1 if newest else 0])
    coordinator, (heir, lost) = brokers.coordinator_of(stuck), brokers.successor_and_outsider(stuck)
    asked = brokers.bench.node(coordinator)
    hanging, held_up = stuck.with_coordinator(asked), brokers.partition(heir, lost, min_insync_replicas="2")
    others = [
        Beside(case, producer.with_coordinator(asked), AtLeader(brokers.partition(coordinator, heir)))
        for case, timeout_ms in (("stuck-transaction", stuck.timeout_ms), ("stuck-time-out", BESIDE_MS))
        for producer in islice(brokers.beside(stuck, timeout_ms), OF_EACH)
    ]
    hanging.enter(held_up, records)
    with brokers.without_broker(lost, how):
        hanging.require(hanging.finish(committed), "producer")
        await_short_isr(brokers, held_up, coordinator)
        before = hanging.describe()
        for other in others:
            other.producer.enter(other.partition, records)
        owed = [other.end(committed) for other in others]
        for other, wanted in zip(others, owed, strict=True):
            met, found = brokers.await_marker(other.partition, other.producer, wanted)
            after = hanging.describe()
            outstanding = before.state == after.state and before.state.startswith("Prepare")
            yield premise(outstanding, f"the markers of the other transaction are outstanding: {before}, then {after}")
            detail = f"{other.partition} has {found}, where {wanted.name} was decided"
            yield held_if(met, after, *found.answers, case=other.case, detail=detail)
    held_up.wait_until_whole()
