"""DeleteRecords and its effects (KIP-107, KIP-320) on log starts, leader epoch caches, and the low watermark of live replicas."""

from bisect import bisect_left
from collections.abc import Iterator

from conformance.judging import excuses
from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.log import (
    DeleteRecordsResult,
    FetchResult,
    PartitionAtBroker,
    ProduceResult,
)
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.convergence import FinalState, final_state, permitted_difference
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error
from protocol.words import say

WRITE_TIMEOUT = 30.0
"""Seconds in which leader-epoch-checkpoint must be written, which is asynchronous from 3.8 on: the general bound."""

ADOPTION_TIMEOUT = 30.0
"""Seconds in which a running follower must adopt a new log start offset: the general bound. Its fetches may wait for some of
them."""


Trims = dict[str, list[DeleteRecordsResult]]
"""Deletions that each went further than all before, by node."""


@log_judge("KIP320-DR-02", "deletions", "on_disk")
def delete_records_reaches_all_live_replicas(story: PartitionStory) -> Iterator[Claim]:
    """Records that DeleteRecords acknowledged are gone from every live replica until it crashes; no other record is gone."""
    starts = story.derive(LogStarts)
    for trim in story.deletions:
        if trim.error == NONE:
            high = starts.highest_explained(trim.event)
            shown = (
                f"{trim.node} answered {trim.low_watermark} to DeleteRecords up to {trim.offset}, which explains {high}"
            )
            yield Finding(
                max(0, trim.offset) <= trim.low_watermark <= high,
                "low-watermark",
                (trim.event,),
                shown,
            )
        elif trim.error == Error.REQUEST_TIMED_OUT:
            yield Excuse(excuses.DELETION_TIMED_OUT, "low-watermark")
    yield from _starts_beyond_requests(story, starts)
    yield from _deleted_records_return(story)
    end = final_state(story)
    left_out = permitted_difference(story) if end is None else excuses.NOT_AT_REST if not end.certain else None
    if story.deletions and left_out is not None:
        yield Excuse(left_out, "log-start")
    if end is not None and story.timeline.rest >= 0:
        yield from _judge_later_fetches(story, end)
        yield from _caches(story, end)
    if end is not None and end.certain:
        yield from _log_start_is_adopted(story, end)


# --- what is returned


def _starts_beyond_requests(story: PartitionStory, starts: LogStarts) -> Iterator[Finding]:
    """Judge that no replica's log begins above the offset that a DeleteRecords requested."""
    known: set[tuple[str, int]] = set()
    for read in story.reads if story.deletions else ():
        if read.log_start > starts.highest_explained(read.event) and (one := (read.node, read.log_start)) not in known:
            known.add(one)
            shown = (
                f"{read.node} starts at {read.log_start}, although DeleteRecords went only up to "
                f"{starts.highest_explained(read.event)}"
            )
            yield Finding(False, "log-start", (read.event,), shown, "deleted-too-much")


def _deleted_records_return(story: PartitionStory) -> Iterator[Claim]:
    """Judge that a replica returns no deleted record if it was live and in sync when DeleteRecords was answered, and has run ever
    since."""
    floors: Trims = {}
    missed: Trims = {}
    for trim in (trim for trim in story.deletions if trim.low_watermark > 0):
        reached = {*_nodes_reached(story, trim)}
        for node in story.timeline.broker_names:
            found = (floors if node in reached else missed).setdefault(node, [])
            if not found or found[-1].low_watermark < trim.low_watermark:
                found.append(trim)
    yield from _deletions_not_reached(story, missed, floors)
    known: set[tuple[str, int]] = set()
    for read in story.reads:
        trim_before = _floor(story, read, floors.get(read.node, []))
        if trim_before is None:
            continue
        low, by = trim_before.low_watermark, (trim_before.event, read.event)
        stayed = story.derive(Replicas).was_always_replica(read.node, read.event)
        permission = _why_forgotten(story, trim_before, read) if stayed else excuses.REASSIGNED
        returned = bool(read.batches) and read.batches[0].last < low
        lower = returned or 0 <= read.log_start < low
        if lower and permission is not None:
            yield Excuse(permission, "log-start")
        elif lower:
            shown = f"{read.node} starts at {read.log_start}, although records below {low} were deleted"
            label = "deleted-record-returned" if returned else "log-start-regression"
            yield Finding(False, "log-start", by, shown, label)
        elif permission is None and (read.node, low) not in known:
            known.add((read.node, low))
            yield Finding(True, "log-start", by)


def _deletions_not_reached(story: PartitionStory, missed: Trims, floors: Trims) -> Iterator[Excuse]:
    """Yield a left-out for each deletion that need not have reached a follower, and that its log does not show."""
    known: set[tuple[str, int]] = set()
    for read in story.reads:
        trim, floor = (_floor(story, read, trims.get(read.node, [])) for trims in (missed, floors))
        low = floor.low_watermark if floor is not None else 0
        if trim is not None and max(low, read.log_start) < trim.low_watermark and (read.node, trim.event) not in known:
            known.add((read.node, trim.event))
            yield Excuse(excuses.NOT_REACHED, "log-start")


def _floor(story: PartitionStory, read: FetchResult, trims: list[DeleteRecordsResult]) -> DeleteRecordsResult | None:
    """Return the last of these DeleteRecords requests before a read by the same incarnation of the node."""
    place = bisect_left(trims, read.asked, key=by_event)
    trim = trims[place - 1] if place else None
    if trim is None:
        return None
    lives = {story.timeline.incarnation(read.node, event) for event in (trim.asked, read.event)}
    return trim if len(lives) == 1 else None


def _why_forgotten(story: PartitionStory, trim: DeleteRecordsResult, read: FetchResult) -> excuses.Evidence | None:
    """Return the permission by which the deletion may have been lost before the read."""
    leadership = story.derive(Leadership)
    trimmed_at = (leadership.newest_epoch_before(trim.asked), trim.asked)
    cur = read.cur if read.cur >= 0 else leadership.newest_epoch_before(read.event)
    return story.derive(PermittedLosses).between(trimmed_at, (cur, read.event))


def _nodes_reached(story: PartitionStory, trim: DeleteRecordsResult) -> Iterator[str]:
    """Yield the nodes that certainly applied the deletion: the leader, and followers that were alive, in sync and free of faults
    before and after it."""
    replicas = story.derive(Replicas)
    place = bisect_left(story.metadata, trim.asked, key=by_event)
    before = story.metadata[place - 1] if place else None
    after = next((seen for seen in story.metadata[place : place + 12] if seen.asked > trim.event), None)
    if replicas.was_always_replica(trim.node, trim.event):
        yield trim.node
    if before is None or after is None:
        return
    spans = story.timeline.active_faults(before.asked, after.event)
    for id, node in story.timeline.names.items():
        spared = all(span.effects.idles_processes and node not in span.nodes for span in spans)
        if (
            node != trim.node
            and spared
            and _is_live(before, id)
            and _is_live(after, id)
            and replicas.was_always_replica(node, after.event)
        ):
            yield node


def _is_live(seen: PartitionAtBroker, id: int) -> bool:
    return id in seen.isr and id in seen.unfenced


# --- at rest


def _judge_later_fetches(story: PartitionStory, end: FinalState) -> Iterator[Claim]:
    """Judge followers that copied a later record in the same epoch: the Fetch response with that record also carried the leader's
    log start."""
    leadership = story.derive(Leadership)
    leader = end.leader
    if leader is None:
        return
    for trim in story.deletions:
        low = max(trim.low_watermark, trim.offset)
        same = trim.node == leader.node and trim.error in (NONE, Error.REQUEST_TIMED_OUT) and low <= leader.log_start
        if not same or leadership.newest_epoch_before(trim.asked) != leader.cur:
            continue
        permission = _why_forgotten(story, trim, leader)
        later = [
            one for one in story.produced if one.asked > trim.event and one.node == leader.node and one.error == NONE
        ]
        for other in end.others:
            if any(_has_copied(story, other, written, leader.cur) for written in later):
                shown = f"{leader.node} was trimmed to {low}, {other.node} starts at {other.log_start}"
                if permission is None:
                    yield Finding(other.log_start >= low, "log-start", (trim.event, other.event), shown)
                elif other.log_start < low:
                    yield Excuse(permission, "log-start")


def _log_start_is_adopted(story: PartitionStory, end: FinalState) -> Iterator[Finding]:
    """Judge that a caught-up follower has the leader's log start offset, once all replicas agree or had time to.

    Every answer to its fetches carries that offset.
    """
    leader = end.leader
    if leader is None:
        return
    reign = (leader.node, leader.cur, leader.incarnation)
    led = [read for read in story.full_reads if (read.node, read.cur, read.incarnation) == reign]
    for other in (one for one in end.others if one.log_end == leader.log_end):
        known = [read for read in led if _had_time_to_hear(story, read, other)]
        low = max(known, key=lambda read: read.log_start, default=None)
        if low is not None and low.log_start > 0:
            shown = f"{leader.node} starts at {low.log_start}, {other.node} still starts at {other.log_start}"
            yield Finding(other.log_start >= low.log_start, "log-start", (low.event, other.event), shown)


def _had_time_to_hear(story: PartitionStory, led: FetchResult, other: FetchResult) -> bool:
    timeline = story.timeline
    return led.event < timeline.rest or timeline.watch_time(led.event, other.event, ADOPTION_TIMEOUT) > ADOPTION_TIMEOUT


def _has_copied(story: PartitionStory, replica: FetchResult, written: ProduceResult, epoch: int) -> bool:
    """True if the replica copied the record from the leader of the epoch, and has run on since."""
    lives = {story.timeline.incarnation(replica.node, event) for event in (written.asked, replica.event)}
    held = replica.batch_at(written.offset)
    runs_on = len(lives) == 1 and story.derive(Replicas).was_always_replica(replica.node, replica.event)
    return runs_on and held is not None and held.epoch == epoch


def _caches(story: PartitionStory, end: FinalState) -> Iterator[Claim]:
    """Judge that the first entry of a leader epoch cache is not below the log start, and that only the first entry is at it.

    If the log start is inside the first batch, the entry may begin with that batch: a follower that began there appended the
    whole batch (UnexpectedAppendOffsetException in Partition).
    """
    starts = {read.node: read.log_start for read in (end.leader, *end.others) if read is not None}
    done = [facts[-1].event for facts in (story.deletions, story.timeline.faults) if facts]
    for held in (disk for disk in end.disk if story.derive(LogStarts).may_fall(disk.event)):
        start, entries = starts.get(held.node, 0), held.epochs or ()
        if start <= 0 or not entries:
            continue
        written = story.timeline.watch_time(max(done), held.event, WRITE_TIMEOUT) > WRITE_TIMEOUT
        begins = held.batches[0][0] if held.batches and held.batches[0][1] >= start else start
        fine = entries[0][1] >= min(start, begins) and all(first > start for _, first in entries[1:])
        if fine or written:
            shown = f"{held.node} starts at {start}, with the entries {say(entries)}"
            yield Finding(fine, "entries", (held.event,), shown)
        else:
            yield Excuse(excuses.CHECKPOINT_NOT_DUE, "entries")
