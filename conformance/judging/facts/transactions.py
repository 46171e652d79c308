"""Facts about transactional ids and producers: ids and epochs, partitions and groups added, ends of transactions (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from conformance.judging.facts.exchange import (
    NEVER_SENT,
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    decodes,
    error_of,
    partition_of,
    version_of,
)
from history.events import Answer, Call


class ProducerIdGiven(Exchange, frozen=True, gc=False):
    """InitProducerId: the id and epoch that were sent (-1 for none, KIP-360) and those that were given (-1 with an error)."""

    transactional_id: str | None
    timeout_ms: int
    sent_producer_id: int
    sent_epoch: int
    error: int
    producer_id: int
    producer_epoch: int
    version: int = -1
    times: int = 1
    """How often it was asked for in a row, each time by the epoch that was given before."""


class OfTransaction(Exchange, frozen=True, gc=False):
    """A request of a producer about its transaction; the error is the answer's, -1 where the outcome is unknown."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    error: int


class PartitionsAdded(OfTransaction, frozen=True, gc=False):
    """AddPartitionsToTxn. `errors` has one for each partition, `topic-0`; `verify_only` adds none (KIP-890)."""

    errors: tuple[tuple[str, int], ...]
    verify_only: bool = False
    version: int = -1


class OffsetsAdded(OfTransaction, frozen=True, gc=False):
    """AddOffsetsToTxn: the offsets of a group belong to the transaction."""

    group: str
    version: int = -1


class TransactionEnded(OfTransaction, frozen=True, gc=False):
    """EndTxn. `next_id` and `next_epoch` are for the next transaction (KIP-890), -1 where the answer has none."""

    committed: bool
    next_id: int
    next_epoch: int
    version: int = -1


class MarkerWritten(Exchange, frozen=True, gc=False):
    """WriteTxnMarkers of one producer: the coordinator's epoch, and an error for each partition, `topic-0`."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    errors: tuple[tuple[str, int], ...]


class TransactionDescription(Exchange, frozen=True, gc=False):
    """DescribeTransactions of one id; `state` is the coordinator's name for it, `partitions` are `topic-0`."""

    transactional_id: str
    error: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[str, ...]


class ProducerOfPartition(Exchange, frozen=True, gc=False):
    """DescribeProducers: a producer as the leader of one partition, `topic-0`, knows it."""

    partition: str
    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    transaction_start: int
    """The first offset of its open transaction, -1 without one."""


class DescribedProducer(NamedTuple):
    """A producer as a replica knows it; `transaction_start` is the first offset of its open transaction, -1 without one."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    transaction_start: int


class DescribedProducers(Exchange, frozen=True, gc=False):
    """DescribeProducers: all producers that one replica of a partition knows, by their ids."""

    producers: tuple[DescribedProducer, ...]


@decodes("init_producer_id", "bump_epochs", about=["transactional-id", "producer"])
def _init_producer_id(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    value = answer.value if answer.outcome == "ok" else {}
    fact = ProducerIdGiven(
        *at.exchange(call, answer),
        transactional_id=request["transactional_id"],
        timeout_ms=request["transaction_timeout_ms"],
        sent_producer_id=request["producer_id"],
        sent_epoch=request["producer_epoch"],
        error=error_of(answer),
        producer_id=value.get("producer_id", -1),
        producer_epoch=value.get("producer_epoch", -1),
        version=version_of(call, answer),
        times=request.get("times", 1),
    )
    if fact.transactional_id is not None:
        yield ("transactional-id", fact.transactional_id, fact)
    for id in sorted({fact.producer_id, fact.sent_producer_id} - {-1}):
        yield ("producer", str(id), fact)


def _of_transaction(call: Call, answer: Answer, at: Decoding) -> tuple[int, int, str, int, str, int, int, int]:
    """The fields of an `OfTransaction`."""
    ids = (call.request["transactional_id"], call.request["producer_id"], call.request["producer_epoch"])
    return (*at.exchange(call, answer), *ids, error_of(answer))


def _attributed(fact: OfTransaction) -> Iterator[Attributed]:
    yield ("transactional-id", fact.transactional_id, fact)
    yield ("producer", str(fact.producer_id), fact)
    if isinstance(fact, TransactionEnded) and fact.next_id not in (-1, fact.producer_id):
        yield ("producer", str(fact.next_id), fact)


@decodes("add_partitions_to_txn", about=["transactional-id", "producer"])
def _add_partitions(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    wanted = [f"{topic}-{index}" for topic, index in call.request["partitions"]]
    known = _of_transaction(call, answer, at)
    yield from _attributed(PartitionsAdded(*known, errors=_errors(answer, wanted), version=version_of(call, answer)))


@decodes("add_partitions_to_txns", about=["transactional-id", "producer"])
def _add_partitions_to_many(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for one in call.request["transactions"]:
        wanted = [f"{topic}-{index}" for topic, index in one["partitions"]]
        fact = PartitionsAdded(
            *at.exchange(call, answer),
            transactional_id=one["transactional_id"],
            producer_id=one["producer_id"],
            producer_epoch=one["producer_epoch"],
            error=error_of(answer),
            errors=_errors(answer, wanted, transactional_id=one["transactional_id"]),
            verify_only=one["verify_only"],
            version=version_of(call, answer),
        )
        yield from _attributed(fact)


def _errors(answer: Answer, wanted: list[str], **whose: Any) -> tuple[tuple[str, int], ...]:
    """The error of each partition that was asked for; of the answers, those with these fields count."""
    if answer.outcome != "ok":
        unknown = NEVER_SENT if answer.outcome == "fail" else UNKNOWN_OUTCOME
        return tuple([(name, unknown) for name in wanted])
    mine = [one for one in answer.value["partitions"] if all(one.get(name) == value for name, value in whose.items())]
    found = {f"{one['topic']}-{one['partition']}": int(one["error_code"]) for one in mine}
    return tuple([(name, found.get(name, UNKNOWN_OUTCOME)) for name in wanted])


@decodes("add_offsets_to_txn", about=["transactional-id", "producer", "group"])
def _add_offsets(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    known, group = _of_transaction(call, answer, at), call.request["group_id"]
    fact = OffsetsAdded(*known, group=group, version=version_of(call, answer))
    yield from _attributed(fact)
    yield ("group", fact.group, fact)


@decodes("end_txn", about=["transactional-id", "producer"])
def _end_txn(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    value = answer.value if answer.outcome == "ok" else {}
    fact = TransactionEnded(
        *_of_transaction(call, answer, at),
        committed=call.request["committed"],
        next_id=value.get("producer_id", -1),
        next_epoch=value.get("producer_epoch", -1),
        version=version_of(call, answer),
    )
    yield from _attributed(fact)


@decodes("write_txn_markers", about=["producer", "partition"])
def _write_txn_markers(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    for one in call.request["markers"]:
        wanted = [f"{topic}-{index}" for topic, index in one["partitions"]]
        fact = MarkerWritten(
            *at.exchange(call, answer),
            producer_id=one["producer_id"],
            producer_epoch=one["producer_epoch"],
            coordinator_epoch=one["coordinator_epoch"],
            committed=one["committed"],
            errors=_errors(answer, wanted, producer_id=one["producer_id"]),
        )
        yield ("producer", str(fact.producer_id), fact)
        yield from (("partition", name, fact) for name in wanted)


@decodes("describe_transaction", about=["transactional-id", "description"])
def _describe_transaction(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if answer.outcome != "ok":
        return
    value = answer.value
    fact = TransactionDescription(
        *at.exchange(call, answer),
        transactional_id=call.request["transactional_id"],
        error=value["error_code"],
        state=value["state"],
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        timeout_ms=value["timeout_ms"],
        start_time_ms=value["start_time_ms"],
        partitions=tuple([f"{topic}-{index}" for topic, index in value["partitions"]]),
    )
    yield ("transactional-id", fact.transactional_id, fact)
    yield ("description", fact.transactional_id, fact)


@decodes("describe_producers", about=["partition"])
def _producers_of_partition(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if error_of(answer) == NONE:
        known = [
            DescribedProducer(
                one["producer_id"],
                one["producer_epoch"],
                one["last_sequence"],
                one["coordinator_epoch"],
                one["current_txn_start_offset"],
            )
            for one in answer.value["active_producers"]
        ]
        yield (
            "partition",
            partition_of(call.request),
            DescribedProducers(*at.exchange(call, answer), tuple(sorted(known))),
        )


@decodes("describe_producers", about=["producer"])
def _describe_producers(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    name = f"{call.request['topic']}-{call.request['partition']}"
    for one in answer.value["active_producers"] if answer.outcome == "ok" else ():
        fact = ProducerOfPartition(
            *at.exchange(call, answer),
            partition=name,
            producer_id=one["producer_id"],
            producer_epoch=one["producer_epoch"],
            last_sequence=one["last_sequence"],
            coordinator_epoch=one["coordinator_epoch"],
            transaction_start=one["current_txn_start_offset"],
        )
        yield ("producer", str(fact.producer_id), fact)
