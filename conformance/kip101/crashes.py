"""Crashes that leave the log shorter than its leader epoch cache, or the cache older than the log (KIP101-SC-09)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, PremiseClaim, held_if, premise
from conformance.rigs.log.crashes import LAGGING_PAIR, PAIR, Crashing
from conformance.rigs.log.epoch_checkpoint import entries_of, read_epochs
from conformance.rigs.log.partition import Boundary
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from protocol.codes import Error
from protocol.log import EARLIEST, EpochEnd
from protocol.words import say
from strategies.inputs import FEW_RECORDS


def checkpoint_is_ahead(partition: Crashing, id: int, cut: int) -> PremiseClaim:
    """Return the premise that a stopped broker's leader-epoch-checkpoint has an entry at or beyond its log end."""
    held = partition.disk(id).read_replica()
    met = held.log_end == cut and held.epochs is not None and held.epochs[-1].start_offset >= cut
    return premise(met, f"the log of broker {id} ends at {held.log_end}, its entries are {say(held.epochs)}")


def begin_second_epoch(partition: Crashing, leader: int, records: int) -> Boundary:
    """Write records in the first epoch, then let this broker lead; return the second epoch and its start offset."""
    partition.write_acknowledged(*[b"of the first epoch"] * records)
    epoch = partition.move_leader(to=leader).leader_epoch
    return Boundary(epoch, records)


def epoch_is_unknown(partition: Crashing, id: int, lost: Boundary) -> Claims:
    """Check CACHE-05: neither checkpoint nor answers of a replica without a leader have the epoch that its log lost."""
    end = partition.await_log_end(id)  # until then the checkpoint is as the crash left it
    entries = partition.entries(id, lambda found: bool(found) and found[-1].start < lost.start)
    answer = partition.bench.node(id).fetch(partition.fetch_from(end, last_fetched_epoch=lost.epoch))
    cleared = bool(entries) and all(entry.start < end for entry in entries)
    detail = f"its log ends at {end}, and its leader epoch cache has {say(entries)}"
    held = cleared and answer.error is Error.OFFSET_OUT_OF_RANGE
    yield held_if(held, answer, row="KIP101-CACHE-05", case="follower", detail=detail)


@log_scenario("KIP101-SC-09", "KIP101-CACHE-05", rig=PAIR, records=FEW_RECORDS)
def follower_with_a_log_shorter_than_its_cache(partition: Crashing, records: int) -> Claims:
    """A follower loses all its records of the newest epoch, restarts without a leader, then copies that epoch again."""
    follower, leader = partition.replicas
    bystander = partition.bystander()
    lost = begin_second_epoch(partition, leader, records)
    [written] = partition.write_acknowledged(b"first of its epoch")
    yield premise((written.epoch, written.offset) == (lost.epoch, lost.start), f"{say(written)} opens {say(lost)}")
    partition.kill(follower)
    partition.wait_until(lambda: partition.state_with_isr(leader, leader), f"an ISR without {follower}")
    partition.disk(follower).cut_log(lost.start)
    yield checkpoint_is_ahead(partition, follower, lost.start)
    partition.kill(leader)
    partition.wait_until(lambda: partition.state_without_leader(bystander), "no leader")
    partition.start(follower)
    yield from epoch_is_unknown(partition, follower, lost)
    partition.start(leader)
    at_rest(partition)
    again = partition.entries(follower, lambda found: lost in found)
    detail = f"its leader epoch cache has {say(again)} when it has {say(lost)} again"
    yield held_if(lost in again and written.is_kept_in(partition.read(follower)), case="follower", detail=detail)


@log_scenario("KIP101-SC-09", "KIP101-CACHE-05", rig=PAIR, records=FEW_RECORDS)
def leader_with_a_log_shorter_than_its_cache(partition: Crashing, records: int) -> Claims:
    """The only survivor loses all its records of the newest epoch, and leads on in an epoch that begins at its log end."""
    follower, leader = partition.replicas
    bystander = partition.bystander()
    opened = begin_second_epoch(partition, leader, records)
    partition.kill(follower)
    partition.await_leadership(leader, isr={leader})
    [written] = partition.write_acknowledged(b"first of its epoch", by=leader)
    # Before metadata.version 12 the smaller ISR has started yet another epoch (KIP101-EPOCH-03).
    lost = Boundary(written.epoch, written.offset)
    yield premise(
        lost.start == opened.start and lost.epoch >= opened.epoch,
        f"{say(written)} opens {say(opened)}, or a later epoch",
    )
    partition.kill(leader)
    partition.wait_until(lambda: partition.state_without_leader(bystander), "no leader")
    partition.disk(leader).cut_log(lost.start)
    yield checkpoint_is_ahead(partition, leader, lost.start)
    partition.start(leader)
    yield from epoch_is_forgotten(partition, leader, lost)
    partition.start(follower)
    at_rest(partition)


def epoch_is_forgotten(partition: Crashing, leader: int, lost: Boundary) -> Claims:
    """Check that the leader's checkpoint and answer end the epoch before the lost one where its log was cut."""
    epoch, entries = newest_entries(partition, leader, lost.start)
    answer = partition.bench.node(leader).offset_for_leader_epoch(partition.name, 0, lost.epoch)
    detail = f"it leads in epoch {epoch}, and its leader epoch cache has {say(entries)}"
    held = epoch > lost.epoch and entries[-1:] == (Boundary(epoch, lost.start),) and lost not in entries
    yield held_if(held and ends_before(answer, lost), answer, case="leader", detail=detail)


def newest_entries(partition: Crashing, leader: int, start: int) -> tuple[int, tuple[Boundary, ...]]:
    """Return the epoch of a leader, and its entries once they begin that epoch at `start`.

    A leader that loses its session and is elected again begins another epoch there, in place of the empty one.
    """
    epoch = partition.await_leadership(leader).leader_epoch
    entries = partition.entries(leader, lambda found: Boundary(epoch, start) in found)
    if Boundary(epoch, start) in entries or partition.await_leadership(leader).leader_epoch == epoch:
        return epoch, entries
    return newest_entries(partition, leader, start)


def ends_before(answer: EpochEnd, lost: Boundary) -> bool:
    """True if the answer has an epoch before the lost one, ending at the start of the lost one."""
    return answer.error is Error.NONE and 0 <= answer.leader_epoch < lost.epoch and answer.end_offset == lost.start


@log_scenario("KIP101-SC-09", "KIP101-CACHE-05", rig=LAGGING_PAIR, trimmed=integers(0, 2))
def cache_older_than_the_log_start(partition: Crashing, trimmed: int) -> Claims:
    """A crash brings back the checkpoint from before DeleteRecords: entries below the log start are removed again."""
    _, leader = partition.replicas
    second = begin_second_epoch(partition, leader, 2)
    partition.write_acknowledged(*[b"of the second epoch"] * 3)
    start = second.start + trimmed
    older = read_epochs(partition, leader, lambda file: len(entries_of(file) or ()) == 2)
    # The follower learns of the new log start with the next record, which is not waited for here.
    partition.bench.node(leader).delete_records(partition.name, 0, start, timeout_ms=100)
    partition.write_acknowledged(b"after the trim")
    disk = partition.disk(leader)
    partition.wait_until(lambda: disk.checkpoints().log_start == start or None, f"a log start of {start} on disk")
    partition.kill(leader)
    disk.restore_epochs(older.content or b"")
    entries = entries_of(older) or ()
    yield premise(len(entries) == 2 and entries[1] == second, f"a file with an entry below {start}: {say(entries)}")
    partition.start(leader)
    yield from truncated_from_start_again(partition, leader, Boundary(second.epoch, start))
    at_rest(partition)


def truncated_from_start_again(partition: Crashing, id: int, first: Boundary) -> Claims:
    partition.await_log_end(id)
    entries = partition.entries(id, lambda found: found[:1] == (first,))
    listed = partition.bench.node(id).list_offsets(partition.name, 0, EARLIEST, replica_id=-2)
    detail = f"its leader epoch cache has {say(entries)}, and was to begin with {say(first)}"
    held = entries[:1] == (first,) and (listed.offset, listed.leader_epoch) == (first.start, first.epoch)
    yield held_if(held, listed, case="log-start", detail=detail)
