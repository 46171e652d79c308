"""Producer requests and their expected answers: sequences of batches, producer ids and epochs, and aborted transactions."""

from __future__ import annotations

from typing import NamedTuple

from conformance.core.checks import ObservationClaim, held_if
from conformance.rigs.producers.combined_node import Log, StageProducer
from fixtures.wire import Error
from fixtures.wire.log import ProducedPartition
from fixtures.wire.records import ControlType, NewBatch
from fixtures.wire.transactions import DescribedTransaction, EndTxnAnswer, InitProducerIdAnswer
from history.since import since

PRODUCER_FENCED_FROM = since("InitProducerId", "PRODUCER_FENCED")
REFUSED = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
"""For a batch that leaves a gap in the sequence."""
BUMPS = {"ONE_BUMP": 1, "TWO_BUMPS": 2}


def gives(answer: InitProducerIdAnswer, producer_id: int, epoch: int) -> bool:
    """InitProducerId succeeded with this producer id and epoch."""
    return (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, producer_id, epoch)


def fenced(answer: InitProducerIdAnswer) -> bool:
    """The fencing error of this request version, without producer id and epoch."""
    error = Error.PRODUCER_FENCED if answer.version >= PRODUCER_FENCED_FROM else Error.INVALID_PRODUCER_EPOCH
    return (answer.error, answer.producer_id, answer.producer_epoch) == (error, -1, -1)


class Sent(NamedTuple):
    """A batch and the answer to its Produce."""

    batch: NewBatch
    answer: ProducedPartition


def fill(producer: StageProducer, log: Log, sizes: list[int]) -> list[Sent]:
    """Write batches of these sizes."""
    return [Sent(producer.batch(log, size), producer.write(log, size)) for size in sizes]


def appended(answer: ProducedPartition, at: int) -> bool:
    """Appended at this offset."""
    return answer.error is Error.NONE and answer.base_offset == at


def ends_at(answer: EndTxnAnswer, producer_id: int, epoch: int) -> bool:
    """EndTxn succeeded, with this producer id and epoch for the next transaction (KIP-890)."""
    return (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, producer_id, epoch)


def rolled_back(
    producer: StageProducer, log: Log, aborted: DescribedTransaction, bumps: int, case: str = ""
) -> ObservationClaim:
    """The producer's transaction that timed out was aborted on the partition, and its epoch fenced."""
    at_the_coordinator = (aborted.state, aborted.producer_epoch) == ("CompleteAbort", producer.epoch + bumps)
    marker, before = log.last_marker(), log.end()
    stable_end = log.stable_end()
    late = producer.send(log, producer.batch(log))
    fenced_off = late.error is Error.INVALID_PRODUCER_EPOCH and log.end() == before
    marked = marker is ControlType.ABORT and stable_end == before
    detail = f"{aborted}; last marker {marker}, end {before}, stable end {stable_end}; {late}"
    held = at_the_coordinator and marked and fenced_off
    return held_if(held, aborted, late, row="KIP360-TXN-03", case=case, detail=detail)
