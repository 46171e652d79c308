"""Reassignments (GEN-11): replicas leave only after the added replicas have copied their records.

The evidence is AlterPartitionReassignments, and the successive replicas and ISRs that one broker process describes. Its
descriptions may be late, but keep their order.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from conformance.judging.excuses import REASSIGNED
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.log import FetchResult, PartitionAtBroker, ProduceResult, ReplicaBatch
from conformance.judging.facts.reassignments import ReassignmentResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.in_sync_replicas import AT_ONCE
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.records import acknowledgement_moment, describe_loss, offsets_shown_by
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import NEVER
from history.effects import Effects
from protocol.words import say

Replicas = frozenset[int]


@log_judge("GEN-11", "reassignments")
def reassignment_keeps_enough_copies(story: PartitionStory) -> Iterator[Claim]:
    """When replicas leave, the added replicas are in the ISR and hold all acknowledged records. Cancelling restores the former
    replicas, and in the end the partition has the replicas that the last request names."""
    asked = [one for one in story.reassignments if not one.is_refused]
    known: set[tuple[int, str]] = set()
    for change in _completed_changes(story, asked):
        if (claim := _in_sync(story, change)) is None:
            continue
        if claim.held and (change.request.asked, claim.case) not in known:
            known.add((change.request.asked, claim.case))
            yield from _held_by_all(story, change)
            yield claim
        elif not claim.held:
            yield claim
    for place, request in enumerate(asked):
        if request.replicas is None and request.error == NONE:
            yield from _cancelling_restores(story, asked, place)
    yield from _has_all_named(story, asked)


# --- completed


class CompletedReassignment(NamedTuple):
    """A reassignment that one broker described as completed: its request, the added replicas, and the answers before and
    after."""

    request: ReassignmentResult
    added: Replicas
    case: str
    before: PartitionAtBroker
    seen: PartitionAtBroker


def _completed_changes(story: PartitionStory, asked: Sequence[ReassignmentResult]) -> Iterator[CompletedReassignment]:
    """Yield the changes after which the replicas are as requested, and some replicas have left."""
    pairs = (pair for view in story.metadata_by_incarnation.values() for pair in pairwise(view)) if asked else ()
    for before, seen in pairs:
        now = frozenset(seen.replicas)
        if before.state is seen.state or {*before.replicas} <= now or before.event >= seen.asked:
            continue
        meant = [one for one in asked if one.asked < seen.event and frozenset(one.replicas or ()) == now]
        added = [frozenset(id for id in one.replicas or () if _is_outside(story, asked, one, id)) for one in meant]
        if meant and (new := frozenset.intersection(*added)):
            left = frozenset(before.replicas) - now
            yield CompletedReassignment(meant[-1], new, _case(story, asked, meant[-1], new, left, seen), before, seen)


def _is_outside(
    story: PartitionStory, asked: Sequence[ReassignmentResult], request: ReassignmentResult, id: int
) -> bool:
    since = max((o.event for o in asked if o.asked < request.asked and id in (o.replicas or ())), default=-1)
    look = _look_before(story, request, since)
    return look is not None and id not in look.replicas


def _look_before(story: PartitionStory, request: ReassignmentResult, since: int = -1) -> PartitionAtBroker | None:
    """Return the last Metadata before a request."""
    earlier = (seen for seen in reversed(story.metadata) if since < seen.asked and seen.event < request.asked)
    return next(earlier, None)


def _case(
    story: PartitionStory,
    asked: Sequence[ReassignmentResult],
    request: ReassignmentResult,
    added: Replicas,
    left: Replicas,
    seen: PartitionAtBroker,
) -> str:
    """Return the case, from the faults that were active between the request and its visible completion."""
    hit = {node for span in story.timeline.active_faults(request.asked, seen.event) for node in span.nodes}
    if hit & _names(story, added):
        return "target-down"
    if hit & _names(story, left):
        return "source-down"
    before, earlier = _look_before(story, request), [one for one in asked if one.asked < request.asked]
    return "undisturbed" if before is not None and _is_settled(earlier, before) else "two-at-once"


def _names(story: PartitionStory, ids: Replicas) -> set[str]:
    return {story.timeline.names.get(id, "") for id in ids}


def _in_sync(story: PartitionStory, change: CompletedReassignment) -> Finding | None:
    """Judge that every added replica was in the ISR when others left; None if one may have joined and left the ISR unseen."""
    before, seen = change.before, change.seen
    missing = change.added - {*seen.isr}
    by = (change.request.event, before.event, seen.event)
    if not missing:
        return Finding(True, change.case, by)
    if any(id not in before.isr and _stayed_outside_isr(story, id, before, seen) for id in missing):
        isr = f"the ISR {say(before.isr)}, then {say(seen.isr)}"
        shown = f"replicas {say(before.replicas)} became {say(seen.replicas)} by {seen.node}, with {isr}"
        return Finding(False, change.case, by, shown, "too-few-copies")
    return None


def _stayed_outside_isr(story: PartitionStory, id: int, before: PartitionAtBroker, seen: PartitionAtBroker) -> bool:
    """True if the replica was down all the time, or the time was too short to join the ISR and leave it again."""
    timeline = story.timeline
    quick = timeline.time(seen.event) - timeline.time(before.asked) < AT_ONCE
    quiet = not timeline.fault_between(before.asked, seen.event)
    return timeline.down(timeline.names.get(id, ""), before.asked, seen.event) or (quick and quiet)


# --- what was acknowledged


def _held_by_all(story: PartitionStory, change: CompletedReassignment) -> Iterator[Claim]:
    """Judge that the first full read of each added replica has the records acknowledged before, while it stays a replica."""
    damage = story.derive(ReplicaDamage)
    end = _next_move(story, change)
    for node in sorted(_names(story, change.added)):
        own = (one for one in story.full_reads if one.node == node and change.seen.event < one.asked)
        read = next(own, None)
        if read is not None and read.event < end:
            left_out = damage.damage_at(node, read.event)
            yield from [Excuse(left_out, change.case)] if left_out is not None else _holds(story, change, read)


def _next_move(story: PartitionStory, change: CompletedReassignment) -> float:
    """Return the event after which replicas may move again; NEVER without one."""
    later = [one.asked for one in story.reassignments if one.asked > change.request.asked and not one.is_refused]
    moved = [
        span.began
        for span in story.derive(ReplicaDamage).faults_with(_moves_replicas)
        if span.ended > change.request.asked
    ]
    return min([*later, *(event for event in moved if event > change.request.asked)], default=NEVER)


def _moves_replicas(effects: Effects) -> bool:
    return effects.moves_replicas


def _holds(story: PartitionStory, change: CompletedReassignment, read: FetchResult) -> Iterator[Claim]:
    shown, kept_as = (
        offsets_shown_by(read, story.derive(LogStarts).highest_explained(read.event)),
        dict[tuple[int, int], ReplicaBatch](),
    )
    writes = [write for write in story.produced if write.is_committed and write.values and _was_before(change, write)]
    for write in writes:
        if trouble := describe_loss(read, write, shown, may_be_compacted(story, read.event), kept_as):
            since = acknowledgement_moment(story, write)
            permission = story.derive(PermittedLosses).between(since, (read.cur, read.event), offset=write.last_offset)
            by = (write.event, change.seen.event, read.event)
            lost = Finding(False, change.case, by, f"{trouble}, after it had been added", "lost-write")
            yield lost if permission is None else Excuse(permission, change.case)
            return
    if writes:
        yield Finding(True, change.case, (writes[-1].event, change.seen.event, read.event))


def _was_before(change: CompletedReassignment, write: ProduceResult) -> bool:
    """True if the write was acknowledged before the request, or by a leader that described the former replicas even
    afterwards."""
    leader = write.node == change.before.node and write.incarnation == change.before.incarnation
    return write.event < change.request.asked or (leader and write.event < change.before.asked)


# --- cancelled


def _cancelling_restores(story: PartitionStory, asked: Sequence[ReassignmentResult], place: int) -> Iterator[Claim]:
    """Judge that the replicas from before the cancelled request are restored, if no other request was under way. A broker may
    describe the union of both sets for a while."""
    cancelled, request = asked[place], asked[place - 1] if place else None
    former = _look_before(story, request) if request is not None else None
    if request is None or former is None or not request.replicas or not _is_settled(asked[: place - 1], former):
        return
    end = min((one.asked for one in asked[place + 1 :]), default=NEVER)
    old, merged = {*former.replicas}, {*former.replicas, *request.replicas}
    moved = story.derive(ReplicaDamage).faults_with(_moves_replicas)
    if any(span.began < end and request.asked < span.ended for span in moved):
        yield Excuse(REASSIGNED, "cancelled")
        return
    for seen in (one for one in story.metadata if cancelled.event < one.asked and one.event < end):
        now, rest = {*seen.replicas}, 0 <= story.timeline.rest < seen.asked
        if now == old or now != merged or rest:
            reassigned = f"{say(former.replicas)} before a reassignment to {say(request.replicas)}"
            shown = f"{seen.node} told replicas {say(seen.replicas)}, {reassigned}"
            by = (request.event, cancelled.event, seen.event)
            yield Finding(now == old, "cancelled", by, f"{shown} that was cancelled", "not-restored")
            return


def _is_settled(earlier: Sequence[ReassignmentResult], look: PartitionAtBroker) -> bool:
    """True if this answer shows that the last of the earlier requests completed."""
    last = earlier[-1] if earlier else None
    return last is None or (last.event < look.asked and {*look.replicas} == {*(last.replicas or ())})


# --- at rest


def _has_all_named(story: PartitionStory, asked: Sequence[ReassignmentResult]) -> Iterator[Claim]:
    """Judge that at rest the partition has each replica that the last request names, if that request was acknowledged.

    One broker that describes it so is enough: others may still describe former replicas.
    """
    last = asked[-1] if asked else None
    if last is None or last.error != NONE or not last.replicas or story.timeline.rest < 0:
        return
    seen = {one.node: one for one in story.metadata if one.asked > max(story.timeline.rest, last.event)}
    if not seen:
        return
    if _reassigned_by_fault(story, last.asked):
        yield Excuse(REASSIGNED, "acknowledged")
        return
    missing = frozenset.intersection(*(frozenset(last.replicas) - {*one.replicas} for one in seen.values()))
    now, wanted = say([*seen.values()][-1].replicas), say(last.replicas)
    shown = f"at rest the replicas are {now}, after a reassignment to {wanted} was acknowledged"
    by = (last.event, *(one.event for one in seen.values()))
    yield Finding(not missing, "acknowledged", by, shown if missing else "", "replica-missing")


def _reassigned_by_fault(story: PartitionStory, since: int) -> bool:
    """True if a fault reassigned the partition after the event, even one that ended at once."""
    mine = ("", story.name)
    return any(one.event > since and one.partition in mine and _reassigns(one.effects) for one in story.timeline.faults)


def _reassigns(effects: Effects) -> bool:
    """True if the fault may reassign replicas: before requesting an election, the kit makes the replica the preferred leader by a
    reassignment."""
    return effects.moves_replicas or effects.election == "clean"
