"""The metadata logs read from controllers' disks, and the records that the quorum had committed by then."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.metadata_log import MetadataLogOnDisk
from conformance.judging.facts.quorum import MetadataFetch
from conformance.judging.quorum.story import QuorumStory
from history.readings import LeaderChange, LoggedBatch


class Watermark(NamedTuple):
    """The largest high watermark that a leader had named in its epoch, with the event of the answer."""

    epoch: int
    offset: int
    event: int


class HeldBatches(NamedTuple):
    """Batches of a node at an event: its whole log, or the part below the high watermark in its answer to a Fetch.

    `epoch` is the newest in the node's log. `batches` have first and last offset, epoch and digest, which is empty if only an
    answer shows them. `end` is exclusive.
    """

    node: str
    event: int
    epoch: int
    start: int
    end: int
    batches: tuple[tuple[int, int, int, str], ...]

    @classmethod
    def from_disk(cls, log: MetadataLogOnDisk) -> Self:
        batches = tuple([(b.base_offset, b.last_offset, b.leader_epoch, b.digest) for b in log.held.batches])
        return cls(log.node, log.event, log.last_epoch, log.held.log_start, log.held.log_end, batches)

    @classmethod
    def from_answer(cls, fetch: MetadataFetch) -> Self:
        batches = tuple([(b.first, b.last, b.epoch, "") for b in fetch.batches if b.last < fetch.high_watermark])
        start, end = (batches[0][0], batches[-1][1] + 1) if batches else (fetch.offset, fetch.offset)
        return cls(fetch.node, fetch.event, fetch.known.leader_epoch, start, end, batches)


class MetadataLogs:
    """The comparable reads of a story, in order, and the high watermarks that leaders named."""

    def __init__(self, story: QuorumStory) -> None:
        self.reads = story.comparable_facts(story.logs)
        self.latest = {read.node: read for read in self.reads}
        described = [
            Watermark(one.said.leader_epoch, one.said.high_watermark, one.event)
            for one in story.comparable_facts(story.described)
        ]
        fetched = [
            Watermark(one.known.leader_epoch, one.high_watermark, one.event)
            for one in story.comparable_facts(story.fetched)
        ]
        self._watermarks = sorted([one for one in (*described, *fetched) if one.offset >= 0], key=by_event)

    def watermark(self, before: int, *, upto: int) -> Watermark | None:
        """Return the largest high watermark that was named before an event in epochs up to `upto`; None without one."""
        known = (one for one in self._watermarks if one.event < before and one.epoch <= upto)
        return max(known, key=lambda one: one.offset, default=None)

    def watermark_for(self, log: MetadataLogOnDisk) -> Watermark | None:
        """Return the high watermark below which a log must equal all others; None if none is known.

        A log without a batch of the watermark's epoch or a later one may be that of a deposed leader which has not truncated yet.
        """
        return self.watermark(log.asked, upto=log.last_epoch)

    def is_behind(self, log: MetadataLogOnDisk) -> bool:
        """True if a high watermark is known from a later epoch than the log's last one."""
        return any(one.event < log.asked and one.epoch > log.last_epoch for one in self._watermarks)

    def pairs(self) -> Iterator[tuple[MetadataLogOnDisk, MetadataLogOnDisk]]:
        """Yield each read with the latest earlier read of each other node."""
        latest: dict[str, MetadataLogOnDisk] = {}
        for read in self.reads:
            yield from ((other, read) for node, other in latest.items() if node != read.node)
            latest[read.node] = read

    def leader_changes(self) -> list[tuple[LeaderChange, MetadataLogOnDisk]]:
        """Return the leaders by epoch, each with the first read that shows it."""
        found: dict[tuple[int, int], tuple[LeaderChange, MetadataLogOnDisk]] = {}
        for read in self.reads:
            for one in read.held.leader_changes:
                found.setdefault((one.epoch, one.leader), (one, read))
        return [found[key] for key in sorted(found)]


def first_batches(log: MetadataLogOnDisk) -> list[LoggedBatch]:
    """Return the first batch of each epoch, if the log shows it to be the first: it follows a batch of another epoch, or is at
    offset 0."""
    before = -1
    found: list[LoggedBatch] = []
    for batch in log.held.batches:
        is_first = before >= 0 or batch.base_offset == 0
        if batch.leader_epoch != before and is_first:
            found.append(batch)
        before = batch.leader_epoch
    return found


def first_decrease(epochs: Iterable[tuple[int, int]]) -> tuple[int, int, int] | None:
    """Return the first offset whose epoch is lower than the one before, and both epochs; None if epochs never decrease.

    >>> first_decrease([(0, 1), (4, 3), (9, 2)]), first_decrease([(0, 1), (4, 1)])
    ((9, 3, 2), None)
    """
    before = -1
    for offset, epoch in epochs:
        if epoch < before:
            return offset, before, epoch
        before = epoch
    return None


def first_gap(batches: Sequence[LoggedBatch], start: int, upto: int) -> int | None:
    """Return the first offset from `start` to `upto` (exclusive) that no batch has; None without a gap."""
    expected = start
    for batch in batches:
        if expected >= upto or batch.base_offset > expected:
            break
        expected = max(expected, batch.last_offset + 1)
    return expected if expected < upto else None


def batches_within(log: MetadataLogOnDisk, start: int, end: int) -> list[LoggedBatch]:
    """Return the batches that lie entirely between two offsets, the second exclusive."""
    return [batch for batch in log.held.batches if start <= batch.base_offset and batch.last_offset < end]


def first_difference(one: Sequence[LoggedBatch], other: Sequence[LoggedBatch]) -> int:
    """Return the offset of the first batches that differ; -1 if all are equal."""
    for a, b in zip(one, other, strict=False):
        if a != b:
            return min(a.base_offset, b.base_offset)
    longer = max(one, other, key=len)
    return longer[min(len(one), len(other))].base_offset if len(one) != len(other) else -1
