"""Facts about transactional ids and producers: ids and epochs, partitions and groups added, ends of transactions (KIP-98)."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    LostAnswer,
    decodes,
    partition_of,
)
from protocol.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    AddPartitionsToTxns,
    BumpEpochs,
    DescribedTransaction,
    DescribeProducers,
    DescribeTransaction,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    ProducersOfPartition,
    ProducerState,
    TxnPartitions,
)


class InitProducerIdResult(Exchange, frozen=True, gc=False):
    """An InitProducerId request: the id and epoch that it sent (-1 for none, KIP-360), and those of the answer (-1 with an
    error)."""

    transactional_id: str | None
    timeout_ms: int
    sent_producer_id: int
    sent_epoch: int
    error: int
    producer_id: int
    producer_epoch: int
    version: int = -1
    times: int = 1
    """The number of requests in a row, each with the epoch that the one before was given."""


class TransactionRequest(Exchange, frozen=True, gc=False):
    """A producer's request about its transaction; `error` is the answer's, -1 if the outcome is unknown."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    error: int


class AddPartitionsResult(TransactionRequest, frozen=True, gc=False):
    """An AddPartitionsToTxn request. `errors` holds the error of each partition, named as `topic-0`.

    With `verify_only` the request asks whether the transaction has the partitions, and adds none (KIP-890).
    """

    errors: tuple[tuple[str, int], ...]
    verify_only: bool = False
    version: int = -1


class AddOffsetsResult(TransactionRequest, frozen=True, gc=False):
    """An AddOffsetsToTxn request, which makes the offsets of a group part of the transaction."""

    group: str
    version: int = -1


class EndTxnResult(TransactionRequest, frozen=True, gc=False):
    """An EndTxn request. `next_id` and `next_epoch` are for the next transaction (KIP-890), -1 if the answer lacks them."""

    committed: bool
    next_id: int
    next_epoch: int
    version: int = -1


class TransactionDescription(Exchange, frozen=True, gc=False):
    """A transactional id in an answer of DescribeTransactions; `state` is the coordinator's name of its state, `partitions` are
    named as `topic-0`."""

    transactional_id: str
    error: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[str, ...]


class DescribedProducers(Exchange, frozen=True, gc=False):
    """An answer of DescribeProducers: all producers that one replica of a partition knows, by their ids."""

    producers: tuple[ProducerState, ...]


@decodes(InitProducerId, BumpEpochs, about=["transactional-id", "producer"], lost=True)
def _init_producer_id(
    request: InitProducerId | BumpEpochs, answer: InitProducerIdAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    given = (-1, -1) if isinstance(answer, LostAnswer) else (answer.producer_id, answer.producer_epoch)
    fact = InitProducerIdResult(
        *at.exchange(),
        transactional_id=request.transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        sent_producer_id=request.producer_id,
        sent_epoch=request.producer_epoch,
        error=answer.error,
        producer_id=given[0],
        producer_epoch=given[1],
        version=answer.version,
        times=request.times if isinstance(request, BumpEpochs) else 1,
    )
    if fact.transactional_id is not None:
        yield ("transactional-id", fact.transactional_id, fact)
    if fact.error == NONE:
        yield ("producer", str(fact.producer_id), fact)


def _transaction_values(
    request: AddPartitionsToTxn | AddOffsetsToTxn | EndTxn | TxnPartitions, error: int, at: Decoding
) -> tuple[int, int, str, int, str, int, int, int]:
    """Return the fields of an `TransactionRequest`."""
    return (*at.exchange(), request.transactional_id, request.producer_id, request.producer_epoch, error)


@decodes(AddPartitionsToTxn, about=["transactional-id"], lost=True)
def _add_partitions(
    request: AddPartitionsToTxn, answer: AddPartitionsToTxnAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    errors = _errors(request.partitions, answer)
    fact = AddPartitionsResult(*_transaction_values(request, answer.error, at), errors, version=answer.version)
    yield ("transactional-id", fact.transactional_id, fact)


@decodes(AddPartitionsToTxns, about=["transactional-id"], lost=True)
def _add_partitions_to_many(
    request: AddPartitionsToTxns, answer: AddPartitionsToTxnAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    for one in request.transactions:
        known = _transaction_values(one, answer.error, at)
        errors = _errors(one.partitions, answer, one.transactional_id)
        fact = AddPartitionsResult(*known, errors, one.verify_only, answer.version)
        yield ("transactional-id", fact.transactional_id, fact)


def _errors(
    wanted: Iterable[tuple[str, int]], answer: AddPartitionsToTxnAnswer | LostAnswer, id: str | None = None
) -> tuple[tuple[str, int], ...]:
    """Return the error of each requested partition, in the transaction with this id if the request has several."""
    own = [one for one in answer.partitions if id is None or one.transactional_id == id]
    found, missing = (
        {(one.topic, one.partition): one.error for one in own},
        answer.error if isinstance(answer, LostAnswer) else UNKNOWN_OUTCOME,
    )
    return tuple([(f"{topic}-{index}", found.get((topic, index), missing)) for topic, index in wanted])


@decodes(AddOffsetsToTxn, about=["transactional-id"], lost=True)
def _add_offsets(
    request: AddOffsetsToTxn, answer: AddOffsetsToTxnAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    fact = AddOffsetsResult(*_transaction_values(request, answer.error, at), request.group_id, answer.version)
    yield ("transactional-id", fact.transactional_id, fact)


@decodes(EndTxn, about=["transactional-id", "producer"], lost=True)
def _end_txn(request: EndTxn, answer: EndTxnAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    next = (-1, -1) if isinstance(answer, LostAnswer) else (answer.producer_id, answer.producer_epoch)
    fact = EndTxnResult(
        *_transaction_values(request, answer.error, at),
        committed=request.committed,
        next_id=next[0],
        next_epoch=next[1],
        version=answer.version,
    )
    yield ("transactional-id", fact.transactional_id, fact)
    if fact.next_id not in (-1, fact.producer_id):
        yield ("producer", str(fact.next_id), fact)


@decodes(DescribeTransaction, about=["transactional-id"])
def _describe_transaction(
    request: DescribeTransaction, answer: DescribedTransaction, at: Decoding
) -> Iterator[Attributed]:
    fact = TransactionDescription(
        *at.exchange(),
        transactional_id=request.transactional_id,
        error=answer.error,
        state=answer.state,
        producer_id=answer.producer_id,
        producer_epoch=answer.producer_epoch,
        timeout_ms=answer.timeout_ms,
        start_time_ms=answer.start_time_ms,
        partitions=tuple([f"{topic}-{index}" for topic, index in answer.partitions]),
    )
    yield ("transactional-id", fact.transactional_id, fact)


@decodes(DescribeProducers, about=["partition"])
def _producers_of_partition(
    request: DescribeProducers, answer: ProducersOfPartition, at: Decoding
) -> Iterator[Attributed]:
    if answer.error == NONE:
        known = sorted(answer.active_producers, key=attrgetter("producer_id"))
        yield ("partition", partition_of(request), DescribedProducers(*at.exchange(), tuple(known)))
