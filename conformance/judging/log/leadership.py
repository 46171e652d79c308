"""The leaders of a partition: the node that led each epoch, and the epochs known at each event."""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from conformance.judging.facts.log import FetchResult, PartitionAtBroker
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import CONVERGENCE_TIMEOUT


class EpochAnswer(Protocol):
    """A node's answer to a request; `cur` is the request's current leader epoch, or -1."""

    @property
    def node(self) -> str: ...

    @property
    def cur(self) -> int: ...


def next_change_of_leader(leaders: Mapping[int, Any], known: int) -> int | None:
    """Return the first epoch above `known` whose leader differs from that of the last epoch up to `known`; None without one."""
    former = max((epoch for epoch in leaders if epoch <= known), default=-1)
    later = sorted(epoch for epoch in leaders if epoch > known)
    return next((epoch for epoch in later if leaders[epoch] != leaders.get(former)), None)


def may_lag(story: PartitionStory, seen: PartitionAtBroker) -> bool:
    """True if the broker did nothing, or was cut off from the controllers, until shortly before this answer."""
    spans = story.timeline.active_faults(story.timeline.earlier(seen.event, CONVERGENCE_TIMEOUT), seen.event)
    away = (span for span in spans if span.effects.idles_processes or span.effects.cut_off)
    return any(seen.node in span.nodes or span.effects.every_broker for span in away)


class Leadership:
    """The leader of each epoch of one partition, by the Metadata answers of all brokers."""

    def __init__(self, story: PartitionStory) -> None:
        self._story = story
        names = story.timeline.names
        self.leaders: dict[int, str] = {}
        """Epoch -> name of its leader, by the first Metadata that has one."""
        self._first_named: dict[int, int] = {}
        for seen in story.first_metadata:
            self._first_named.setdefault(seen.epoch, seen.event)
            if seen.leader >= 0:
                self.leaders.setdefault(seen.epoch, names.get(seen.leader, ""))

    def epochs_of(self, node: str) -> list[int]:
        """Return the epochs that a node led, in their order."""
        return self._epochs_by_leader.get(node, [])

    @cached_property
    def _epochs_by_leader(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for epoch, node in sorted(self.leaders.items()):
            found.setdefault(node, []).append(epoch)
        return found

    def is_named(self, epoch: int) -> bool:
        """True if any Metadata answer named this epoch, with or without a leader."""
        return epoch in self._first_named

    def may_have_leader(self, epoch: int) -> bool:
        """False if Metadata named this epoch only without a leader."""
        return epoch in self.leaders or epoch not in self._first_named

    def first_named(self, epoch: int) -> int:
        """Return the event that first named an epoch, which had begun by then; -1 if none did."""
        return self._first_named.get(epoch, -1)

    @property
    def first_epoch(self) -> int:
        """The epoch in the first Metadata answer; -1 without one."""
        return next(iter(self._first_named), -1)

    def newest_epoch_before(self, event: int) -> int:
        """Return the newest epoch that any Metadata answer had named before; -1 without one."""
        events, epochs = self._epochs_by_event
        place = bisect_left(events, event)
        return epochs[place - 1] if place else -1

    @cached_property
    def _epochs_by_event(self) -> tuple[list[int], list[int]]:
        """The events that named an epoch newer than all before, and these epochs."""
        events: list[int] = []
        epochs: list[int] = []
        for epoch, event in self._first_named.items():
            if not epochs or epoch > epochs[-1]:
                events.append(event)
                epochs.append(epoch)
        return events, epochs

    # --- what a leader answered

    def is_from_leader(self, answer: EpochAnswer) -> bool:
        """True if the answer came from the leader of the epoch that the request named."""
        return answer.cur >= 0 and self.leaders.get(answer.cur) == answer.node

    @cached_property
    def leader_reads(self) -> list[FetchResult]:
        """The reads that came from the leader of the epoch that they named."""
        return [read for read in self._story.reads if self.is_from_leader(read)]

    def role_of(self, read: FetchResult) -> str:
        """Return the role of the responding replica in the request's leader epoch, or else in the newest; empty if that epoch's
        leader is unknown."""
        leader = self.leaders.get(read.cur if read.cur >= 0 else self.newest_epoch_before(read.asked))
        return "" if leader is None else "leader" if leader == read.node else "follower"
