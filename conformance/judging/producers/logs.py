"""A partition's log as its producers see it: their batches, and the markers that end their transactions."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conformance.judging.excuses import COMPACTED
from conformance.judging.facts.log import FetchResult, ProduceResult, ReplicaBatch
from conformance.judging.judge import Excuse
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.permitted_losses import EPOCH_BEGIN, Moment
from conformance.judging.log.settings import may_be_compacted, min_insync_replicas
from conformance.judging.log.story import PartitionStory

SEQUENCES = 1 << 31
"""The number of sequences: after the last one comes 0 again."""


def leader_reads_at_own_epoch(story: PartitionStory) -> list[FetchResult]:
    """Return the full reads that came from the leader of the epoch in the request."""
    reads = (read for read in story.derive(Leadership).leader_reads if read.full)
    return [read for read in reads if not may_be_compacted(story, read.event)]


def left_out_of_compacted(story: PartitionStory, cases: Iterable[str]) -> Iterator[Excuse]:
    """Yield a left-out for each case if `leader_reads_at_own_epoch` skips a leader log that may be compacted."""
    reads = (read for read in story.derive(Leadership).leader_reads if read.full)
    if any(may_be_compacted(story, read.event) for read in reads):
        yield from (Excuse(COMPACTED, case) for case in sorted({*cases} - {""}))


def final_read(story: PartitionStory) -> FetchResult | None:
    """Return the leader's log at rest."""
    return next((read for read in reversed(leader_reads_at_own_epoch(story)) if story.is_at_rest(read)), None)


def producer_batches(read: FetchResult) -> list[ReplicaBatch]:
    """Return the batches of producers with an id, without markers."""
    return [one for one in read.batches if one.producer_id >= 0 and one.base_sequence >= 0 and one.marker is None]


def batch_identity(one: ReplicaBatch | ProduceResult) -> tuple[int, int, int, tuple[bytes | None, ...]]:
    """Return a key that a request shares with its retries and with its batch in the log. A refused sequence may be used again."""
    values = tuple([value for _, value in one.records]) if isinstance(one, ReplicaBatch) else one.values
    return one.producer_id, one.producer_epoch, one.base_sequence, values


def batch_sequences(batch: ReplicaBatch) -> Iterator[int]:
    for place in range(batch.last - batch.base + 1):
        yield (batch.base_sequence + place) % SEQUENCES


class MarkedBatch(NamedTuple):
    """A transactional batch, with the marker that ended its transaction, or None."""

    batch: ReplicaBatch
    end: ReplicaBatch | None

    @property
    def commits(self) -> bool | None:
        """True if the marker commits, False if it aborts; None if there is no marker."""
        return self.end.marker.committed if self.end is not None and self.end.marker is not None else None


def pair_with_markers(read: FetchResult) -> list[MarkedBatch]:
    """Return the transactional batches of a log, each with the next marker of its producer."""
    ends: dict[int, ReplicaBatch] = {}
    found: list[MarkedBatch] = []
    for batch in reversed(read.batches):
        if batch.marker is not None:
            ends[batch.producer_id] = batch
        elif batch.transactional:
            found.append(MarkedBatch(batch, ends.get(batch.producer_id)))
    return found[::-1]


def cannot_take_markers(story: PartitionStory, first: int, second: int) -> bool:
    """True if the partition has fewer replicas than a value of min.insync.replicas that may be in force between two events. Its
    replicas are those last described before the second event, or else the first ones described."""
    described = next((seen for seen in reversed(story.metadata) if seen.event < second), None)
    replicas = (described or story.metadata[0]).replicas if story.metadata else ()
    possible = story.derive(min_insync_replicas).possible_values(first, second)
    return 0 < len(replicas) < max(map(int, possible), default=0)


def stable_end(read: FetchResult) -> int:
    """Return the last stable offset that follows from the log: the first offset of an open transaction, or the high watermark."""
    return min((one.batch.base for one in pair_with_markers(read) if one.end is None), default=read.high_watermark)


def moment_of_event(story: PartitionStory, event: int) -> Moment:
    """Return the newest leader epoch that was named before an event, together with the event."""
    return story.derive(Leadership).newest_epoch_before(event), event


def epoch_begin(batch: ReplicaBatch) -> Moment:
    """Return the beginning of the leader epoch at which a batch was appended."""
    return batch.epoch, EPOCH_BEGIN
