"""Producer requests and their expected answers: sequences of batches, producer ids and epochs, and aborted transactions."""

from typing import NamedTuple

from conformance.core.checks import Claim, PremiseClaim, held_if, premise
from conformance.core.waiting import MIN_LASTING_TIMEOUT
from conformance.rigs.producers.combined_node import Log, Stage, StageProducer
from fixtures.views.producer import DIALECTS
from protocol.codes import Error
from protocol.log import ProducedPartition
from protocol.records import ControlType, NewBatch
from protocol.since import since
from protocol.transactions import DescribedTransaction, EndTxnAnswer, InitProducerIdAnswer, ProducerState
from protocol.words import say

PRODUCER_FENCED_FROM = since("InitProducerId", "PRODUCER_FENCED")
REFUSED = Error.OUT_OF_ORDER_SEQUENCE_NUMBER
"""The error for a batch that leaves a gap in the sequence."""


def gives_id(answer: InitProducerIdAnswer, producer_id: int, epoch: int) -> bool:
    """True if InitProducerId succeeded with this producer id and epoch."""
    return (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, producer_id, epoch)


def is_fenced(answer: InitProducerIdAnswer) -> bool:
    """True if the answer has its version's fencing error, and neither producer id nor epoch."""
    error = Error.PRODUCER_FENCED if answer.version >= PRODUCER_FENCED_FROM else Error.INVALID_PRODUCER_EPOCH
    return (answer.error, answer.producer_id, answer.producer_epoch) == (error, -1, -1)


def premise_of_bump(answer: InitProducerIdAnswer, producer: StageProducer) -> PremiseClaim:
    """Return the premise that InitProducerId gave the producer, without an open transaction, its next epoch."""
    met = gives_id(answer, producer.producer_id, producer.epoch + 1)
    return premise(met, f"bumped to {producer.epoch + 1}", promised=("KIP360-INIT-03", "untouched"))


def premise_of_description(met: bool, what: str, producer: StageProducer) -> PremiseClaim:
    """Return the premise that the coordinator's description matches its acknowledged requests. A transaction with a
    short timeout may end at any time, any transaction while the host sleeps."""
    lasts = producer.timeout_ms / 1000
    if lasts < MIN_LASTING_TIMEOUT:
        return premise(met, what)
    awake = producer.bench.wait.end_of_wait(met, lasts)
    return premise(awake, what, promised=("KIP360-TXN-06", producer.dialect.name))


def premise_of_open_transaction(shown: DescribedTransaction, producer: StageProducer) -> PremiseClaim:
    """Return the premise that the coordinator describes an open transaction at the producer's epoch."""
    return premise_of_description(
        (shown.state, shown.producer_epoch) == ("Ongoing", producer.epoch), "an open transaction", producer
    )


def premise_of_epoch(known: ProducerState | None, epoch: int) -> PremiseClaim:
    """Return the premise that DescribeProducers has the producer at the epoch at which it wrote."""
    met = known is not None and known.producer_epoch == epoch
    return premise(met, f"the partition holds epoch {epoch}", promised=("KIP360-TXN-07", "legacy"))


def premise_of_log_length(end: int, written: int) -> PremiseClaim:
    """Return the premise that the log, written only by this producer, has exactly as many records as it wrote."""
    row = "KIP360-INV-02" if end < written else "KIP360-INV-01"
    return premise(end == written, "every batch was appended once", promised=(row, "idempotent"))


BUMPS = 4
"""The modulus of a drawn epoch for a transactional producer, since each bump takes a request."""


def split_kind(case: str) -> tuple[str, str]:
    """Return the kind of producer in a case id, and the rest of the id; an idempotent producer has no prefix."""
    kind, _, rest = case.partition("-")
    return (kind, rest) if kind in DIALECTS else ("idempotent", case)


def ready_to_write(stage: Stage, kind: str, log: Log, epoch: int) -> StageProducer:
    """Return a producer ready to write: an idempotent one at this epoch, or a transactional one, after some bumps, that
    may write to the partition."""
    if kind == "idempotent":
        return stage.idempotent(epoch)
    producer = stage.transactional(kind)
    producer.bump(epoch % BUMPS)
    join_transaction(producer, log)
    return producer


def join_transaction(producer: StageProducer, log: Log) -> None:
    """Add the partition to the transaction, unless a write does so implicitly."""
    if producer.transactional_id and not producer.dialect.bumps:
        producer.require(producer.add(log), "producer")


def move_to_next_epoch(producer: StageProducer, log: Log) -> None:
    """Move a producer to its next epoch, a transactional one into its next transaction."""
    if not producer.transactional_id:
        producer.continue_at(producer.producer_id, producer.epoch + 1)
        return
    producer.end(committed=True)
    if not producer.dialect.bumps:
        producer.bump()
    join_transaction(producer, log)


class SentBatch(NamedTuple):
    """A batch and the answer to its Produce."""

    batch: NewBatch
    answer: ProducedPartition


def fill_log(producer: StageProducer, log: Log, sizes: list[int]) -> list[SentBatch]:
    """Write batches of these sizes."""
    return [SentBatch(producer.batch(log, size), producer.write(log, size)) for size in sizes]


def is_appended(answer: ProducedPartition, at: int) -> bool:
    """True if the batch was appended at this offset."""
    return answer.error is Error.NONE and answer.base_offset == at


def ends_at(answer: EndTxnAnswer, producer_id: int, epoch: int) -> bool:
    """True if EndTxn succeeded, returning this producer id and epoch for the next transaction (KIP-890)."""
    return (answer.error, answer.producer_id, answer.producer_epoch) == (Error.NONE, producer_id, epoch)


def observe_rollback(producer: StageProducer, log: Log, aborted: DescribedTransaction, case: str = "") -> Claim:
    """Observe whether the producer's timed-out transaction was aborted on the partition, and its epoch fenced."""
    at_the_coordinator = (aborted.state, aborted.producer_epoch) == ("CompleteAbort", producer.epoch + 1)
    marker, before = log.last_marker(), log.end()
    stable_end = log.stable_end()
    late = producer.send(log, producer.batch(log))
    fenced_off = late.error is Error.INVALID_PRODUCER_EPOCH and log.end() == before
    marked = marker is ControlType.ABORT and stable_end == before
    detail = f"the last marker is {say(marker)}, the log ended at {before}, stable up to {stable_end}"
    held = at_the_coordinator and marked and fenced_off
    return held_if(held, aborted, late, row="KIP360-TXN-03", case=case, detail=detail)
