"""The invariants of a replicated log (KIP-101, KIP-320), judged over one example's history.

Preconditions that hold by construction of the log machine: cleanup.policy=delete, no unclean election, files untouched, at
most one replica down, min.insync.replicas 2 of 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from conformance.judges.judge import Finding, Judge, judge
from conformance.judges.reading import (
    AT_REST,
    EARLIEST,
    LATEST,
    NONE,
    LogRead,
    RecordRead,
    Seen,
    acknowledged,
    answers,
    fences,
    incarnation,
    incarnations,
    leader_hints,
    leaders,
    leads,
    log_reads,
    metadata_seen,
    records_read,
)
from history.events import Answer, Call, Fault, History, Premise


@judge("KIP101-INV-01")
def one_record_per_offset_and_epoch(history: History) -> Iterator[Finding]:
    """Wherever and whenever (offset, epoch) is read, it holds the same record."""
    first: dict[tuple[int, int], RecordRead] = {}
    faults = [event.n for event in history.events if isinstance(event, Fault)]
    for record in records_read(history):
        known = first.setdefault((record.offset, record.epoch), record)
        between = any(known.event < n < record.event for n in faults)
        same = known.content == record.content
        # Read again where and while nothing happened it is no new instance, unless it differs.
        if known.node != record.node or between or not same:
            case = "replicas" if known.node != record.node else "time"
            yield Finding(same, case, (known.event, record.event), f"{known} but {record}", "divergent-prefix")


@judge("KIP101-INV-02")
def prefixes_agree(history: History) -> Iterator[Finding]:
    """Replicas that share an (offset, epoch) share everything below it that both still hold."""
    for one, other in _newest_pairs(history):
        if (shared := _last_common(one, other)) is None:
            continue
        low = max(one.log_start, other.log_start)
        mine, theirs = _between(one, low, shared), _between(other, low, shared)
        detail = f"{one.node} and {other.node} share offset {shared} but hold {mine} and {theirs} below it"
        yield Finding(mine == theirs, "prefix", (one.event, other.event), detail, "divergent-prefix")


def _newest_pairs(history: History) -> Iterator[tuple[LogRead, LogRead]]:
    """Each whole read of a replica with the newest whole reads of the others."""
    newest: dict[str, LogRead] = {}
    for read in log_reads(history):
        if read.whole and read.records:
            yield from ((other, read) for node, other in sorted(newest.items()) if node != read.node)
            newest[read.node] = read


def _last_common(one: LogRead, other: LogRead) -> int | None:
    theirs = {(record.offset, record.epoch) for record in other.records}
    return max((r.offset for r in one.records if (r.offset, r.epoch) in theirs), default=None)


def _between(read: LogRead, low: int, high: int) -> list[tuple[object, ...]]:
    return [(r.offset, r.epoch, r.content) for r in read.records if low <= r.offset <= high]


@judge("KIP101-INV-03")
def stamps_never_decrease(history: History) -> Iterator[Finding]:
    """Along a replica's log the epochs rise or stay."""
    for read in log_reads(history):
        if read.whole and len(read.records) > 1:
            epochs = [record.epoch for record in read.records]
            fine = all(a <= b for a, b in pairwise(epochs))
            yield Finding(fine, "replica", (read.event,), f"epochs on {read.node}: {epochs}", "epoch-regression")


@judge("KIP101-INV-05")
def committed_means_kept(history: History) -> Iterator[Finding]:
    """What acks=all acknowledged is where it was, under every later leader, unless the log start passed it."""
    led = leaders(history)
    reads = [read for read in log_reads(history) if leads(history, led, read)]
    for ack in acknowledged(history):
        # A leader of an older epoch that has not heard yet may serve what it has: it is no later leader.
        later = [read for read in reads if read.asked > ack.event and read.cur >= ack.since]
        for position, value in enumerate(ack.values):
            offset = ack.offset + position
            yield from _kept(ack.event, offset, value, [read for read in later if read.shows(offset)])


def _kept(event: int, offset: int, value: str, reads: list[LogRead]) -> Iterator[Finding]:
    stamp: int | None = None
    for read in reads:
        found = read.at(offset)
        if found is None or found.content[1] != value or stamp not in (None, found.epoch):
            detail = f"offset {offset} was acknowledged with {value}, {read.node} at epoch {read.cur} has {found}"
            yield Finding(False, "kept" if read.whole else "readable", (event, read.event), detail, "lost-write")
        else:
            stamp = found.epoch
            if read.cur > stamp:
                yield Finding(True, "kept" if read.whole else "readable", (event, read.event))


@judge("KIP101-INV-08")
def watermark_is_monotone_on_a_leader(history: History) -> Iterator[Finding]:
    """Within one incarnation and epoch of a leader neither high watermark nor log start falls."""
    led, starts = leaders(history), incarnations(history)
    before: dict[tuple[str, int, int], LogRead] = {}
    for read in log_reads(history):
        if not leads(history, led, read):
            continue
        key = (read.node, read.cur, incarnation(starts, read.node, read.event))
        if (last := before.get(key)) is not None:
            by = (last.event, read.event)
            marks = f"{last.high_watermark} then {read.high_watermark} on {read.node}"
            yield Finding(read.high_watermark >= last.high_watermark, "watermark", by, marks, "hw-regression")
            begins = f"{last.log_start} then {read.log_start} on {read.node}"
            yield Finding(read.log_start >= last.log_start, "log-start", by, begins, "log-start-regression")
        before[key] = read


@judge("KIP101-INV-09")
def offsets_of_one_answer_are_ordered(history: History) -> Iterator[Finding]:
    """Log start <= high watermark <= log end; last stable offset <= high watermark."""
    reads = log_reads(history)
    raced = _raced(reads)
    for read in reads:
        shown = f"{read.node}: log start {read.log_start}, HW {read.high_watermark}, LSO {read.last_stable_offset}"
        if read.whole and read.event not in raced:
            ordered = read.log_start <= read.high_watermark <= max(read.log_end, read.log_start)
            yield Finding(ordered, "log", (read.event,), f"{shown}, log end {read.log_end}")
        if read.last_stable_offset >= 0 and read.event not in raced:
            yield Finding(read.last_stable_offset <= read.high_watermark, "stable", (read.event,), shown)
    for event, earliest, latest in _listed(history):
        yield Finding(earliest <= latest, "listed", (event,), f"earliest {earliest}, latest {latest}")


def _raced(reads: list[LogRead]) -> set[int]:
    """An answer that a rise of the high watermark explains: a broker reads it first and the offsets below it after.

    Its next answer shows the risen one. That takes two clock ticks to meet, so two such answers are no coincidence.
    """
    following = {read.event: after for node in {r.node for r in reads} for read, after in pairwise(_of(node, reads))}
    raced = {
        read.event
        for read in reads
        if (after := following.get(read.event)) is not None
        and read.high_watermark < max(read.log_start, read.last_stable_offset) <= after.high_watermark
    }
    return raced if len(raced) == 1 else set()


def _of(node: str, reads: list[LogRead]) -> list[LogRead]:
    return [read for read in reads if read.node == node]


def _listed(history: History) -> Iterator[tuple[int, int, int]]:
    """Earliest and latest where a broker was asked for one right after the other: between them its log may begin anew."""
    listed = [(call, answer) for call, answer in history.answered() if call.op == "list_offsets"]
    for (first, one), (second, two) in pairwise(listed):
        asked = (first.request["timestamp"], second.request["timestamp"]) == (EARLIEST, LATEST)
        told = all(answer.outcome == "ok" and answer.value["error_code"] == NONE for answer in (one, two))
        if asked and told and first.node == second.node and second.n == one.n + 1:
            yield two.n, one.value["offset"], two.value["offset"]


@judge("KIP101-INV-10")
def epochs_never_fall(history: History) -> Iterator[Finding]:
    """The leader epoch in the Metadata of one incarnation of a broker never falls."""
    starts = incarnations(history)
    last: dict[tuple[str, int], tuple[int, int]] = {}
    for seen in metadata_seen(history):
        key = (seen.node, incarnation(starts, seen.node, seen.event))
        if key in last:
            event, epoch = last[key]
            shown = f"{seen.node} said epoch {epoch}, then {seen.epoch}"
            yield Finding(seen.epoch >= epoch, "answers", (event, seen.event), shown, "epoch-regression")
        last[key] = (seen.event, seen.epoch)
    yield from _fences_never_fall(history)


def _fences_never_fall(history: History) -> Iterator[Finding]:
    """A broker that fenced an epoch as older never again calls it, or an older one, newer than its own."""
    starts = incarnations(history)
    at_least: dict[tuple[str, int], tuple[int, int]] = {}
    for fence in fences(history):
        key = (fence.node, incarnation(starts, fence.node, fence.event))
        if fence.at_most is not None and key in at_least:
            event, floor = at_least[key]
            shown = f"{fence.node} knew epoch {floor} or a later one, then none above {fence.at_most}"
            yield Finding(fence.at_most >= floor, "fence", (event, fence.event), shown, "epoch-regression")
        if fence.at_least is not None and fence.at_least > at_least.get(key, (0, -1))[1]:
            at_least[key] = (fence.event, fence.at_least)


@judge("KIP101-INV-11")
def one_leader_per_epoch(history: History) -> Iterator[Finding]:
    """No epoch has two leaders, whoever is asked."""
    first: dict[int, tuple[int, int]] = {}
    for seen in metadata_seen(history):
        if seen.leader >= 0:
            event, leader = first.setdefault(seen.epoch, (seen.event, seen.leader))
            if event != seen.event:
                shown = f"epoch {seen.epoch}: leader {leader}, then {seen.leader} by {seen.node}"
                yield Finding(leader == seen.leader, "metadata", (event, seen.event), shown)
    for event, epoch, leader in leader_hints(history):
        if epoch in first:
            shown = f"epoch {epoch}: leader {first[epoch][1]} by Metadata, {leader} by a Fetch"
            yield Finding(first[epoch][1] == leader, "hint", (first[epoch][0], event), shown)


@judge("KIP101-INV-12")
def no_future_stamps(history: History) -> Iterator[Finding]:
    """A fetch that names an epoch and is answered 0 returns no batch of a later one."""
    led = leaders(history)
    for read in log_reads(history):
        if read.cur >= 0 and read.records:
            newest = max(record.epoch for record in read.records)
            case = "leader" if leads(history, led, read) else "follower"
            shown = f"{read.node} answered a fetch at epoch {read.cur} with records of epoch {newest}"
            yield Finding(newest <= read.cur, case, (read.event,), shown, "fence-leak")


@judge("KIP101-INV-14")
def end_offsets_grow_with_the_epoch(history: History) -> Iterator[Finding]:
    """At rest: end offsets over a leader's known epochs never decrease, the newest one's is the log end."""
    rest = [event.n for event in history.events if isinstance(event, Premise) and event.what == AT_REST and event.met]
    if not rest:
        return
    asked = [(call, a) for call, a in answers(history, "offset_for_leader_epoch") if call.n > rest[0]]
    known = [(call, a) for call, a in asked if a.value["error_code"] == NONE and a.value["end_offset"] >= 0]
    for (_, one), (_, two) in pairwise(known):
        lower, higher = one.value, two.value
        if lower["leader_epoch"] <= higher["leader_epoch"]:
            shown = f"epoch {lower['leader_epoch']} ends at {lower['end_offset']}, {higher['leader_epoch']} at "
            fine = lower["end_offset"] <= higher["end_offset"]
            yield Finding(fine, "vector", (one.n, two.n), shown + str(higher["end_offset"]))
    yield from _newest_ends_the_log(history, known, rest[0])


def _newest_ends_the_log(history: History, known: list[tuple[Call, Answer]], rest: int) -> Iterator[Finding]:
    led = leaders(history)
    newest = max(led, default=-1)
    whole = [read for read in log_reads(history) if read.asked > rest and read.whole and leads(history, led, read)]
    answered = [answer for call, answer in known if call.request["leader_epoch"] == newest]
    if answered and whole and whole[-1].cur == newest:
        ends_at, end = answered[-1].value["end_offset"], max(whole[-1].log_end, whole[-1].log_start)
        fine = ends_at == end and end >= whole[-1].high_watermark
        shown = f"the newest epoch, {newest}, ends at {ends_at}, the log at {end}"
        yield Finding(fine, "vector", (answered[-1].n, whole[-1].event), shown)


@judge("KIP101-STAMP-03")
def followers_keep_stamps_and_bytes(history: History) -> Iterator[Finding]:
    """At rest every replica holds the same batches: base offset, last offset, stamp and CRC."""
    rest = [event.n for event in history.events if isinstance(event, Premise) and event.what == AT_REST and event.met]
    reads = [read for read in log_reads(history) if rest and read.event > rest[0] and read.whole]
    for one, other in combinations(reads, 2):
        if one.node != other.node and one.batches and other.batches:
            low = max(one.log_start, other.log_start)
            mine, theirs = ([b for b in read.batches if b[1] >= low] for read in (one, other))
            shown = f"{one.node}: {mine}, {other.node}: {theirs}"
            yield Finding(mine == theirs, "replicated", (one.event, other.event), shown, "divergent-prefix")


@judge("KIP101-EPOCH-02")
def every_leadership_change_raises_the_epoch(history: History) -> Iterator[Finding]:
    """Whenever one incarnation of a broker sees another leader (or none), it sees a higher epoch."""
    starts = incarnations(history)
    last: dict[tuple[str, int], Seen] = {}
    for seen in metadata_seen(history):
        key = (seen.node, incarnation(starts, seen.node, seen.event))
        if (before := last.get(key)) is not None and before.leader != seen.leader:
            shown = f"{seen.node}: leader {before.leader} at {before.epoch}, then {seen.leader} at {seen.epoch}"
            case = "leaderless" if -1 in (before.leader, seen.leader) else "moved"
            yield Finding(seen.epoch > before.epoch, case, (before.event, seen.event), shown, "epoch-regression")
        last[key] = seen


LOG_JUDGES: tuple[Judge, ...] = (
    one_record_per_offset_and_epoch,
    prefixes_agree,
    stamps_never_decrease,
    committed_means_kept,
    watermark_is_monotone_on_a_leader,
    offsets_of_one_answer_are_ordered,
    epochs_never_fall,
    one_leader_per_epoch,
    no_future_stamps,
    end_offsets_grow_with_the_epoch,
    followers_keep_stamps_and_bytes,
    every_leadership_change_raises_the_epoch,
)
