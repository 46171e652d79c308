"""The log start offset moves only for a reason (GEN-15): DeleteRecords as requested, or retention as configured."""

from collections.abc import Iterator
from math import inf

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.log import FetchResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.story import PartitionStory, log_judge


@log_judge("GEN-15", "reads", "deletions")
def log_start_moves_for_a_reason(story: PartitionStory) -> Iterator[Claim]:
    """No log start offset, in an answer or in the log itself, is above what DeleteRecords requested or retention may have
    deleted."""
    starts = story.derive(LogStarts)
    for trim in story.deletions:
        if trim.error == NONE and (high := starts.highest_explained(trim.event)) < inf:
            shown = f"{trim.node} answered the low watermark {trim.low_watermark} to DeleteRecords up to {trim.offset}"
            held = max(0, trim.offset) <= trim.low_watermark <= high
            yield Finding(held, "low-watermark", (trim.event,), f"{shown}, and all requests so far explain {high}")
        elif trim.error == NONE and trim.low_watermark > starts.highest_requested(trim.event):
            yield Excuse(starts.excuse(trim.event), "low-watermark")
    last: dict[str, FetchResult] = {}
    for read in story.reads:
        before = last.get(read.node)
        if before is None or read.log_start != before.log_start:
            last[read.node] = read
            yield from _judge_move(story, starts, before, read)


def _judge_move(
    story: PartitionStory, starts: LogStarts, before: FetchResult | None, read: FetchResult
) -> Iterator[Claim]:
    """Judge the first answer of a replica with this log start. The log start may have moved while the answer was under way."""
    if read.log_start <= 0 or (before is not None and read.log_start < before.log_start):
        return
    bound = starts.highest_explained(read.event)
    shown = f"{read.node} starts at {read.log_start}, which no DeleteRecords explains beyond {bound}"
    if bound < inf:
        yield Finding(read.log_start <= bound, _case(story, read), (read.event,), shown, "deleted-too-much")
    elif read.log_start > starts.highest_requested(read.event):
        yield Excuse(starts.excuse(read.event), _case(story, read))
    for retention in story.derive(LogStarts).retentions_before(read.event):
        shown = f"{read.node} starts at {read.log_start}, above its high watermark {read.high_watermark}"
        yield Finding(read.log_start <= read.high_watermark, retention, (read.event,), shown, "deleted-too-much")


def _case(story: PartitionStory, read: FetchResult) -> str:
    """Return the case of a log start. A follower that was out of the ISR adopts a log start that moved in the meantime."""
    return "behind" if story.derive(Replicas).was_out_of_sync(read.node, read.event) else "trim"
