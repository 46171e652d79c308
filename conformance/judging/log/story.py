"""The story of each partition: what was read, produced, answered and broken, in the order of the answers (KIP-101, KIP-320).

Everything in it goes by the number of the event that shows it, so `one.event < other.event` says what was known first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import msgspec

from conformance.judging.facts.exchange import UNKNOWN_OUTCOME, Exchange
from conformance.judging.facts.groups import ConsumedRecord, FetchedOffset, OffsetCommit, ReaderStep
from conformance.judging.facts.log import (
    CONTROLLER_UNKNOWN,
    FUTURE_REPLICA,
    NETWORK_EXCEPTION,
    REQUEST_TIMED_OUT,
    Batch,
    BesideFailedDirectory,
    DeleteRecordsResult,
    EpochEndOffset,
    ErrorResponse,
    FetchResult,
    ListedOffset,
    PartitionMetadata,
    PartitionState,
    ProduceResult,
    RegisteredPartition,
    RegisteredStates,
    ReplicaOnDisk,
    UncleanElectionResult,
)
from conformance.judging.facts.reassignments import ReassignmentResult
from conformance.judging.facts.transactions import DescribedProducers
from conformance.judging.recreations import ProducedToDeleted
from conformance.judging.story import Story
from conformance.judging.timeline import FaultSpan, Timeline, stood
from history.effects import Effects
from history.subjects import Kind

Incarnation = tuple[str, int]
"""A node's name and which of its incarnations."""


class _View:
    """The Metadata of one incarnation of a node; how often the node has shown each state, over all incarnations.

    `settled` is the state that it showed last, if that was no news.
    """

    def __init__(self, incarnation: int, shown: dict[PartitionState, int]) -> None:
        self.incarnation = incarnation
        self.metadata: list[PartitionMetadata] = []
        self.shown = shown
        self.settled: PartitionState | None = None


class PartitionStory(Story):
    """One partition; lists are in the order of the answers.

    It ends where a controller lost its quorum-state: from then on two leaders of one epoch are legal. Internal topics are
    partitions like others.
    """

    kind: ClassVar[Kind] = "partition"
    ends_with_quorum_state: ClassVar[bool] = True

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.topic = name.rpartition("-")[0]
        self.configs = timeline.topic_configs.get(self.topic, {})
        self.reads: list[FetchResult] = []
        self.full_reads: list[FetchResult] = []
        self.errors: list[ErrorResponse] = []
        self.produced: list[ProduceResult] = []
        self.produced_to_deleted: list[ProducedToDeleted] = []
        self.metadata: list[PartitionMetadata] = []
        self.metadata_by_incarnation: dict[Incarnation, list[PartitionMetadata]] = {}
        self.first_metadata: list[PartitionMetadata] = []
        """The first that shows each state."""
        self.changed_metadata: list[PartitionMetadata] = []
        """The first two in which each node shows each state."""
        self.epoch_ends: list[EpochEndOffset] = []
        self.listed: list[ListedOffset] = []
        self.deletions: list[DeleteRecordsResult] = []
        self.commits: list[OffsetCommit] = []
        self.committed: list[FetchedOffset] = []
        self.consumed: list[ConsumedRecord] = []
        self.reader_steps: list[ReaderStep] = []
        self.on_disk: list[ReplicaOnDisk] = []
        self.beside_failed: list[BesideFailedDirectory] = []
        self.registered: list[RegisteredPartition] = []
        self.registered_states: list[RegisteredStates] = []
        self.unclean_elections: list[UncleanElectionResult] = []
        self.reassignments: list[ReassignmentResult] = []
        self.described_producers: list[DescribedProducers] = []
        self._pieces: dict[str, list[FetchResult]] = {}
        self._views: dict[str, _View] = {}

    # --- taking facts

    def take(self, fact: Any) -> None:
        """Facts of other types are those of a transaction, which are none of the log's."""
        if (taken := self._TAKES.get(type(fact))) is not None:
            taken(self, fact)

    def _take_metadata(self, fact: PartitionMetadata) -> None:
        self.metadata.append(fact)
        view = self._views.get(fact.node)
        if view is None or view.incarnation != fact.incarnation:
            view = self._begin_view(fact)
        view.metadata.append(fact)
        if fact.state is not view.settled:
            self._take_state(fact, view)

    def _begin_view(self, fact: PartitionMetadata) -> _View:
        before = self._views.get(fact.node)
        view = self._views[fact.node] = _View(fact.incarnation, before.shown if before is not None else {})
        self.metadata_by_incarnation[fact.node, fact.incarnation] = view.metadata
        return view

    def _take_state(self, fact: PartitionMetadata, view: _View) -> None:
        """A state that the node has not shown twice yet, or that was another before."""
        if not any(fact.state in one.shown for one in self._views.values()):
            self.first_metadata.append(fact)
        shown = view.shown[fact.state] = view.shown.get(fact.state, 0) + 1
        if shown <= 2:
            self.changed_metadata.append(fact)
        else:
            view.settled = fact.state

    def _take_read(self, read: FetchResult) -> None:
        self.reads.append(read)
        if read.replica_id == FUTURE_REPLICA:
            self._piece_together(read)

    def _piece_together(self, read: FetchResult) -> None:
        """A Fetch shows the rest of one segment: a read is full once a fetch from the end of the last one shows nothing.

        The full read then stands in place of its pieces, with the offsets that the last of them was answered.
        """
        pieces = self._pieces.pop(read.node, [])
        if pieces and not (pieces[0].cur == read.cur and read.fetch_offset == pieces[-1].batches[-1].last + 1):
            pieces = []
        if read.diverging is not None or not (pieces or read.fetch_offset <= read.log_start):
            return
        if read.batches:
            self._pieces[read.node] = [*pieces, read]
            return
        begin = pieces[0] if pieces else read
        batches = tuple([batch for piece in pieces for batch in piece.batches])
        for piece in (read, *reversed(pieces)):
            _remove_last(self.reads, piece)
        full = msgspec.structs.replace(
            read, asked=begin.asked, fetch_offset=begin.fetch_offset, batches=batches, full=True
        )
        self.reads.append(full)
        self.full_reads.append(full)

    _TAKES: ClassVar[dict[type[Any], Callable[[PartitionStory, Any], None]]] = {
        ConsumedRecord: lambda story, fact: story.consumed.append(fact),
        DeleteRecordsResult: lambda story, fact: story.deletions.append(fact),
        DescribedProducers: lambda story, fact: story.described_producers.append(fact),
        EpochEndOffset: lambda story, fact: story.epoch_ends.append(fact),
        ErrorResponse: lambda story, fact: story.errors.append(fact),
        FetchedOffset: lambda story, fact: story.committed.append(fact),
        FetchResult: _take_read,
        ListedOffset: lambda story, fact: story.listed.append(fact),
        OffsetCommit: lambda story, fact: story.commits.append(fact),
        PartitionMetadata: _take_metadata,
        ProducedToDeleted: lambda story, fact: story.produced_to_deleted.append(fact),
        ProduceResult: lambda story, fact: story.produced.append(fact),
        ReaderStep: lambda story, fact: story.reader_steps.append(fact),
        ReassignmentResult: lambda story, fact: story.reassignments.append(fact),
        ReplicaOnDisk: lambda story, fact: story.on_disk.append(fact),
        BesideFailedDirectory: lambda story, fact: story.beside_failed.append(fact),
        RegisteredPartition: lambda story, fact: story.registered.append(fact),
        RegisteredStates: lambda story, fact: story.registered_states.append(fact),
        UncleanElectionResult: lambda story, fact: story.unclean_elections.append(fact),
    }

    @property
    def unanswered(self) -> list[Any]:
        """Also those without an answer to a topic that has since been deleted and created again under the same name."""
        open_ = (UNKNOWN_OUTCOME, REQUEST_TIMED_OUT, NETWORK_EXCEPTION)
        return [
            *(one for one in self.produced if one.error == UNKNOWN_OUTCOME and not one.failed),
            *(one for one in self.deletions if one.error in open_),
            *(one for one in self.reassignments if one.error in CONTROLLER_UNKNOWN),
            *(one for one in self.unclean_elections if not one.granted),
        ]

    # --- preconditions

    @property
    def deletes(self) -> bool:
        """cleanup.policy=delete: replicas hold the same bytes, and offsets have no holes. Internal topics are compacted."""
        policies = {self.configs.get("cleanup.policy"), *self._altered.get("cleanup.policy", ())}
        return not self.internal and not any("compact" in policy for policy in policies if policy is not None)

    @property
    def internal(self) -> bool:
        """Is it written by coordinators or controllers?"""
        return self.name.startswith("__")

    @property
    def from_the_start(self) -> bool:
        """Was it created in this history, so that all requests about it are known?

        Internal topics, and topics of an example that goes on where another one left off, have an earlier past.
        """
        created = self.number > 0 or self.topic in self.timeline.topic_configs or not self.timeline.continues
        return created and not self.internal

    @property
    def sent_before(self) -> dict[str, int] | None:
        """The values that earlier examples sent to it, and how often; None if they are not known."""
        sent = self.timeline.sent_before
        if self.number > 0 or sent is None:
            return {} if self.number > 0 else None
        return sent.get(self.name, {})

    @property
    def retains_by_setting(self) -> bool:
        """Was the topic created with, or altered to, a setting that deletes old segments?"""
        return any("retention." in name for name in {*self.configs, *self._altered})

    @property
    def _altered(self) -> dict[str, set[str | None]]:
        """The values that requests gave to settings of the topic after its creation, or of an earlier one of its name."""
        return self.timeline.altered_topics.get(self.topic, {})

    @property
    def log_start_unbounded_from(self) -> float:
        """The event after which retention or a fault may have moved the log start anywhere; infinite for none."""
        if not self.from_the_start or self.retains_by_setting:
            return -1
        moved = [*self.hits(lambda effects: effects.moves_log_start), *self._retentions]
        return min((span.began for span in moved), default=inf)

    def retained_before(self, event: int) -> list[str]:
        """The retention by which faults had old segments deleted before an event: by size, by time."""
        return sorted({f"retention-{span.effects.retention}" for span in self._retentions if span.began < event})

    @cached_property
    def _retentions(self) -> list[FaultSpan]:
        """Faults that set the retention of the topic: of all its partitions, whichever one the fault was aimed at."""
        spans = (span for span in self.timeline.spans if span.effects.retention != "none")
        return [span for span in spans if span.partition.rpartition("-")[0] in ("", self.topic)]

    def was_away(self, node: str, event: int) -> bool:
        """Was it seen outside the ISR before an event?"""
        id = self.timeline.ids.get(node, -1)
        return any(id in seen.replicas and id not in seen.isr for seen in self.first_metadata if seen.event < event)

    @property
    def appended_by_faults_from(self) -> float:
        """The event after which faults may have appended records that no request in the history sent; infinite for none."""
        return min((span.began for span in self.hits(lambda effects: effects.appends)), default=inf)

    def lived_through(self, event: int) -> list[str]:
        """Witnessed faults after which, before the event, a broker showed another leader, epoch or ISR of this partition."""
        return sorted({fault for fault, changed in self._changed_by if changed < event})

    @cached_property
    def _changed_by(self) -> list[tuple[str, int]]:
        """Each witnessed fault with the first change of leader, epoch or ISR that a broker showed after its injection.

        A change is one between two answers of the same broker: brokers that differ from each other show none.
        """
        last: dict[str, PartitionMetadata] = {}
        changes = []
        for seen in self.metadata:
            old = last.get(seen.node, seen)
            if old.state is not seen.state and _leadership(old) != _leadership(seen):
                changes.append(seen.event)
            last[seen.node] = seen
        since = self.metadata[0].event if self.number > 0 and self.metadata else -1
        mine = (one for one in self.timeline.witnessed if one.began > since)
        first = ((one.fault, bisect_left(changes, one.began)) for one in mine)
        return [(fault, changes[place]) for fault, place in first if place < len(changes)]

    def hits(self, does: Callable[[Effects], bool]) -> list[FaultSpan]:
        """Faults with these effects that were aimed at a replica of this partition, or at all that a broker holds."""
        return [span for span in self._mine if does(span.effects)]

    def all_hit(self, ids: Iterable[int], by: int, does: Callable[[Effects], bool]) -> bool:
        """Did a fault with these effects hit each of the brokers before the event?"""
        names = {self.timeline.names.get(id, "") for id in ids}
        return names <= {node for span in self.hits(does) if span.began < by for node in span.nodes}

    @cached_property
    def _mine(self) -> list[FaultSpan]:
        mine = ("", self.name)
        return [span for span in self.timeline.spans if span.partition in mine or span.effects.every_partition]

    @cached_property
    def damaged(self) -> dict[str, int]:
        """Nodes whose leader epoch cache or log was damaged, with the event of the first time."""
        return self._first_hits(lambda effects: effects.loses_epochs or effects.damages_log)

    def is_undamaged(self, node: str, event: int) -> bool:
        """Were the node's log and leader epoch cache undamaged up to an event?"""
        return self.damaged.get(node, event + 1) > event

    @cached_property
    def epoch_caches_lost(self) -> dict[str, int]:
        """Nodes that lost leader-epoch-checkpoint alone, with the event of the first time."""
        return self._first_hits(_loses_epochs)

    def agree_below(self, event: int) -> float:
        """The offset below which logs must agree by an event; infinite if every replica has its leader epochs.

        A replica that lost leader-epoch-checkpoint truncates to its high watermark. Its suffix above that may differ until the
        replica has rejoined the ISR.
        """
        lost = [span for span in self.hits(_loses_epochs) if span.began < event]
        return min(
            (self._mark_before(n, s.began) for s in lost for n in s.nodes if not self._rejoined(n, s, event)),
            default=inf,
        )

    def _mark_before(self, node: str, event: int) -> int:
        """The highest high watermark that the node had answered before the event."""
        return max((read.high_watermark for read in self.reads if read.node == node and read.event < event), default=0)

    def _rejoined(self, node: str, lost: FaultSpan, event: int) -> bool:
        """Did a Metadata request after it came back show it in the ISR?"""
        id, back = self.timeline.ids.get(node, -1), min(lost.taken_back, lost.ended)
        return any(back < seen.asked and seen.event < event and id in seen.isr for seen in self.metadata)

    def _first_hits(self, does: Callable[[Effects], bool]) -> dict[str, int]:
        found: dict[str, int] = {}
        for span in self.hits(does):
            for node in span.nodes:
                found.setdefault(node, span.began)
        return found

    @cached_property
    def corrupted(self) -> bool:
        """Were bytes of it flipped on a disk? A batch with a wrong CRC is then no batch of Kafka's."""
        return bool(self._first_hits(lambda effects: "log-bytes" in effects.disk))

    @cached_property
    def start_inside_segment(self) -> bool:
        """Was the log start moved into a segment? A crash may set it back behind a leader epoch cache that was trimmed."""
        return bool(self.deletions) or any(span.effects.start_inside_segment for span in self.timeline.spans)

    def is_replica(self, node: str) -> bool:
        """Is it one by the last Metadata? A broker that was down while it ceased to be one may still have the directory."""
        return not self.metadata or self.timeline.ids.get(node, -1) in self.metadata[-1].replicas

    def offline(self, node: str, first: int, second: int) -> bool:
        """Was the node's replica certainly in a failed log directory from one event to the other? One that is added again may be
        in another."""
        since = self.metadata[0].event if self.number > 0 and self.metadata else -1
        failed = (span for span in self.hits(lambda effects: effects.fails_directory) if span.began > since)
        return self.stays(node) and stood(failed, node, first, second)

    def stays(self, node: str) -> bool:
        """Was it a replica all the time? One that is removed and added again starts with an empty log."""
        return node in self._always

    @cached_property
    def _always(self) -> set[str]:
        names = self.timeline.names
        moved = {node for span in self.hits(lambda effects: effects.moves_replicas) for node in span.nodes}
        always = set(names.values()) - moved
        for one in self.reassignments:
            if not one.refused:  # by a cancellation those leave that were being added
                always &= {names.get(id, "") for id in one.replicas} if one.replicas is not None else always
        for seen in self.first_metadata:
            if seen.replicas:
                always &= {names.get(id, "") for id in seen.replicas}
        return always

    @cached_property
    def reassigned(self) -> bool:
        """May it have got another set of replicas, by a request or a fault?"""
        first = {*self.metadata[0].replicas} if self.metadata else set[int]()
        asked = any(not one.refused and {*(one.replicas or first)} != first for one in self.reassignments)
        return asked or bool(self.hits(lambda effects: effects.moves_replicas))

    def fewest_replicas(self, event: int) -> int:
        """The fewest that it may have had before an event: acks=all never waits for more than all of them."""
        seen = [len(one.replicas) for one in self.first_metadata if one.event < event]
        asked = [
            len(one.replicas) for one in self.reassignments if one.replicas and not one.refused and one.asked < event
        ]
        return min([*seen, *asked], default=1)

    # --- changes

    def disturbed_between(self, first: int, second: int) -> bool:
        """Between two events, did a fault begin or end, or was a change of the leader, the ISR or the live brokers seen?"""
        place = bisect_left(self._changes, first + 1)
        changed = place < len(self._changes) and self._changes[place] < second
        return changed or self.timeline.fault_between(first, second)

    @cached_property
    def _changes(self) -> list[int]:
        return [seen.event for seen in self.first_metadata[1:]]

    # --- at rest

    def at_rest(self, fact: Exchange | ReplicaOnDisk) -> bool:
        return 0 <= self.timeline.rest < fact.event

    @cached_property
    def batches(self) -> list[tuple[Batch, int]]:
        """All that were ever read, each with the event of the first time."""
        found: dict[Batch, int] = {}
        for read in self.reads:
            for batch in read.batches:
                found.setdefault(batch, read.event)
        return list(found.items())

    @cached_property
    def highest_log_start(self) -> float:
        """Upper bound of the log start offset on any replica; infinite if a fault may move it."""
        if self.hits(lambda effects: effects.moves_log_start):
            return inf
        deleted = (max(one.offset, one.low_watermark) if one.offset >= 0 else inf for one in self.deletions)
        return max([0.0, *deleted, *(read.log_start for read in self.reads)])


def _remove_last(reads: list[FetchResult], one: FetchResult) -> None:
    del reads[next(place for place in range(len(reads) - 1, -1, -1) if reads[place] is one)]


def _loses_epochs(effects: Effects) -> bool:
    return effects.loses_epochs


def _leadership(seen: PartitionMetadata) -> tuple[int, int, frozenset[int]]:
    return seen.leader, seen.epoch, frozenset(seen.isr)
