"""The story of each partition that a history tells of: what was read, written, said and broken, in the order of the answers.

It is taken out of the history in one pass and shared by all judges of the log (KIP-101, KIP-320). Everything in it is named by
the number of the event that shows it, so `one.event < other.event` says what was known first. A story ends where a controller
lost its quorum-state: from then on two leaders of one epoch are legal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf

from conformance.judging.facts.log import (
    Commit,
    Committed,
    Delivered,
    End,
    Held,
    Listed,
    LogRead,
    OnDisk,
    Refusal,
    Seen,
    Step,
    Told,
    Trim,
    Write,
)
from conformance.judging.timeline import Cluster, Span
from history.effects import Effects


class PartitionStory:
    """One partition; lists are in the order of the answers."""

    def __init__(self, name: str, cluster: Cluster, configs: dict[str, str]) -> None:
        self.name = name
        self.cluster = cluster
        self.configs = configs
        self.reads: list[LogRead] = []
        self.refusals: list[Refusal] = []
        self.writes: list[Write] = []
        self.seen: list[Seen] = []
        self.ends: list[End] = []
        self.listed: list[Listed] = []
        self.trims: list[Trim] = []
        self.commits: list[Commit] = []
        self.committed: list[Committed] = []
        self.delivered: list[Delivered] = []
        self.steps: list[Step] = []
        self.disk: list[OnDisk] = []
        self.knowledge: object = None
        """What was found out of it for several judges (`knowledge`)."""
        self.elections: list[int] = []
        """The calls by which an unclean election of it was asked for."""

    # --- preconditions

    @property
    def deletes(self) -> bool:
        """cleanup.policy=delete: replicas hold the same bytes, and offsets have no holes. Internal topics are compacted."""
        return not self.name.startswith("__") and "compact" not in self.configs.get("cleanup.policy", "delete")

    @property
    def min_insync_replicas(self) -> int:
        return int(self.configs.get("min.insync.replicas", "1"))

    @cached_property
    def losses(self) -> list[int]:
        """The events at which what was acknowledged before may have been lost by permission.

        An unclean election; disks that lost something, of as many replicas as acks=all may have waited for, or of one that led
        all the same; a lost epoch file, without which a replica may keep what the leader has not; a leader that was in nobody's
        ISR when the partition had none (a last-known-leader election of KIP-966).
        """
        files = [event for span in self._hits(_loses_epochs) for event in span.phases]
        # One that names no partition is asked for by an ElectLeaders in the history.
        unclean = [event for span in self._hits(_elects_uncleanly) if span.partition for event in span.phases]
        return sorted([*self.elections, *unclean, *self._lost_disks(), *files, *self._last_known_leaders()])

    def clean_since(self, event: int) -> bool:
        """Is the history clean and the disk intact from this event on (INV-05, INV-06, INV-07)?"""
        return not self.losses or self.losses[-1] < event

    def clean_between(self, first: int, second: int) -> bool:
        """Was nothing lost by permission between two events?"""
        return bisect_left(self.losses, first) == bisect_left(self.losses, second)

    def _hits(self, does: Callable[[Effects], bool]) -> list[Span]:
        """Faults with these effects that were aimed at a replica of this partition, or at all that a broker holds."""
        mine = ("", self.name)
        hits = (span for span in self.cluster.spans if span.partition in mine or span.effects.every_partition)
        return [span for span in hits if does(span.effects)]

    def _lost_disks(self) -> Iterator[int]:
        hits = self._hits(_damages_log)
        for span in hits:
            standing = [one for one in hits if one.began <= span.began < one.ended]
            damaged = {node: one.began for one in standing for node in one.nodes}
            if len(damaged) >= self.min_insync_replicas:
                yield sorted(damaged.values())[-self.min_insync_replicas]
            if any(self._led_alone(node, span.began) for node in span.nodes):
                yield span.began

    def _led_alone(self, node: str, event: int) -> bool:
        """May the node have been the only one in the ISR: as some broker saw it, or since it led next all the same?"""
        last = {seen.node: seen for seen in self.seen if seen.event < event}
        if any(len(seen.isr) < 2 for seen in last.values()):
            return True
        after = [epoch for epoch in self.leaders if epoch > self.newest_epoch_before(event)]
        return bool(after) and self.leaders[min(after)] == node

    def _last_known_leaders(self) -> Iterator[int]:
        leaderless: Seen | None = None
        for seen in sorted(self.seen, key=lambda one: (one.epoch, one.event)):
            if seen.leader < 0:
                leaderless = seen
            elif leaderless is not None and seen.epoch > leaderless.epoch:
                if seen.leader not in leaderless.isr:
                    yield leaderless.event
                leaderless = None

    @cached_property
    def files_lost(self) -> dict[str, int]:
        """Nodes whose epoch file or log was damaged, with the event of the first time."""
        return self._first_hits(lambda effects: effects.loses_epochs or effects.damages_log)

    def file_intact(self, node: str, event: int) -> bool:
        return self.files_lost.get(node, event + 1) > event

    @cached_property
    def maps_lost(self) -> dict[str, int]:
        """Nodes whose epoch file alone was damaged, with the event of the first time."""
        return self._first_hits(_loses_epochs)

    def maps_intact(self, event: int) -> bool:
        """Had every replica its epochs until then? One that had not may have kept a tail of its own, and handed it on."""
        return all(first > event for first in self.maps_lost.values())

    def _first_hits(self, does: Callable[[Effects], bool]) -> dict[str, int]:
        found: dict[str, int] = {}
        for span in self._hits(does):
            for node in span.nodes:
                found.setdefault(node, span.began)
        return found

    @cached_property
    def rotten(self) -> bool:
        """Were bytes of it flipped? A batch with a wrong CRC is then none of Kafka's."""
        return bool(self._first_hits(lambda effects: "log-bytes" in effects.disk))

    def stays(self, node: str) -> bool:
        """Was it always a replica? One that is taken away and given back begins anew."""
        return node in self._always

    @cached_property
    def _always(self) -> set[str]:
        names = self.cluster.names
        moved = {node for span in self._hits(lambda effects: effects.moves_replicas) for node in span.nodes}
        always = set(names.values()) - moved
        for seen in self.seen:
            if seen.replicas:
                always &= {names.get(id, "") for id in seen.replicas}
        return always

    # --- who led

    @cached_property
    def leaders(self) -> dict[int, str]:
        """Epoch -> name of its leader, as first seen."""
        found: dict[int, str] = {}
        for seen in self.seen:
            if seen.leader >= 0:
                found.setdefault(seen.epoch, self.cluster.names.get(seen.leader, ""))
        return found

    def may_lead(self, epoch: int) -> bool:
        """Did the epoch have a leader, as far as anybody said?"""
        return epoch in self.leaders or epoch not in self._first_named

    def began(self, epoch: int) -> int:
        """The event that first named an epoch; -1 where none did."""
        return self._first_named.get(epoch, -1)

    @cached_property
    def _first_named(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for seen in self.seen:
            found.setdefault(seen.epoch, seen.event)
        return found

    def led(self, told: LogRead | End | Listed) -> bool:
        """Was it answered by the leader of the epoch that it named?"""
        return told.cur >= 0 and self.leaders.get(told.cur) == told.node

    def incarnation(self, told: Told | Seen) -> int:
        return self.cluster.incarnation(told.node, told.event)

    def newest_epoch_before(self, event: int) -> int:
        """The newest epoch that anybody had named before; -1 for none."""
        place = bisect_left(self._epochs_by_event, event, key=lambda pair: pair[0])
        return self._epochs_by_event[place - 1][1] if place else -1

    @cached_property
    def _epochs_by_event(self) -> list[tuple[int, int]]:
        newest = -1
        return [(seen.event, newest := max(newest, seen.epoch)) for seen in self.seen]

    # --- at rest

    def at_rest(self, told: Told | OnDisk | Seen) -> bool:
        return 0 <= self.cluster.rest < told.event

    @cached_property
    def batches(self) -> list[tuple[Held, int]]:
        """All that were ever read, each with the event of the first time."""
        found: dict[int, tuple[Held, int]] = {}
        for read in self.reads:
            for batch in read.batches:
                found.setdefault(id(batch), (batch, read.event))
        return list(found.values())

    @cached_property
    def highest_log_start(self) -> float:
        """How far the log start may have been anywhere; faults that move it do not tell."""
        if self._hits(lambda effects: effects.moves_log_start):
            return inf
        trims = (max(trim.offset, trim.low_watermark) if trim.offset >= 0 else inf for trim in self.trims)
        return max([0.0, *trims, *(read.log_start for read in self.reads)])

    @cached_property
    def whole_reads(self) -> list[LogRead]:
        return [read for read in self.reads if read.whole]


def _loses_epochs(effects: Effects) -> bool:
    return effects.loses_epochs


def _damages_log(effects: Effects) -> bool:
    return effects.damages_log


def _elects_uncleanly(effects: Effects) -> bool:
    return effects.elects_uncleanly
