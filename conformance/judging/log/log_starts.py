"""How far the log start offset of a partition may have moved: by requested DeleteRecords, or by retention (KIP-107).

Records below the log start may be gone, so a log start that nothing explains must not excuse anything.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import inf

from conformance.judging.excuses import DELETED_BY_SETTING, MOVED_BY_FAULT, WRITTEN_BEFORE
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import REQUEST_TIMED_OUT, DeleteRecordsResult
from conformance.judging.log.story import PartitionStory

HIGH_WATERMARK = -1
"""The offset that asks DeleteRecords to delete everything below the high watermark."""
NETWORK_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR = 13, 3, 6, 56
MAY_HAVE_DELETED = frozenset(
    (
        NONE,
        UNKNOWN_OUTCOME,
        REQUEST_TIMED_OUT,
        NETWORK_EXCEPTION,
        UNKNOWN_TOPIC_OR_PARTITION,
        NOT_LEADER_OR_FOLLOWER,
        KAFKA_STORAGE_ERROR,
    )
)
"""Errors after which the log start may have moved: a leader deposed while it waits has moved it. After others it has not."""


class LogStarts:
    """Upper bounds of the log start of one partition."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        asked = sorted((trim.asked, reach(trim)) for trim in story.deletions if trim.error in MAY_HAVE_DELETED)
        self._events = [event for event, _ in asked]
        self._bounds = [*accumulate((bound for _, bound in asked), max)]
        self._unbounded = story.log_start_unbounded_from

    def bound(self, event: int) -> float:
        """The highest log start that the history explains before an event; infinite where it sets no bound."""
        if event > self._unbounded:
            return inf
        return self.asked_for(event)

    def asked_for(self, event: int) -> float:
        """The highest log start that requests before an event explain."""
        place = bisect_left(self._events, event)
        return self._bounds[place - 1] if place else 0.0

    @property
    def excuse(self) -> str:
        """The evidence by which the history sets no bound."""
        if not self.story.from_the_start:
            return WRITTEN_BEFORE
        return DELETED_BY_SETTING if self.story.retains_by_setting else MOVED_BY_FAULT

    def trimmed(self, event: int) -> bool:
        """Had DeleteRecords been requested before an event?"""
        return bool(self._events) and self._events[0] < event


def reach(trim: DeleteRecordsResult) -> float:
    """How far a request may have moved the log start; one up to the high watermark as far as answered, else without bound."""
    if trim.offset != HIGH_WATERMARK:
        return trim.offset
    return trim.low_watermark if trim.error == NONE else inf
