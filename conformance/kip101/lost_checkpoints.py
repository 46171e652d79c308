"""A replica that lost leader-epoch-checkpoint or its whole directory, and rebuilds its leader epoch cache
(KIP101-SC-08)."""

from collections.abc import Sequence

from hypothesis.strategies import booleans, integers, sampled_from

from conformance.core.checks import Claims, held_if, premise
from conformance.rigs.log.crashes import PAIR, TRIO, AcknowledgedRecord, Crashing
from conformance.rigs.log.partition import Boundary
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from protocol.log import EpochAndOffset
from protocol.records import Batch
from protocol.words import say

RECORDS = 3


def epoch_starts(batches: Sequence[Batch], start: int = 0) -> tuple[Boundary, ...]:
    """Return each epoch's first offset at or after `start`, for epochs with records."""
    first: dict[int, int] = {}
    for one in batches:
        if one.last_offset >= start:
            first.setdefault(one.leader_epoch, max(start, one.base_offset))
    return tuple(Boundary(epoch, offset) for epoch, offset in first.items())


def write_two_epochs(partition: Crashing) -> list[AcknowledgedRecord]:
    """Write records in two epochs, each in its own batch."""
    first = partition.write_acknowledged(*[b"of the first epoch"] * RECORDS)
    partition.move_leader()
    return [*first, *partition.write_acknowledged(*[b"of the second epoch"] * RECORDS)]


# --- after a kill


def await_checkpoint(partition: Crashing, id: int, mark: int) -> None:
    """Wait until this high watermark is on disk, so that a crash causes no truncation below it."""
    disk = partition.disk(id)
    partition.wait_until(
        lambda: disk.checkpoints().high_watermark == mark or None, f"the high watermark {mark} on disk"
    )


@log_scenario("KIP101-SC-08", "KIP101-CACHE-06", rig=TRIO, role=sampled_from(["follower", "leader"]))
def epochs_are_read_from_the_log(partition: Crashing, role: str) -> Claims:
    """Killed and restarted without its checkpoint, a replica with nothing to copy rebuilds every epoch from its segments."""
    written = write_two_epochs(partition)
    state = partition.wait_until_whole()
    id = next(id for id in state.replicas if (id == state.leader) == (role == "leader"))
    await_checkpoint(partition, id, len(written))
    partition.kill(id)
    partition.disk(id).remove_epoch_checkpoint()
    others = [other for other in state.replicas if other != id]
    partition.wait_until(lambda: partition.state_with_isr(others[0], *others), f"an ISR without {id}")
    partition.start(id)
    partition.await_in_sync(lambda: partition.state_with_isr(others[0], *state.replicas), f"{id} in the ISR again")
    yield from check_rebuilt(partition, id, written)
    at_rest(partition)


def check_rebuilt(partition: Crashing, id: int, written: list[AcknowledgedRecord]) -> Claims:
    """Check that the checkpoint has both epoch starts, and that the replica's answer ends the first at the second."""
    read = partition.read(id)
    expected = epoch_starts(read.batches)
    entries = partition.entries(id, lambda found: found == expected)
    answer = partition.bench.node(id).fetch(
        partition.fetch_from(len(written), current_leader_epoch=-1, last_fetched_epoch=written[0].epoch)
    )
    ended = answer.diverging_epoch == EpochAndOffset(written[0].epoch, RECORDS)
    kept = all(one.is_kept_in(read) for one in written) and len(expected) == 2
    detail = f"its leader epoch cache has {say(entries)}"
    yield held_if(kept and ended and entries == expected, read, answer, case="unclean-stop", detail=detail)


# --- after a controlled shutdown


@log_scenario("KIP101-SC-08", "KIP101-CACHE-06", rig=PAIR, tail=integers(1, 3), written_meanwhile=integers(1, 5))
def suffix_is_truncated_to_the_high_watermark(partition: Crashing, tail: int, written_meanwhile: int) -> Claims:
    """A former leader stops cleanly with an uncommitted suffix; without its checkpoint it must truncate to the high watermark."""
    former, successor = partition.replicas
    committed = partition.write_acknowledged(*[b"committed"] * RECORDS)
    bench, names = partition.bench, [partition.bench.name_of(id) for id in (former, successor)]
    bench.processes.pause(names[1])
    # The first of these records answers a delayed fetch, so the frozen follower may still get it.
    for n in range(tail + 1):
        partition.write(b"of the tail, %d" % n, acks=1, to=bench.node(former))
    bench.processes.stop(names[0])
    bench.processes.resume(names[1])
    disk = partition.disk(former)
    mark, held = disk.checkpoints().high_watermark, disk.read_replica()
    disk.remove_epoch_checkpoint()
    partition.await_leadership(successor, isr={successor})
    shared = partition.await_log_end(successor)
    yield premise(mark == RECORDS and shared <= held.log_end - tail, f"{former} stopped at {held.log_end}, {mark=}")
    new = partition.write_acknowledged(*[b"of the successor"] * written_meanwhile, by=successor)
    bench.processes.start(names[0])
    partition.await_in_sync(lambda: partition.state_with_isr(successor, former, successor), "both in sync")
    yield from rebuilt_from_the_leader(partition, former, successor, RECORDS, [*committed, *new], "clean-stop")
    at_rest(partition)


def rebuilt_from_the_leader(
    partition: Crashing, id: int, leader: int, mark: int, written: list[AcknowledgedRecord], case: str
) -> Claims:
    """Check that the replica has its leader's records, and epoch entries for those from this high watermark on."""
    mine, theirs = partition.read(id), partition.read(leader)
    expected = epoch_starts(mine.batches, mark)
    entries = partition.entries(id, lambda found: found == expected)
    same = mine.batches == theirs.batches and all(one.is_kept_in(mine) for one in written)
    detail = f"the leader epoch cache of broker {id} has {say(entries)}"
    yield held_if(same and entries == expected, mine, theirs, case=case, detail=detail)


@log_scenario(
    "KIP101-SC-08",
    "KIP101-CACHE-06",
    rig=TRIO,
    cases=["clean-stop-follower", "clean-stop-leader"],
    written_meanwhile=integers(0, 3),
    written_later=integers(1, 3),
)
def epochs_are_learnt_from_new_batches(
    partition: Crashing, case: str, written_meanwhile: int, written_later: int
) -> Claims:
    """A replica with committed records only, stopped cleanly, keeps them without its checkpoint and learns later epochs."""
    written = write_two_epochs(partition)
    state = partition.wait_until_whole()
    id = next(id for id in state.replicas if (id == state.leader) == (case == "clean-stop-leader"))
    others = {other for other in state.replicas if other != id}
    partition.bench.processes.stop(partition.bench.name_of(id))
    disk = partition.disk(id)
    mark, held = disk.checkpoints().high_watermark, disk.read_replica()
    disk.remove_epoch_checkpoint()
    met = mark is not None and RECORDS < mark <= held.log_end == len(written)
    yield premise(met, f"{id} stopped with {len(written)} committed records: log end {held.log_end}, {mark=}")
    leader = partition.wait_until(lambda: _leader_among(partition, others), f"a leader, and an ISR without {id}")
    written += partition.write_acknowledged(*[b"of the time without it"] * written_meanwhile, by=leader)
    partition.start(id)
    partition.await_in_sync(lambda: partition.state_with_isr(leader, *state.replicas), f"{id} in the ISR again")
    written += partition.write_acknowledged(*[b"of the time with it again"] * written_later, by=leader)
    yield from rebuilt_from_the_leader(partition, id, leader, mark or 0, written, case)
    at_rest(partition)


def _leader_among(partition: Crashing, ids: set[int]) -> int | None:
    """Return the leader once these replicas form the ISR, else None."""
    return next((id for id in sorted(ids) if partition.state_if_led_by(id, isr=ids)), None)


# --- the whole directory


@log_scenario("KIP101-SC-08", "KIP101-CACHE-07", rig=TRIO, trimmed=booleans(), unwritten=booleans(), cases=["wiped"])
def wiped_replica_rebuilds_its_epochs(partition: Crashing, trimmed: bool, unwritten: bool) -> Claims:
    """A replica that was removed from disk ends with the leader's entries, except those of epochs without records."""
    written = write_two_epochs(partition)
    partition.move_leader()
    written += partition.write_acknowledged(b"of the third epoch")
    if unwritten:
        partition.move_leader()
    start = RECORDS + 1 if trimmed else 0
    if trimmed:
        partition.leader().delete_records(partition.name, 0, start)
    state = partition.wait_until_whole()
    id = next(id for id in state.replicas if id != state.leader)
    partition.kill(id)
    partition.disk(id).remove_replica()
    partition.wait_until(
        lambda: partition.state_if_led_by(state.leader, isr=set(state.replicas) - {id}), f"an ISR without {id}"
    )
    partition.start(id)
    partition.await_in_sync(lambda: partition.state_with_isr(state.leader, *state.replicas), f"{id} in the ISR again")
    yield from check_equivalent(partition, id, state.leader, start, written)
    at_rest(partition)


def check_equivalent(
    partition: Crashing, id: int, leader: int, start: int, written: list[AcknowledgedRecord]
) -> Claims:
    mine, theirs = partition.read(id), partition.read(leader)
    expected = epoch_starts(theirs.batches, start)
    of_leader = partition.entries(leader, lambda found: set(expected) <= set(found))
    entries = partition.entries(id, lambda found: found == expected)
    yield premise(set(expected) <= set(of_leader), f"a leader with the epochs of its records: {say(of_leader)}")
    kept = all(one.is_kept_in(mine) for one in written if one.offset >= start)
    detail = f"log start {start}: the leader has the entries {say(of_leader)}, the copy {say(entries)}"
    yield held_if(kept and entries == expected, mine, theirs, case="wiped", detail=detail)
