"""Late copies (GEN-02): an answered request that reaches the cluster again changes nothing that began after the answer.

A copy is identified by the contents of the request: producer id, epoch and sequence. So it may arrive at another node, or over
another connection.
"""

from collections.abc import Iterator

from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import ProduceResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.producer_state import may_be_forgotten
from conformance.judging.log.records import acknowledgement_moment
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error

KNOWN = frozenset(
    (
        NONE,
        Error.DUPLICATE_SEQUENCE_NUMBER,
        Error.INVALID_PRODUCER_EPOCH,
        Error.INVALID_TXN_STATE,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Error.PRODUCER_FENCED,
        Error.TRANSACTION_ABORTABLE,
        Error.UNKNOWN_PRODUCER_ID,
    )
)
"""The errors by which a leader shows that it checked the producer's state. After other errors it may not have looked at the
copy."""


@log_judge("GEN-02", "produced", "asked_by_former_id")
def late_copy_of_a_produce_appends_nothing(story: PartitionStory) -> Iterator[Claim]:
    """A batch of an idempotent producer is appended once. A batch for a deleted topic is refused, even if its name is in use
    again."""
    first: dict[tuple[object, ...], ProduceResult] = {}
    for write in (write for write in story.produced if write.producer_id >= 0 and write.base_sequence >= 0):
        identity = (write.producer_id, write.producer_epoch, write.base_sequence, write.values)
        original = first.get(identity)
        if original is not None and original.event < write.asked and write.error in KNOWN:
            yield _judge_copy(story, original, write)
        elif original is None and write.is_committed:
            first[identity] = write
    for late in story.asked_by_former_id:
        if late.op == "produce" and late.error != UNKNOWN_OUTCOME:
            shown = f"{late.node} acknowledged a Produce to the id of a deleted topic"
            yield Finding(late.error != NONE, "produce-by-id", (late.event,), shown, "late-copy-acted")


@log_judge("KIP320-FETCH-05", "asked_by_former_id")
def fetches_by_a_former_id_are_refused(story: PartitionStory) -> Iterator[Finding]:
    """A Fetch by the id of a deleted topic is refused by a broker that serves the next topic of its name."""
    for fetch in (one for one in story.asked_by_former_id if one.op == "fetch"):
        shown = f"{fetch.node} served a Fetch by the id of a deleted topic"
        yield Finding(fetch.error != NONE, "deleted-id", (fetch.event,), shown)


def _judge_copy(story: PartitionStory, original: ProduceResult, copy: ProduceResult) -> Claim:
    """Judge a repeated request. It may be answered with the original's offset, or with an error."""
    appended = copy.error == NONE and copy.offset != original.offset
    since = acknowledgement_moment(story, original)
    if appended and (excuse := may_be_forgotten(story, original.offset, since, copy)):
        return Excuse(excuse, "produce")
    shown = (
        f"{copy.node} acknowledged sequence {copy.base_sequence} of producer {copy.producer_id}, epoch {copy.producer_epoch}, "
        f"at offset {copy.offset}, after {original.node} at {original.offset}"
    )
    return Finding(not appended, "produce", (original.event, copy.event), shown, "late-copy-acted")
