"""The kit's own epoch-aware reader (KIP-320), which must detect each truncation before it delivers later records."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeVar

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.groups import ReaderStep
from conformance.judging.facts.log import EpochEndOffset, FetchResult
from conformance.judging.judge import Finding
from conformance.judging.log.permitted_losses import ELECTIONS, PermittedLosses
from conformance.judging.log.responding_replica import ReplicaLog, ReplicaLogs
from conformance.judging.log.story import PartitionStory, log_judge

T = TypeVar("T", FetchResult, EpochEndOffset)

Record = tuple[int, int, bytes | None]
"""The offset, epoch and value of a delivered record."""
LOOK_BACK = 8


@log_judge("KIP320-CONS-01", "reader_steps")
def readers_miss_nothing_that_survives(story: PartitionStory) -> Iterator[Finding]:
    """A reader continues from a position in its new leader's log, after rewinding to the longest common prefix."""
    if not story.reader_steps:
        return
    own_logs = story.derive(ReplicaLogs)
    for name in dict.fromkeys(step.reader for step in story.reader_steps):
        kept: list[Record] = []
        position = 0
        steps = [one for one in story.reader_steps if one.reader == name]
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step.op == "deliver":
                yield from _judge_delivery(story, own_logs, step, kept, position)
                kept += step.records
            elif step.op == "rewind":
                # A rewind may take several rounds, each with an older epoch: only the last position counts.
                if after is not None and after.op == "deliver":
                    yield from _judge_rewind(story, own_logs, step, kept)
                kept = [record for record in kept if record[0] < step.to]
            else:
                kept = []
            position = step.to


def _judge_delivery(
    story: PartitionStory, own_logs: ReplicaLogs, step: ReaderStep, kept: Sequence[Record], position: int
) -> Iterator[Finding]:
    read = next((r for r in _latest(story.reads, step.event) if r.by_consumer and r.fetch_offset == position), None)
    own = own_logs.log_of_responder(read) if read is not None else None
    if read is None or own is None or not step.records:
        return
    case, first = "fetch" if read.last >= 0 else "lookup", step.records[0][0]
    by, shown = (read.event, step.event), f"{step.reader} at {position} was handed {first} by {read.node}"
    before = own.batch_at(kept[-1][0]) if kept else None
    if first < position:
        yield Finding(False, case, by, shown, "nonmonotonic-poll")
    elif _skips_a_record(own, max(position, read.log_start), first):
        yield Finding(False, case, by, f"{shown}, which holds {own.batch_at(position)}", "poll-skip")
    elif before is not None and before.epoch != kept[-1][1]:
        yield Finding(
            False,
            case,
            by,
            f"{shown}, which holds {before}, and the reader offset {kept[-1][0]} of epoch {kept[-1][1]}",
            "silent-truncation",
        )


def _skips_a_record(own: ReplicaLog, position: int, first: int) -> bool:
    batch = own.batch_at(position)
    return batch is not None and any(position <= offset < first for offset, _ in batch.records)


def _judge_rewind(
    story: PartitionStory, own_logs: ReplicaLogs, step: ReaderStep, kept: Sequence[Record]
) -> Iterator[Finding]:
    answer: FetchResult | EpochEndOffset | None = next(
        (r for r in _latest(story.reads, step.event) if r.diverging == step.truncation), None
    )
    case = "lookup" if answer is None else "fetch"
    if answer is None:
        answer = next(
            (end for end in _latest(story.epoch_ends, step.event) if (end.epoch, end.end) == step.truncation), None
        )
    own = own_logs.log_of_responder(answer) if answer is not None else None
    if answer is None or own is None:
        return
    common = next((offset for offset, epoch, value in kept if _lacks(own, offset, epoch, answer.cur)), -1)
    if common < 0:
        common = kept[-1][0] + 1 if kept else 0
    shown = f"{step.reader} went back to offset {step.to} by the answer of {answer.node}, with which it agrees up to {common}"
    if _single(story):
        yield Finding(step.to == common, case, (answer.event, step.event), shown)
    else:
        yield Finding(step.to <= common, "repeated", (answer.event, step.event), shown, "silent-truncation")


def _lacks(own: ReplicaLog, offset: int, epoch: int, current: int) -> bool:
    """True if the record is certainly not in the log. Records of the log's own epoch may have been written after it was read."""
    batch = own.batch_at(offset)
    if batch is not None:
        return batch.epoch != epoch
    return epoch < current and offset >= own.known_from


def _single(story: PartitionStory) -> bool:
    """True if all permitted losses are those of one unclean election."""
    losses = story.derive(PermittedLosses).all
    return len({loss.at for loss in losses}) == 1 and all(loss.by in ELECTIONS for loss in losses)


def _latest(answers: Sequence[T], event: int) -> Iterator[T]:
    """Yield the last few answers before an event, the latest first."""
    place = bisect_left(answers, event, key=by_event)
    return reversed(answers[max(0, place - LOOK_BACK) : place])
