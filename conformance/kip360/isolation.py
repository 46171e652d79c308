"""Transactions next to one that cannot complete, which must not keep others from ending (KIP-98; the general law
GEN-20)."""

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


class AtLeader(Partition):
    """A partition with a known leader: a look-up would wait for a broker that does not answer."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition.bench, partition.data)
        self._leader = partition.leader()

    def leader(self) -> NodeClient:
        return self._leader


def create_neighbour(brokers: ThreeBrokers, stuck: CheckProducer, timeout_ms: int) -> CheckProducer:
    """Create a producer whose transactional id shares the stuck one's partition of __transaction_state."""
    index = brokers.state_partition(stuck).index
    made = (brokers.transactional(stuck.dialect.name, timeout_ms) for _ in range(100))
    return next(one for one in made if brokers.state_partition(one).index == index)


def await_short_isr(brokers: ThreeBrokers, partition: Partition, seen_by: str) -> None:
    """Wait until a broker shows an ISR without some replicas."""

    def is_short() -> bool:
        state = partition.state_by(seen_by)
        return len(state.isr) < len(state.replicas)

    brokers.bench.eventually(is_short, f"{partition} short of replicas", START_TIMEOUT, due="step")


@probe(
    "GEN-20",
    rig=THREE_BROKERS,
    cases=["stuck-transaction", "stuck-time-out"],
    smoke=False,
    how=sampled_from(["freeze", "kill", "stop"]),
    newest=booleans(),
    committed=booleans(),
    records=FEW_RECORDS,
)
def transactions_end_beside_one_that_hangs(
    brokers: ThreeBrokers, case: str, how: How, newest: bool, committed: bool, records: int
) -> Claims:
    """While a partition is short of replicas, and takes no marker, another transaction ends by EndTxn or its timeout.

    It writes at another leader: a coordinator sends a broker no markers while it waits for the answer to others.
    """
    times_out = case == "stuck-time-out"
    stuck = brokers.transactional(brokers.dialects[-1 if newest else 0])
    other = create_neighbour(brokers, stuck, BESIDE_MS if times_out else stuck.timeout_ms)
    coordinator, (heir, lost) = brokers.coordinator_of(stuck), brokers.successor_and_outsider(stuck)
    held_up, free = (
        brokers.partition(heir, lost, min_insync_replicas="2"),
        AtLeader(brokers.partition(coordinator, heir)),
    )
    hanging, ending = (one.with_coordinator(brokers.bench.node(coordinator)) for one in (stuck, other))
    hanging.enter(held_up, records)
    with brokers.without_broker(lost, how):
        hanging.require(hanging.finish(committed), "producer")
        await_short_isr(brokers, held_up, coordinator)
        before = hanging.describe()
        ending.enter(free, records)
        if not times_out:
            ending.require(ending.finish(committed), "producer")
        wanted = ControlType.ABORT if times_out else MARKERS[committed]
        met, found = brokers.await_marker(free, ending, wanted)
        after = hanging.describe()
        outstanding = before.state == after.state and before.state.startswith("Prepare")
        yield premise(outstanding, f"the markers of the other transaction are outstanding: {before}, then {after}")
        yield held_if(met, after, *found.answers, detail=f"{free} has {found}, where {wanted.name} was decided")
    held_up.wait_until_whole()
