"""The leader epoch cache of a replica on disk: leader-epoch-checkpoint (KIP-101)."""

from functools import partial

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.epoch_checkpoint import entries_of, entry_of, read_epochs
from conformance.rigs.log.led_together import FIVE, RETAINED, SEGMENT_BYTES, SEGMENTS, TRIMMABLE, SpreadPartitions
from conformance.rigs.log.partition import Boundary, Partition, partition_at_epoch
from fixtures.wire import NodeClient
from history.readings import File
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.log import DEBUGGER, EARLIEST
from protocol.words import say
from strategies.inputs import RECORDS


def is_documented(file: File) -> bool:
    """True if the file is in the documented format and has at least one entry."""
    return bool(entries_of(file))


def has_entry(expected: Boundary, file: File) -> bool:
    return entry_of(file, expected.epoch) == expected


@probe("KIP101-CACHE-01", rig=partition_at_epoch(3))
def checkpoint_has_the_documented_form(partition: Partition) -> Claims:
    """Each replica with records has the file: version 0, the number of entries, and that many lines of epoch and offset."""
    state = partition.wait_until_whole()
    for broker in state.replicas:
        file = read_epochs(partition, broker, is_documented)
        yield held_if(is_documented(file), file, case="leader" if broker == state.leader else "follower")


@probe("KIP101-CACHE-02", rig=FIVE, examples=1, records=RECORDS)
def epoch_is_entered_at_election_and_first_batch(several: SpreadPartitions, records: int) -> Claims:
    """A new leader enters its epoch at its log end before any write, a follower only with the epoch's first batch."""
    ends = [base + records for base in several.write(*[b"before"] * records)]
    for partition, led, end in zip(several.partitions, several.move_leaders(), ends, strict=True):
        expected = Boundary(led.leader_epoch, end)
        followers = [id for id in led.replicas if id != led.leader]
        entered = partial(has_entry, expected)
        of_leader = read_epochs(partition, led.leader, entered)
        before = [read_epochs(partition, id, is_documented) for id in followers]
        first = partition.write(b"first of its epoch").base_offset
        after = [read_epochs(partition, id, entered) for id in followers]
        yield premise(partition.epoch() == expected.epoch and first == end, f"one epoch, starting at {end}")
        yield held_if(entered(of_leader), of_leader, case="leader")
        for file in before:
            yield held_if(
                is_documented(file) and entry_of(file, led.leader_epoch) is None, file, case="follower-before"
            )
        for file in after:
            yield held_if(entered(file), file, case="follower-after")


def remaining_entries(entries: tuple[Boundary, ...], start: int) -> tuple[Boundary, ...]:
    """Return the entries that remain when the log starts at `start`."""
    at_start = max(entry.epoch for entry in entries if entry.start <= start)
    return (Boundary(at_start, start), *(entry for entry in entries if entry.start > start))


@probe("KIP101-CACHE-03", rig=TRIMMABLE, cases=["delete-records"], start=integers(1, 9), smoke=False)
def delete_records_rewrites_the_first_entry(several: SpreadPartitions, case: str, start: int) -> Claims:
    """Entries below a raised log start are removed, except that the last of them now begins there."""
    partition = several.untrimmed_partition()
    leader = partition.leader()
    before = entries_of(read_epochs(partition, partition.await_agreement().leader, is_documented)) or ()
    yield premise(len(before) >= 2 and before[0].start == 0, f"a leader epoch cache of several epochs: {say(before)}")
    deleted = leader.delete_records(partition.name, 0, start)
    yield premise(deleted.error is Error.NONE, f"deleted below {start}")
    yield from starts_with_its_epoch(partition, leader, before, start)


@probe("KIP101-CACHE-03", rig=RETAINED, cases=["retention"], segments=integers(1, SEGMENTS - 2))
def retention_rewrites_the_first_entry(several: SpreadPartitions, segments: int) -> Claims:
    """The same when retention deletes the oldest segments until this number is left, or one more."""
    partition = several.untrimmed_partition()
    leader = partition.leader()
    before = entries_of(read_epochs(partition, partition.await_agreement().leader, is_documented)) or ()
    yield premise(len(before) >= 2 and before[0].start == 0, f"a leader epoch cache of several epochs: {say(before)}")
    limit = {"retention.bytes": str(segments * (SEGMENT_BYTES + BATCH_HEAD))}
    changed = leader.incremental_alter_configs(ResourceType.TOPIC, partition.name, limit)
    yield premise(changed.error is Error.NONE, f"{say(limit)} accepted")
    start = partition.bench.eventually(lambda: settled_start(partition, leader), "a log start behind some segments")
    yield from starts_with_its_epoch(partition, leader, before, start)


BATCH_HEAD = 100
"""An upper bound, in bytes, of a one-record batch without its value; less than a tenth of a batch."""


def settled_start(partition: Partition, leader: NodeClient) -> int | None:
    """Return the log start after the deletion once it is the same on all replicas, else None."""
    starts = {
        partition.bench.node(id).list_offsets(partition.name, 0, EARLIEST, replica_id=DEBUGGER).offset
        for id in partition.await_agreement().replicas
    }
    return next(iter(starts)) if len(starts) == 1 and min(starts) > 0 else None


def starts_with_its_epoch(partition: Partition, leader: NodeClient, before: tuple[Boundary, ...], start: int) -> Claims:
    """Check that the cache begins at the log start, on the leader's disk and in its answer for the earliest offset."""
    expected = remaining_entries(before, start)
    file = read_epochs(partition, partition.bench.id_of(leader.node), lambda file: entries_of(file) == expected)
    earliest = leader.list_offsets(partition.name, 0, EARLIEST)
    yield premise(earliest.offset == start, f"a log that starts at {start}")
    yield held_if(entries_of(file) == expected and earliest.leader_epoch == expected[0].epoch, file, earliest)
