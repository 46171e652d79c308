"""Offsets that brokers answer (KIP-101): high watermark, log start, log end, ends of epochs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from conformance.judges.judge import Finding, log_judge
from conformance.judges.story import EARLIEST, LATEST, End, LogRead, PartitionStory


@log_judge("KIP101-INV-08")
def watermark_is_monotone_on_a_leader(story: PartitionStory) -> Iterator[Finding]:
    """Within one incarnation and epoch of a leader neither high watermark nor log start falls."""
    before: dict[tuple[str, int, int], LogRead] = {}
    for read in story.reads:
        if not story.led(read):
            continue
        key = (read.node, read.cur, story.incarnation(read))
        if (last := before.get(key)) is not None:
            by = (last.event, read.event)
            marks = f"{last.high_watermark} then {read.high_watermark} on {read.node}"
            yield Finding(read.high_watermark >= last.high_watermark, "watermark", by, marks, "hw-regression")
            begins = f"{last.log_start} then {read.log_start} on {read.node}"
            yield Finding(read.log_start >= last.log_start, "log-start", by, begins, "log-start-regression")
        before[key] = read


@log_judge("KIP101-INV-09")
def offsets_of_one_answer_are_ordered(story: PartitionStory) -> Iterator[Finding]:
    """Log start <= high watermark <= log end; last stable offset <= high watermark."""
    raced = _raced(story.reads)
    for read in story.reads:
        shown = f"{read.node}: log start {read.log_start}, HW {read.high_watermark}, LSO {read.last_stable_offset}"
        if read.whole and read.event not in raced:
            ordered = read.log_start <= read.high_watermark <= max(read.log_end, read.log_start)
            yield Finding(ordered, "log", (read.event,), f"{shown}, log end {read.log_end}")
        if read.last_stable_offset >= 0 and read.event not in raced:
            yield Finding(read.last_stable_offset <= read.high_watermark, "stable", (read.event,), shown)
    for one, two in pairwise(story.listed):
        # Right after the other: between them its log may begin anew.
        together = one.node == two.node and two.asked == one.event + 1
        if together and (one.timestamp, two.timestamp) == (EARLIEST, LATEST):
            shown = f"earliest {one.offset}, latest {two.offset}"
            yield Finding(one.offset <= two.offset, "listed", (two.event,), shown)


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


@log_judge("KIP101-INV-14")
def end_offsets_grow_with_the_epoch(story: PartitionStory) -> Iterator[Finding]:
    """At rest: end offsets over a leader's known epochs never decrease, the newest one's is the log end."""
    known = [end for end in story.ends if story.at_rest(end) and end.end >= 0]
    for one, two in pairwise(known):
        if one.epoch <= two.epoch:
            shown = f"epoch {one.epoch} ends at {one.end}, {two.epoch} at {two.end}"
            yield Finding(one.end <= two.end, "vector", (one.event, two.event), shown)
    yield from _newest_ends_the_log(story, known)


def _newest_ends_the_log(story: PartitionStory, known: list[End]) -> Iterator[Finding]:
    newest = max(story.leaders, default=-1)
    whole = [read for read in story.whole_reads if story.at_rest(read) and story.led(read)]
    answered = [end for end in known if end.asked_epoch == newest]
    if answered and whole and whole[-1].cur == newest:
        ends_at, end = answered[-1].end, max(whole[-1].log_end, whole[-1].log_start)
        shown = f"the newest epoch, {newest}, ends at {ends_at}, the log at {end}"
        fine = ends_at == end and end >= whole[-1].high_watermark
        yield Finding(fine, "vector", (answered[-1].event, whole[-1].event), shown)
