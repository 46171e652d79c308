"""What records of a replicated log keep (KIP-101, KIP-320): one history for all replicas, readers and leaders to come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from conformance.judges.judge import Finding, log_judge
from conformance.judges.story import Held, LogRead, PartitionStory, Write


@log_judge("KIP101-INV-01")
def one_record_per_offset_and_epoch(story: PartitionStory) -> Iterator[Finding]:
    """Wherever and whenever (offset, epoch) is read, it holds the same batch."""
    first: dict[tuple[int, int], tuple[LogRead, Held]] = {}
    for read in story.reads if story.deletes else ():
        for batch in read.batches:
            known, held = first.setdefault((batch.base, batch.epoch), (read, batch))
            between = story.cluster.fault_between(known.event, read.event)
            # Read again where and while nothing happened it is no new instance, unless it differs.
            if known.node != read.node or between or held != batch:
                case = "replicas" if known.node != read.node else "time"
                shown = f"{known.node} held {held}, {read.node} {batch}"
                yield Finding(held == batch, case, (known.event, read.event), shown, "divergent-prefix")


@log_judge("KIP101-INV-02")
def prefixes_agree(story: PartitionStory) -> Iterator[Finding]:
    """Replicas that share an (offset, epoch) share everything below it that both still hold."""
    for one, other in _newest_pairs(story) if story.deletes else ():
        intact = all(story.file_intact(read.node, read.event) for read in (one, other))
        if not intact or (shared := _last_common(one, other)) is None:
            continue
        low = max(one.log_start, other.log_start)
        mine, theirs = _between(one, low, shared), _between(other, low, shared)
        shown = f"{one.node} and {other.node} share offset {shared} but hold {_list(mine)} and {_list(theirs)} below it"
        yield Finding(mine == theirs, "prefix", (one.event, other.event), shown, "divergent-prefix")


def _newest_pairs(story: PartitionStory) -> Iterator[tuple[LogRead, LogRead]]:
    """Each whole read of a replica with the newest whole reads of the others."""
    newest: dict[str, LogRead] = {}
    for read in story.whole_reads:
        if read.batches:
            yield from ((other, read) for node, other in sorted(newest.items()) if node != read.node)
            newest[read.node] = read


def _last_common(one: LogRead, other: LogRead) -> int | None:
    theirs = {(batch.last, batch.epoch) for batch in other.batches}
    return next((b.last for b in reversed(one.batches) if (b.last, b.epoch) in theirs), None)


def _between(read: LogRead, low: int, high: int) -> list[Held]:
    return [batch for batch in read.batches if low <= batch.last and batch.last <= high]


def _list(batches: list[Held]) -> str:
    return ", ".join(map(str, batches)) or "nothing"


@log_judge("KIP101-INV-03")
def stamps_never_decrease(story: PartitionStory) -> Iterator[Finding]:
    """Along a replica's log the epochs rise or stay."""
    for read in story.whole_reads:
        if len(read.batches) > 1:
            fine = all(one.epoch <= two.epoch for one, two in pairwise(read.batches))
            shown = f"{read.node} holds {_list(list(read.batches))}" if not fine else ""
            yield Finding(fine, "replica", (read.event,), shown, "epoch-regression")


@log_judge("KIP101-INV-05")
def committed_means_kept(story: PartitionStory) -> Iterator[Finding]:
    """What acks=all acknowledged is where it was, under every later leader, unless the log start passed it."""
    led = [read for read in story.reads if story.led(read)]
    for write in story.writes:
        if write.committed and story.clean_since(write.asked):
            # A leader of an older epoch that has not heard yet may serve what it has: it is no later leader.
            since = story.newest_epoch_before(write.asked)
            later = [read for read in led if read.asked > write.event and read.cur >= since]
            yield from _kept(write, later, story.deletes)


def _kept(write: Write, reads: list[LogRead], deletes: bool) -> Iterator[Finding]:
    for position, value in enumerate(write.values):
        offset, stamp = write.offset + position, None
        for read in reads:
            # A cleaner takes what a later record of the same key has replaced.
            if not read.shows(offset) or not (deletes or read.value_at(offset)):
                continue
            found = read.at(offset)
            case, by = "kept" if read.whole else "readable", (write.event, read.event)
            if found is None or read.value_at(offset) != value or stamp not in (None, found.epoch):
                shown = f"offset {offset} was acknowledged with {value}, {read.node} at epoch {read.cur} has {found}"
                yield Finding(False, case, by, shown, "lost-write")
            else:
                stamp = found.epoch
                if read.cur > stamp:
                    yield Finding(True, case, by)


@log_judge("KIP101-STAMP-03")
def followers_keep_stamps_and_bytes(story: PartitionStory) -> Iterator[Finding]:
    """At rest every replica holds the same batches: base offset, last offset, stamp and CRC."""
    reads = [read for read in story.whole_reads if story.at_rest(read) and read.batches]
    for one, other in combinations(reads, 2) if story.deletes else ():
        if one.node != other.node:
            low = max(one.log_start, other.log_start)
            mine, theirs = ([b for b in read.batches if b.last >= low] for read in (one, other))
            shown = f"{one.node}: {_list(mine)}, {other.node}: {_list(theirs)}"
            yield Finding(mine == theirs, "replicated", (one.event, other.event), shown, "divergent-prefix")
