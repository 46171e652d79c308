"""A partition's log as its producers see it: their batches and markers, and the evidence by which a leader may forget them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import PRODUCER_STATE_DELETED, PRODUCER_STATE_LOST
from conformance.judging.facts.exchange import Exchange
from conformance.judging.facts.log import Batch, FetchResult, ProduceResult
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.story import PartitionStory

SEQUENCES = 1 << 31
"""Sequences wrap around to 0 after the last one."""
BEFORE_ALL = (-1, -1)
"""A moment before any leader epoch."""


def own_reads(story: PartitionStory) -> list[FetchResult]:
    """The full reads of the leader of the epoch that they named."""
    return [read for read in story.full_reads if story.by_leader(read)] if story.deletes else []


def final_read(story: PartitionStory) -> FetchResult | None:
    """The leader's log at rest."""
    return next((read for read in reversed(own_reads(story)) if story.at_rest(read)), None)


def written(read: FetchResult) -> list[Batch]:
    """The batches of producers with an id, without markers."""
    return [one for one in read.batches if one.producer_id >= 0 and one.base_sequence >= 0 and one.marker is None]


def identity(one: Batch | ProduceResult) -> tuple[int, int, int, tuple[str | None, ...]]:
    """Equal for a request that wrote a batch, its repetitions, and the batch. A refused sequence may be used again."""
    values = tuple([value for _, value in one.records]) if isinstance(one, Batch) else one.values
    return one.producer_id, one.producer_epoch, one.base_sequence, values


def sequences(batch: Batch) -> Iterator[int]:
    for place in range(batch.last - batch.base + 1):
        yield (batch.base_sequence + place) % SEQUENCES


class Marked(NamedTuple):
    """A transactional batch, and the marker that ended its transaction, None without one."""

    batch: Batch
    end: Batch | None


def marked(read: FetchResult) -> list[Marked]:
    """The transactional batches of a log, each with the next marker of its producer."""
    ends: dict[int, Batch] = {}
    found: list[Marked] = []
    for batch in reversed(read.batches):
        if batch.marker is not None:
            ends[batch.producer_id] = batch
        elif batch.transactional:
            found.append(Marked(batch, ends.get(batch.producer_id)))
    return found[::-1]


def stable_end(read: FetchResult) -> int:
    """The last stable offset by the log itself: the first offset of a transaction without a marker, or the high watermark."""
    return min((one.batch.base for one in marked(read) if one.end is None), default=read.high_watermark)


def lost(story: PartitionStory, until: Exchange) -> str:
    """The permission by which records of the partition may be gone by then."""
    epoch = story.newest_epoch_before(until.event)
    return story.derived(PermittedLosses).between(BEFORE_ALL, (epoch, until.event)) or ""


def forgotten(story: PartitionStory, offset: int, until: Exchange) -> str:
    """The evidence by which a leader need not know the producer of a batch at an offset; empty where it has to."""
    if story.derived(LogStarts).bound(until.event) > offset:
        return PRODUCER_STATE_DELETED
    if any(span.began < until.event for span in story.hits(lambda effects: effects.loses_producers)):
        return PRODUCER_STATE_LOST
    return lost(story, until)
