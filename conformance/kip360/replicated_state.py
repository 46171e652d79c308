"""Producer state on replicas: described alike, and in force when another replica leads (KIP-360, KIP-101)."""

from contextlib import ExitStack

import msgspec
from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.sequences import REFUSED, is_appended
from conformance.rigs.producers.three_brokers import THREE_BROKERS, How, ThreeBrokers, log_end
from protocol.codes import Error
from protocol.log import EARLIEST, ProducedPartition
from protocol.records import NewBatch, batch
from protocol.transactions import ProducersOfPartition, ProducerState

SIZES = lists(integers(1, 3), min_size=5, max_size=6)
HOW = sampled_from(["move", "kill", "freeze", "stop"])
REPLICATION_TIMEOUT = 30.0
"""Seconds within which a follower has what its leader has, when nothing is written."""
WITHOUT_PARTITION = (Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION)
TOGETHER = 6
"""The number of partitions with one leader that is replaced."""
MISSED_MS = 500
"""Milliseconds for which DeleteRecords waits for a frozen follower."""

Sent = list[tuple[NewBatch, ProducedPartition]]


def write_batches(producer: CheckProducer, partition: Partition, sizes: list[int]) -> Sent:
    """Write batches of these sizes; return each with its answer."""
    return [(producer.batch(partition, size), producer.write(partition, size)) for size in sizes]


def end_of(partition: Partition) -> int:
    return log_end(partition, partition.leader())


def start_of(partition: Partition) -> int:
    return partition.leader().list_offsets(partition.name, partition.index, EARLIEST).offset


def comparable(known: ProducerState | None) -> tuple[int, ...] | None:
    """Return the fields on which a partition's replicas must agree."""
    if known is None:
        return None
    return (known.producer_epoch, known.last_sequence, known.coordinator_epoch, known.current_txn_start_offset)


def several_states(brokers: ThreeBrokers, partition: Partition, sizes: list[int]) -> list[CheckProducer]:
    """Create producers that wrote to the partition: idempotent, and with open, committed and aborted transactions."""
    producers = [brokers.idempotent(1), brokers.idempotent()]
    for producer in producers:
        write_batches(producer, partition, sizes)
    for end in (None, True, False):
        producer = brokers.transactional(brokers.dialects[-1 if end is None else 0])
        producer.enter(partition)
        if end is not None:
            producer.end(committed=end)
        producers.append(producer)
    return producers


@probe("KIP360-SEQ-14", "KIP360-TXN-07", rig=THREE_BROKERS, cases=["described"], smoke=False, sizes=SIZES, how=HOW)
def followers_describe_producers_alike(brokers: ThreeBrokers, sizes: list[int], how: How) -> Claims:
    """At rest each replica describes each producer as the leader does, also after another one has led."""
    partitions = [brokers.partition() for _ in range(TOGETHER)]
    producers = [several_states(brokers, partition, sizes) for partition in partitions]
    before = replace_leaders(brokers, partitions, how)
    for partition, own in zip(partitions, producers, strict=True):
        leader = brokers.leader_of(partition)
        yield premise(leader != before, f"{leader} leads {partition} after {before}")
        for name in brokers.others(leader):
            yield from described_alike(brokers, partition, name, own)


def replace_leaders(brokers: ThreeBrokers, partitions: list[Partition], how: How) -> str:
    """Replace the leader of these partitions, which is one broker; return its name."""
    before = brokers.leader_of(partitions[0])
    for partition in partitions:
        if brokers.leader_of(partition) == before:
            with brokers.replace_leader(partition, how):
                pass
    return before


def described_alike(brokers: ThreeBrokers, partition: Partition, name: str, producers: list[CheckProducer]) -> Claims:
    """Observe that this follower describes the producers as the leader does, in time."""
    answers: list[ProducersOfPartition] = []

    def agree() -> bool:
        nodes = (partition.leader(), brokers.bench.node(name))
        answers[:] = [brokers.describe_producers(partition, node) for node in nodes]
        leaders, followers = ([comparable(one.producer(own.producer_id)) for own in producers] for one in answers)
        return None not in leaders and leaders == followers

    met = brokers.bench.wait.becomes_true(agree, f"{name} describing producers as the leader does", REPLICATION_TIMEOUT)
    yield held_if(met, *answers, row="KIP360-SEQ-14", case="described")
    yield held_if(met, *answers, row="KIP360-TXN-07", case="follower")


@probe(
    "KIP360-TXN-07", rig=THREE_BROKERS, cases=["no-replica"], smoke=False, which=integers(0, 2), count=integers(6, 7)
)
def broker_without_the_partition_describes_nothing(brokers: ThreeBrokers, which: int, count: int) -> Claims:
    """A broker without a replica refuses to describe a partition's producers."""
    without = brokers.bench.brokers[which]
    producer = brokers.idempotent()
    for _ in range(count):
        partition = brokers.partition(*brokers.others(without))
        producer.write(partition)
        answer = brokers.bench.node(without).describe_producers(partition.name, 0)
        yield held_if(answer.error in WITHOUT_PARTITION and not answer.active_producers, answer)


@probe(
    "KIP360-SEQ-14",
    rig=THREE_BROKERS,
    cases=["duplicate-after-fail-over"],
    smoke=False,
    how=HOW,
    sizes=SIZES,
    gaps=lists(integers(1, 1_000_000), min_size=4, max_size=4),
)
def next_leader_knows_producers(brokers: ThreeBrokers, how: How, sizes: list[int], gaps: list[int]) -> Claims:
    """The next leader of some partitions refuses a gap in a producer's sequence, and recognises its last five batches."""
    partitions = [brokers.partition() for _ in range(TOGETHER)]
    producers = [brokers.idempotent(3 * (n % 2)) for n, _ in enumerate(partitions)]
    sent = [write_batches(*written, sizes) for written in zip(producers, partitions, strict=True)]
    before = replace_leaders(brokers, partitions, how)
    for producer, partition, batches in zip(producers, partitions, sent, strict=True):
        leader = brokers.leader_of(partition)
        yield premise(leader != before, f"{leader} leads {partition} after {before}")
        yield from knows_the_producer(producer, partition, batches, gaps)


def knows_the_producer(producer: CheckProducer, partition: Partition, batches: Sent, gaps: list[int]) -> Claims:
    """Check SEQ-14 at the partition's leader."""
    end = end_of(partition)
    for gap in gaps:
        hole = producer.batch(partition, sequence=producer.sequences[partition.name, 0] + gap)
        answer = producer.send(partition, hole)
        refused = answer.error is REFUSED and end_of(partition) == end
        yield held_if(refused, answer, row="KIP360-SEQ-14", case="gap-after-fail-over")
    for former, first in batches[-5:]:
        again = producer.send(partition, former)
        once = is_appended(again, first.base_offset) and end_of(partition) == end
        yield held_if(once, first, again, row="KIP360-SEQ-14", case="duplicate-after-fail-over")


@log_scenario(
    "KIP360-SC-04", "KIP360-SEQ-15", rig=THREE_BROKERS, sizes=SIZES, epoch=integers(0, 5), kept=integers(1, 3)
)
def log_start_goes_back(brokers: ThreeBrokers, sizes: list[int], epoch: int, kept: int) -> Claims:
    """A follower that missed a trim leads: the producer continues, and its last batch is recognised."""
    leader, follower, bystander = brokers.bench.brokers
    partition, producer = brokers.partition(leader, follower, min_insync_replicas="1"), brokers.idempotent(epoch)
    sent = write_batches(producer, partition, sizes)
    old, new = brokers.bench.node(leader), brokers.bench.node(follower)
    with ExitStack() as broken:
        with brokers.without_broker(follower, "freeze"):
            # It answers the fetch that the follower had sent: whatever follows, the follower does not ask for it any more.
            old.produce(partition.topic, 0, batch(b"ends a fetch"), acks=1)
            old.delete_records(partition.name, 0, sum(sizes) - kept, timeout_ms=MISSED_MS)
            raised = old.list_offsets(partition.name, 0, EARLIEST).offset
            broken.enter_context(brokers.without_broker(leader, "kill"))
        brokers.await_leader(partition, follower, seen_by=bystander)
        start, end = new.list_offsets(partition.name, 0, EARLIEST).offset, log_end(partition, new)
        yield premise(start < raised, f"the log start was {raised} and is {start}")
        following = new.produce(partition.topic, 0, producer.batch(partition))
        went_on = is_appended(following, end)
        yield held_if(
            went_on,
            following,
            row="KIP360-SEQ-15",
            case="next",
            detail=f"the log start was raised to {raised}, and is {start} at the new leader",
        )
        former, first = sent[-1]
        again = new.produce(partition.topic, 0, former)
        yield held_if(is_appended(again, first.base_offset), first, again, row="KIP360-SEQ-15", case="retry")
    at_rest(partition)


@log_scenario("KIP360-SC-05", "KIP360-SEQ-16", rig=THREE_BROKERS, sizes=SIZES, epoch=integers(1, 5), newest=booleans())
def replica_made_after_a_trim_leads(brokers: ThreeBrokers, sizes: list[int], epoch: int, newest: bool) -> Claims:
    """A replica that was created after DeleteRecords leads: bumped epochs begin at sequence 0, and none is lowered."""
    former, latter, _ = brokers.bench.brokers
    partition = brokers.partition(former, min_insync_replicas="1")
    plain, owner = brokers.idempotent(epoch), brokers.transactional(brokers.dialects[-1 if newest else 0])
    write_batches(plain, partition, sizes)
    owner.enter(partition)
    owner.end(committed=True)
    emptied = end_of(partition)
    partition.leader().delete_records(partition.name, 0, -1)
    partition.write(b"later")
    brokers.move_to(partition, latter)
    start, end = start_of(partition), end_of(partition)
    yield premise(start >= emptied, f"the new replica's log begins at {start}, and their records ended at {emptied}")
    owner.bump()
    if not owner.dialect.bumps:
        owner.require(owner.add(partition), "producer")
    entered = owner.send(partition, owner.batch(partition))
    yield held_if(is_appended(entered, end), entered, row="KIP360-SEQ-16", case="transactional")
    owner.require(owner.finish(committed=entered.error is Error.NONE), "producer")
    owner.await_completion()
    end = end_of(partition)
    plain.continue_at(plain.producer_id, epoch + 1)
    bumped = plain.send(partition, plain.batch(partition))
    yield held_if(is_appended(bumped, end), bumped, row="KIP360-SEQ-16", case="idempotent")
    late = plain.send(partition, plain.batch(partition, sequence=sum(sizes), epoch=epoch))
    refused = late.error is Error.INVALID_PRODUCER_EPOCH and epochs_only_grow(partition, plain)
    yield held_if(refused, bumped, late, row="KIP360-SEQ-16", case="old-epoch")
    at_rest(partition)


def epochs_only_grow(partition: Partition, producer: CheckProducer) -> bool:
    """True if the producer's epochs never decrease in the log as a consumer reads it."""
    read = partition.leader().fetch(partition.fetch_from(max(0, start_of(partition))))
    epochs = [one.producer_epoch for one in read.batches if one.producer_id == producer.producer_id]
    return epochs == sorted(epochs)


KEPT_MS, SEGMENT_MS = 1_000, 100
RETENTION = {
    "size": {"retention_bytes": "1", "segment_ms": str(SEGMENT_MS)},
    "time": {"retention_ms": str(KEPT_MS), "segment_ms": str(SEGMENT_MS)},
    "compact-delete": {
        "retention_ms": str(KEPT_MS),
        "segment_ms": str(SEGMENT_MS),
        "cleanup_policy": "compact,delete",
    },
}
"""Settings of topics whose older segments are soon deleted."""


def with_keys(records: NewBatch) -> NewBatch:
    """Return the batch with a key in each record, as a compacted topic requires."""
    return msgspec.structs.replace(
        records, records=tuple(msgspec.structs.replace(record, key=record.value) for record in records.records)
    )


@probe(
    "KIP360-SEQ-09",
    rig=THREE_BROKERS,
    cases=list(RETENTION),
    examples=2,
    smoke=False,
    sizes=SIZES,
    gap=integers(1, 1_000_000),
)
def state_outlives_retention(brokers: ThreeBrokers, case: str, sizes: list[int], gap: int) -> Claims:
    """Retention has deleted every segment of a producer: its duplicate is recognised, a gap refused, the next one accepted."""
    partition, producer = brokers.partition(**RETENTION[case]), brokers.idempotent()
    for size in sizes:
        last = with_keys(producer.batch(partition, size))
        first = producer.send_accepted(partition, last)
    wrote = sum(sizes)

    def are_deleted() -> bool:
        partition.append(with_keys(batch(b"later")))
        return start_of(partition) >= wrote

    brokers.bench.eventually(are_deleted, f"the segments of {partition} deleted", every=0.2)
    again = producer.send(partition, last)
    hole = producer.send(partition, with_keys(producer.batch(partition, sequence=wrote + gap)))
    end = end_of(partition)
    following = producer.send(partition, with_keys(producer.batch(partition)))
    recognised = is_appended(again, first.base_offset) and hole.error is REFUSED and is_appended(following, end)
    yield held_if(recognised, first, again, hole, following)
