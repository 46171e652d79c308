"""Offsets in brokers' answers (KIP-101, KIP-320): high watermark, log start, log end, ends of epochs, divergence."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from conformance.judging.excuses import COMPACTED, RISEN
from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.log import (
    CONSUMER,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    EpochEndOffset,
    FetchResult,
    OffsetLookup,
    say_divergence,
    say_epochs,
)
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.responding_replica import IncarnationAtEpoch, ReplicaLog, ReplicaLogs
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import NEVER

# --- watermark and log start


@log_judge("KIP101-INV-08", "reads")
def high_watermark_never_falls_on_a_leader(story: PartitionStory) -> Iterator[Finding]:
    """Neither high watermark nor log start falls within one incarnation and epoch of a leader, whatever happens to others."""
    marks: dict[IncarnationAtEpoch, list[FetchResult]] = {}
    starts: dict[IncarnationAtEpoch, list[FetchResult]] = {}
    for read in story.derive(Leadership).leader_reads:
        key = (read.node, read.cur, read.incarnation)
        if (last := _highest_answer_before(read, marks.setdefault(key, []))) is not None:
            held = read.high_watermark >= last.high_watermark
            shown = (
                ""
                if held
                else f"{read.node} answered the high watermark {last.high_watermark}, then {read.high_watermark}"
            )
            if not held or story.disturbed_between(last.event, read.event):
                yield Finding(held, "watermark", (last.event, read.event), shown, "hw-regression")
        if (last := _highest_answer_before(read, starts.setdefault(key, []))) is not None and read.log_start >= 0:
            held = read.log_start >= last.log_start
            shown = "" if held else f"{read.node} answered the log start {last.log_start}, then {read.log_start}"
            if not held or story.disturbed_between(last.event, read.event) or _is_trimmed_between(story, last, read):
                yield Finding(held, "log-start", (last.event, read.event), shown, "log-start-regression")
        if not marks[key] or read.high_watermark >= marks[key][-1].high_watermark:
            marks[key].append(read)
        if not starts[key] or read.log_start >= starts[key][-1].log_start:
            starts[key].append(read)


def _is_trimmed_between(story: PartitionStory, one: FetchResult, other: FetchResult) -> bool:
    return any(one.event < trim.event and trim.asked < other.event for trim in story.deletions)


def _highest_answer_before(read: FetchResult, rising: list[FetchResult]) -> FetchResult | None:
    """Return the highest answer that was complete before this request: overlapping ones may be answered in any order."""
    place = bisect_left(rising, read.asked, key=by_event)
    return rising[place - 1] if place else None


@log_judge("KIP101-INV-09", "reads", "listed")
def offsets_of_one_answer_are_ordered(story: PartitionStory) -> Iterator[Claim]:
    """Log start <= high watermark <= log end; last stable offset <= high watermark.

    An answer counts if the offsets differ, or if something happened since the node was last read.
    """
    raced, before = _racing_answers(story.reads), dict[str, int]()
    for read in story.reads:
        last, before[read.node] = before.get(read.node, read.event), read.event
        if read.event in raced:
            yield from (Excuse(RISEN, case) for case in _disordered_cases(read))
            continue
        disturbed = story.disturbed_between(last, read.event)
        shown = (
            f"{read.node} answered log start {read.log_start}, HW {read.high_watermark}, LSO {read.last_stable_offset}"
        )
        wrong = _disordered_cases(read)
        if read.full:
            ordered = "log" not in wrong
            if not ordered or disturbed or read.log_start > 0 or read.high_watermark < read.log_end:
                yield Finding(ordered, "log", (read.event,), f"{shown}, log end {read.log_end}")
        if read.last_stable_offset >= 0 and (disturbed or read.last_stable_offset != read.high_watermark):
            yield Finding("stable" not in wrong, "stable", (read.event,), shown)
    for one, two in pairwise(story.listed):
        # Only if one directly follows the other: in between, the node's log may start over.
        together = one.node == two.node and two.asked == one.event + 1
        if together and (one.timestamp, two.timestamp) == (EARLIEST, LATEST):
            shown = f"{two.node} listed the earliest offset {one.offset} and the latest {two.offset}"
            yield Finding(one.offset <= two.offset, "listed", (two.event,), shown)
    yield from (latest.judge("listed") for latest in _latest(story))


def _disordered_cases(read: FetchResult) -> list[str]:
    """Return the cases in which the offsets of an answer are out of order."""
    log = read.full and not read.log_start <= read.high_watermark <= read.log_end
    return [*(["log"] if log else []), *(["stable"] if read.last_stable_offset > read.high_watermark else [])]


@log_judge("KIP320-LO-01", "listed")
def latest_offset_is_within_the_fetch_limit(story: PartitionStory) -> Iterator[Finding]:
    """The latest offset lies between the fetch limit of the leader before the request and its fetch limit afterwards."""
    for latest in _latest(story):
        yield latest.judge(
            "last-stable-offset" if latest.listed.isolation_level == READ_COMMITTED else "high-watermark"
        )


class _Latest(NamedTuple):
    """A latest offset, and the fetch limits of the same leader at the same epoch, before the request and after the answer.

    An unknown limit before the request is -1.
    """

    listed: OffsetLookup
    later: FetchResult
    before: int
    after: int

    @property
    def shows_something(self) -> bool:
        """True if a leader that ignores its log could not have answered by chance: the limits exclude lower offsets."""
        return self.before > 0 or self.listed.offset == self.after > 0 or self.listed.offset > self.after

    def judge(self, case: str) -> Finding:
        one = self.listed
        shown = (
            f"{one.node} listed {one.offset} as the latest offset, let consumers read up to {self.before} before, and lets them "
            f"read up to {self.after} after that"
        )
        return Finding(self.before <= one.offset <= self.after, case, (one.event, self.later.event), shown)


def _latest(story: PartitionStory) -> Iterator[_Latest]:
    """Yield the latest offsets listed to consumers between answers of the same leader at the same epoch.

    Neither the high watermark nor the last stable offset of a leader falls within its epoch.
    """
    reads: dict[tuple[str, int], list[FetchResult]] = {}
    for read in story.derive(Leadership).leader_reads if story.listed else ():
        reads.setdefault((read.node, read.incarnation), []).append(read)
    for one in story.listed:
        if one.timestamp == LATEST and one.replica_id == CONSUMER:
            own = reads.get((one.node, one.incarnation), [])
            later = next((read for read in own if read.asked > one.event), None)
            before = [read for read in own if read.event < one.asked]
            if later is not None and (later.cur == one.cur or later.cur in {read.cur for read in before}):
                committed = one.isolation_level == READ_COMMITTED and later.last_stable_offset >= 0
                limits = [_limit(read, committed) for read in before if read.cur == later.cur]
                found = _Latest(one, later, max(limits, default=-1), _limit(later, committed))
                yield from [found] if found.shows_something else []


def _limit(read: FetchResult, committed: bool) -> int:
    return read.last_stable_offset if committed else read.high_watermark


def _racing_answers(reads: list[FetchResult]) -> set[int]:
    """Return the events of answers that a change of the high watermark explains: a broker reads it first and the other offsets
    after it.

    The node's next answer shows the risen high watermark, or one that fell as the log was truncated. Two such answers are no
    coincidence, and then none is explained.
    """
    last: dict[str, FetchResult] = {}
    raced: set[int] = set()
    for read in reads:
        before = last.get(read.node)
        if before is not None:
            rose = before.high_watermark < max(before.log_start, before.last_stable_offset) <= read.high_watermark
            fell = before.full and read.high_watermark <= before.log_end < before.high_watermark
            if rose or fell:
                raced.add(before.event)
        last[read.node] = read
    return raced if len(raced) == 1 else set()


# --- ends of epochs


@log_judge("KIP101-INV-14", "epoch_ends")
def epoch_end_offsets_grow_with_the_epoch(story: PartitionStory) -> Iterator[Finding]:
    """At rest, end offsets over a leader's known epochs never decrease, and the newest epoch ends at the log end."""
    leader, ends = _leader_read_at_rest(story), _epoch_ends_at_rest(story)
    known = [end for end in ends if end.end >= 0]
    for one, two in pairwise(known):
        if one.asked_epoch < two.asked_epoch:
            shown = (
                f"{two.node} answered that epoch {one.asked_epoch} ends at {one.end}, and epoch {two.asked_epoch} "
                f"at {two.end}"
            )
            yield Finding(one.end <= two.end, "vector", (one.event, two.event), shown)
    newest = [end for end in known if leader is not None and end.asked_epoch == leader.cur]
    if leader is not None and newest:
        shown = f"{leader.node} answered that its epoch {leader.cur} ends at {newest[-1].end}, and its log at {leader.log_end}"
        fine = newest[-1].end == leader.log_end >= leader.high_watermark
        yield Finding(fine, "vector", (newest[-1].event, leader.event), shown)


def _epoch_ends_at_rest(story: PartitionStory) -> list[EpochEndOffset]:
    """Return epoch end offsets from the leader of the newest epoch, at quiescence and without an event since."""
    quiet, newest, leadership = _start_of_quiet(story), _newest(story), story.derive(Leadership)
    ends = (end for end in story.epoch_ends if end.asked > quiet and end.cur == newest)
    return [end for end in ends if leadership.is_from_leader(end)]


def _leader_read_at_rest(story: PartitionStory) -> FetchResult | None:
    """Return the last full read from the leader of the newest epoch, at quiescence and without an event since."""
    quiet, newest = _start_of_quiet(story), _newest(story)
    own = (read for read in reversed(story.derive(Leadership).leader_reads) if read.full and read.cur == newest)
    return next((read for read in own if read.asked > quiet), None)


def _newest(story: PartitionStory) -> int:
    return max((seen.epoch for seen in story.first_metadata), default=-1)


def _start_of_quiet(story: PartitionStory) -> int:
    """Return the event since which nothing happened that may move an offset; NEVER without quiescence."""
    done = [facts[-1].event for facts in (story.produced, story.deletions, story.timeline.faults) if facts]
    return max(story.timeline.rest, *done, 0) if story.timeline.rest >= 0 else NEVER


Entries = list[tuple[int, int]]
"""The (epoch, start offset) of each entry; both rise strictly."""


@log_judge("KIP320-OFLE-08", "epoch_ends")
def epoch_end_offsets_match_the_log(story: PartitionStory) -> Iterator[Claim]:
    """At rest, the answers for epochs from -2 to two above the current one follow from the epochs in the log and the
    elections."""
    leader, ends = _leader_read_at_rest(story), _epoch_ends_at_rest(story)
    if leader is None or not leader.log_end:
        return
    restarted = leader.incarnation > 0
    damaged = story.derive(ReplicaDamage).damage_at(leader.node, leader.event)
    left_out = COMPACTED if may_be_compacted(story, leader.event) else damaged
    if left_out is not None:
        yield from (Excuse(left_out, "restarted" if restarted else "running") for _ in ends)
        return
    begins = _cache_begin(story, leader, ends, restarted)
    entries = leader_cache_entries(leader, begins)
    cases = ["restarted" if restarted else "running", *(["trimmed"] if begins > 0 else [])]
    for end in ends:
        expected = epoch_end(end.asked_epoch, entries, leader.log_end)
        shown = (
            ""
            if (end.epoch, end.end) == expected
            else f"{end.node}, asked about epoch {end.asked_epoch}, answered that epoch {end.epoch} ends at {end.end}; its log, "
            f"{say_epochs(entries)}, ends epoch {expected[0]} at {expected[1]}"
        )
        for case in cases:
            yield Finding((end.epoch, end.end) == expected, case, (end.event, leader.event), shown)


def leader_cache_entries(leader: FetchResult, begins: int) -> Entries:
    """Return the leader epoch cache of a leader with this log, which begins at or above the log start.

    It has an entry where the leader's own epoch began, even without records. An older epoch without records has none: the next
    one began at the same offset, and replaced its entry.
    """
    first: dict[int, int] = {}
    for batch in leader.batches:
        if batch.last >= begins:
            first.setdefault(batch.epoch, max(batch.base, begins))
    first.setdefault(leader.cur, leader.log_end)
    return sorted(first.items())


def epoch_end(epoch: int, entries: Entries, log_end: int) -> tuple[int, int]:
    """Return the epoch end offset at a leader with these entries (catalogue, section M)."""
    if epoch == -1 or not entries or epoch > entries[-1][0]:
        return (-1, -1)
    if epoch == entries[-1][0]:
        return (epoch, log_end)
    above = bisect_left(entries, epoch + 1, key=lambda entry: entry[0])
    return (entries[above - 1][0] if above else epoch, entries[above][1])


def _cache_begin(story: PartitionStory, leader: FetchResult, ends: list[EpochEndOffset], restarted: bool) -> int:
    """Return the offset at which the cache begins: the log start, which a crash may have set back below a trimmed cache.

    The answer to epoch -2, before all others, tells which it is.
    """
    before_all = [end.end for end in ends if end.asked_epoch == -2]
    trimmed = story.derive(LogStarts).may_fall(leader.event)
    set_back = restarted and trimmed and bool(before_all) and before_all[-1] > leader.log_start
    return before_all[-1] if set_back else leader.log_start


# --- divergence


@log_judge("KIP101-INV-13", "reads")
def diverging_epochs_match_the_log(story: PartitionStory) -> Iterator[Finding]:
    """For DivergingEpoch (d, x), d is at most LastFetchedEpoch, and from x on the responding replica has nothing of epoch d or
    below."""
    own_logs, leads = story.derive(ReplicaLogs), story.derive(Leadership).is_from_leader
    for read in story.reads:
        if read.diverging is None:
            continue
        own = own_logs.log_of_responder(read)
        epoch, end = read.diverging
        case = "leader" if leads(read) else "follower"
        shown = f"{read.node}, asked from {read.fetch_offset} after epoch {read.last}, {say_divergence(read.diverging)}"
        if epoch > read.last:
            yield Finding(False, case, (read.event,), f"{shown}: a later epoch")
        elif own is not None:
            wrong = _contradicts(own, epoch, end)
            yield Finding(not wrong, case, (read.event,), f"{shown}: {wrong}")


def _contradicts(own: ReplicaLog, epoch: int, end: int) -> str:
    """Return the part of the responding replica's log that contradicts this epoch end offset; empty without one."""
    if 0 <= own.end < end:
        return f"its log ends at {own.end}"
    found = own.from_offset(end)
    return f"it holds {found}" if found is not None and found.epoch <= epoch else ""
