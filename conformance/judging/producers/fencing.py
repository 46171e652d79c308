"""Fenced producers (KIP360-INV-05): requests of a fenced epoch have no visible effect."""

from collections.abc import Iterator

from conformance.judging.excuses import BUMPED_BY_FENCED
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.transactions import (
    AddOffsetsResult,
    AddPartitionsResult,
    InitProducerIdResult,
    TransactionRequest,
)
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.producer_state import may_be_lost
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.logs import batch_identity, moment_of_event
from conformance.judging.producers.records import ALL
from conformance.judging.producers.story import TransactionStory
from conformance.judging.producers.transactions import Producers, ProducerWrite
from conformance.judging.together import Together


@joint_judge("KIP360-INV-05", *ALL)
def a_fenced_epoch_has_no_effect(together: Together) -> Iterator[Claim]:
    """Once InitProducerId has returned a newer epoch, requests at an older one neither append records nor change the
    transaction."""
    producers = together.derive(Producers)
    for story in together.stories_of(TransactionStory):
        yield from _requests(story)
        yield from _writes(story, producers)


def _requests(story: TransactionStory) -> Iterator[Claim]:
    """Judge requests to the coordinator."""
    for one in (*story.added, *story.groups_added, *story.ends):
        newer = story.fences(one.producer_id, one.producer_epoch, one.asked)
        errors = _errors(one)
        if newer is not None and errors and UNKNOWN_OUTCOME not in errors:
            held = NONE not in errors
            if not held and story.bumped_by_fenced(-1, one.event):
                yield Excuse(BUMPED_BY_FENCED, "coordinator")
                continue
            shown = "" if held else _grant_in_words(one, newer)
            yield Finding(held, "coordinator", (newer.event, one.event), shown, "fenced-request-granted")


def _errors(one: TransactionRequest) -> list[int]:
    """Return the error codes by which an answer grants or refuses; none for a verification, which changes nothing."""
    if isinstance(one, AddPartitionsResult):
        return [] if one.verify_only else [one.error if one.error != NONE else code for _, code in one.errors]
    return [one.error]


def _grant_in_words(one: TransactionRequest, newer: InitProducerIdResult) -> str:
    what = {AddPartitionsResult: "AddPartitionsToTxn", AddOffsetsResult: "AddOffsetsToTxn"}.get(type(one), "EndTxn")
    return (
        f"{one.node} granted {what} of {one.transactional_id} at epoch {one.producer_epoch}, after InitProducerId gave "
        f"epoch {newer.producer_epoch} of producer {newer.producer_id}"
    )


def _writes(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    """Judge batches that were first sent after a newer epoch had been returned."""
    first: dict[object, ProducerWrite] = {}
    for partition in producers.partitions:
        for one in partition.produced:
            if one.transactional_id == story.name:
                write = ProducerWrite(partition, one)
                known = first.setdefault(write.identity, write)
                if one.asked < known.result.asked:
                    first[write.identity] = write
    for write in first.values():
        newer = story.fences(write.result.producer_id, write.result.producer_epoch, write.result.asked)
        if newer is not None:
            yield from _judge_late_write(story, write.partition, write.result, newer)


def _judge_late_write(
    story: TransactionStory, partition: PartitionStory, write: ProduceResult, newer: InitProducerIdResult
) -> Iterator[Claim]:
    found = next(
        ((batch, event) for batch, event in partition.batches if batch_identity(batch) == batch_identity(write)), None
    )
    case = "seen-epoch" if _has_newer_epoch(partition, write) else "any-partition"
    if found is None:
        later = [read for read in partition.full_reads[-1:] if read.asked > write.event]
        yield from (Finding(True, case, (newer.event, read.event)) for read in later)
        return
    batch, event = found
    bumped = BUMPED_BY_FENCED if story.bumped_by_fenced(-1, write.event) else None
    if excuse := bumped or may_be_lost(partition, moment_of_event(partition, newer.asked), write):
        yield Excuse(excuse, case)
        return
    shown = (
        f"{partition.name} has {batch} of producer {write.producer_id} at epoch {write.producer_epoch}, sent after "
        f"InitProducerId gave epoch {newer.producer_epoch}"
    )
    yield Finding(False, case, (newer.event, write.asked, event), shown, "fenced-write")


def _has_newer_epoch(partition: PartitionStory, write: ProduceResult) -> bool:
    """True if a batch or marker of a newer epoch was in the log before the request."""
    return any(
        batch.producer_id == write.producer_id and batch.producer_epoch > write.producer_epoch and event < write.asked
        for batch, event in partition.batches
    ) or any(
        one.producer_id == write.producer_id
        and one.producer_epoch > write.producer_epoch
        and one.error == NONE
        and one.event < write.asked
        for one in partition.produced
    )
