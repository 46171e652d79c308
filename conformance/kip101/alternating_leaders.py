"""Uncommitted suffixes of several epochs, each on one replica only, and epochs without a record.

Truncation converges (KIP101-SC-06).
"""

from hypothesis.strategies import integers, lists

from conformance.core.checks import Claims, held_if, premise
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from conformance.rigs.log.epoch_checkpoint import entries_of, entry_of, read_epochs
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.partition import Boundary, Partition
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.rotation import (
    RECORDS,
    BatchStamps,
    LeaderLog,
    Rotation,
    epochs_and_checksums,
    is_in_every_isr,
    is_out_of_isr,
    prefer_leader,
    quick_partition,
)
from conformance.rigs.log.scenarios import log_scenario
from fixtures.wire import NodeClient
from history.readings import File
from protocol.codes import Error
from protocol.log import EpochEnd
from protocol.words import say

OFTEN = 0.1


# --- alternating suffixes


def lead_in_turn(turns: Rotation, records: list[int]) -> list[LeaderLog]:
    """Let two replicas lead in turn while the third stays frozen; return each turn's log."""
    two = (turns.leader, next(id for id in turns.replicas if id != turns.leader))
    taken = [turns.write_alone(records[0])]
    for number, values in enumerate(records[1:], 1):
        turns.hand_over(two[number % 2])
        taken.append(turns.write_alone(values))
    return taken


def wait_for_agreement(partition: Partition) -> dict[int, BatchStamps]:
    """Wait until the replicas agree; return the records of each, by broker id."""
    state = partition.await_agreement()
    reads = {id: read_whole(partition, partition.bench.node(id), state.leader_epoch) for id in state.replicas}
    return {id: epochs_and_checksums(read) for id, read in reads.items()}


def kept_entries(file: File, leader: File, epoch: int) -> bool:
    """True if all entries of `file` up to `epoch` are also the leader's. Later ones come from later leaders and do not
    matter here."""
    mine, theirs = entries_of(file), entries_of(leader)
    return mine is not None and theirs is not None and {entry for entry in mine if entry.epoch <= epoch} <= set(theirs)


def check_entries(partition: Partition, ids: set[int], leader: int, epoch: int) -> Claims:
    """Check CACHE-04: replicas that truncated when `leader` was elected at `epoch` keep only its entries."""
    leading = read_epochs(partition, leader, lambda file: bool(entries_of(file)))
    for id in sorted(ids):
        file = read_epochs(partition, id, lambda file: kept_entries(file, leading, epoch))
        detail = f"{id} holds {say(entries_of(file))}, the leader {leader} at epoch {epoch} {say(entries_of(leading))}"
        kept = kept_entries(file, leading, epoch)
        yield held_if(kept, file, leading, row="KIP101-CACHE-04", case="records", detail=detail)


def is_gap(answer: EpochEnd, floor: int, next_start: int) -> bool:
    return (answer.error, answer.leader_epoch, answer.end_offset) == (Error.NONE, floor, next_start)


def check_unknown_epochs(
    partition: Partition, leader: NodeClient, epochs: list[int], floor: Boundary, start: int
) -> Claims:
    """Check OFLE-03: for an epoch without records the leader answers the epoch before and the start of the next."""
    for epoch in epochs:
        answer = leader.offset_for_leader_epoch(partition.name, partition.index, epoch)
        yield held_if(is_gap(answer, floor.epoch, start), answer, row="KIP320-OFLE-03", case="gap")


@log_scenario(
    "KIP101-SC-06",
    "KIP101-TRUNC-03",
    "KIP101-CACHE-04",
    "KIP320-OFLE-03",
    rig=quick_partition(1, min_insync_replicas="1"),
    first=integers(1, 3),
    second=integers(1, 3),
    more=lists(integers(0, 3), min_size=1, max_size=3),
    last=integers(0, 3),
)
def alternating_tails(partition: Partition, first: int, second: int, more: list[int], last: int) -> Claims:
    """Two replicas grow uncommitted suffixes in turn; the third, which has none of them, leads in the end: all logs agree."""
    turns = Rotation(partition)
    taken = lead_in_turn(turns, [first, second, *more])
    [third] = set(turns.replicas) - {turn.id for turn in taken}
    leader = turns.hand_over(third)
    winner = turns.write_alone(last)
    newest = {turn.id: turn for turn in taken}
    cut = {
        id: set(epochs_and_checksums(turn.read)) - set(epochs_and_checksums(winner.read)) for id, turn in newest.items()
    }
    yield premise(all(cut.values()), f"each of {say(list(newest))} has a tail to cut: {say(cut)}")
    known = {epoch for _, epoch, _ in epochs_and_checksums(winner.read)} - {winner.epoch}
    gone = [turn.epoch for turn in taken if turn.epoch not in known]
    yield premise(len(gone) >= 2 and max(gone) < winner.epoch, f"epochs {say(gone)} passed {third} by")
    floor, start = partition.data.boundaries[-1], winner.end - last
    yield from check_unknown_epochs(partition, leader, gone, floor, start)
    turns.wake(*turns.replicas)
    at_rest(partition)
    held = wait_for_agreement(partition)
    same = set(held.values()) == {epochs_and_checksums(winner.read)}
    detail = f"in the end each replica has {say(held)}"
    yield held_if(same, winner.read, row="KIP101-TRUNC-03", case="alternating", detail=detail)
    yield from check_entries(partition, set(newest), third, winner.epoch)


# --- epochs without a record


@log_scenario(
    "KIP101-SC-06",
    "KIP101-TRUNC-07",
    "KIP101-CACHE-04",
    "KIP320-OFLE-03",
    rig=quick_partition(0),
    rounds=integers(2, 3),
    records=integers(0, 2),
)
def empty_epoch_of_a_former_leader(partition: Partition, rounds: int, records: int) -> Claims:
    """A broker is elected and replaced before any write: the former leader drops its empty epoch and soon rejoins the ISR."""
    end = RECORDS
    for _ in range(rounds):
        yield from empty_epoch(partition, end)
        end += records
        if records:
            partition.write(*[b"afterwards"] * records)
    at_rest(partition)


def empty_epoch(partition: Partition, end: int) -> Claims:
    bench, before = partition.bench, partition.wait_until_whole()
    former, successor = (id for id in before.replicas if id != before.leader)
    epoch = partition.move_leader(to=former).leader_epoch
    file = read_epochs(partition, former, lambda file: entry_of(file, epoch) is not None)
    yield premise(entry_of(file, epoch) == Boundary(epoch, end), f"{former} enters the empty epoch {epoch} at {end}")
    with frozen_broker(bench, bench.name_of(former)):
        led = prefer_leader(partition, successor)
        bench.eventually(lambda: is_out_of_isr(partition, former, successor), f"{former} out of the ISR", every=OFTEN)
        ends = bench.node(successor).offset_for_leader_epoch(partition.name, partition.index, epoch)
    began = bench.now().seconds
    back = bench.wait.becomes_true(
        lambda: is_in_every_isr(partition, former), f"{former} in the ISR again", CONVERGENCE_TIMEOUT
    )
    detail = f"{former}, with nothing in epoch {epoch}, in the ISR of {successor} at {led.leader_epoch}: {back} "
    detail += f"after {bench.now().seconds - began:.1f} s"
    yield held_if(back, row="KIP101-TRUNC-07", case="empty", detail=detail)
    floor = max(e.epoch for e in entries_of(_file(partition, successor)) or () if e.epoch < epoch)
    yield held_if(
        is_gap(ends, floor, end),
        ends,
        row="KIP320-OFLE-03",
        case="gap",
        detail=f"the empty epoch {epoch} is between {floor} and the next",
    )
    file = read_epochs(partition, former, lambda file: entry_of(file, epoch) is None)
    yield held_if(
        entry_of(file, epoch) is None,
        file,
        row="KIP101-CACHE-04",
        case="empty",
        detail=f"the empty epoch {epoch} was to be gone",
    )


def _file(partition: Partition, id: int) -> File:
    return read_epochs(partition, id, lambda file: bool(entries_of(file)))
