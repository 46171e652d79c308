"""Truncation (KIP-101): a replica keeps the records that it shares with its leaders, and has all committed records when it joins
an ISR."""

from collections.abc import Iterator
from itertools import islice
from math import inf

from conformance.judging.excuses import COMPACTED, EPOCHS_LOST, REASSIGNED, Evidence
from conformance.judging.facts.log import FetchResult, PartitionAtBroker, ProduceResult, ReplicaBatch
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import Moment, PermittedLosses
from conformance.judging.log.records import AcknowledgedWrites, describe_loss, offsets_shown_by
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge


@log_judge("KIP101-TRUNC-01", "full_reads")
def truncation_keeps_the_common_prefix(story: PartitionStory) -> Iterator[Claim]:
    """With checkpoint and disk intact, a replica keeps the records that it shares with all its later leaders.

    If the replica is in the ISR of an epoch, these include all records acknowledged at earlier epochs, even those never read.
    """
    yield from _judge_isr(story)
    last: dict[str, FetchResult] = {}
    leadership, logs = story.derive(Leadership), _logs_by_epoch(story)
    committed, permitted = _committed_batches(story), story.derive(PermittedLosses)
    for read in story.full_reads:
        before, last[read.node] = last.get(read.node), read
        if before is None or (case := _became_follower(story, before, read)) is None:
            continue
        leaders = [
            logs.get(epoch, frozenset())
            for epoch in range(before.cur, read.cur + 1)
            if leadership.may_have_leader(epoch)
        ]
        shared = frozenset.intersection(*leaders) if leaders else frozenset()
        now = set(read.batches)
        had = [batch for batch in before.batches if batch.base >= read.log_start]
        now_at = (read.cur, read.event)
        permissions = {b: permitted.between(committed[b], now_at, offset=b.last) for b in had if b in committed}
        below = [batch for batch, permission in permissions.items() if permission is None]
        gone = [batch for batch in had if batch not in now and (batch in shared or batch in below)]
        by = (before.event, read.event)
        if gone and (left_out := _why_not_intact(story, read)) is not None:
            yield Excuse(left_out, case)
            continue
        excused = (permission for batch, permission in permissions.items() if permission and batch not in now)
        if not gone and (excuse := next(excused, None)) is not None:
            yield Excuse(excuse, case)
        if gone:
            phantom = any(batch in below for batch in gone)
            shown = f"{read.node} had {', '.join(map(str, gone))} and does not have it at epoch {read.cur}, though its leaders do"
            yield Finding(False, case, by, shown, "phantom-truncation" if phantom else "")
        elif below or any(batch in shared for batch in had):
            yield Finding(True, case, by)


def _judge_isr(story: PartitionStory) -> Iterator[Claim]:
    """Judge that a replica in the ISR of an epoch has all records that were committed before that epoch."""
    permitted = story.derive(PermittedLosses)
    for read in story.full_reads:
        if not _follows(story, read) or (seen := _last_in_sync(story, read)) is None:
            continue
        if (left_out := _why_not_intact(story, read)) is not None:
            yield from (Excuse(left_out, "epoch-change") for _ in islice(_missing_writes(story, read, seen), 1))
            continue
        permissions: set[Evidence] = set()
        for write, epoch, trouble in _missing_writes(story, read, seen):
            now = read.cur, read.event
            if (permission := permitted.between((epoch, write.asked), now, offset=write.last_offset)) is not None:
                permissions.add(permission)
                continue
            by = (write.event, seen.event, read.event)
            shown = f"{read.node} was in the ISR of epoch {seen.epoch}: {trouble}"
            yield Finding(False, "epoch-change", by, shown, "phantom-truncation")
            break
        yield from (Excuse(permission, "epoch-change") for permission in sorted(permissions))


def _missing_writes(
    story: PartitionStory, read: FetchResult, seen: PartitionAtBroker
) -> Iterator[tuple[ProduceResult, int, str]]:
    """Yield the writes acknowledged before the epoch that the log lacks, each with its epoch and a description of the log's
    records there."""
    shown = offsets_shown_by(read, story.derive(LogStarts).highest_explained(read.event))
    for write, epoch in story.derive(AcknowledgedWrites).writes_at(shown):
        is_earlier = write.event < read.asked and epoch < seen.epoch
        if is_earlier and (trouble := describe_loss(read, write, shown, False, {})):
            yield write, epoch, trouble


def _last_in_sync(story: PartitionStory, read: FetchResult) -> PartitionAtBroker | None:
    """Return the description of the newest epoch in whose ISR the replica was before it was read."""
    id = story.timeline.ids.get(read.node, -1)
    found = (seen for seen in story.first_metadata if seen.event < read.asked and id in seen.isr)
    return max(found, key=lambda seen: seen.epoch, default=None)


def _follows(story: PartitionStory, read: FetchResult) -> bool:
    """True if the replica follows another broker."""
    return story.derive(Leadership).leaders.get(read.cur) not in (None, read.node)


def _why_not_intact(story: PartitionStory, read: FetchResult) -> Evidence | None:
    """Return the evidence by which a follower may lack records: compaction, another log directory, or damage to a replica."""
    damage = story.derive(ReplicaDamage)
    if may_be_compacted(story, read.event):
        return COMPACTED
    if not story.derive(Replicas).was_always_replica(read.node, read.event):
        return REASSIGNED
    return damage.damage_at(read.node, read.event) or (
        EPOCHS_LOST if damage.comparable_below(read.event, read.node) < inf else None
    )


def _became_follower(story: PartitionStory, before: FetchResult, read: FetchResult) -> str | None:
    """Return the case of how the replica became a follower: in a new epoch, or by a restart."""
    if not _follows(story, read) or before.cur < 0 or read.cur < before.cur:
        return None
    restarted = any(
        read.node in fault.nodes
        and fault.effects.certainly_restarts
        and fault.phase == ("heal" if fault.effects.fails_directory else "inject")
        for fault in story.timeline.faults_between(before.event, read.asked)
    )
    return "restart" if restarted else "epoch-change" if read.cur > before.cur else None


def _logs_by_epoch(story: PartitionStory) -> dict[int, frozenset[ReplicaBatch]]:
    """Return all batches read from the leader of each epoch; a leader only appends."""
    found: dict[int, frozenset[ReplicaBatch]] = {}
    for read in story.derive(Leadership).leader_reads:
        if read.full:
            found[read.cur] = found.get(read.cur, frozenset()) | frozenset(read.batches)
    return found


def _committed_batches(story: PartitionStory) -> dict[ReplicaBatch, Moment]:
    """Return batches that a leader showed below its high watermark, each with the first such moment."""
    found: dict[ReplicaBatch, Moment] = {}
    for read in story.derive(Leadership).leader_reads:
        for batch in read.batches:
            if batch.last < read.high_watermark:
                found.setdefault(batch, (read.cur, read.event))
    return found
