"""A follower that returns after all its records were deleted: it restarts at the leader's log start (KIP101-SC-07)."""

from typing import NamedTuple

from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise
from conformance.core.waiting import Settled
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from conformance.rigs.log.epoch_checkpoint import entries_of, read_epochs
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.rotation import (
    epochs_and_checksums,
    is_in_every_isr,
    is_out_of_isr,
    prefer_leader,
    quick_partition,
)
from conformance.rigs.log.scenarios import log_scenario
from fixtures.wire import NodeClient
from history.readings import File, HeldReplica
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import DEBUGGER, EARLIEST, LATEST, DeletedRecords, EpochAndOffset, ListedOffset
from protocol.words import say

OFTEN = 0.1


class Deletion(NamedTuple):
    """The result of DeleteRecords while the follower was down, and the leader then."""

    leader: NodeClient
    epoch: int
    purged: int
    end: int
    start: int
    answer: DeletedRecords


def end_of(partition: Partition, id: int, timestamp: int = LATEST) -> ListedOffset:
    """Return a replica's log end from its own answer, or with EARLIEST its log start."""
    return partition.bench.node(id).list_offsets(partition.name, partition.index, timestamp, replica_id=DEBUGGER)


def stop_broker(bench: Bench, name: str, clean: bool) -> None:
    bench.processes.stop(name, role="follower") if clean else bench.processes.kill(name, role="follower")


def write_and_delete(partition: Partition, others: list[int], sizes: tuple[int, int], keep: int) -> Deletion:
    """Write in two epochs without the follower, then delete all but the last `keep` records."""
    leader, successor = others
    before = partition.state_by(leader)
    partition.write(*[b"unseen"] * sizes[0], to=partition.bench.node(leader))
    led = prefer_leader(partition, successor)
    node = partition.bench.node(successor)
    written = partition.write(*[b"of the next epoch, unseen"] * sizes[1], to=node)
    end = written.base_offset + sizes[1]
    answer = node.delete_records(partition.name, partition.index, -1 if keep == 0 else end - keep)
    return Deletion(node, led.leader_epoch, before.leader_epoch, end, end - keep, answer)


# --- what is seen


def low_watermark_without_the_stopped_broker(trim: Deletion) -> Claims:
    """Check DR-02: the low watermark excludes a broker that is down. The judge recognises a timeout, which has none."""
    if trim.answer.error is not Error.REQUEST_TIMED_OUT:
        held = (trim.answer.error, trim.answer.low_watermark) == (Error.NONE, trim.start)
        yield held_if(held, trim.answer, row="KIP320-DR-02", case="low-watermark")


def readers_of_deleted_epochs(partition: Partition, trim: Deletion) -> Claims:
    """Check DR-01: a reader in a deleted epoch is out of range below the log start, and diverges at or above it."""

    below, above = (
        trim.leader.fetch(partition.fetch_from(offset, current_leader_epoch=trim.epoch, last_fetched_epoch=trim.purged))
        for offset in (trim.start - 1, trim.start + 1)
    )
    yield held_if(below.error is Error.OFFSET_OUT_OF_RANGE, below, row="KIP320-DR-01", case="below-start")
    at_start = above.error is Error.NONE and above.diverging_epoch == EpochAndOffset(trim.purged, trim.start)
    yield held_if(at_start and not above.batches, above, row="KIP320-DR-01", case="purged-last")


def entries_from(file: File, start: int) -> bool:
    entries = entries_of(file)
    return entries is not None and all(entry.start >= start for entry in entries)


def log_starts_agree(partition: Partition, state: PartitionMetadata, start: int) -> Claims:
    """Check DR-02: every replica's log and leader epoch cache begin at the new log start."""
    for id in state.replicas:
        first = end_of(partition, id, EARLIEST)
        detail = f"{id} starts at {first.offset}, trimmed to {start}"
        yield held_if(first.offset == start, first, row="KIP320-DR-02", case="log-start", detail=detail)
        file = read_epochs(partition, id, lambda file: entries_from(file, start))
        detail = f"{id} holds {say(entries_of(file))}, trimmed to {start}"
        yield held_if(entries_from(file, start), file, row="KIP320-DR-02", case="entries", detail=detail)


def check_restart_at_log_start(partition: Partition, id: int, trim: Deletion, *, joined: Settled) -> Claims:
    """Check TRUNC-06: the follower is in the ISR with the leader's log, and has nothing below the log start."""
    bench, name = partition.bench, partition.bench.name_of(id)
    first, last = end_of(partition, id, EARLIEST), end_of(partition, id)
    mine, leaders = (
        epochs_and_checksums(read_whole(partition, node, trim.epoch)) for node in (bench.node(id), trim.leader)
    )
    [disk] = [one for one in bench.replicas({str(partition): [name]}).replicas if one.node == name]
    same = (first.offset, last.offset, mine) == (trim.start, trim.end, leaders)
    detail = f"{name}, in the ISR: {joined}, holds {first.offset} to {last.offset}, trimmed to {trim.start}"
    detail += f"; its records are the leader's: {say(mine == leaders)}; {say(disk)}"
    held = joined.require_also(same and nothing_below(disk, trim.start))
    yield held_if(held, first, last, row="KIP101-TRUNC-06", case="behind", detail=detail)


def nothing_below(disk: HeldReplica, start: int) -> bool:
    """True if the follower has no batch that ends below the log start, and no epoch entry that starts below it."""
    batches = all(batch.last_offset >= start for batch in disk.batches)
    return batches and disk.epochs is not None and all(entry.start_offset >= start for entry in disk.epochs)


@log_scenario(
    "KIP101-SC-07",
    "KIP101-TRUNC-06",
    "KIP320-DR-01",
    "KIP320-DR-02",
    rig=quick_partition(1, min_insync_replicas="1"),
    which=integers(0, 1),
    clean=booleans(),
    before=integers(1, 3),
    after=integers(2, 4),
    keep=integers(0, 1),
)
def follower_behind_the_log_start(
    partition: Partition, which: int, clean: bool, before: int, after: int, keep: int
) -> Claims:
    """While a follower is down two epochs are written, and every offset from which it could continue is deleted."""
    bench, state = partition.bench, partition.wait_until_whole()
    behind = [id for id in state.replicas if id != state.leader][which]
    others = [state.leader, *(id for id in state.replicas if id not in (behind, state.leader))]
    knew = end_of(partition, behind).offset
    stop_broker(bench, bench.name_of(behind), clean)
    bench.eventually(lambda: is_out_of_isr(partition, behind, *others), f"{behind} out of the ISR", every=OFTEN)
    trim = write_and_delete(partition, others, (before, after), keep)
    yield premise(knew < trim.start, f"{behind} ends at {knew}, below the log start {trim.start}")
    yield from low_watermark_without_the_stopped_broker(trim)
    yield from readers_of_deleted_epochs(partition, trim)
    bench.processes.start(bench.name_of(behind))
    joined = bench.wait.becomes_true(
        lambda: is_in_every_isr(partition, behind), f"{behind} in the ISR", CONVERGENCE_TIMEOUT
    )
    at_rest(partition)
    yield from check_restart_at_log_start(partition, behind, trim, joined=joined)
    yield from log_starts_agree(partition, state, trim.start)
