"""Compaction and leader epochs (KIP-101 as released: the cleaner leaves the leader epoch cache alone)."""

from itertools import pairwise

from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise, probe
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import Boundary, Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import read_whole
from conformance.rigs.settings import alter_configs
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.log import EpochEnd, FetchedPartition
from protocol.records import NewBatch, NewRecord
from protocol.since import since
from protocol.words import say

CLEANING_TIMEOUT = 60.0
LAG = "min.compaction.lag.ms"
NOT_NOW_MS = 3_600_000
EPOCHS = 4
KEYS = 3


def to_be_compacted(bench: Bench) -> PartitionData:
    """Write the same keys in four epochs; each but the second also writes a key of its own, in the batch of the last one.

    So compaction removes the second epoch entirely, and of the first and third it keeps a part of one batch, which it
    rewrites. Nothing is cleaned before the compaction lag is removed.
    """
    partition = new_partition(
        bench,
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        min_compaction_lag_ms=str(NOT_NOW_MS),
        max_compaction_lag_ms=str(2 * NOT_NOW_MS),
        segment_ms="1",
    )
    boundaries = []
    for number in range(EPOCHS):
        if number:
            partition.move_leader()
        batches = [[b"key %d" % key] for key in range(KEYS)]
        batches[-1] += [b"of epoch %d" % number] * (number != 1)
        boundaries.append(Boundary(partition.epoch(), _write_batches(partition, number, batches)))
    _write_batches(partition, EPOCHS, [[b"end"]])  # in the active segment, which is never cleaned
    return PartitionData(partition.topic, 0, tuple(boundaries))


def _write_batches(partition: Partition, round: int, batches: list[list[bytes]]) -> int:
    """Write batches of these keys, each timestamped late enough to begin a segment; return the first offset."""
    now, value = partition.bench.now().unix_ms, b"round %d" % round
    records = [tuple(NewRecord(value, key) for key in keys) for keys in batches]
    offsets = [partition.append(NewBatch(one, timestamp=now + 10 * n)).base_offset for n, one in enumerate(records)]
    return offsets[0]


COMPACTED = Rig(QUICK_CLUSTER, to_be_compacted, Partition)


def start_cleaners(partition: Partition) -> None:
    """Let the cleaners start at once."""
    change = {LAG: "0", "max.compaction.lag.ms": "1"}
    alter_configs(partition.bench, partition.leader(), ResourceType.TOPIC, partition.name, change)


def epochs_by_offset(read: FetchedPartition) -> dict[int, int]:
    """Return the leader epoch of each record, by offset."""
    return {record.offset: batch.leader_epoch for batch in read.batches for record in batch.records}


def reads(partition: Partition) -> dict[int, FetchedPartition]:
    state = partition.wait_until_whole()
    return {id: read_whole(partition, partition.bench.node(id), state.leader_epoch) for id in state.replicas}


def ask_all_epoch_ends(partition: Partition, version: int) -> list[EpochEnd]:
    """Request the end offset of every epoch from -2 to two above the leader's own."""
    state = partition.wait_until_whole()
    leader = partition.bench.node(state.leader)
    return [
        leader.offset_for_leader_epoch(partition.name, 0, epoch, version=version)
        for epoch in range(-2, state.leader_epoch + 3)
    ]


def end_offsets(answer: EpochEnd) -> tuple[Error, int, int]:
    return answer.error, answer.leader_epoch, answer.end_offset


def is_cleaned(read: FetchedPartition) -> bool:
    keys = [record.key for batch in read.batches for record in batch.records]
    return len(keys) == len(set(keys))


@probe("KIP101-STAMP-04", rig=COMPACTED, examples=2, smoke=False, back=BACK, newest=integers(0, 1))
def compaction_keeps_epochs_and_lookups(partition: Partition, back: int, newest: int) -> Claims:
    """The remaining records keep their leader epochs on every replica, and every epoch lookup is answered as before."""
    bench = partition.bench
    if newest:  # a further epoch, without any record
        partition.move_leader()
    version = choose_version(
        bench, "OffsetForLeaderEpoch", back, low=since("OffsetForLeaderEpochRequest", "CurrentLeaderEpoch")
    )
    before, written = ask_all_epoch_ends(partition, version), reads(partition)
    yield premise(not any(map(is_cleaned, written.values())), "nothing is cleaned before the lag is lifted")
    start_cleaners(partition)

    def records_if_cleaned() -> dict[int, FetchedPartition] | None:
        found = reads(partition)
        return found if all(map(is_cleaned, found.values())) else None

    left = bench.eventually(records_if_cleaned, "every replica cleaned", CLEANING_TIMEOUT, 0.5)
    after, emptied = ask_all_epoch_ends(partition, version), partition.data.boundaries[1].epoch
    yield premise(
        all(emptied not in epochs_by_offset(read).values() for read in left.values()), f"epoch {emptied} is gone"
    )
    for id, read in left.items():
        was, now = epochs_by_offset(written[id]), epochs_by_offset(read)
        kept = all(was[offset] == epoch for offset, epoch in now.items())
        rising = all(a <= b for a, b in pairwise(now.values()))
        yield held_if(
            kept and rising,
            written[id],
            read,
            case="stamps",
            detail=f"epochs by offset at {bench.name_of(id)}: {say(was)}; cleaned: {say(now)}",
        )
    for one, other in zip(before, after, strict=True):
        yield held_if(end_offsets(one) == end_offsets(other), one, other, case="lookups")
