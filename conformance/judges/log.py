"""The invariants of a replicated log (KIP-101, KIP-320), judged over one example's history.

Preconditions that hold by construction of the log machine: cleanup.policy=delete, no unclean election, files untouched, at
most one replica down, min.insync.replicas 2 of 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from conformance.judges.judge import Finding, Judge, judge
from conformance.judges.reading import (
    LogRead,
    RecordRead,
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
from history.events import Fault, History, Premise

AT_REST = "at rest"
"""What the machine calls the premise that everything is healed and writing has ended."""


@judge("KIP101-INV-01")
def one_record_per_offset_and_epoch(history: History) -> Iterator[Finding]:
    """Wherever and whenever (offset, epoch) is read, it holds the same record."""
    first: dict[tuple[int, int], RecordRead] = {}
    faults = [event.n for event in history.events if isinstance(event, Fault)]
    for record in records_read(history):
        known = first.setdefault((record.offset, record.epoch), record)
        between = any(known.event < n < record.event for n in faults)
        if known.node != record.node or between:
            case = "replicas" if known.node != record.node else "time"
            same = known.content == record.content
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
        for position, value in enumerate(ack.values):
            offset = ack.offset + position
            later = [read for read in reads if read.event > ack.event and read.fetch_offset <= offset]
            stamp = next((r.epoch for read in later for r in read.records if r.offset == offset), None)
            for read in later:
                if offset >= read.log_start and (stamp is None or read.cur > stamp):
                    yield _kept(read, offset, value, stamp, ack.event)


def _kept(read: LogRead, offset: int, value: str, stamp: int | None, event: int) -> Finding:
    found = next((record for record in read.records if record.offset == offset), None)
    kept = found is not None and found.content[1] == value and found.epoch == stamp
    case = "kept" if read.whole else "readable"
    if case == "readable" and read.high_watermark <= offset:
        # Not yet covered by the high watermark: the row promises nothing to this reader.
        return Finding(True, "kept", (event, read.event))
    detail = f"offset {offset} was acknowledged with {value}, {read.node} at epoch {read.cur} has {found}"
    return Finding(kept, case, (event, read.event), detail, "lost-write")


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
    for read in log_reads(history):
        shown = f"{read.node}: log start {read.log_start}, HW {read.high_watermark}, LSO {read.last_stable_offset}"
        if read.whole:
            ordered = read.log_start <= read.high_watermark <= max(read.log_end, read.log_start)
            yield Finding(ordered, "log", (read.event,), f"{shown}, log end {read.log_end}")
        if read.last_stable_offset >= 0:
            yield Finding(read.last_stable_offset <= read.high_watermark, "stable", (read.event,), shown)
    for event, earliest, latest in _listed(history):
        yield Finding(earliest <= latest, "listed", (event,), f"earliest {earliest}, latest {latest}")


def _listed(history: History) -> Iterator[tuple[int, int, int]]:
    """Latest answers with the earliest that the same broker had answered just before."""
    earliest: dict[str, int] = {}
    for call, answer in answers(history, "list_offsets"):
        if answer.value["error_code"] == 0 and call.request["timestamp"] == -2:
            earliest[call.node] = answer.value["offset"]
        elif answer.value["error_code"] == 0 and call.node in earliest:
            yield answer.n, earliest.pop(call.node), answer.value["offset"]


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
    ends = [(a.n, a.value) for _, a in answers(history, "offset_for_leader_epoch") if a.n > rest[0]]
    known = [(n, value) for n, value in ends if value["error_code"] == 0 and value["end_offset"] >= 0]
    for (one, lower), (two, higher) in pairwise(known):
        if lower["leader_epoch"] <= higher["leader_epoch"]:
            shown = f"epoch {lower['leader_epoch']} ends at {lower['end_offset']}, {higher['leader_epoch']} at "
            fine = lower["end_offset"] <= higher["end_offset"]
            yield Finding(fine, "vector", (one, two), shown + str(higher["end_offset"]))
    yield from _newest_ends_the_log(history, known, rest[0])


def _newest_ends_the_log(history: History, known: list[tuple[int, dict[str, int]]], rest: int) -> Iterator[Finding]:
    led = leaders(history)
    whole = [read for read in log_reads(history) if read.event > rest and read.whole and leads(history, led, read)]
    if whole and known:
        n, newest = known[-1]
        end = max(whole[-1].log_end, whole[-1].log_start)
        fine = newest["end_offset"] == end and end >= whole[-1].high_watermark
        shown = f"the newest epoch ends at {newest['end_offset']}, the log at {end}"
        yield Finding(fine, "vector", (n, whole[-1].event), shown)


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
    """Whenever one broker sees another leader (or none), it sees a higher epoch."""
    last: dict[str, tuple[int, int, int]] = {}
    for seen in metadata_seen(history):
        if seen.node in last and last[seen.node][1] != seen.leader:
            event, leader, epoch = last[seen.node]
            shown = f"{seen.node}: leader {leader} at {epoch}, then {seen.leader} at {seen.epoch}"
            case = "leaderless" if -1 in (leader, seen.leader) else "moved"
            yield Finding(seen.epoch > epoch, case, (event, seen.event), shown, "epoch-regression")
        last[seen.node] = (seen.event, seen.leader, seen.epoch)


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
