"""The partition leader epoch on record batches (KIP-101, Leader Epoch)."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis.strategies import integers, sampled_from
from msgspec.structs import replace

from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.follower_fetches import RECOMPRESSING, TRIO
from conformance.rigs.log.led_together import FIVE, SpreadPartitions
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.producers.transactions import FirstTransaction, coordinator_of
from fixtures.views.nodes import ask_until_granted, is_not_ready
from fixtures.wire.records import encode_batch, read_batches
from history.readings import HeldBatch
from protocol.cluster import CoordinatorType
from protocol.groups import NewOffset
from protocol.log import FetchedPartition, ProducedPartition
from protocol.messages import Topic
from protocol.records import Codec, NewBatch, batch
from strategies.inputs import CODECS, RECORDS

WRONG_STAMPS = sampled_from([-(2**31), -1, 0, 1, 999, 2**31 - 1])
"""Leader epochs that a producer may write into a batch. The partitions here are past epoch 1 and far below 999."""


class Appended(NamedTuple):
    """The leader's answer to a batch, the batch on its disk, and the CRC that the batch was sent with."""

    answer: ProducedPartition
    stored: HeldBatch | None
    sent_crc: int

    @property
    def is_as_sent(self) -> bool:
        """True if the batch is on disk as it was sent, but for its offset and leader epoch, which the CRC leaves out."""
        return self.stored is not None and self.stored.crc_valid and self.stored.crc == self.sent_crc

    def has_epoch(self, epoch: int) -> bool:
        return self.stored is not None and self.stored.leader_epoch == epoch


def append(partition: Partition, records: NewBatch) -> Appended:
    """Write a batch to the leader alone, and read it from its disk: followers refuse a batch of a later epoch than theirs, so
    that one with a wrong epoch might never be acknowledged or served."""
    leader = partition.bench.name_of(partition.await_agreement().leader)
    sent = replace(records, timestamp=partition.bench.now().unix_ms)
    answer = partition.bench.node(leader).produce(partition.topic, partition.index, sent, acks=1)
    held = partition.bench.disk(leader, f"{partition.name}-{partition.index}").read_replica().batches
    [as_sent] = read_batches(encode_batch(sent))
    return Appended(answer, next((one for one in held if one.base_offset == answer.base_offset), None), as_sent.crc)


def values(count: int) -> tuple[bytes, ...]:
    return tuple(b"stamped %d" % n for n in range(count))


# --- KIP101-STAMP-01


@probe("KIP101-STAMP-01", rig=TRIO, written=WRONG_STAMPS, codec=CODECS, records=RECORDS)
def leader_sets_its_epoch(partition: Partition, written: int, codec: Codec, records: int) -> Claims:
    """A batch gets the epoch of the leader that appended it, whatever the producer wrote; its CRC stays the same."""
    epoch = partition.epoch()
    done = append(partition, batch(*values(records), leader_epoch=written, codec=codec))
    yield premise(partition.epoch() == epoch and written != epoch, f"one epoch, {epoch}, and not the one written")
    yield premise(done.stored is not None, f"a batch that the leader took: {done.answer}")
    yield held_if(done.has_epoch(epoch), done.answer, case="stamp")
    yield held_if(done.is_as_sent, done.answer, case="checksum")


# --- KIP101-STAMP-02


@probe("KIP101-STAMP-02", rig=TRIO, cases=["produced", "idempotent"], codec=CODECS, written=WRONG_STAMPS)
def plain_batch_has_the_leader_epoch(partition: Partition, case: str, codec: Codec, written: int) -> Claims:
    """Batches of each codec, with a producer id or without, have the leader's epoch."""
    sent = batch(*values(2), leader_epoch=written, codec=codec)
    if case == "idempotent":
        bench = partition.bench
        broker = bench.node(bench.brokers[0])
        given = ask_until_granted(bench, lambda: broker.init_producer_id(None), "a producer id given", is_not_ready)
        sent = replace(sent, producer_id=given.producer_id, producer_epoch=given.producer_epoch, base_sequence=0)
    epoch = partition.epoch()
    done = append(partition, sent)
    yield premise(partition.epoch() == epoch, f"still epoch {epoch}")
    yield premise(done.is_as_sent, f"the batch that was sent: {done.answer}")
    yield held_if(done.has_epoch(epoch), done.answer)


@probe("KIP101-STAMP-02", rig=TRIO, cases=["gzip", "snappy", "lz4", "zstd"], written=WRONG_STAMPS)
def compressed_batch_has_the_leader_epoch(partition: Partition, case: str, written: int) -> Claims:
    """A compressed batch, stored as it was sent, has the leader's epoch."""
    codec, epoch = Codec[case.upper()], partition.epoch()
    done = append(partition, batch(*values(2), leader_epoch=written, codec=codec))
    yield premise(partition.epoch() == epoch and done.is_as_sent, f"a batch of {case} in epoch {epoch}: {done.answer}")
    yield held_if(done.has_epoch(epoch), done.answer)


@probe("KIP101-STAMP-02", rig=RECOMPRESSING, cases=["recompressed"], codec=sampled_from([Codec.NONE, Codec.ZSTD]))
def recompressed_batch_has_the_leader_epoch(partition: Partition, case: str, codec: Codec) -> Claims:
    """A batch that the broker recompresses has the leader's epoch."""
    epoch = partition.epoch()
    done = append(partition, batch(*values(2), codec=codec))
    other = done.stored is not None and not done.is_as_sent
    yield premise(partition.epoch() == epoch and other, f"recompressed in epoch {epoch}: {done.answer}")
    yield held_if(done.has_epoch(epoch) and done.stored is not None and done.stored.crc_valid, done.answer)


class OpenTransaction(NamedTuple):
    """A transaction with a batch at `offset`, written in `epoch`, and the answer to the fetch that returned it."""

    transaction: FirstTransaction
    epoch: int
    offset: int
    answer: FetchedPartition


def begin(partition: Partition, written: int) -> OpenTransaction:
    transaction = FirstTransaction(partition.bench)
    transaction.enter(partition)
    epoch = partition.epoch()
    offset = transaction.write(partition, *values(2), leader_epoch=written).base_offset
    return OpenTransaction(transaction, epoch, offset, partition.leader().fetch(partition.fetch_from(offset)))


@probe("KIP101-STAMP-02", rig=FIVE, examples=1, written=WRONG_STAMPS)
def transactions_and_markers_have_the_leader_epoch(several: SpreadPartitions, written: int) -> Claims:
    """The data batches of a transaction have the epoch of their leader, and its marker has the epoch of the next leader."""
    began = [begin(partition, written) for partition in several.partitions]
    led = several.move_leaders()
    for number, (partition, begun, later) in enumerate(zip(several.partitions, began, led, strict=True)):
        begun.transaction.end(committed=number % 2 == 0)
        shown, marker = begun.transaction.marker(partition, begun.offset)
        yield premise(partition.epoch() == later.leader_epoch > begun.epoch, f"data before {later}, its marker after")
        data = begun.answer.batches[0]
        yield premise(data.transactional and data.base_offset == begun.offset, "the data that was sent")
        yield held_if(data.leader_epoch == begun.epoch, begun.answer, case="transactional")
        yield held_if(marker.leader_epoch == later.leader_epoch, shown, case="marker")


def internal_partition(bench: Bench, name: str) -> Partition:
    """Return partition 0 of an internal topic, after moving its leader if it is still in epoch 0."""
    described = bench.node(bench.brokers[0]).metadata([name]).topic(name)
    partition = Partition(bench, PartitionData(Topic(name, described.topic_id), 0))
    if partition.epoch() == 0:
        partition.move_leader()
    return partition


def commit(partition: Partition, offset: int) -> None:
    """Commit an offset for a new group."""
    bench = partition.bench
    group, offsets = bench.fresh_name("group"), [NewOffset(partition.topic, partition.index, offset)]
    coordinator = coordinator_of(bench, group, CoordinatorType.GROUP)
    ask_until_granted(
        bench, lambda: coordinator.offset_commit(group, offsets), f"a commit of {group} accepted", is_not_ready
    )


@probe("KIP101-STAMP-02", rig=TRIO, cases=["internal"], offset=integers(1, 1000))
def coordinators_batches_have_the_leader_epoch(partition: Partition, case: str, offset: int) -> Claims:
    """Batches that coordinators append to their topics have the epoch of that topic's leader."""
    bench = partition.bench
    appends: dict[str, Callable[[], object]] = {
        "__consumer_offsets": lambda: commit(partition, offset),
        "__transaction_state": lambda: FirstTransaction(bench),
    }
    for name, append in appends.items():
        log = internal_partition(bench, name)
        epoch, start = log.epoch(), log.leader().list_offsets(name, 0).offset
        append()
        read = log.leader().fetch(log.fetch_from(start))
        yield premise(log.epoch() == epoch and bool(read.batches), f"something new in {name}, still in epoch {epoch}")
        yield held_if(all(one.leader_epoch == epoch for one in read.batches), read)
