"""The replicas of a partition over time: requests and faults may move them to other brokers."""

from bisect import bisect_left
from functools import cached_property

from conformance.judging.facts.exchange import by_event
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import NEVER, FaultSpan, was_active_throughout


class Replicas:
    """The brokers that hold one partition, according to Metadata, requested reassignments, and faults."""

    def __init__(self, story: PartitionStory) -> None:
        self._story = story
        self._names = story.timeline.names

    def is_replica(self, node: str) -> bool:
        """True if the node is a replica in the last Metadata answer. A former replica may still have the directory."""
        metadata = self._story.metadata
        return not metadata or self._story.timeline.ids.get(node, -1) in metadata[-1].replicas

    def was_always_replica(self, node: str, event: int) -> bool:
        """True if the node was always a replica up to an event. A replica that is removed and added again starts with an empty
        log."""
        return self._moved_since.get(node, NEVER) >= event

    @cached_property
    def _moves(self) -> list[FaultSpan]:
        return self._story.derive(ReplicaDamage).faults_with(lambda effects: effects.moves_replicas)

    @cached_property
    def _moved_since(self) -> dict[str, int]:
        """The nodes that may not always have been replicas, each with the event since which it may have been one; -1 for the
        beginning."""
        names = self._names
        left = [(span.began, node) for span in self._moves for node in span.nodes]
        for one in self._story.reassignments:
            if one.replicas is not None and not one.is_refused:  # a cancellation removes only the added replicas
                left += [(one.asked, name) for id, name in names.items() if id not in one.replicas]
        for place, seen in enumerate(self._story.first_metadata):
            event = seen.event if place else -1
            left += [(event, name) for id, name in names.items() if seen.replicas and id not in seen.replicas]
        return {node: event for event, node in sorted(left, reverse=True)}

    @cached_property
    def changed_from(self) -> int:
        """The event from which a request or a fault may have given the partition other replicas."""
        story = self._story
        first = {*story.metadata[0].replicas} if story.metadata else set[int]()
        asked = (one.asked for one in story.reassignments if not one.is_refused and {*(one.replicas or first)} != first)
        return min([*asked, *(span.began for span in self._moves)], default=NEVER)

    def fewest_replicas(self, event: int, since: int = -1) -> int:
        """Return the smallest number of replicas that the partition may have had between two events. acks=all may have waited for
        no more."""
        metadata = self._story.metadata
        first, last = (bisect_left(metadata, one, key=by_event) for one in (since, event))
        seen = [len(one.replicas) for one in metadata[max(first - 1, 0) : last]]
        asked = (one for one in self._story.reassignments if one.replicas and not one.is_refused and one.asked < event)
        return min([*seen, *(len(one.replicas or ()) for one in asked)], default=1)

    def was_out_of_sync(self, node: str, event: int) -> bool:
        """True if the node was seen outside the ISR before an event."""
        id = self._story.timeline.ids.get(node, -1)
        looks = (seen for seen in self._story.first_metadata if seen.event < event)
        return any(id in seen.replicas and id not in seen.isr for seen in looks)

    def was_offline(self, node: str, first: int, second: int) -> bool:
        """True if the node's replica was certainly in a failed log directory from one event to the other.

        A replica that is added again may be in another directory.
        """
        return (
            bool(self._failures)
            and self.was_always_replica(node, second)
            and was_active_throughout(self._failures, node, first, second)
        )

    @cached_property
    def _failures(self) -> list[FaultSpan]:
        """The faults that failed log directories of this partition, not of an earlier partition of the same name."""
        failed = self._story.derive(ReplicaDamage).faults_with(lambda effects: effects.fails_directory)
        return [span for span in failed if span.began > self._story.created_at]
