"""The members of the ISR (KIP-320, KIP-966): only live replicas, the leader, and enough of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.log import (
    NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    FetchResult,
    PartitionMetadata,
    ProduceResult,
)
from conformance.judging.judge import Finding, log_judge
from conformance.judging.log.responding_replica import Life
from conformance.judging.log.story import PartitionStory

TOO_FEW = (NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT)
WATERMARK_WAITS_FROM = (3, 7)


@log_judge("KIP101-INV-16", "metadata")
def isr_is_sane(story: PartitionStory) -> Iterator[Finding]:
    """A fenced replica is not added to the ISR, a live leader is in it, its members are replicas; none only without leader."""
    known: set[tuple[object, ...]] = set()
    for seen in story.changed_metadata:
        state = (seen.node, seen.leader, seen.epoch, seen.isr, seen.replicas)
        if state in known:
            continue
        known.add(state)
        if seen.leader >= 0:
            yield _membership(seen.leader in seen.isr, "leader", seen)
        outside = [id for id in seen.isr if id not in seen.replicas]
        yield _membership(not outside and (bool(seen.isr) or seen.leader < 0), "members", seen)
    yield from _fenced(story)


def _membership(held: bool, case: str, seen: PartitionMetadata) -> Finding:
    shown = "" if held else f"{seen.node}: leader {seen.leader} at {seen.epoch}, ISR {seen.isr} of {seen.replicas}"
    return Finding(held, case, (seen.event,), shown)


def _fenced(story: PartitionStory) -> Iterator[Finding]:
    """Looks of one incarnation of a broker, one after the other.

    It reads the partitions a moment before the brokers, so that one look may show the ISR from before a fencing: what breaks
    the row has to show twice. The last of an ISR stays in it when it is fenced, and the partition then has no leader.
    """
    if not any(seen.state.fenced for seen in story.first_metadata):
        return
    views = {incarnation: _Fenced() for incarnation in story.metadata_by_incarnation}
    for seen in story.metadata:
        if seen.state.unfenced:
            view = views[seen.node, seen.incarnation]
            if seen.state.fenced or view.out:
                yield from view.look(seen)
            else:
                view.last = max(view.last, seen.event) if seen.asked >= view.last else view.last


class _Fenced:
    """Replicas that one broker saw fenced, outside of the ISR (`out`) and, led by another, inside (`inside`)."""

    def __init__(self) -> None:
        self.out: dict[int, PartitionMetadata] = {}
        self.inside: dict[int, PartitionMetadata] = {}
        self._known: set[tuple[object, ...]] = set()
        self.last = -1

    def look(self, seen: PartitionMetadata) -> Iterator[Finding]:
        if seen.asked < self.last:  # it overlaps the look before, and may be older
            return
        self.last = seen.event
        for id in self.out.keys() & set(seen.unfenced):
            self.out.pop(id)
            self.inside.pop(id, None)
        for id in seen.replicas:
            if id not in seen.unfenced:
                yield from self._fenced(id, seen)

    def _fenced(self, id: int, seen: PartitionMetadata) -> Iterator[Finding]:
        before = self.out.get(id)
        if id not in seen.isr:
            state = (id, seen.epoch, seen.isr)
            if before is not None and state not in self._known:
                self._known.add(state)
                yield Finding(True, "fenced", (before.event, seen.event))
            self.out[id] = seen
            self.inside.pop(id, None)
        elif before is not None and seen.leader not in (-1, id):
            if (first := self.inside.setdefault(id, seen)) is not seen:
                shown = f"{seen.node} saw {id} fenced, then in the ISR {first.isr} and {seen.isr}, fenced as before"
                yield Finding(False, "fenced", (before.event, first.event, seen.event), shown)
                self.out.pop(id)
                self.inside.pop(id)
        else:
            self.inside.pop(id, None)


# --- enough in-sync replicas


@log_judge("KIP101-INV-17", "reads", "produced")
def success_needs_enough_in_sync(story: PartitionStory) -> Iterator[Finding]:
    """acks=all succeeds only with min.insync.replicas in the ISR; below it the errors, and from 3.7 a watermark that waits."""
    if story.min_insync_replicas < 2:
        return
    looks = _Looks(story)
    refused: dict[tuple[str, int, int], ProduceResult] = {}
    for write in story.produced:
        if write.acks == -1:
            yield from _written(looks, write, refused)
    if story.timeline.kafka_version >= WATERMARK_WAITS_FROM:
        yield from _watermark(looks)


class _Looks:
    """The ISR in each leader's own Metadata while it led."""

    def __init__(self, story: PartitionStory) -> None:
        self.story = story
        self._own: dict[str, list[PartitionMetadata]] = {}
        for (node, _), seen_by in story.metadata_by_incarnation.items():
            id = story.timeline.ids.get(node)
            self._own.setdefault(node, []).extend(seen for seen in seen_by if seen.leader == id)

    def around(self, node: str, asked: int, event: int) -> tuple[PartitionMetadata | None, PartitionMetadata | None]:
        """The last look that was over before, and the first that began after; both of one epoch and incarnation, else None."""
        own = self._own.get(node, [])
        place = bisect_left(own, asked, key=by_event)
        before = own[place - 1] if place else None
        after = next((seen for seen in own[place : place + 4] if seen.asked > event), None)
        return before, after if before is not None and after is not None and self.same(before, after) else None

    def same(self, one: PartitionMetadata, other: PartitionMetadata) -> bool:
        incarnations = {seen.incarnation for seen in (one, other)}
        return one.epoch == other.epoch and len(incarnations) == 1

    def small(self, seen: PartitionMetadata) -> bool:
        """With fewer replicas than min.insync.replicas all of them are enough."""
        return len(seen.isr) < min(self.story.min_insync_replicas, len(seen.replicas))

    def alone(self, seen: PartitionMetadata, first: int, second: int) -> bool:
        """Were all other replicas certainly down from one event to the other?"""
        others = (id for id in seen.replicas if id != seen.leader)
        return all(self.story.timeline.down(self.story.timeline.names.get(id, ""), first, second) for id in others)


def _written(
    looks: _Looks, write: ProduceResult, refused: dict[tuple[str, int, int], ProduceResult]
) -> Iterator[Finding]:
    before, after = looks.around(write.node, write.asked, write.event)
    if before is None:
        return
    small, shown = looks.small(before), f"{write.node} answered {write.error} with the ISR {before.isr}"
    certain = small and after is not None and looks.small(after) and looks.alone(before, before.asked, write.event)
    key = (write.node, before.epoch, write.incarnation)
    if write.error == NONE and certain:
        yield Finding(False, "acknowledged", (before.event, write.event), shown)
    elif write.error == NONE and after is not None and not small and not looks.small(after):
        yield Finding(True, "acknowledged", (before.event, write.event, after.event))
    elif write.error in TOO_FEW and small:
        first = refused.get(key)
        # By its own Metadata there are too few, and no replica could have joined since: it may not append.
        still = first is not None and looks.alone(before, first.asked, write.event)
        fine = write.error == NOT_ENOUGH_REPLICAS or not still
        yield Finding(fine, "refused", (before.event, write.event), f"{shown}, after {NOT_ENOUGH_REPLICAS}")
    if write.error == NOT_ENOUGH_REPLICAS:
        refused.setdefault(key, write)


def _watermark(looks: _Looks) -> Iterator[Finding]:
    story = looks.story
    last: dict[Life, FetchResult] = {}
    for read in story.leader_reads:
        key = (read.node, read.cur, read.incarnation)
        one = last.get(key)
        if one is None or one.event < read.asked:
            last[key] = read
        if one is None or one.event > read.asked:
            continue
        before, after = looks.around(read.node, one.asked, read.event)
        if before is None or after is None or not (looks.small(before) and looks.small(after)):
            continue
        shown = f"HW {one.high_watermark}, then {read.high_watermark} on {read.node} with the ISR {before.isr}"
        by = (before.event, one.event, read.event)
        if read.high_watermark > one.high_watermark and looks.alone(before, before.asked, read.event):
            yield Finding(False, "watermark", by, shown)
        elif read.full and read.log_end > read.high_watermark == one.high_watermark:
            yield Finding(True, "watermark", by)
