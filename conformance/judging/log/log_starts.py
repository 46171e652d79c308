"""The log start offsets of a partition: how far DeleteRecords requests, retention and faults may have moved them (KIP-107).

Records below the log start may be gone, so an unexplained log start must not excuse anything.
"""

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import NamedTuple

from conformance.judging.excuses import DELETED_BY_SETTING, MOVED_BY_FAULT, WRITTEN_BEFORE, Evidence
from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME
from conformance.judging.facts.log import DeleteRecordsResult
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.settings import SETTLED_AFTER, Retention, unclean_election
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import FaultSpan
from protocol.codes import Error

HIGH_WATERMARK = -1
"""The offset by which DeleteRecords deletes everything below the high watermark."""
MAY_HAVE_DELETED = frozenset(
    (
        NONE,
        UNKNOWN_OUTCOME,
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.KAFKA_STORAGE_ERROR,
    )
)
"""Errors after which the log start may have moved: a leader that is deposed while it waits for followers has already moved it.
After any other error it has not moved."""


class Bound(NamedTuple):
    """An offset that no log start exceeds after an event."""

    event: int
    offset: float


class LogStarts:
    """Upper bounds of the log start offsets of one partition."""

    def __init__(self, story: PartitionStory) -> None:
        self._story = story
        asked = sorted(
            (trim.asked, furthest_log_start(trim)) for trim in story.deletions if trim.error in MAY_HAVE_DELETED
        )
        self._events = [event for event, _ in asked]
        self._before = story.log_start_before if story.log_start_before < inf else 0.0
        self._bounds = [max(self._before, bound) for bound in accumulate((bound for _, bound in asked), max)]

    def highest_explained(self, event: int) -> float:
        """Return the highest log start that the history before an event explains; infinite if nothing bounds it."""
        if event <= self._unbounded_from:
            return self.highest_requested(event)
        again = self._first_bound_after_retention
        return max(self.highest_requested(event), again.offset) if again is not None and event > again.event else inf

    def highest_requested(self, event: int) -> float:
        """Return the highest log start that requests before an event explain."""
        place = bisect_left(self._events, event)
        return self._bounds[place - 1] if place else self._before

    @cached_property
    def highest(self) -> float:
        """The highest log start that any replica may have; infinite if a fault may move it."""
        if self._moves:
            return inf
        deleted = (max(one.offset, one.low_watermark) if one.offset >= 0 else inf for one in self._story.deletions)
        return max([self._before, *deleted, *(read.log_start for read in self._story.reads)])

    def may_fall(self, event: int) -> bool:
        """True if a log start had moved into a segment before an event: a crash may set it back below the first entry of the
        leader epoch cache."""
        return self._inside_from < event

    @cached_property
    def _inside_from(self) -> float:
        """The event after which a log start may be inside a segment; infinite if it never is."""
        faults = self._story.derive(ReplicaDamage).faults_with(lambda effects: effects.start_inside_segment)
        return min([*self._events, *(span.began for span in faults)], default=inf) if not self._before else -1

    # --- retention

    def excuse(self, event: int) -> Evidence:
        """Return the evidence by which the log start has no bound at an event."""
        if self._story.log_start_before == inf:
            return WRITTEN_BEFORE
        return DELETED_BY_SETTING if self._story.derive(Retention).begins < event else MOVED_BY_FAULT

    def retentions_before(self, event: int) -> list[str]:
        """Return the kinds of retention (by size, by time) by which faults had old segments deleted before an event."""
        return sorted({f"retention-{span.effects.retention}" for span in self._retentions if span.began < event})

    @cached_property
    def _unbounded_from(self) -> float:
        """The event after which retention or a fault may have moved the log start anywhere; infinite if they never may."""
        if self._story.log_start_before == inf:
            return -1
        moved = (float(span.began) for span in (*self._moves, *self._retentions))
        return min([*moved, self._story.derive(Retention).begins])

    @cached_property
    def _first_bound_after_retention(self) -> Bound | None:
        """The first record that was certainly written after retention had ended on all brokers; retention leaves it and all later
        records. None if faults or elections leave that open."""
        story, ended = self._story, self._story.derive(Retention).ends
        if ended == inf or story.log_start_before == inf:
            return None
        settled = story.timeline.time(int(ended)) + SETTLED_AFTER
        written = [one for one in story.produced if one.is_committed and story.timeline.time(one.asked) > settled]
        first = min(written, key=lambda one: one.asked, default=None)
        if first is None or not self._is_undisturbed(first.event):
            return None
        shown = (read.log_start for read in story.reads if read.event <= first.event)
        return Bound(first.event, max([first.offset, *shown]))

    def _is_undisturbed(self, event: int) -> bool:
        """True if, before an event, nothing shortened a log, moved its start or kept a broker from learning settings."""
        unclean = self._story.unclean_elections or self._story.derive(unclean_election).ever_had("true")
        return not (unclean or any(span.began < event for span in self._story.timeline.spans) or self._moves)

    @cached_property
    def _moves(self) -> list[FaultSpan]:
        return self._story.derive(ReplicaDamage).faults_with(lambda effects: effects.moves_log_start)

    @cached_property
    def _retentions(self) -> list[FaultSpan]:
        """Faults that set the retention of the topic, and so of all its partitions, whichever one the fault was aimed at."""
        spans = (span for span in self._story.timeline.spans if span.effects.retention != "none")
        return [span for span in spans if span.partition.rpartition("-")[0] in ("", self._story.topic)]


def furthest_log_start(trim: DeleteRecordsResult) -> float:
    """Return the offset up to which a request may have moved the log start. A request for everything below the high watermark may
    have moved it to the low watermark in its answer; without an answer there is no bound."""
    if trim.offset != HIGH_WATERMARK:
        return trim.offset
    return trim.low_watermark if trim.error == NONE else inf
