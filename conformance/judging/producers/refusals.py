"""A current producer is not refused (KIP360-INV-15): earlier requests and answers show which requests must be granted.

Predictions are made only when they are certain, and not after a request of unknown outcome, a competing instance or a timeout.
"""

from collections.abc import Iterator
from itertools import takewhile

from conformance.judging.excuses import LOOKED_TOO_RARELY, TOO_FEW_REPLICAS
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.transactions import EndTxnResult
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.appends import is_leading, why_forgotten
from conformance.judging.producers.coordination import SAFE_TIMEOUT_SHARE
from conformance.judging.producers.logs import cannot_take_markers
from conformance.judging.producers.records import ALL
from conformance.judging.producers.story import TransactionStory
from conformance.judging.producers.transactions import IDEMPOTENT, Producers, ProducerWrite, Transaction
from conformance.judging.timeline import NEVER
from conformance.judging.together import Together
from protocol.words import say_error

NEW_INSTANCE = "new-instance"
"""The case of InitProducerId once the last fault is healed."""
LOAD_TIMEOUT = 30.0
"""Seconds in which a coordinator must load its state and end the previous transaction."""
OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE = 45, 47, 48
INVALID_PRODUCER_ID_MAPPING, UNKNOWN_PRODUCER_ID, PRODUCER_FENCED = 49, 59, 90
FATAL = frozenset(
    (
        OUT_OF_ORDER_SEQUENCE_NUMBER,
        INVALID_PRODUCER_EPOCH,
        INVALID_TXN_STATE,
        INVALID_PRODUCER_ID_MAPPING,
        UNKNOWN_PRODUCER_ID,
        PRODUCER_FENCED,
    )
)
"""Errors after which a producer has to start over. Other errors are transient, or concern the partition."""


@joint_judge("KIP360-INV-15", *ALL)
def a_current_producer_is_not_refused(together: Together) -> Iterator[Claim]:
    """The next batch of a current producer and the end of its transaction are granted, apart from transient errors."""
    producers = together.derive(Producers)
    for partition in producers.partitions:
        for write in partition.produced:
            if producers.case(write.producer_id) == IDEMPOTENT and _may_write(partition, write):
                yield from _judge_answer(partition, write, IDEMPOTENT)
    for transaction in producers.transactions:
        yield from _judge_transaction(transaction)
    for story in together.stories_of(TransactionStory):
        yield from _begins(story, producers)


def _begins(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    """Judge that, once the last fault is healed, a new instance gets a producer id within `LOAD_TIMEOUT`, perhaps after some
    errors."""
    calm = max((span.ended for span in story.timeline.spans), default=-1)
    asked = [one for one in story.given if one.asked > calm and one.sent_epoch < 0 and one.error != UNKNOWN_OUTCOME]
    refused = [*takewhile(lambda one: one.error != NONE, asked)]
    if calm < 0:
        return
    if len(asked) > len(refused):
        given = asked[len(refused)]
        yield Finding(True, NEW_INSTANCE, (asked[0].event, given.event))
        return
    seconds = story.timeline.time(refused[-1].asked) - story.timeline.time(refused[0].event) if refused else 0.0
    written = producers.written_by(story) if seconds >= LOAD_TIMEOUT else []
    if any(cannot_take_markers(one, refused[0].event, refused[-1].asked) for one in written):
        yield Excuse(TOO_FEW_REPLICAS, NEW_INSTANCE)
    elif seconds >= LOAD_TIMEOUT > story.timeline.watch_time(refused[0].event, refused[-1].asked, LOAD_TIMEOUT):
        yield Excuse(LOOKED_TOO_RARELY, NEW_INSTANCE)
    elif seconds >= LOAD_TIMEOUT:
        first, last = refused[0], refused[-1]
        refusal = f"{last.node} refused InitProducerId of {story.name} with {say_error(last.error)}"
        shown = f"{refusal}, {seconds:.0f} s after {say_error(first.error)}"
        yield Finding(False, NEW_INSTANCE, (first.event, last.event), shown, "never-given")


def _judge_transaction(transaction: Transaction) -> Iterator[Claim]:
    dialect = transaction.story.dialect
    for write in transaction.writes:
        may = _is_current(transaction, write.result) and _is_added(transaction, write)
        if may and _may_write(write.partition, write.result):
            yield from _judge_answer(write.partition, write.result, dialect, transaction.first_asked)
    end = next(iter(transaction.end_requests), None)
    written = [one.result for one in transaction.writes if one.result.is_committed]
    if end is not None and any(one.event < end.asked for one in written) and _is_current(transaction, end):
        yield from _judge_end(transaction, end)


def _is_added(transaction: Transaction, write: ProducerWrite) -> bool:
    """True if the partition is in the transaction. In the first protocol it has to be added before."""
    own = (write.result.producer_id, write.result.producer_epoch)
    ended = [end.event for end in transaction.story.ends if end.event < transaction.first_asked]
    return transaction.story.dialect != "legacy" or any(
        (one.producer_id, one.producer_epoch) == own
        and (write.partition.name, NONE) in one.errors
        and max(ended, default=-1) < one.asked
        and one.event < write.result.asked
        for one in transaction.story.added
    )


def _is_current(transaction: Transaction, one: ProduceResult | EndTxnResult) -> bool:
    """True if the request has the latest producer id and epoch, and its transaction is certainly open.

    No instance has asked for another epoch or for the end, and the transaction has not timed out.
    """
    story, began = transaction.story, transaction.first_asked
    given = max((known.event for known in story.answers if known.event < began), default=-1)
    asked = any(known.event > given and known.asked < one.event for known in story.given)
    ended = any(end.event > began and end.asked < one.event and end is not one for end in story.ends)
    allowed = min((known.timeout_ms for known in story.given), default=0) / 1000
    in_time = story.timeline.time(one.event) - story.timeline.time(transaction.opened_at) < SAFE_TIMEOUT_SHARE * allowed
    return not asked and not ended and in_time and _names_the_latest(story, one, began)


def _names_the_latest(story: TransactionStory, one: ProduceResult | EndTxnResult, before: int) -> bool:
    named = [(known.event, known.producer_id, known.producer_epoch) for known in story.answers if known.event < before]
    named += [
        (end.event, end.next_id, end.next_epoch)
        for end in story.ends
        if end.error == NONE and end.next_epoch >= 0 and end.event < before
    ]
    return bool(named) and max(named)[1:] == (one.producer_id, one.producer_epoch)


def _may_write(partition: PartitionStory, write: ProduceResult) -> bool:
    """True for the next batch after those acknowledged there, if no outcome of the producer is unknown and the node leads."""
    own = [one for one in partition.produced if one.producer_id == write.producer_id and one.asked < write.event]
    before = [one for one in own if one.event < write.asked]
    unknown = [
        one for one in own if one is not write and (one.event > write.asked or one.error != NONE or one.acks != -1)
    ]
    newer = any(one.producer_epoch > write.producer_epoch for one in own)
    same = [one for one in before if one.producer_epoch == write.producer_epoch]
    last = max((one.base_sequence + len(one.values) for one in same), default=0)
    begins = bool(before) or write.base_sequence == 0
    return not unknown and not newer and begins and write.base_sequence == last and is_leading(partition, write)


def _judge_answer(partition: PartitionStory, write: ProduceResult, case: str, began: int = NEVER) -> Iterator[Claim]:
    """Judge the answer to a batch; `began` is the first request of the write's transaction."""
    refused = write.error in FATAL
    if write.error not in (NONE, *FATAL):
        return
    if refused and (excuse := why_forgotten(partition, write, began)):
        yield Excuse(excuse, case)
        return
    shown = (
        f"{write.node} refused the next batch of producer {write.producer_id} on {partition.name} (epoch "
        f"{write.producer_epoch}, sequence {write.base_sequence}) with {say_error(write.error)}"
    )
    yield Finding(not refused, case, (write.event,), shown if refused else "", "spurious-refusal")


def _judge_end(transaction: Transaction, end: EndTxnResult) -> Iterator[Finding]:
    if end.error in (NONE, *FATAL):
        refused = end.error in FATAL
        refusal = f"{end.node} refused the end of {transaction} with {say_error(end.error)}"
        shown = f"{refusal}, though no other request may have ended it"
        by = (transaction.writes[0].result.event, end.event)
        yield Finding(not refused, transaction.story.dialect, by, shown if refused else "", "spurious-refusal")
