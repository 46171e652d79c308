"""Several partitions in one request: Produce, and AddPartitionsToTxn of one or several transactions (KIP-98, KIP-890)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.producers.combined_node import STAGE, Log, LogState, Stage, StageProducer, is_unchanged
from conformance.rigs.producers.sequences import REFUSED, premise_of_description
from fixtures.views.producer import LEGACY
from fixtures.wire.transactions import ADD_PARTITIONS_BATCHED_FROM
from protocol.codes import Error
from protocol.log import ProduceAnswer, ProducedPartition, ProducePartition
from protocol.records import NewBatch
from protocol.since import since
from protocol.transactions import AddPartitionsToTxnAnswer, TxnPartitions
from protocol.words import say, say_change
from strategies.inputs import EPOCH_BUMPS, FEW_RECORDS

# --- Produce


class PartitionBatch(NamedTuple):
    """A batch of a request and its expected answer: an error, or the offset at which it is or was appended."""

    batch: NewBatch
    error: Error
    at: int = -1
    grows: int = 0


HOW = sampled_from(["first", "next", "gap", "duplicate", "other"])
"""The relation of a batch to the partition's producer state; `other` is refused for a reason that the case sets."""
ALSO_REFUSED = {"idempotent": "older-epoch", "legacy": "not-added", "tv2": "gap"}


def prepare(producer: StageProducer, log: Log, how: str, records: int, gap: int) -> PartitionBatch:
    """Prepare a partition so that it answers a batch as `how` says; return the batch and the expected answer."""
    if how == "not-added":
        version = producer.stage.at_most("Produce", LEGACY.produce)
        abortable = version >= since("Produce", "TRANSACTION_ABORTABLE")
        error = Error.TRANSACTION_ABORTABLE if abortable else Error.INVALID_TXN_STATE
        return PartitionBatch(producer.batch(log, records), error)
    first = producer.batch(log, records)
    if how == "first":
        if producer.transactional_id and not producer.dialect.bumps:
            producer.require(producer.add(log), "producer")
        return PartitionBatch(first, Error.NONE, 0, records)
    producer.enter(log, records) if producer.transactional_id else producer.write(log, records)
    if how == "duplicate":
        return PartitionBatch(first, Error.NONE, 0)
    following = producer.batch(log, records)
    if how == "older-epoch":
        newer = producer.stage.idempotent()
        newer.continue_at(producer.producer_id, producer.epoch + 1)
        newer.write(log, records)
        return PartitionBatch(following, Error.INVALID_PRODUCER_EPOCH)
    if how == "gap":
        return PartitionBatch(producer.batch(log, records, sequence=following.base_sequence + gap), REFUSED)
    return PartitionBatch(following, Error.NONE, records, records)


def is_about(one: ProducedPartition, log: Log) -> bool:
    return one.partition == log.index and (one.topic == log.name or one.topic_id == log.topic.id)


def is_answered(item: PartitionBatch, before: LogState, after: LogState, log: Log, answer: ProduceAnswer) -> bool:
    """True if the partition was answered once, as expected, and its log only gained the appended batch."""
    found = [(one.error, one.base_offset) for one in answer.partitions if is_about(one, log)]
    if item.grows:
        return found == [(Error.NONE, item.at)] and after.end == before.end + item.grows
    return found == [(item.error, item.at)] and after == before


@probe(
    "KIP360-SEQ-22",
    rig=STAGE,
    kinds=lists(HOW, min_size=1, max_size=4),
    turn=integers(0, 5),
    one_topic=booleans(),
    records=FEW_RECORDS,
    gap=integers(1, 1000),
)
def partitions_of_a_produce_are_answered_for_themselves(
    stage: Stage, case: str, kinds: list[str], turn: int, one_topic: bool, records: int, gap: int
) -> Claims:
    """Some of several partitions in one Produce are refused, the others appended to; each is answered for itself."""
    verified = stage.bench.column.ranges["AddPartitionsToTxn"] >= ADD_PARTITIONS_BATCHED_FROM
    other = ALSO_REFUSED[case] if verified or case != "legacy" else "gap"
    ways = [other if way == "other" else way for way in ("gap", *kinds, "first", "next", "other")]
    ways = [*ways[turn % len(ways) :], *ways[: turn % len(ways)]]
    producer = stage.idempotent(1) if case == "idempotent" else stage.transactional(case)
    logs = stage.logs_of_a_topic(len(ways)) if one_topic else stage.logs(len(ways))
    items = [prepare(producer, log, way, records + n, gap) for n, (log, way) in enumerate(zip(logs, ways, strict=True))]
    before = [log.producer_state(producer.producer_id) for log in logs]
    answer = stage.broker.produce_many(
        [ProducePartition(log.topic, log.index, item.batch) for log, item in zip(logs, items, strict=True)],
        transactional_id=producer.transactional_id or None,
        version=stage.at_most("Produce", producer.dialect.produce),
    )
    after = [log.producer_state(producer.producer_id) for log in logs]
    right = [is_answered(*one, answer) for one in zip(items, before, after, logs, strict=True)]
    once = len(answer.partitions) == len(logs)
    wrong = [
        f"{way} ({say_change(*states)})"
        for way, *states, met in zip(ways, before, after, right, strict=True)
        if not met
    ]
    yield held_if(once and all(right), answer, detail=f"sent: {say(ways)}; not answered as promised: {say(wrong)}")


# --- AddPartitionsToTxn

Pair = tuple[str, int]


def errors(answer: AddPartitionsToTxnAnswer, transactional_id: str) -> dict[Pair, Error]:
    """Return the errors of a transaction's partitions; INCONSISTENT_TOPIC_ID for one with two answers."""
    found: dict[Pair, Error] = {}
    for one in answer.partitions:
        if one.transactional_id == transactional_id:
            pair = (one.topic or "", one.partition)
            found[pair] = Error.INCONSISTENT_TOPIC_ID if pair in found else one.error
    return found


def absent_partitions(stage: Stage, logs: Sequence[Log], count: int) -> list[Pair]:
    """Return one or two missing partitions: one missing in its topic, and one of a missing topic."""
    return [(logs[0].name, len(logs)), (stage.bench.fresh_name("absent"), 0)][:count]


@probe(
    "KIP360-TXN-16",
    rig=STAGE,
    cases=["unknown-partition"],
    known=integers(1, 4),
    absent=integers(1, 2),
    version=integers(0, 3),
    is_open=booleans(),
)
def partitions_are_added_together_or_not_at_all(
    stage: Stage, known: int, absent: int, version: int, is_open: bool
) -> Claims:
    """With an unknown partition among them none is added; without it all are."""
    producer, logs = stage.transactional(), stage.logs_of_a_topic(known)
    if is_open:
        producer.enter(stage.log())
    before, missing = producer.describe(), absent_partitions(stage, logs, absent)
    there = [log.here for log in logs]
    answer = stage.broker.add_partitions_to_txn(
        producer.transactional_id, producer.producer_id, producer.epoch, [*there, *missing], version=version
    )
    after = producer.describe()
    wanted = dict.fromkeys(there, Error.OPERATION_NOT_ATTEMPTED) | dict.fromkeys(missing, NO_PARTITION)
    none_added = errors(answer, producer.transactional_id) == wanted and is_unchanged(before, after)
    yield held_if(none_added, before, answer, after, case="unknown-partition")
    all_of_them = producer.add(*logs, version=version)
    shown = producer.describe()
    granted = errors(all_of_them, producer.transactional_id) == dict.fromkeys(there, Error.NONE)
    added = shown.state == "Ongoing" and {*before.partitions, *there} == {*shown.partitions}
    yield held_if(granted and added, all_of_them, shown, case="all-known")


NO_PARTITION = Error.UNKNOWN_TOPIC_OR_PARTITION
WRONG: Mapping[str, Error] = {
    "fine": Error.NONE,
    "old-epoch": Error.PRODUCER_FENCED,
    "foreign-id": Error.INVALID_PRODUCER_ID_MAPPING,
    "unknown-partition": Error.OPERATION_NOT_ATTEMPTED,
}
"""Mistakes in a request's transaction, and the resulting error of its existing partitions."""


class RequestedTransaction(NamedTuple):
    """A transaction in a request, and the expected error of each of its partitions."""

    producer: StageProducer
    asked: TxnPartitions
    wanted: dict[Pair, Error]


def request_for(stage: Stage, kind: str, bumps: int, partitions: int) -> RequestedTransaction:
    """Return a new producer's transaction with some partitions, wrong in the way of this `kind`."""
    producer, logs = stage.transactional("legacy"), stage.logs_of_a_topic(partitions)
    producer.bump(1 + bumps)
    missing = absent_partitions(stage, logs, 1) if kind == "unknown-partition" else []
    there = [log.here for log in logs]
    asked = TxnPartitions(
        transactional_id=producer.transactional_id,
        producer_id=stage.transactional().producer_id if kind == "foreign-id" else producer.producer_id,
        producer_epoch=producer.epoch - (kind == "old-epoch"),
        partitions=(*there, *missing),
    )
    return RequestedTransaction(
        producer, asked, dict.fromkeys(there, WRONG[kind]) | dict.fromkeys(missing, NO_PARTITION)
    )


@probe(
    "KIP360-TXN-16",
    rig=STAGE,
    cases=["several-transactions"],
    kinds=lists(sampled_from(sorted(WRONG)), min_size=2, max_size=4),
    bumps=EPOCH_BUMPS,
    partitions=integers(1, 3),
    version=integers(ADD_PARTITIONS_BATCHED_FROM, 5),
)
def transactions_of_a_request_are_answered_for_themselves(
    stage: Stage, kinds: list[str], bumps: int, partitions: int, version: int
) -> Claims:
    """The transactions of a request that are in order get their partitions, the others nothing."""
    several = [request_for(stage, kind, bumps, partitions) for kind in (*kinds, "fine")]
    before = [one.producer.describe() for one in several]
    answer = stage.broker.add_partitions_to_txns(
        [one.asked for one in several], version=stage.at_most("AddPartitionsToTxn", version)
    )
    for one, shown in zip(several, before, strict=True):
        now = one.producer.describe()
        fine = set(one.wanted.values()) == {Error.NONE}
        added = now.state == "Ongoing" and {*now.partitions} == {*one.asked.partitions}
        as_told = errors(answer, one.producer.transactional_id) == one.wanted
        yield held_if(as_told and (added if fine else is_unchanged(shown, now)), shown, answer, now)


NOT_IN_IT = (Error.INVALID_TXN_STATE, Error.TRANSACTION_ABORTABLE)


@probe(
    "KIP360-TXN-16",
    rig=STAGE,
    cases=["verify-only"],
    added=integers(1, 3),
    others=integers(1, 3),
    version=integers(ADD_PARTITIONS_BATCHED_FROM, 5),
)
def verification_answers_for_each_partition(stage: Stage, added: int, others: int, version: int) -> Claims:
    """If the coordinator is asked which partitions belong to a transaction, it names exactly these, and adds none."""
    logs = stage.logs_of_a_topic(added + others)
    producer = stage.transactional("legacy")
    producer.require(producer.add(*logs[:added]), "producer")
    before = producer.describe()
    yield premise_of_description(
        {*before.partitions} == {log.here for log in logs[:added]}, "partitions were added", producer
    )
    answer = producer.add(*logs, version=stage.at_most("AddPartitionsToTxn", version), verify_only=True)
    yield observe_verification(answer, producer, logs, added)
    after = producer.describe()
    yield held_if(is_unchanged(before, after), before, answer, after)


def observe_verification(
    answer: AddPartitionsToTxnAnswer, producer: StageProducer, logs: Sequence[Log], added: int
) -> Claim:
    found = errors(answer, producer.transactional_id)
    inside = all(found.get(log.here) is Error.NONE for log in logs[:added])
    outside = all(found.get(log.here) in NOT_IN_IT for log in logs[added:])
    return held_if(inside and outside and len(found) == len(logs), answer)
