"""Damage to the replicas of a partition by faults: lost or corrupt records, lost leader epoch caches."""

from collections.abc import Callable, Iterable
from functools import cached_property
from math import inf

from conformance.judging.excuses import BYTES_FLIPPED, DAMAGED_REPLICA, EPOCH_CACHE_LOST, Evidence
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import NEVER, FaultSpan
from history.effects import Effects

CHECKPOINT_TIMEOUT = 10.0
"""Seconds after which a broker has certainly written its high watermarks to replication-offset-checkpoint: twice its 5 s."""


class ReplicaDamage:
    """The faults that were aimed at a replica of one partition, or at all replicas of a broker."""

    def __init__(self, story: PartitionStory) -> None:
        self._story = story
        mine = ("", story.name)
        spans = story.timeline.spans
        self.faults: list[FaultSpan] = [s for s in spans if s.partition in mine or s.effects.every_partition]

    def faults_with(self, does: Callable[[Effects], bool]) -> list[FaultSpan]:
        """Return the faults with these effects."""
        return [span for span in self.faults if does(span.effects)]

    def hit_all(self, ids: Iterable[int], by: int, does: Callable[[Effects], bool]) -> bool:
        """True if faults with these effects hit each of the brokers before the event, and none of them has rejoined the ISR."""
        names = {self._story.timeline.names.get(id, "") for id in ids}
        hits = (
            (span, node) for span in self.faults_with(does) if span.began < by for node in span.nodes if node in names
        )
        return names <= {node for span, node in hits if by <= self.rejoins_at(node, span)}

    # --- records

    def damage_at(self, node: str, event: int) -> Evidence | None:
        """Return the damage to a node's log or leader epoch cache that persists at an event; None without any."""
        lasting = (by for began, end, by in self._damages.get(node, ()) if began <= event < end)
        return min(lasting, default=None)

    @cached_property
    def _damages(self) -> dict[str, list[tuple[int, float, Evidence]]]:
        """The damage to each node: the event of the injection, the event until which the damage persists, and the evidence.

        A replica fetches the lost part of its log again before it rejoins the ISR. Flipped bytes stay, as do missing leader
        epochs of batches that the replica kept.
        """
        found: dict[str, list[tuple[int, float, Evidence]]] = {}
        for span in self.faults_with(lambda effects: effects.loses_epochs or effects.damages_log):
            for node in span.nodes:
                if span.effects.loses_epochs:
                    found.setdefault(node, []).append((span.began, inf, EPOCH_CACHE_LOST))
                if "log-bytes" in span.effects.disk:
                    found.setdefault(node, []).append((span.began, inf, BYTES_FLIPPED))
                elif span.effects.damages_log:
                    found.setdefault(node, []).append((span.began, self.rejoins_at(node, span), DAMAGED_REPLICA))
        return found

    def rejoins_at(self, node: str, span: FaultSpan) -> float:
        """Return the event by which a broker saw the node rejoin the ISR after the fault; infinite if none did.

        By then the node has the leader's log. A node that never left the ISR may be in it with an empty log.
        """
        id, back = self._story.timeline.ids.get(node, -1), min(span.witnessed, span.undone, span.ended)
        found = inf
        for view in self._story.metadata_by_incarnation.values():
            left = next((seen.event for seen in view if seen.asked > span.began and id not in seen.isr), NEVER)
            since = (seen.event for seen in view if seen.asked > max(left, back) and id in seen.isr)
            found = min(found, next(since, inf))
        return found

    def may_have_lost_producers(self, node: str, since: int, event: int) -> bool:
        """True if the node (any node, if empty) may have lost, by an event, the state of a producer that appended at `since`.

        A node rebuilds the state from the batches that it fetches again, so the state is complete once the node has rejoined the
        ISR. Lost snapshots are not rebuilt: the node keeps the log that they summarise, and does not read it again.
        """
        hits = ((span, one) for span in self.faults_with(lambda effects: effects.loses_producers) for one in span.nodes)
        mine = ((span, one) for span, one in hits if node in ("", one) and span.began < event)
        before = ((span, one) for span, one in mine if since < min(span.witnessed, span.undone, span.ended))
        return any(not span.effects.damages_log or event < self.rejoins_at(one, span) for span, one in before)

    def is_corrupt(self, event: float) -> bool:
        """True if the kit flipped bytes on a disk before an event, which explains a batch with a wrong CRC."""
        return any("log-bytes" in span.effects.disk and span.nodes and span.began < event for span in self.faults)

    @cached_property
    def appended_since(self) -> float:
        """The event after which faults may have appended records that no request in the history sent; infinite if none did."""
        return min((span.began for span in self.faults_with(lambda effects: effects.appends)), default=inf)

    # --- leader epoch caches

    def comparable_below(self, event: int, *nodes: str) -> float:
        """Return the offset below which logs must agree by an event; infinite if every replica has its leader epochs.

        A replica that lost leader-epoch-checkpoint truncates to its high watermark. Its suffix above that may differ until the
        replica has rejoined the ISR. If nodes are given, the loss on another node matters to them only if that node leads
        afterwards.
        """
        lost = [
            (span, node)
            for span in self.faults_with(lambda effects: effects.loses_epochs)
            if span.began < event
            for node in span.nodes
        ]
        if nodes:
            lost = [(span, node) for span, node in lost if node in nodes or self._has_led_since(node, span)]
        return min(
            (self._watermark_before(n, s.began) for s, n in lost if not self._has_rejoined(n, s, event)),
            default=inf,
        )

    def _has_led_since(self, node: str, span: FaultSpan) -> bool:
        id = self._story.timeline.ids.get(node, -1)
        return any(seen.leader == id and seen.event > span.began for seen in self._story.metadata)

    def checkpointed_high_watermark(self, node: str, event: int) -> int:
        """Return a high watermark that the node had certainly checkpointed by an event; 0 without one."""
        if any(
            node in span.nodes and span.began <= event
            for span in self.faults_with(
                lambda effects: bool({"watermark-checkpoint", "log-dir", "replica"} & {*effects.disk})
            )
        ):
            return 0
        timeline = self._story.timeline
        written = timeline.earlier(event, CHECKPOINT_TIMEOUT)
        idle = [span for span in timeline.spans if node in span.nodes and span.effects.idles_processes]
        reads = (read for read in self._story.reads if read.node == node and read.event <= written)
        running = (read for read in reads if not any(read.event < span.ended and span.began < event for span in idle))
        return max((read.high_watermark for read in running), default=0)

    def _watermark_before(self, node: str, event: int) -> int:
        """Return the highest high watermark in the node's answers before the event."""
        reads = (read for read in self._story.reads if read.node == node and read.event < event)
        return max((read.high_watermark for read in reads), default=0)

    def _has_rejoined(self, node: str, lost: FaultSpan, event: int) -> bool:
        """True if a Metadata request after the node came back showed it in the ISR."""
        id, back = self._story.timeline.ids.get(node, -1), min(lost.undone, lost.ended)
        return any(back < seen.asked and seen.event < event and id in seen.isr for seen in self._story.metadata)
