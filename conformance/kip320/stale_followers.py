"""A follower cut off from the controllers: fenced without knowing it, and later at an old epoch (KIP-320, KIP320-SC-04)."""

from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise
from conformance.core.faulting import Faults
from conformance.core.topologies import QUICK_CLUSTER
from conformance.core.waiting import Settled
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from conformance.rigs.log.epoch_requests import TOO_FEW
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.replica_log import reads_nothing
from conformance.rigs.log.rotation import prefer_leader
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Unhealthy
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.wire import NodeClient
from history.due import START_TIMEOUT
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, FetchOptions, ProducedPartition
from protocol.records import batch
from protocol.words import say
from strategies.inputs import FEW_RECORDS

A_WHILE = 0.5
"""Seconds in which a follower fetches about five times, and its leader reconsiders the ISR each time."""
ROUNDS = 3
AT_ONCE_MS = 5_000
"""Milliseconds, many times what an in-sync follower needs to copy a record, but too few for an ISR shrink."""


def _trio(bench: Bench) -> PartitionData:
    return new_partition(bench, min_insync_replicas="2").data


TRIO = Rig(QUICK_CLUSTER, _trio, Partition)


class StaleFollower:
    """A partition with its leader, a follower, and a second follower that is cut off."""

    def __init__(self, partition: Partition, cut_off: str, before: PartitionMetadata) -> None:
        self.partition = partition
        self.bench = partition.bench
        self.leader, self.follower = self.bench.node(before.leader), self.bench.node(cut_off)
        self.id = self.bench.id_of(cut_off)
        [self.other] = set(before.replicas) - {before.leader, self.id}
        self.epoch = before.leader_epoch

    def agreed_state(self) -> PartitionMetadata:
        """Return the state on which the two brokers with a link to the controller agree."""
        return self.partition.await_agreement([self.leader.node, self.bench.name_of(self.other)])

    def own_isr(self) -> tuple[int, ...]:
        """Return the ISR as the leader sees it."""
        return self.partition.state_by(self.leader.node).isr

    def write_at_once(self) -> ProducedPartition:
        """Write with acks=all, waiting no longer than in-sync followers need."""
        return self.leader.produce(
            self.partition.topic, self.partition.index, batch(b"beside the fenced one"), timeout_ms=AT_ONCE_MS
        )

    def log_end(self, node: NodeClient) -> int:
        return node.list_offsets(self.partition.name, self.partition.index, LATEST, replica_id=DEBUGGER).offset

    def has_copied(self, end: int) -> Settled:
        """Return whether the follower reaches this log end."""
        return self.bench.wait.becomes_true(
            lambda: self.log_end(self.follower) == end, "the fenced follower copies", 5.0
        )

    def watch(self, seconds: float) -> tuple[set[int], list[PartitionMetadata]]:
        """Watch for `seconds`; return the follower's log ends, and the partition's states as its leader saw them."""
        began, ends, states = self.bench.now().seconds, set[int](), list[PartitionMetadata]()

        def over() -> bool:
            ends.add(self.log_end(self.follower))
            states.append(self.partition.state_by(self.leader.node))
            return self.bench.now().seconds - began >= seconds

        self.bench.eventually(over, "the end of a while", every=0.05)
        return ends, states


def copies_but_stays_out(stale: StaleFollower, records: int) -> Claims:
    """Check REPL-02: at an unchanged epoch the fenced follower keeps copying, and is never added to the ISR."""
    for _ in range(ROUNDS):
        stale.partition.write(*[b"while fenced"] * records, to=stale.leader)
        end = stale.log_end(stale.leader)
        yield premise(stale.has_copied(end), f"{stale.follower.node}, fenced, copied up to {end}")
        ends, states = stale.watch(A_WHILE)
        entered = [state for state in states if stale.id in state.isr]
        detail = f"log end {end}, at the follower {say(ends)}; {(entered or states)[-1]}"
        yield held_if(not entered, row="KIP320-REPL-02", case="fenced", detail=detail)


def neither_counts_nor_delays(stale: StaleFollower) -> Claims:
    """Check REPL-03: acks=all is acknowledged at once by the other two, and fails once the leader is alone in the ISR.

    The first write without the other replica may still wait for it: Metadata shows the ISR a moment before the leader
    acts on it.
    """
    bench, leader = stale.bench, stale.bench.id_of(stale.leader.node)
    by_two = stale.write_at_once()
    yield held_if(by_two.error is Error.NONE, by_two, row="KIP320-REPL-03", case="not-blocking")
    with frozen_broker(bench, bench.name_of(stale.other)):
        bench.eventually(lambda: set(stale.own_isr()) == {leader}, "the leader alone in sync")
        _, by_one = stale.write_at_once(), stale.write_at_once()
        still = stale.own_isr()
    bench.eventually(
        lambda: stale.other in stale.agreed_state().isr, f"{stale.other} in sync again", START_TIMEOUT, due="replica"
    )
    yield premise(set(still) == {leader}, f"the leader alone in sync to the end: {say(still)}")
    yield held_if(by_one.error in TOO_FEW, by_one, row="KIP320-REPL-03", case="not-counted")


def is_refused(stale: StaleFollower, current: int, sends_last: bool) -> Claims:
    """Check REPL-01: the leader refuses the follower's fetch at the old epoch once it leads at a newer one."""
    partition, end = stale.partition, stale.log_end(stale.follower)
    answer = stale.leader.fetch(
        partition.fetch_from(
            end, current_leader_epoch=stale.epoch, last_fetched_epoch=stale.epoch if sends_last else -1
        ),
        FetchOptions(replica_id=stale.id),
    )
    old = stale.follower.fetch(partition.fetch_from(0, current_leader_epoch=stale.epoch))
    new = stale.follower.fetch(partition.fetch_from(0, current_leader_epoch=current))
    unaware = (old.error, new.error) == (Error.NONE, Error.UNKNOWN_LEADER_EPOCH)
    yield premise(unaware, f"{stale.follower.node} still at epoch {stale.epoch}, not {current}: {old}, {new}")
    held = answer.error is Error.FENCED_LEADER_EPOCH and reads_nothing(answer)
    yield held_if(held, answer, row="KIP320-REPL-01", case="refused")


def gets_nothing(stale: StaleFollower, records: int) -> Claims:
    """Check REPL-01: the follower does not get the records that the leader appends meanwhile."""
    stood = stale.log_end(stale.follower)
    written = stale.partition.write(*[b"at the newer epoch"] * records, to=stale.leader)
    ends, states = stale.watch(2 * A_WHILE)
    end = stale.log_end(stale.leader)
    yield premise(end > stood, f"a leader that went on from {stood} to {end}")
    held = ends == {stood} and not any(stale.id in state.isr for state in states)
    detail = f"log end {end}, at the follower {stood}, then {say(ends)}; {states[-1]}"
    yield held_if(held, written, row="KIP320-REPL-01", case="parked", detail=detail)


def resumes(stale: StaleFollower, faults: Faults, fault: Fault) -> Claims:
    """Check REPL-01: once the link is restored, the follower recovers without further action."""
    try:
        faults.heal(fault)
    except Unhealthy:
        """The firewall rules are gone; whether the replica returns is what the check observes."""

    def is_listed() -> bool:
        return stale.id in {broker.node_id for broker in stale.leader.metadata([]).brokers}

    def has_resumed() -> bool:
        in_sync = stale.id in stale.partition.state_by(stale.leader.node).isr
        return in_sync and stale.log_end(stale.follower) == stale.log_end(stale.leader)

    heard = stale.bench.wait.becomes_true(is_listed, "no broker fenced", CONVERGENCE_TIMEOUT)
    yield premise(heard, "the controller hears it again", promised=("GEN-10", "start"))
    held = stale.bench.wait.becomes_true(has_resumed, "the follower caught up and in sync", CONVERGENCE_TIMEOUT)
    detail = f"log ends {stale.log_end(stale.leader)}, {stale.log_end(stale.follower)}; {stale.partition.state_by()}"
    yield held_if(held, row="KIP320-REPL-01", case="resumed", detail=detail)


@log_scenario(
    "KIP320-SC-04",
    "KIP320-REPL-01",
    "KIP320-REPL-02",
    "KIP320-REPL-03",
    rig=TRIO,
    pick=integers(0, 1),
    records=FEW_RECORDS,
    sends_last=booleans(),
)
def stale_follower(partition: Partition, pick: int, records: int, sends_last: bool) -> Claims:
    """A follower that misses a new epoch gets nothing at the old one, and resumes on its own once it is reconnected."""
    partition.write(*[b"on all"] * records)
    before, faults = partition.wait_until_whole(), partition.bench.faults(partition.topic)
    cut = CutOffFromControllers(role="follower", pick=pick)
    [cut_off] = faults.inject(cut).nodes
    stale = StaleFollower(partition, cut_off, before)
    shrunk = stale.agreed_state()
    yield premise(stale.id not in shrunk.isr, f"an ISR without {cut_off}: {shrunk}")
    if shrunk.leader_epoch == before.leader_epoch:  # below metadata.version 12 the shrink has raised it
        yield from copies_but_stays_out(stale, records)
    yield from neither_counts_nor_delays(stale)
    away = prefer_leader(partition, stale.other)
    back = prefer_leader(partition, before.leader)
    yield premise(before.leader_epoch < away.leader_epoch < back.leader_epoch, f"{before}, {away}, {back}")
    yield from is_refused(stale, back.leader_epoch, sends_last)
    yield from gets_nothing(stale, records)
    yield from resumes(stale, faults, cut)
    at_rest(partition)
