"""Invariants of producers' batches: they are written once, as acknowledged, and in order (KIP-360, Motivation; KIP-98)."""

from collections import defaultdict
from collections.abc import Iterator

from conformance.judging.excuses import Evidence
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import (
    FetchResult,
    ProduceResult,
    ReplicaBatch,
)
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.producer_state import forgotten_between, may_be_forgotten, may_be_lost
from conformance.judging.log.records import acknowledgement_moment, describe_loss, offsets_shown_by
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers import logs
from conformance.judging.producers.story import ProducerStory, TransactionStory
from conformance.judging.producers.transactions import Producers
from conformance.judging.together import Together
from protocol.codes import Error
from protocol.words import say

ALL = (TransactionStory, ProducerStory, PartitionStory)
LATE = (Error.REQUEST_TIMED_OUT, Error.NETWORK_EXCEPTION, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
"""Errors after which a batch may be in the log: the broker gave up waiting for the other replicas."""

# --- INV-01


@joint_judge("KIP360-INV-01", *ALL)
def batches_are_appended_once(together: Together) -> Iterator[Claim]:
    """A sequence of a producer id and epoch appears only once in a leader's log."""
    producers = together.derive(Producers)
    for story in producers.partitions:
        yield from logs.left_out_of_compacted(story, map(producers.case, _writers(story)))
        for read in logs.leader_reads_at_own_epoch(story):
            yield from _copies(producers, story, read)


def _writers(story: PartitionStory) -> set[int]:
    return {one.producer_id for one in story.produced if one.producer_id >= 0}


def _copies(producers: Producers, story: PartitionStory, read: FetchResult) -> Iterator[Claim]:
    """Judge one log: one finding for each kind of producer, or one for each repeated batch."""
    seen: dict[tuple[int, int, int], ReplicaBatch] = {}
    again: dict[str, bool] = {}
    for batch in logs.producer_batches(read):
        case = producers.case(batch.producer_id)
        first = next((seen[at] for at in _places(batch) if at in seen), None)
        again[case] = again.get(case, False) or first is not None
        if first is not None:
            yield _second(story, read, case, first, batch)
        seen.update(dict.fromkeys(_places(batch), batch))
    yield from (Finding(True, case, (read.event,)) for case, broken in again.items() if case and not broken)


def _places(batch: ReplicaBatch) -> list[tuple[int, int, int]]:
    return [(batch.producer_id, batch.producer_epoch, sequence) for sequence in logs.batch_sequences(batch)]


def _second(story: PartitionStory, read: FetchResult, case: str, first: ReplicaBatch, batch: ReplicaBatch) -> Claim:
    if excuse := forgotten_between(story, read, first, batch):
        return Excuse(excuse, case)
    by = f"sequence {batch.base_sequence} of producer {batch.producer_id}, epoch {batch.producer_epoch}"
    return Finding(False, case, (read.event,), f"{read.node} has {by} in {first} and in {batch}", "second-copy")


# --- INV-02


@joint_judge("KIP360-INV-02", *ALL)
def acknowledged_batches_are_kept(together: Together) -> Iterator[Claim]:
    """At rest each acknowledged batch is in the leader's log at its offset, unless the log start passed it."""
    producers = together.derive(Producers)
    for story in producers.partitions:
        yield from logs.left_out_of_compacted(story, map(producers.case, _writers(story)))
        if (read := logs.final_read(story)) is not None:
            yield from _judge_read(producers, story, read)


def _judge_read(producers: Producers, story: PartitionStory, read: FetchResult) -> Iterator[Claim]:
    permitted = story.derive(PermittedLosses)
    deleted = story.derive(LogStarts).highest_explained(read.event)
    stop = offsets_shown_by(read, deleted).stop
    # If the log start falls again after a crash, deleted records need not come back.
    shown = range(int(min(deleted, stop)), stop)
    for write in story.produced:
        case = producers.case(write.producer_id) if write.is_committed and write.event < read.asked else ""
        if not case or not any(offset in shown for offset in range(write.offset, write.offset + len(write.values))):
            continue
        trouble = describe_loss(read, write, shown, may_be_compacted(story, read.event), {})
        acknowledged = acknowledgement_moment(story, write)
        permission = permitted.between(acknowledged, (read.cur, read.event), offset=write.last_offset)
        if trouble and permission is not None:
            yield Excuse(permission, case)
        else:
            yield Finding(not trouble, case, (write.event, read.event), trouble, "lost-write")


# --- INV-03


@joint_judge("KIP360-INV-03", *ALL)
def sequences_rise_without_gaps(together: Together) -> Iterator[Claim]:
    """In a leader's log a producer's sequences rise without a gap, and its epochs never fall."""
    for story in together.derive(Producers).partitions:
        yield from logs.left_out_of_compacted(story, ("epochs", "sequences") if _writers(story) else ())
        for read in logs.leader_reads_at_own_epoch(story):
            yield from _epochs(story, read)
            yield from _judge_gaps(story, read)


def _epochs(story: PartitionStory, read: FetchResult) -> Iterator[Claim]:
    """Judge the producer epochs in a log. Markers have epochs too."""
    last: dict[int, ReplicaBatch] = {}
    fallen: tuple[ReplicaBatch, ReplicaBatch] | None = None
    for batch in (one for one in read.batches if one.producer_id >= 0):
        before = last.get(batch.producer_id, batch)
        if batch.producer_epoch < before.producer_epoch:
            fallen = (before, batch)
        last[batch.producer_id] = batch
    if fallen is not None and (excuse := may_be_lost(story, logs.epoch_begin(fallen[0]), read)):
        yield Excuse(excuse, "epochs")
    elif last:
        yield Finding(fallen is None, "epochs", (read.event,), _fall_in_words(read, fallen), "epoch-regression")


def _fall_in_words(read: FetchResult, fallen: tuple[ReplicaBatch, ReplicaBatch] | None) -> str:
    if fallen is None:
        return ""
    (before, after), id = fallen, fallen[0].producer_id
    return f"{read.node}: producer {id} at epoch {after.producer_epoch} in {after}, after {before.producer_epoch} in {before}"


def _judge_gaps(story: PartitionStory, read: FetchResult) -> Iterator[Claim]:
    last: dict[tuple[int, int], ReplicaBatch] = {}
    broken = False
    for batch in logs.producer_batches(read):
        at = (batch.producer_id, batch.producer_epoch)
        before = last.get(at)
        if before is not None and batch.base_sequence != _next_sequence(before):
            broken = True
            yield _judge_gap(story, read, before, batch)
        last[at] = batch
    if last and not broken:
        yield Finding(True, "sequences", (read.event,))


def _next_sequence(batch: ReplicaBatch) -> int:
    return (batch.base_sequence + batch.last - batch.base + 1) % logs.SEQUENCES


def _judge_gap(story: PartitionStory, read: FetchResult, before: ReplicaBatch, batch: ReplicaBatch) -> Claim:
    if excuse := forgotten_between(story, read, before, batch):
        return Excuse(excuse, "sequences")
    shown = (
        f"{read.node}: sequence {batch.base_sequence} of producer {batch.producer_id}, epoch {batch.producer_epoch}, in "
        f"{batch} after {before}, whose next is {_next_sequence(before)}"
    )
    return Finding(False, "sequences", (read.event,), shown, "sequence-hole")


# --- INV-04


@joint_judge("KIP360-INV-04", *ALL)
def a_retried_batch_is_appended_once(together: Together) -> Iterator[Claim]:
    """A batch of unknown outcome that is repeated until it is acknowledged has one offset, and is in the log once."""
    for story in together.derive(Producers).partitions:
        tries: dict[tuple[object, ...], list[ProduceResult]] = defaultdict(list)
        for one in story.produced:
            if one.producer_id >= 0 and one.acks == -1:
                tries[logs.batch_identity(one)].append(one)
        for repeated in tries.values():
            yield from _judge_retries(story, repeated)


def _judge_retries(story: PartitionStory, tries: list[ProduceResult]) -> Iterator[Claim]:
    unknown = next((one for one in tries if _may_be_appended(one)), None)
    known = [one for one in tries if one.error == NONE and unknown is not None and one.asked > unknown.event]
    if unknown is None or not known:
        return
    case = "disconnect" if unknown.error == UNKNOWN_OUTCOME and not unknown.timed_out else "time-out"
    offsets = sorted({one.offset for one in tries if one.error == NONE and one.offset >= 0})
    read = next((one for one in reversed(logs.leader_reads_at_own_epoch(story)) if one.asked > known[-1].event), None)
    copies = (
        [one.base for one in logs.producer_batches(read) if logs.batch_identity(one) == logs.batch_identity(unknown)]
        if read is not None
        else []
    )
    fine = len(offsets) <= 1 and len(copies) <= 1
    if not fine and (excuse := _why_forgotten(story, unknown, min([*offsets, *copies]), known[-1])):
        yield Excuse(excuse, case)
    elif read is not None or not fine:
        by = f"sequence {unknown.base_sequence} of producer {unknown.producer_id}"
        shown = "" if fine else f"{by} was acknowledged at the offsets {say(offsets)}, and is at {say(copies)}"
        yield Finding(fine, case, (unknown.event, (read or known[-1]).event), shown, "second-copy")
    else:
        yield from logs.left_out_of_compacted(story, (case,))


def _why_forgotten(story: PartitionStory, unknown: ProduceResult, offset: int, known: ProduceResult) -> Evidence | None:
    """Return the evidence by which the leader may have forgotten the batch. Its transaction, if any, stays open."""
    in_transaction = unknown.transactional_id is not None
    return may_be_forgotten(
        story, offset, logs.moment_of_event(story, unknown.asked), known, in_transaction=in_transaction
    )


def _may_be_appended(write: ProduceResult) -> bool:
    return (write.error == UNKNOWN_OUTCOME and not write.failed) or write.error in LATE
