"""Invariants of records in a replicated log (KIP-101, KIP-320): one history for all replicas, readers and later leaders."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, combinations, pairwise
from operator import attrgetter
from typing import NamedTuple

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.log import Batch, FetchResult, ProduceResult, ReplicaOnDisk, by_epoch
from conformance.judging.judge import Finding, log_judge
from conformance.judging.log.story import PartitionStory

_by_offset = attrgetter("offset")
FOLLOWERS_SERVE_NO_DOOMED_TAIL = (3, 4, 1)
"""Before this release a follower may show a consumer what it is about to truncate (KIP101-TRUNC-04, KAFKA-14704)."""


# --- replicas


@log_judge("KIP101-INV-01", "reads")
def one_record_per_offset_and_epoch(story: PartitionStory) -> Iterator[Finding]:
    """Wherever and whenever (offset, epoch) is read, it holds the same batch."""
    first: dict[tuple[str, int, int], tuple[FetchResult, Batch]] = {}
    for read in story.reads if story.deletes else ():
        again: dict[str, int] = {}
        for batch in _sound(story, read.batches):
            known, held = first.setdefault(("base", batch.base, batch.epoch), (read, batch))
            if known is read:
                known, held = first.setdefault(("last", batch.last, batch.epoch), (read, batch))
            case = "replicas" if known.node != read.node else "time"
            if held != batch:
                shown = f"{known.node} held {held}, {read.node} {batch}"
                yield Finding(False, case, (known.event, read.event), shown, "divergent-prefix")
            elif case not in again and (
                known.node != read.node or story.timeline.fault_between(known.event, read.event)
            ):
                # Read again where and while nothing happened it is no new instance.
                again[case] = known.event
        yield from (Finding(True, case, (event, read.event)) for case, event in again.items())


def _sound(story: PartitionStory, batches: Sequence[Batch]) -> Sequence[Batch]:
    """Without those that rotted on a disk, where the kit flipped bytes."""
    return [batch for batch in batches if batch.valid] if story.corrupted else batches


@log_judge("KIP101-INV-02", "full_reads")
def prefixes_agree(story: PartitionStory) -> Iterator[Finding]:
    """Replicas that share an (offset, epoch) share everything below it that both still hold."""
    for one, other in _newest_pairs(story) if story.deletes else ():
        if not story.epoch_caches_intact(other.event) or (shared := _last_common(one, other)) is None:
            continue
        low = max(one.log_start, other.log_start)
        mine, theirs = (_between(_sound(story, read.batches), low, shared) for read in (one, other))
        # Two histories under one stamp are KIP101-INV-01's to tell: then prefixes cannot agree.
        if mine == theirs or not _share_a_stamp(mine, theirs):
            shown = (
                ""
                if mine == theirs
                else f"{one.node} and {other.node} share offset {shared}, but hold {_list(mine)} and {_list(theirs)}"
            )
            yield Finding(mine == theirs, "prefix", (one.event, other.event), shown, "divergent-prefix")


def _newest_pairs(story: PartitionStory) -> Iterator[tuple[FetchResult, FetchResult]]:
    """Each whole read of a replica with the newest whole reads of the others."""
    newest: dict[str, FetchResult] = {}
    for read in story.full_reads:
        if read.batches:
            yield from ((other, read) for node, other in sorted(newest.items()) if node != read.node)
            newest[read.node] = read


def _last_common(one: FetchResult, other: FetchResult) -> int | None:
    theirs = {(batch.last, batch.epoch) for batch in other.batches}
    return next((b.last for b in reversed(one.batches) if (b.last, b.epoch) in theirs), None)


def _between(batches: Sequence[Batch], low: int, high: int) -> list[Batch]:
    return [batch for batch in batches if low <= batch.last <= high]


def _share_a_stamp(mine: list[Batch], theirs: list[Batch]) -> bool:
    """Do they hold different batches under the same (offset, epoch)?"""
    held = {(batch.base, batch.epoch): batch for batch in mine}
    return any(held.get((batch.base, batch.epoch), batch) != batch for batch in theirs)


def _list(batches: Sequence[object]) -> str:
    return ", ".join(map(str, batches)) or "nothing"


@log_judge("KIP101-INV-03", "full_reads", "on_disk")
def stamps_never_decrease(story: PartitionStory) -> Iterator[Finding]:
    """Along a replica's log the epochs rise or stay, as long as no replica lost its leader-epoch-checkpoint."""
    held: list[FetchResult | ReplicaOnDisk] = [*story.full_reads, *story.on_disk]
    for log in held:
        epochs = [b.epoch for b in log.batches] if isinstance(log, FetchResult) else [b[2] for b in log.batches]
        if len(epochs) > 1 and story.epoch_caches_intact(log.event):
            fine = all(one <= two for one, two in pairwise(epochs))
            yield Finding(fine, "replica", (log.event,), f"epochs on {log.node}: {epochs}", "epoch-regression")


@log_judge("KIP101-STAMP-03", "full_reads", "on_disk")
def followers_keep_stamps_and_bytes(story: PartitionStory) -> Iterator[Finding]:
    """At rest every replica holds the same batches: stamp and CRC as they are read, all bytes as they are on disk."""
    if story.deletes and story.epoch_caches_intact(story.timeline.rest):
        reads: dict[str, FetchResult | ReplicaOnDisk] = {
            read.node: read for read in story.full_reads if story.at_rest(read)
        }
        disks: dict[str, FetchResult | ReplicaOnDisk] = {
            disk.node: disk for disk in story.on_disk if story.at_rest(disk)
        }
        for one, other in [*combinations(reads.values(), 2), *combinations(disks.values(), 2)]:
            low = max(one.log_start, other.log_start)
            mine, theirs = (_from(low, held) for held in (one, other))
            if mine or theirs:
                shown = "" if mine == theirs else f"{one.node}: {_list(mine)}, {other.node}: {_list(theirs)}"
                yield Finding(mine == theirs, "replicated", (one.event, other.event), shown, "divergent-prefix")


def _from(low: int, held: FetchResult | ReplicaOnDisk) -> list[object]:
    if isinstance(held, FetchResult):
        return [batch for batch in held.batches if batch.last >= low]
    return [batch for batch in held.batches if batch[1] >= low]


# --- what was acknowledged


@log_judge("KIP101-INV-05", "produced")
def committed_means_kept(story: PartitionStory) -> Iterator[Finding]:
    """A record acknowledged with acks=all stays at its offset under every later leader, unless the log start passed it."""
    committed = sorted((w for w in story.produced if w.committed and w.values), key=_by_offset)
    if not committed:
        return
    stamps = _newest_stamps(story)
    writes = [(write, _epoch_of(story, write, stamps)) for write in committed]
    firsts, lasts = [w.offset for w in committed], [w.offset + len(w.values) - 1 for w in committed]
    ends = [(write.event, write.offset + len(write.values)) for write in story.produced if write.committed]
    ends = [*accumulate(ends, lambda one, two: (two[0], max(one[1], two[1])))]
    lost: set[tuple[int, str]] = set()
    kept_as: dict[tuple[int, int], Batch] = {}
    for read in (read for read in story.leader_reads if read.full or read.by_consumer):
        case, kept, shown = "kept" if read.full else "readable", -1, _shown(read)
        known = bisect_left(ends, (read.asked,))
        stop = min(shown.stop, ends[known - 1][1]) if known else 0
        for write, epoch in writes[bisect_left(lasts, shown.start) : bisect_left(firsts, stop)]:
            # A leader of an older epoch that has not heard yet may serve what it has: it is no later leader.
            later = write.event < read.asked and epoch <= read.cur and (write.event, case) not in lost
            if not later or not story.clean_between(min(write.asked, story.began(epoch)), read.event):
                continue
            if trouble := _gone(read, write, shown, story.deletes, kept_as):
                lost.add((write.event, case))
                yield Finding(False, case, (write.event, read.event), trouble, "lost-write")
            elif epoch < read.cur and read.value_at(max(write.offset, shown.start)) is not None:
                kept = write.event
        if kept >= 0:
            yield Finding(True, case, (kept, read.event))


def _newest_stamps(story: PartitionStory) -> dict[tuple[int, str | None], int]:
    """Records that were ever read, as (offset, value), with the latest epoch that they were stamped with."""
    stamps: dict[tuple[int, str | None], int] = {}
    for batch in sorted((batch for batch, _ in story.batches), key=by_epoch):
        stamps.update(dict.fromkeys(batch.records, batch.epoch))
    return stamps


def _epoch_of(story: PartitionStory, write: ProduceResult, stamps: dict[tuple[int, str | None], int]) -> int:
    """The epoch at which it was acknowledged: as it is stamped, or else one at which its leader led, as far as was known."""
    if (stamp := stamps.get((write.offset, write.values[0]))) is not None:
        return stamp
    named = story.newest_epoch_before(write.asked)
    led = [epoch for epoch, node in story.leaders.items() if node == write.node and epoch >= named]
    return min(led, default=named)


def _shown(read: FetchResult) -> range:
    """The offsets at which the read shows a record, if the replica holds one there."""
    start = max(read.fetch_offset, read.log_start)
    if read.diverging is not None:
        return range(0)
    if read.full:
        return range(start, max(read.log_end, read.high_watermark, start) + (1 << 40))
    if read.last >= 0 and not read.batches:
        return range(0)  # a fetch that names what it fetched last may be told of nothing but its divergence
    # An answer is cut where its bytes are enough, and a consumer of committed transactions sees no more than stable ones.
    stable = min(read.high_watermark, read.last_stable_offset) if read.last_stable_offset >= 0 else read.high_watermark
    return range(start, read.batches[-1].last + 1 if read.batches else stable)


def _gone(
    read: FetchResult, write: ProduceResult, shown: range, deletes: bool, kept_as: dict[tuple[int, int], Batch]
) -> str:
    """The record at an acknowledged one's offset, if it differs or has another epoch; compaction may have removed it.

    `kept_as` is where records were found before, by write and offset.
    """
    for offset, value in enumerate(write.values, write.offset):
        if value is None or offset not in shown:
            continue
        batch = read.at(offset)
        before = kept_as.get((write.event, offset))
        if batch is not None and batch is before:
            continue
        now = batch.value_at(offset) if batch is not None else None
        if (now is not None or deletes) and now != value:
            what = f"{now} in {batch}" if now is not None else "nothing"
            return f"offset {offset} was acknowledged with {value}, {read.node} at epoch {read.cur} has {what}"
        if batch is not None and before is not None and batch.epoch != before.epoch:
            return f"offset {offset} was acknowledged and kept in {before}, {read.node} at epoch {read.cur} has {batch}"
        if batch is not None and now is not None:
            kept_as[write.event, offset] = batch
    return ""


@log_judge("KIP101-INV-06", "produced")
def one_commit_per_offset(story: PartitionStory) -> Iterator[Finding]:
    """Two writes that acks=all acknowledged never share an offset, unless they have the same records."""
    first: dict[int, tuple[ProduceResult, str]] = {}
    for write in story.produced:
        # After an unclean election a former leader alone in its ISR acknowledges records that will be lost.
        if not write.committed or not write.values or not story.clean_between(-1, write.event):
            continue
        records = list(enumerate(write.values, write.offset))
        known = [(first[offset], offset, value) for offset, value in records if offset in first]
        shared = next(((one, offset, was, value) for (one, was), offset, value in known if was != value), None)
        if shared is not None:
            one, offset, was, value = shared
            shown = f"offset {offset} was acknowledged with {was} by {one.node} and with {value} by {write.node}"
            yield Finding(False, "acknowledged", (one.event, write.event), shown, "inconsistent-offsets")
        elif first:
            yield Finding(True, "acknowledged", (write.event,))
        first.update((offset, (write, value)) for offset, value in records)


@log_judge("KIP101-INV-17", "produced")
def refused_writes_are_never_read(story: PartitionStory) -> Iterator[Finding]:
    """A write that was refused before the append, or never sent, is in no log (Jepsen's aborted read)."""
    times: dict[str | None, int] = {}
    for write in story.produced:
        for value in write.values:
            times[value] = times.get(value, 0) + 1
    refused = {value: write for write in story.produced if write.failed for value in write.values if times[value] == 1}
    places = _places(story) if refused else {}
    for value, write in refused.items():
        if value is None or not story.full_reads or story.full_reads[-1].asked < write.event:
            continue
        by = places.get(value, story.full_reads[-1].event)
        shown = f"{write.node} refused {value} with error {write.error}, and it was read"
        yield Finding(value not in places, "refused", (write.event, by), shown, "aborted-read")


def _places(story: PartitionStory) -> dict[str | None, int]:
    """Values that were read, each with the event of the first time."""
    found: dict[str | None, int] = {}
    for batch, event in story.batches:
        for _, value in batch.records:
            found.setdefault(value, event)
    for one in story.consumed:
        found.setdefault(one.value, one.event)
    return found


# --- what was read


@log_judge("KIP101-INV-07", "reads", "consumed")
def reads_are_stable(story: PartitionStory) -> Iterator[Finding]:
    """A record handed to a consumer is never replaced by another at its offset."""
    handed: dict[int, tuple[_Handed, int, str | None]] = {}
    for one in sorted(_consumed(story), key=by_event):
        again: _Handed | None = None
        for epoch, records in one.batches:
            for offset, value in records:
                known, was_epoch, was = handed.setdefault(offset, (one, epoch, value))
                if known.event == one.event:
                    continue
                if story.losses and not story.clean_between(_first_known(story, known, was_epoch, epoch), one.event):
                    handed[offset] = one, epoch, value
                elif was != value or (was_epoch != epoch and -1 not in (was_epoch, epoch)):
                    shown = f"offset {offset}: {was} of epoch {was_epoch} by {known.by}, then {value} of {epoch} by {one.by}"
                    yield Finding(False, _case(known, one), (known.event, one.event), shown, "inconsistent-offsets")
                elif known.by != one.by or story.timeline.fault_between(known.event, one.event):
                    again = known
        if again is not None:
            yield Finding(True, _case(again, one), (again.event, one.event))


class _Handed(NamedTuple):
    """Records handed to a consumer, by whom at which epoch: batches as (epoch, records), records as (offset, value)."""

    event: int
    by: str
    case: str
    batches: Sequence[tuple[int, Sequence[tuple[int, str | None]]]]


def _case(known: _Handed, one: _Handed) -> str:
    return "follower" if "follower" in (known.case, one.case) else "leader"


def _first_known(story: PartitionStory, known: _Handed, *epochs: int) -> int:
    """Records replaced by an unclean election may be returned by the former leader until it learns of the election."""
    return min(known.event, *map(story.began, epochs))


def _consumed(story: PartitionStory) -> Iterator[_Handed]:
    for read in story.reads:
        leader = story.leaders.get(read.cur)
        case = "leader" if leader == read.node else "follower"
        if read.by_consumer and (case == "leader" or story.timeline.kafka_version >= FOLLOWERS_SERVE_NO_DOOMED_TAIL):
            batches = [(batch.epoch, batch.records) for batch in _sound(story, read.batches)]
            yield _Handed(read.event, f"{read.node} at epoch {read.cur}", case, batches)
    # A consumer may have fetched a record long before it hands it out.
    for one in story.consumed if not story.losses else ():
        yield _Handed(one.event, one.consumer, "leader", ((one.epoch, ((one.offset, one.value),)),))


# --- truncation


@log_judge("KIP101-TRUNC-01", "full_reads")
def followers_cut_nothing_of_the_leader(story: PartitionStory) -> Iterator[Finding]:
    """With checkpoint and disk intact, a replica keeps the records that it has in common with all its leaders since."""
    last: dict[str, FetchResult] = {}
    logs = _logs_by_epoch(story)
    committed = _committed(story)
    for read in story.full_reads if story.deletes else ():
        before, last[read.node] = last.get(read.node), read
        if before is None or (case := _became_follower(story, before, read)) is None:
            continue
        leaders = [logs.get(epoch, frozenset()) for epoch in range(before.cur, read.cur + 1) if story.may_lead(epoch)]
        shared = frozenset.intersection(*leaders) if leaders else frozenset()
        now = set(read.batches)
        had = [batch for batch in before.batches if batch.base >= read.log_start]
        below = [b for b in had if b in committed and story.clean_between(committed[b], read.event)]
        gone = [batch for batch in had if batch not in now and (batch in shared or batch in below)]
        by = (before.event, read.event)
        if gone:
            phantom = any(batch in below for batch in gone)
            shown = f"{read.node} had {_list(gone)} and does not have it at epoch {read.cur}, though its leaders do"
            yield Finding(False, case, by, shown, "phantom-truncation" if phantom else "")
        elif below or any(batch in shared for batch in had):
            yield Finding(True, case, by)


def _became_follower(story: PartitionStory, before: FetchResult, read: FetchResult) -> str | None:
    """How, if it did, with disk and leader-epoch-checkpoint intact: in a new epoch, or after a restart."""
    intact = (
        story.epoch_caches_intact(read.event) and story.is_undamaged(read.node, read.event) and story.stays(read.node)
    )
    if not intact or before.cur < 0 or read.cur < before.cur or story.leaders.get(read.cur) in (None, read.node):
        return None
    restarted = any(
        fault.phase == "inject" and read.node in fault.nodes and fault.effects.restarts
        for fault in story.timeline.faults_between(before.event, read.asked)
    )
    return "restart" if restarted else "epoch-change" if read.cur > before.cur else None


def _logs_by_epoch(story: PartitionStory) -> dict[int, frozenset[Batch]]:
    """All records seen at the leader of each epoch: while it leads it only appends."""
    found: dict[int, frozenset[Batch]] = {}
    for read in story.full_reads:
        if story.by_leader(read):
            found[read.cur] = found.get(read.cur, frozenset()) | frozenset(read.batches)
    return found


def _committed(story: PartitionStory) -> dict[Batch, int]:
    """Batches that a leader showed below its high watermark, each with the event that began its epoch.

    A leader that was passed over by an unclean election may go on to commit by itself.
    """
    found: dict[Batch, int] = {}
    for read in story.leader_reads:
        for batch in read.batches:
            if batch.last < read.high_watermark:
                found.setdefault(batch, min(read.event, story.began(read.cur)))
    return found
