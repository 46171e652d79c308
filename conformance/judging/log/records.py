"""Invariants of records in a replicated log (KIP-101, KIP-320): all replicas, readers and later leaders have one history."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, islice, pairwise, zip_longest
from math import inf
from operator import attrgetter
from typing import NamedTuple

from conformance.judging.excuses import BYTES_FLIPPED, COMPACTED, EPOCHS_LOST, Evidence
from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.log import FetchResult, ProduceResult, ReplicaBatch, ReplicaOnDisk, by_epoch
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import Moment, PermittedLosses
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.record_values import value_in_words
from protocol.words import say, say_error

_by_offset = attrgetter("offset")


# --- replicas


@log_judge("KIP101-INV-01", "reads")
def one_record_per_offset_and_epoch(story: PartitionStory) -> Iterator[Claim]:
    """An (offset, epoch) holds the same batch on every replica and at every time."""
    first: dict[tuple[str, int, int], tuple[FetchResult, ReplicaBatch]] = {}
    last: dict[str, int] = {}
    for read in (read for read in story.reads if read.batches):
        left_out = _why_different(story, read) if last else None
        if left_out is not None and last.keys() - {read.node}:
            yield Excuse(left_out, "replicas")
        elif left_out is not None and story.timeline.fault_between(last[read.node], read.event):
            yield Excuse(left_out, "time")
        last[read.node] = read.event
        if may_be_compacted(story, read.event):
            continue
        again: dict[str, int] = {}
        for batch in _intact_batches(story, read):
            known, held = first.setdefault(("base", batch.base, batch.epoch), (read, batch))
            if known is read:
                known, held = first.setdefault(("last", batch.last, batch.epoch), (read, batch))
            case = "replicas" if known.node != read.node else "time"
            if held != batch:
                shown = f"{known.node} returned {held}, and {read.node} {batch}"
                yield Finding(False, case, (known.event, read.event), shown, "divergent-prefix")
            elif case not in again and (
                known.node != read.node or story.timeline.fault_between(known.event, read.event)
            ):
                # A batch read again on the same node, with no fault in between, does not count again.
                again[case] = known.event
        yield from (Finding(True, case, (event, read.event)) for case, event in again.items())


def _why_different(story: PartitionStory, read: FetchResult) -> Evidence | None:
    """Return the evidence by which batches of a read may differ from others at their offset and epoch."""
    if may_be_compacted(story, read.event):
        return COMPACTED
    return BYTES_FLIPPED if len(_intact_batches(story, read)) < len(read.batches) else None


def _intact_batches(story: PartitionStory, read: FetchResult) -> Sequence[ReplicaBatch]:
    """Return the batches of a read, except those that the kit corrupted if it flipped bytes on a disk."""
    is_corrupt = story.derive(ReplicaDamage).is_corrupt(read.event)
    return [batch for batch in read.batches if batch.valid] if is_corrupt else read.batches


@log_judge("KIP101-INV-02", "full_reads")
def prefixes_agree(story: PartitionStory) -> Iterator[Claim]:
    """Replicas that share an (offset, epoch) share everything below it that both still hold."""
    damage = story.derive(ReplicaDamage)
    for one, other in _newest_pairs(story):
        if (shared := _last_common(one, other)) is None:
            continue
        if may_be_compacted(story, other.event):
            yield Excuse(COMPACTED, "prefix")
            continue
        low, high = (
            max(one.log_start, other.log_start),
            min(shared, damage.comparable_below(other.event, one.node, other.node) - 1),
        )
        mine, theirs = (_batches_between(_intact_batches(story, read), low, high) for read in (one, other))
        if mine == theirs and high < shared:
            rest = [_batches_between(_intact_batches(story, read), low, shared) for read in (one, other)]
            if rest[0] != rest[1] and not _differ_at_one_epoch(*rest):
                yield Excuse(EPOCHS_LOST, "prefix")
        # Two histories at one (offset, epoch) are for KIP101-INV-01 to judge: then prefixes cannot agree.
        if mine == theirs or not _differ_at_one_epoch(mine, theirs):
            shown = (
                ""
                if mine == theirs
                else f"{first_difference(one.node, mine, other.node, theirs)}, and both the same batch at offset {shared}"
            )
            yield Finding(mine == theirs, "prefix", (one.event, other.event), shown, "divergent-prefix")


def _newest_pairs(story: PartitionStory) -> Iterator[tuple[FetchResult, FetchResult]]:
    """Pair each full read of a replica with the newest full reads of the others."""
    newest: dict[str, FetchResult] = {}
    for read in story.full_reads:
        if read.batches:
            yield from ((other, read) for node, other in sorted(newest.items()) if node != read.node)
            newest[read.node] = read


def _last_common(one: FetchResult, other: FetchResult) -> int | None:
    theirs = {(batch.last, batch.epoch) for batch in other.batches}
    return next((b.last for b in reversed(one.batches) if (b.last, b.epoch) in theirs), None)


def _batches_between(batches: Sequence[ReplicaBatch], low: int, high: float) -> list[ReplicaBatch]:
    return [batch for batch in batches if low <= batch.last <= high]


def _differ_at_one_epoch(mine: list[ReplicaBatch], theirs: list[ReplicaBatch]) -> bool:
    """True if the two logs have different batches at the same (offset, epoch)."""
    held = {(batch.base, batch.epoch): batch for batch in mine}
    return any(held.get((batch.base, batch.epoch), batch) != batch for batch in theirs)


def first_difference(one: str, mine: Sequence[object], other: str, theirs: Sequence[object]) -> str:
    """Return the first batches in which the logs of two nodes differ, as read or as on disk."""
    mine_first, theirs_first = next(pair for pair in zip_longest(mine, theirs) if pair[0] != pair[1])
    return f"{one} holds {_batch(mine_first)} where {other} holds {_batch(theirs_first)}"


def _batch(batch: object) -> str:
    if isinstance(batch, tuple):
        base, last, epoch, digest = batch
        return f"{base}-{last} of epoch {epoch} (digest {digest[:8]})"
    return "nothing" if batch is None else str(batch)


@log_judge("KIP101-INV-03", "full_reads", "on_disk")
def leader_epochs_never_decrease(story: PartitionStory) -> Iterator[Finding]:
    """In a replica's log the leader epochs of batches never decrease."""
    held: list[FetchResult | ReplicaOnDisk] = [*story.full_reads, *story.on_disk]
    for log in held:
        epochs = [b.epoch for b in log.batches] if isinstance(log, FetchResult) else [b[2] for b in log.batches]
        if len(epochs) > 1:
            fine = all(one <= two for one, two in pairwise(epochs))
            yield Finding(
                fine,
                "replica",
                (log.event,),
                f"{log.node} holds batches of the epochs {say(epochs)}, one after the other" if not fine else "",
                "epoch-regression",
            )


@log_judge("KIP101-STAMP-03", "full_reads", "on_disk")
def followers_keep_leader_epochs_and_bytes(story: PartitionStory) -> Iterator[Claim]:
    """At rest every replica holds the same batches: the same leader epoch and CRC in reads, and the same bytes on disk."""
    if story.timeline.rest >= 0:
        reads: dict[str, FetchResult | ReplicaOnDisk] = {
            read.node: read for read in story.full_reads if story.is_at_rest(read)
        }
        disks: dict[str, FetchResult | ReplicaOnDisk] = {
            disk.node: disk for disk in story.on_disk if story.is_at_rest(disk)
        }
        for one, other in [*combinations(reads.values(), 2), *combinations(disks.values(), 2)]:
            if may_be_compacted(story, max(one.event, other.event)):
                yield Excuse(COMPACTED, "replicated")
                continue
            low = max(one.log_start, other.log_start)
            high = story.derive(ReplicaDamage).comparable_below(story.timeline.rest, one.node, other.node)
            mine, theirs = (_contents_between(low, high, held) for held in (one, other))
            if mine == theirs and high < inf and _contents_between(low, inf, one) != _contents_between(low, inf, other):
                yield Excuse(EPOCHS_LOST, "replicated")
            if mine or theirs:
                shown = "" if mine == theirs else first_difference(one.node, mine, other.node, theirs)
                yield Finding(mine == theirs, "replicated", (one.event, other.event), shown, "divergent-prefix")


def _contents_between(low: int, high: float, held: FetchResult | ReplicaOnDisk) -> list[object]:
    if isinstance(held, FetchResult):
        return [batch for batch in held.batches if low <= batch.last < high]
    return [batch for batch in held.batches if low <= batch[1] < high]


# --- what was acknowledged


@log_judge("KIP101-INV-05", "produced")
def acknowledged_records_are_kept(story: PartitionStory) -> Iterator[Claim]:
    """A record acknowledged with acks=all stays at its offset under every later leader, unless the log start passed it."""
    acknowledged, permitted = story.derive(AcknowledgedWrites), story.derive(PermittedLosses)
    if not acknowledged.writes:
        return
    ends = [(write.event, write.offset + len(write.values)) for write in story.produced if write.is_committed]
    ends = [*accumulate(ends, lambda one, two: (two[0], max(one[1], two[1])))]
    starts = story.derive(LogStarts)
    lost: set[tuple[int, str]] = set()
    kept_at = {write.event: acknowledgement_moment(story, write) for write, _ in acknowledged.writes}
    kept_as: dict[tuple[int, int], ReplicaBatch] = {}
    for read in (read for read in story.derive(Leadership).leader_reads if read.full or read.by_consumer):
        case, kept, shown = (
            "kept" if read.full else "readable",
            -1,
            offsets_shown_by(read, starts.highest_explained(read.event)),
        )
        is_compacted, gaps = may_be_compacted(story, read.event), False
        known = bisect_left(ends, (read.asked,))
        stop = min(shown.stop, ends[known - 1][1]) if known else 0
        for write, epoch in acknowledged.writes_at(range(shown.start, stop)):
            # A leader of an older epoch that is not yet fenced may serve its own log: it is no later leader.
            if write.event >= read.asked or epoch > read.cur or (write.event, case) in lost:
                continue
            now = (read.cur, read.event)
            if trouble := describe_loss(read, write, shown, is_compacted, kept_as):
                lost.add((write.event, case))
                by = (write.event, read.event)
                if (permission := permitted.between(kept_at[write.event], now, offset=write.last_offset)) is None:
                    yield Finding(False, case, by, trouble, "lost-write")
                else:
                    yield Excuse(permission, case)
            elif read.value_at(max(write.offset, shown.start)) is not None:
                if epoch < read.cur and permitted.between(kept_at[write.event], now, offset=write.last_offset) is None:
                    kept = write.event
                kept_at[write.event] = max(kept_at[write.event], now)
            else:
                gaps = is_compacted
        if kept >= 0:
            yield Finding(True, case, (kept, read.event))
        if gaps:
            yield Excuse(COMPACTED, case)


class AcknowledgedWrites:
    """All writes acknowledged with acks=all, by offset, each with its leader epoch."""

    def __init__(self, story: PartitionStory) -> None:
        found = sorted((write for write in story.produced if write.is_committed and write.values), key=_by_offset)
        self.writes = [(write, _epoch_of(story, write)) for write in found]
        self._firsts = [write.offset for write in found]
        self._lasts = [write.last_offset for write in found]

    def writes_at(self, offsets: range) -> list[tuple[ProduceResult, int]]:
        return self.writes[bisect_left(self._lasts, offsets.start) : bisect_left(self._firsts, offsets.stop)]


EpochsOfRecords = dict[tuple[int, bytes | None], int]
"""The records that were ever read, as (offset, value), each with the latest leader epoch of its batches."""


def epochs_of_records(story: PartitionStory) -> EpochsOfRecords:
    """Return the latest leader epoch of each record that was ever read."""
    epochs: EpochsOfRecords = {}
    for batch in sorted((batch for batch, _ in story.batches), key=by_epoch):
        epochs.update(dict.fromkeys(batch.records, batch.epoch))
    return epochs


def _epoch_of_batch(story: PartitionStory, write: ProduceResult) -> int | None:
    """Return the epoch of the batch with the first record of a write; None if it was never read."""
    return story.derive(epochs_of_records).get((write.offset, write.values[0]))


def _epoch_of(story: PartitionStory, write: ProduceResult) -> int:
    """Return the epoch at which a write was acknowledged: that of its batch, or else the next one that its node led."""
    if (epoch := _epoch_of_batch(story, write)) is not None:
        return epoch
    leadership = story.derive(Leadership)
    named = leadership.newest_epoch_before(write.asked)
    return min((epoch for epoch in leadership.epochs_of(write.node) if epoch >= named), default=named)


def acknowledgement_moment(story: PartitionStory, write: ProduceResult) -> Moment:
    """Return the earliest moment at which a write may have been acknowledged; if it was never read, that is at its node's last
    epoch."""
    if (epoch := _epoch_of_batch(story, write)) is not None:
        return epoch, write.asked
    leadership = story.derive(Leadership)
    named = leadership.newest_epoch_before(write.asked)
    return max((epoch for epoch in leadership.epochs_of(write.node) if epoch <= named), default=named), write.asked


def offsets_shown_by(read: FetchResult, explained: float) -> range:
    """Return the offsets at which a read shows a record. In a full read a log start above `explained` hides none."""
    start = max(read.fetch_offset, read.log_start)
    if read.diverging is not None:
        return range(0)
    if read.full:
        start = int(min(explained, read.log_start))
        return range(start, max(read.log_end, read.high_watermark, start) + (1 << 40))
    if read.last >= 0 and not read.batches:
        return range(0)  # a fetch with last_fetched_epoch may get only its divergence
    # An answer ends when it has enough bytes, and a read_committed consumer sees only stable records.
    stable = min(read.high_watermark, read.last_stable_offset) if read.last_stable_offset >= 0 else read.high_watermark
    return range(start, read.batches[-1].last + 1 if read.batches else stable)


def describe_loss(
    read: FetchResult,
    write: ProduceResult,
    shown: range,
    is_compacted: bool,
    kept_as: dict[tuple[int, int], ReplicaBatch],
) -> str:
    """Return a description of how a read differs from a write's records, apart from compaction; empty if it does not. `kept_as`
    has the batches found before."""
    for offset, value in enumerate(write.values, write.offset):
        if value is None or offset not in shown:
            continue
        batch = read.batch_at(offset)
        before = kept_as.get((write.event, offset))
        if batch is not None and batch is before:
            continue
        now = batch.value_at(offset) if batch is not None else None
        if (now is not None or not is_compacted) and now != value:
            what = f"{value_in_words(now)} in {batch}" if now is not None else "nothing"
            return (
                f"{read.node}, leader at epoch {read.cur}, has {what} at offset {offset}, which was acknowledged "
                f"with {value_in_words(value)}"
            )
        if batch is not None and before is not None and batch.epoch != before.epoch:
            return (
                f"{read.node}, leader at epoch {read.cur}, has offset {offset} in {batch}, which was acknowledged "
                f"and kept in {before}"
            )
        if batch is not None and now is not None:
            kept_as[write.event, offset] = batch
    return ""


@log_judge("KIP101-INV-06", "produced")
def one_acknowledged_record_per_offset(story: PartitionStory) -> Iterator[Claim]:
    """No two writes acknowledged with acks=all differ at an offset. Only offsets at which another leader had a record test
    this."""
    rivals, commits = story.derive(_Rivals), [one for one in story.produced if one.is_committed and one.values]
    shared = {event for pair in _overlapping_writes(commits) for event in (pair.one.event, pair.two.event)}
    for pair in _overlapping_writes(commits):
        if (permission := _permission_for_both(story, pair)) is not None:
            yield Excuse(permission, "acknowledged")
        else:
            by = (pair.one.event, pair.two.event)
            yield Finding(False, "acknowledged", by, str(pair), "inconsistent-offsets")
    for write in commits:
        if write.event not in shared and (rival := rivals.of(write)) is not None:
            yield Finding(True, "acknowledged", (rival, write.event))


class _WritePair(NamedTuple):
    """Two acknowledged writes with records at one offset."""

    one: ProduceResult
    two: ProduceResult
    offset: int

    def __str__(self) -> str:
        was, value = (value_in_words(_value(write, self.offset)) for write in (self.one, self.two))
        return (
            f"offset {self.offset} was acknowledged with {was} by {self.one.node} and with {value} by {self.two.node}"
        )


def _overlapping_writes(commits: Sequence[ProduceResult]) -> Iterator[_WritePair]:
    """Pair each write with the latest earlier one, at the first offset at which the two differ."""
    last: dict[int, ProduceResult] = {}
    for write in commits:
        offsets = range(write.offset, write.offset + len(write.values))
        known = (_WritePair(last[offset], write, offset) for offset in offsets if offset in last)
        differing = (pair for pair in known if _value(pair.one, pair.offset) != _value(write, pair.offset))
        yield from islice(differing, 1)
        last.update(dict.fromkeys(offsets, write))


def _value(write: ProduceResult, offset: int) -> bytes | None:
    return write.values[offset - write.offset]


def _permission_for_both(story: PartitionStory, pair: _WritePair) -> Evidence | None:
    """Return the permission by which one write's records may have been lost between the epochs at which the two were appended.

    A retry may be acknowledged at a later epoch than that of its records, by a leader that kept them through an election that
    lost the other write's records.
    """
    losses = story.derive(PermittedLosses)
    first, second = sorted(acknowledgement_moment(story, write) for write in (pair.one, pair.two))
    earlier, later = sorted((pair.one, pair.two), key=lambda write: write.event)
    lost_from, appended = (acknowledgement_moment(story, write) for write in (earlier, later))
    is_retry = appended < lost_from
    return losses.between(first, second, offset=pair.offset) or (
        losses.between(lost_from, _moment_of_answer(story, later), offset=pair.offset) if is_retry else None
    )


def _moment_of_answer(story: PartitionStory, write: ProduceResult) -> Moment:
    """Return the moment of the answer, at the last epoch that the broker was known to lead; -1 without one."""
    leadership = story.derive(Leadership)
    known = leadership.newest_epoch_before(write.event)
    return max((epoch for epoch in leadership.epochs_of(write.node) if epoch <= known), default=-1), write.event


class _Rivals:
    """The leaders that had a record at each offset: the node, and the first event that shows it."""

    def __init__(self, story: PartitionStory) -> None:
        leadership = story.derive(Leadership)
        self._at: dict[int, dict[str, int]] = {}
        for write in story.produced:
            if write.error == NONE and write.acks != 0 and write.offset >= 0:
                self._add(range(write.offset, write.offset + len(write.values)), write.node, write.event)
        for batch, event in story.batches:
            if (leader := leadership.leaders.get(batch.epoch)) is not None and not batch.control:
                self._add(range(batch.base, batch.last + 1), leader, event)

    def _add(self, offsets: range, node: str, event: int) -> None:
        for offset in offsets:
            self._at.setdefault(offset, {}).setdefault(node, event)

    def of(self, write: ProduceResult) -> int | None:
        """Return the event that shows another leader's record at one of the write's offsets; None without one."""
        offsets = range(write.offset, write.offset + len(write.values))
        shown = (event for offset in offsets for node, event in self._at[offset].items() if node != write.node)
        return next(shown, None)


@log_judge("KIP101-INV-17", "produced")
def refused_writes_are_never_read(story: PartitionStory) -> Iterator[Finding]:
    """A write that was refused before the append, or never sent, is in no log (Jepsen's aborted read)."""
    times: dict[bytes | None, int] = {}
    for write in story.produced:
        for value in write.values:
            times[value] = times.get(value, 0) + 1
    refused = {value: write for write in story.produced if write.failed for value in write.values if times[value] == 1}
    places = _places(story) if refused else {}
    for value, write in refused.items():
        if value is None or not story.full_reads or story.full_reads[-1].asked < write.event:
            continue
        by = places.get(value, story.full_reads[-1].event)
        shown = f"{write.node} refused a write of {value_in_words(value)} with {say_error(write.error)}, and served it"
        yield Finding(value not in places, "refused", (write.event, by), shown, "aborted-read")


def _places(story: PartitionStory) -> dict[bytes | None, int]:
    """Return the values that were read, each with the event of its first read."""
    found: dict[bytes | None, int] = {}
    for batch, event in story.batches:
        for _, value in batch.records:
            found.setdefault(value, event)
    for one in story.consumed:
        found.setdefault(one.value, one.event)
    return found


# --- what was read


@log_judge("KIP101-INV-07", "reads", "consumed")
def consumed_records_are_never_replaced(story: PartitionStory) -> Iterator[Claim]:
    """A record that was delivered to a consumer is never replaced by another at its offset."""
    handed: dict[int, tuple[_ReturnedRecords, int, bytes | None]] = {}
    permitted = story.derive(PermittedLosses)
    for one in sorted(_returned_records(story), key=by_event):
        again: _ReturnedRecords | None = None
        for epoch, records in one.batches:
            for offset, value in records:
                known, was_epoch, was = handed.setdefault(offset, (one, epoch, value))
                if known.event == one.event:
                    continue
                permission = _permission_to_replace(story, permitted, (known, was_epoch), (one, epoch), offset)
                replaced = was != value or (was_epoch != epoch and -1 not in (was_epoch, epoch))
                if permission is not None:
                    handed[offset] = one, epoch, value
                if replaced and permission is not None:
                    yield Excuse(permission, _case(known, one))
                elif replaced:
                    before = f"{value_in_words(was)} of epoch {was_epoch} by {known.by}"
                    shown = (
                        f"a consumer was given {before} at offset {offset}, then {value_in_words(value)} of epoch "
                        f"{epoch} by {one.by}"
                    )
                    yield Finding(False, _case(known, one), (known.event, one.event), shown, "inconsistent-offsets")
                elif permission is None and (
                    known.by != one.by or story.timeline.fault_between(known.event, one.event)
                ):
                    again = known
        if again is not None:
            yield Finding(True, _case(again, one), (again.event, one.event))


def _permission_to_replace(
    story: PartitionStory,
    permitted: PermittedLosses,
    one: tuple[_ReturnedRecords, int],
    two: tuple[_ReturnedRecords, int],
    offset: int,
) -> Evidence | None:
    """Return the permission by which one of two records replaced the other. A former leader may still return the old one."""
    if not permitted.all:
        return None
    leadership = story.derive(Leadership)
    lows = [(handed.cur if handed.cur >= 0 else epoch, handed.fetched) for handed, epoch in (one, two)]
    newest = [one.cur if one.cur >= 0 else leadership.newest_epoch_before(one.event) for one, _ in (one, two)]
    last = max(zip(newest, (one[0].event, two[0].event), strict=True))
    return permitted.between(min(lows), last, offset=offset)


class _ReturnedRecords(NamedTuple):
    """The records that a node returned to a consumer at an epoch: batches as (epoch, records), records as (offset, value).

    `fetched` is the earliest event at which the broker may have returned them. `cur` is -1 if the request named no epoch.
    """

    event: int
    fetched: int
    cur: int
    by: str
    case: str
    batches: Sequence[tuple[int, Sequence[tuple[int, bytes | None]]]]


def _case(known: _ReturnedRecords, one: _ReturnedRecords) -> str:
    return "follower" if "follower" in (known.case, one.case) else "leader"


def _returned_records(story: PartitionStory) -> Iterator[_ReturnedRecords]:
    leadership = story.derive(Leadership)
    for read in story.reads:
        case = "leader" if leadership.is_from_leader(read) else "follower"
        if read.by_consumer:
            batches = [(batch.epoch, batch.records) for batch in _intact_batches(story, read)]
            yield _ReturnedRecords(read.event, read.event, read.cur, f"{read.node} at epoch {read.cur}", case, batches)
    # A consumer may have fetched a record long before it delivers it, but not before it was written.
    written = _first_writes(story) if story.consumed else {}
    for one in story.consumed:
        fetched = min(max(one.since, written.get(one.value, 0)), one.event)
        yield _ReturnedRecords(
            one.event, fetched, -1, one.consumer, "leader", ((one.epoch, ((one.offset, one.value),)),)
        )


def _first_writes(story: PartitionStory) -> dict[bytes | None, int]:
    """Return the values of records, each with the event at which it was first sent."""
    first: dict[bytes | None, int] = {}
    for write in story.produced:
        for value in write.values:
            first[value] = min(write.asked, first.get(value, write.asked))
    return first
