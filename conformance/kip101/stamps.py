"""The partition leader epoch on record batches (KIP-101, Leader Epoch)."""

from __future__ import annotations

from collections.abc import Callable, Generator

from hypothesis.strategies import booleans, integers, sampled_from
from msgspec.structs import replace

from conformance.bench import Bench, File
from conformance.checks import Said, held_if, premise, probe
from conformance.rigs.log import Partition, PartitionData
from conformance.rigs.replicas import RECOMPRESSING, TRIO, reassign
from conformance.rigs.transactions import Transaction, accepted, coordinator_of
from fixtures.wire.calls import Topic
from fixtures.wire.cluster import CoordinatorType
from fixtures.wire.groups import NewOffset
from fixtures.wire.log import FetchedPartition
from fixtures.wire.records import LENGTHS, Batch, Codec, NewBatch, batch, batches

WRONG_STAMPS = sampled_from([-(2**31), -1, 0, 1, 999, 2**31 - 1])
"""What a producer may have written; the partitions here are in a later epoch than 1, and far from 999."""

CODECS = sampled_from([Codec.NONE, Codec.GZIP, Codec.ZSTD])


def appended(partition: Partition, records: NewBatch) -> tuple[FetchedPartition, Batch]:
    """Write a batch, and read it back from the leader: the answer, and the batch in it."""
    offset = partition.append(records).base_offset
    answer = partition.leader().fetch(partition.topic, partition.index, offset)
    return answer, answer.batches[0]


def values(count: int) -> tuple[bytes, ...]:
    return tuple(b"stamped %d" % n for n in range(count))


# --- KIP101-STAMP-01


@probe("KIP101-STAMP-01", rig=TRIO, written=WRONG_STAMPS, codec=CODECS, records=integers(1, 4))
def leader_stamps_its_epoch(
    partition: Partition, written: int, codec: Codec, records: int
) -> Generator[Said, None, None]:
    """The stamp of a batch is the epoch of the leader that took it, whatever the producer wrote; its CRC stays as it was."""
    now = partition.bench.now().unix_ms
    sent = batch(*values(records), leader_epoch=written, codec=codec, timestamp=now)
    epoch = partition.epoch()
    answer, stored = appended(partition, sent)
    yield premise(partition.epoch() == epoch and written != epoch, f"one epoch, {epoch}, and not the one written")
    yield held_if(stored.leader_epoch == epoch, answer, case="stamp")
    [as_sent] = batches(sent.encoded())
    yield held_if(stored.crc_valid and stored.crc == as_sent.crc, answer, case="checksum")


# --- KIP101-STAMP-02


@probe("KIP101-STAMP-02", rig=TRIO, cases=["produced", "idempotent"], codec=CODECS, written=WRONG_STAMPS)
def plain_batch_is_stamped(partition: Partition, case: str, codec: Codec, written: int) -> Generator[Said, None, None]:
    """Batches of each codec, with a producer id or without one, carry the leader's epoch."""
    sent = batch(*values(2), leader_epoch=written, codec=codec)
    if case == "idempotent":
        bench = partition.bench
        broker = bench.node(bench.brokers[0])
        given = accepted(bench, lambda: broker.init_producer_id(None), lambda answer: answer.error)
        sent = replace(sent, producer_id=given.producer_id, producer_epoch=given.producer_epoch, base_sequence=0)
    epoch = partition.epoch()
    answer, stored = appended(partition, sent)
    yield premise(partition.epoch() == epoch, f"still epoch {epoch}")
    yield premise(stored.codec is codec and stored.producer_id == sent.producer_id, "the batch that was sent")
    yield held_if(stored.leader_epoch == epoch, answer)


@probe("KIP101-STAMP-02", rig=RECOMPRESSING, cases=["recompressed"], codec=sampled_from([Codec.NONE, Codec.ZSTD]))
def recompressed_batch_is_stamped(partition: Partition, case: str, codec: Codec) -> Generator[Said, None, None]:
    """A batch that the broker compresses anew carries the leader's epoch."""
    epoch = partition.epoch()
    answer, stored = appended(partition, batch(*values(2), codec=codec))
    yield premise(partition.epoch() == epoch and stored.codec is Codec.GZIP, f"compressed anew in epoch {epoch}")
    yield held_if(stored.leader_epoch == epoch and stored.crc_valid, answer)


@probe("KIP101-STAMP-02", rig=TRIO, committed=booleans(), written=WRONG_STAMPS)
def transaction_and_its_marker_are_stamped(
    partition: Partition, committed: bool, written: int
) -> Generator[Said, None, None]:
    """The data of a transaction carries the epoch of the leader that took it, its marker that of the later leader."""
    transaction = Transaction(partition.bench)
    transaction.enter(partition)
    epoch = partition.epoch()
    offset = transaction.write(partition, *values(2), leader_epoch=written).base_offset
    data = partition.leader().fetch(partition.topic, 0, offset)
    later = partition.move_leader().leader_epoch
    transaction.end(committed=committed)
    shown, marker = transaction.marker(partition, offset)
    yield premise(partition.epoch() == later > epoch, f"data in epoch {epoch}, its marker in {later}")
    yield premise(data.batches[0].transactional and data.batches[0].base_offset == offset, "the data that was sent")
    yield held_if(data.batches[0].leader_epoch == epoch, data, case="transactional")
    yield held_if(marker.leader_epoch == later, shown, case="marker")


def internal(bench: Bench, name: str) -> Partition:
    """The partition of an internal topic, led in a later epoch than its first."""
    described = bench.node(bench.brokers[0]).metadata([name]).topic(name)
    partition = Partition(bench, PartitionData(Topic(name, described.topic_id), 0))
    if partition.epoch() == 0:
        partition.move_leader()
    return partition


def commit(partition: Partition, offset: int) -> None:
    """Commit an offset for a group that nobody used before."""
    bench = partition.bench
    group, offsets = bench.fresh("group"), [NewOffset(partition.topic, partition.index, offset)]
    coordinator = coordinator_of(bench, group, CoordinatorType.GROUP)
    accepted(bench, lambda: coordinator.offset_commit(group, offsets), lambda answer: answer.errors[0])


@probe("KIP101-STAMP-02", rig=TRIO, cases=["internal"], offset=integers(1, 1000))
def coordinators_batches_are_stamped(partition: Partition, case: str, offset: int) -> Generator[Said, None, None]:
    """What coordinators append to their topics carries the epoch of the leader of that topic."""
    bench = partition.bench
    appends: dict[str, Callable[[], object]] = {
        "__consumer_offsets": lambda: commit(partition, offset),
        "__transaction_state": lambda: Transaction(bench),
    }
    for name, append in appends.items():
        log = internal(bench, name)
        epoch, start = log.epoch(), log.leader().list_offsets(name, 0).offset
        append()
        read = log.leader().fetch(log.topic, 0, start)
        yield premise(log.epoch() == epoch and bool(read.batches), f"something new in {name}, still in epoch {epoch}")
        yield held_if(all(one.leader_epoch == epoch for one in read.batches), read)


# --- KIP101-STAMP-03


def whole_batches(file: File) -> dict[int, bytes]:
    """The bytes of the batches in a segment, by base offset."""
    data, at, found = file.content or b"", 0, {}
    while len(data) - at >= LENGTHS.size:
        base_offset, length = LENGTHS.unpack_from(data, at)
        found[base_offset] = data[at : at + LENGTHS.size + length]
        at += LENGTHS.size + length
    return found


def segment(partition: Partition, broker: int) -> File:
    """The first segment of a replica: logs here are small."""
    return partition.bench.read_file(
        partition.bench.name_of(broker), f"{partition.name}-{partition.index}/00000000000000000000.log"
    )


@probe("KIP101-STAMP-03", rig=TRIO, codec=CODECS, written=WRONG_STAMPS, rebuilt=integers(0, 1))
def followers_hold_the_leaders_bytes(
    partition: Partition, codec: Codec, written: int, rebuilt: int
) -> Generator[Said, None, None]:
    """Each batch of several epochs is byte for byte the leader's, on a follower of then and on one that copies it now."""
    offsets = []
    for _ in range(3):
        state = partition.move_leader()
        offsets.append(partition.append(batch(*values(2), codec=codec, leader_epoch=written)).base_offset)
    followers = [id for id in state.replicas if id != state.leader]
    reassign(partition, tuple(id for id in state.replicas if id != followers[rebuilt]))
    reassign(partition, state.replicas)
    files = {id: segment(partition, id) for id in state.replicas}
    stored = {id: whole_batches(file) for id, file in files.items()}
    yield premise(
        partition.epoch() > state.leader_epoch and set(offsets) <= set(stored[state.leader]), "the new batches"
    )
    for follower in followers:
        for offset in offsets:
            of_leader, of_follower = stored[state.leader][offset], stored[follower].get(offset, b"")
            detail = f"offset {offset}: leader {of_leader.hex()}, {follower} {of_follower.hex()}"
            same = of_leader == of_follower
            yield held_if(same, files[state.leader], files[follower], detail=detail, case="replicated")
