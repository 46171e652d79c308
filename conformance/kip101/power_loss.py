"""Power loss: brokers, or all nodes, are killed at once and lose data that was not on disk (KIP101-SC-15)."""

from hypothesis.strategies import integers, permutations

from conformance.core.checks import Claims, held_if, premise
from conformance.rigs.log.crashes import Crashing
from conformance.rigs.log.partition import Boundary
from conformance.rigs.log.power_loss import POWER, Power, PowerLossWrites
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from history.due import START_TIMEOUT
from history.readings import PartitionRegistration
from protocol.cluster import PartitionMetadata
from protocol.words import say
from strategies.inputs import FEW_RECORDS

ENOUGH = 10


def new_epoch(partition: Crashing, before: PartitionMetadata, case: str) -> Claims:
    """Check EPOCH-04: the only replica leads again, and its new batches have a higher leader epoch."""
    state = partition.await_leadership(before.leader)
    [after] = partition.write_acknowledged(b"after", by=before.leader)
    read = partition.read(before.leader)
    stamp = next((b.leader_epoch for b in read.batches if b.base_offset == after.offset), -1)
    detail = f"led at epoch {before.leader_epoch}, then at {state.leader_epoch} with {say(after)} stamped {stamp}"
    yield held_if(stamp > before.leader_epoch, read, row="KIP101-EPOCH-04", case=case, detail=detail)


def leads_at_a_new_epoch(partition: Crashing, before: PartitionMetadata) -> Claims:
    """Check EPOCH-05: Metadata and leader-epoch-checkpoint have a higher epoch even before a write in it."""
    state = partition.await_leadership(before.leader)
    entry = Boundary(state.leader_epoch, partition.await_log_end(before.leader))
    detail = f"Metadata had {before}, and then {state}"
    yield held_if(state.leader_epoch > before.leader_epoch, row="KIP101-EPOCH-05", case="metadata", detail=detail)
    entries = partition.entries(before.leader, lambda found: entry in found)
    detail = f"the leader epoch cache has {say(entries)}, and not {say(entry)}"
    yield held_if(entry in entries, row="KIP101-EPOCH-05", case="entry", detail=detail)


# --- the brokers alone


def lose_suffix(partition: Crashing, spared: tuple[int, ...], candidates: list[int], lost: int) -> int:
    """Cut the last `lost` batches from the first candidate that cannot be elected; return its id."""
    victim = next(id for id in candidates if id not in spared)
    disk = partition.disk(victim)
    disk.cut_log(disk.read_replica().batches[-lost].base_offset)
    return victim


def electable(word: PartitionRegistration) -> tuple[int, ...]:
    """Return the replicas that may be elected: the ISR or, if it is empty, the last known leader (KIP-966)."""
    return word.isr or word.last_known


@log_scenario(
    "KIP101-SC-15",
    "KIP101-EPOCH-04",
    "KIP101-EPOCH-05",
    "GEN-09",
    rig=POWER,
    lost=integers(1, 3),
    order=permutations([0, 1, 2]),
)
def brokers_without_power(power: Power, lost: int, order: list[int]) -> Claims:
    """All brokers die during writes with acks=all; one that cannot be elected has lost a suffix; they restart in any order."""
    bench, before = power.bench, power.alone.await_agreement()
    power.alone.write_acknowledged(b"before")
    traffic = PowerLossWrites(power.trio, ENOUGH)
    bench.processes.crash(*bench.brokers)
    written = traffic.acknowledged_writes()
    yield premise(len(written) >= ENOUGH, f"{len(written)} writes acknowledged before the crash")
    ids = [bench.id_of(bench.brokers[n]) for n in order]
    spared = electable(power.await_no_leader())
    victim = lose_suffix(power.trio, spared, ids, lost)
    for id in ids:
        power.trio.start(id)
    state = power.trio.wait_until(
        lambda: power.trio.state_with_leader(spared[0]), "any leader", "leader", START_TIMEOUT
    )
    detail = f"{say(spared)} may lead, {victim} may not: {state}"
    yield held_if(state.leader != victim, row="GEN-09", case="silent", detail=detail)
    yield from leads_at_a_new_epoch(power.alone, before)
    yield from new_epoch(power.alone, before, "broker")
    at_rest(power.trio, power.alone)


# --- and their controller


@log_scenario("KIP101-SC-15", "KIP101-EPOCH-04", rig=POWER, cases=["all-nodes"], records=FEW_RECORDS)
def all_nodes_without_power(power: Power, records: int) -> Claims:
    """Brokers and controller die, and a leader is back before it was fenced; one record is lost.

    If the epoch stays the same, another record gets the same (offset, epoch) as the lost one (KIP101-INV-01).
    """
    bench, alone = power.bench, power.alone
    before = alone.await_agreement()
    written = alone.write_acknowledged(*[b"before %d" % n for n in range(records)])
    alone.read(before.leader)
    bench.processes.crash(*bench.brokers, *bench.controllers)
    alone.disk(before.leader).cut_log(written[-1].offset)
    power.start_controllers()
    alone.start(before.leader)
    yield from new_epoch(alone, before, "all-nodes")
    for name in bench.brokers:
        if name != bench.name_of(before.leader):
            bench.processes.start(name)
    at_rest(power.trio, alone)
