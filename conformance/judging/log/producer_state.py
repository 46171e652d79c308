"""The evidence by which a leader need not know what a producer wrote: brokers remember idle producers for a day."""

from __future__ import annotations

from conformance.judging.excuses import PRODUCER_STATE_DELETED, PRODUCER_STATE_LOST
from conformance.judging.facts.exchange import Exchange
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import Moment, PermittedLosses
from conformance.judging.log.story import PartitionStory


def may_be_forgotten(story: PartitionStory, offset: int, since: Moment, until: Exchange) -> str:
    """The evidence, for a batch at an offset that was there at a moment; empty where a leader has to know it."""
    if story.derived(LogStarts).bound(until.event) > offset:
        return PRODUCER_STATE_DELETED
    if any(span.began < until.event for span in story.hits(lambda effects: effects.loses_producers)):
        return PRODUCER_STATE_LOST
    return may_be_lost(story, since, until)


def may_be_lost(story: PartitionStory, since: Moment, until: Exchange) -> str:
    """The permission by which what was there at a moment may be gone by then; empty where there is none."""
    now = (story.newest_epoch_before(until.event), until.event)
    return story.derived(PermittedLosses).between(since, now) or ""
