"""The log of a replica when it answered, from full reads before and after in the same incarnation and epoch.

During its epoch a leader only appends, and only a fault begins another incarnation. So a read before the answer shows batches
that were still there, and a read after it those of earlier epochs. A follower may have truncated and appended in between: it
needs both reads, one of which begins with the other.
"""

from bisect import bisect_left

import msgspec

from conformance.judging.facts import log as facts
from conformance.judging.facts.exchange import by_event
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.story import PartitionStory

IncarnationAtEpoch = tuple[str, int, int]
"""A node, its incarnation, and a leader epoch at which it was, since it answered requests that named the epoch."""


class ReplicaLog(msgspec.Struct, frozen=True):
    """The part of the responding replica's log that is certain.

    The log had the batches `held`, and ended at or below `end` (-1 if unknown). `appended` is the leader epoch at which more
    batches may have been appended since, or -1. The log start was between `low` and `start`, each -1 if unknown.
    """

    held: tuple[facts.ReplicaBatch, ...]
    end: int
    low: int
    start: int
    appended: int

    @property
    def known_from(self) -> int:
        """The offset from which `held` is complete."""
        return self.low if self.low >= 0 else self.start

    def from_offset(self, offset: int) -> facts.ReplicaBatch | None:
        """Return the first certain batch that ends at or above an offset."""
        place = bisect_left(self.held, offset, key=facts.by_last)
        found = self.held[place] if place < len(self.held) else None
        return found if found is not None and found.epoch != self.appended else None

    def batch_at(self, offset: int) -> facts.ReplicaBatch | None:
        found = self.from_offset(offset)
        return found if found is not None and found.base <= offset else None

    def first_after_epoch(self, epoch: int) -> facts.ReplicaBatch | None:
        """Return the first batch of a later epoch."""
        place = bisect_left(self.held, epoch + 1, key=facts.by_epoch)
        found = self.held[place] if place < len(self.held) else None
        return found if found is not None and found.epoch != self.appended else None

    def last_of_epoch(self, epoch: int) -> facts.ReplicaBatch | None:
        """Return the last batch of an epoch."""
        place = bisect_left(self.held, epoch + 1, key=facts.by_epoch) - 1
        found = self.held[place] if place >= 0 else None
        return found if found is not None and found.epoch == epoch != self.appended else None


class ReplicaLogs:
    """The responding replica's log for any answer of a partition to a request with an epoch."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._leadership = story.derive(Leadership)
        self._reads: dict[IncarnationAtEpoch, list[facts.FetchResult]] = {}
        self._extends: dict[tuple[int, int], bool] = {}
        for read in story.full_reads:
            if read.cur >= 0:
                self._reads.setdefault(self._life(read), []).append(read)

    def _life(
        self, answer: facts.FetchResult | facts.ErrorResponse | facts.EpochEndOffset | facts.OffsetLookup
    ) -> IncarnationAtEpoch:
        return answer.node, answer.incarnation, answer.cur

    def full_reads_around(
        self, answer: facts.FetchResult | facts.ErrorResponse | facts.EpochEndOffset | facts.OffsetLookup
    ) -> tuple[facts.FetchResult | None, facts.FetchResult | None]:
        """Return the last full read that ended before the request, and the first that began after its answer."""
        reads = self._reads.get(self._life(answer), [])
        place = bisect_left(reads, answer.asked, key=by_event)
        after = next((read for read in reads[place : place + 4] if read.asked > answer.event), None)
        return (reads[place - 1] if place else None), after

    def log_of_responder(
        self, answer: facts.FetchResult | facts.ErrorResponse | facts.EpochEndOffset | facts.OffsetLookup
    ) -> ReplicaLog | None:
        """Return the responding replica's log; None if it is not certain."""
        before, after = self.full_reads_around(answer)
        if self._leadership.is_from_leader(answer):
            return _log_of_leader(answer.cur, before, after)
        if before is None or after is None or not self._is_extended(before, after):
            return None
        return ReplicaLog(before.batches, after.log_end, before.log_start, after.log_start, -1)

    def _is_extended(self, one: facts.FetchResult, other: facts.FetchResult) -> bool:
        """True if one log is a prefix of the other, apart from records deleted below the log start."""
        key = (one.event, other.event)
        if key not in self._extends:
            mine = [batch for batch in one.batches if batch.last >= other.log_start]
            theirs = other.batches[: len(mine)]
            self._extends[key] = one.log_start <= other.log_start and tuple(mine) == theirs
        return self._extends[key]


def _log_of_leader(epoch: int, before: facts.FetchResult | None, after: facts.FetchResult | None) -> ReplicaLog | None:
    end = after.log_end if after is not None else -1
    start = after.log_start if after is not None else -1
    if before is not None:
        return ReplicaLog(before.batches, end, before.log_start, start, -1)
    return ReplicaLog(after.batches, end, -1, start, epoch) if after is not None else None
