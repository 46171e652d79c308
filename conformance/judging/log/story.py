"""The story of each partition: reads, writes, answers and faults, in the order of the answers (KIP-101, KIP-320).

Everything in it has the number of the event that shows it, so `one.event < other.event` says which was known first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import msgspec

from conformance.judging.changes import Change, ChangedBy, changed_by
from conformance.judging.facts import log as facts
from conformance.judging.facts.exchange import UNKNOWN_OUTCOME, Exchange
from conformance.judging.facts.groups import ConsumedRecord, FetchedOffset, OffsetCommitResult, ReaderStep
from conformance.judging.facts.reassignments import ReassignmentResult
from conformance.judging.facts.transactions import DescribedProducers
from conformance.judging.judge import Claim, Judge, story_judge
from conformance.judging.recreations import RequestByFormerId
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind
from protocol.codes import Error

Incarnation = tuple[str, int]
"""A node's name and the number of its incarnation."""


class _View:
    """The partition's states in the Metadata of one broker incarnation, and how often the broker has shown each state over all
    incarnations.

    `settled` is the state that it showed last, if it had shown that state before.
    """

    def __init__(self, incarnation: int, shown: dict[facts.PartitionState, int]) -> None:
        self.incarnation = incarnation
        self.metadata: list[facts.PartitionAtBroker] = []
        self.shown = shown
        self.settled: facts.PartitionState | None = None


class PartitionStory(Story):
    """One partition; the lists are in the order of the answers.

    The story ends when a controller loses its quorum-state: from then on two leaders of one epoch are legal. Partitions of
    internal topics have stories too.
    """

    kind: ClassVar[Kind] = "partition"
    ends_with_quorum_state: ClassVar[bool] = True

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.topic = name.rpartition("-")[0]
        self.reads: list[facts.FetchResult] = []
        self.full_reads: list[facts.FetchResult] = []
        self.errors: list[facts.ErrorResponse] = []
        self.produced: list[facts.ProduceResult] = []
        self.asked_by_former_id: list[RequestByFormerId] = []
        self.metadata: list[facts.PartitionAtBroker] = []
        self.metadata_by_incarnation: dict[Incarnation, list[facts.PartitionAtBroker]] = {}
        self.first_metadata: list[facts.PartitionAtBroker] = []
        """The first answer that shows each state."""
        self.changed_metadata: list[facts.PartitionAtBroker] = []
        """The first two answers in which each node shows each state."""
        self.epoch_ends: list[facts.EpochEndOffset] = []
        self.listed: list[facts.OffsetLookup] = []
        self.deletions: list[facts.DeleteRecordsResult] = []
        self.commits: list[OffsetCommitResult] = []
        self.committed: list[FetchedOffset] = []
        self.consumed: list[ConsumedRecord] = []
        self.reader_steps: list[ReaderStep] = []
        self.on_disk: list[facts.ReplicaOnDisk] = []
        self.beside_failed: list[facts.ReplicaInHealthyDirectory] = []
        self.registered: list[facts.RegisteredPartition] = []
        self.registered_states: list[facts.RegisteredStates] = []
        self.unclean_elections: list[facts.UncleanElectionResult] = []
        self.reassignments: list[ReassignmentResult] = []
        self.described_producers: list[DescribedProducers] = []
        self._pieces: dict[str, list[facts.FetchResult]] = {}
        self._views: dict[str, _View] = {}

    # --- taking facts

    def add_fact(self, fact: Any) -> None:
        """Add a fact to its list. Facts of other types, which are about transactions, are ignored."""
        if (taken := self._TAKES.get(type(fact))) is not None:
            taken(self, fact)

    def _take_metadata(self, fact: facts.PartitionAtBroker) -> None:
        self.metadata.append(fact)
        view = self._views.get(fact.node)
        if view is None or view.incarnation != fact.incarnation:
            view = self._begin_view(fact)
        view.metadata.append(fact)
        if fact.state is not view.settled:
            self._take_state(fact, view)

    def _begin_view(self, fact: facts.PartitionAtBroker) -> _View:
        before = self._views.get(fact.node)
        view = self._views[fact.node] = _View(fact.incarnation, before.shown if before is not None else {})
        self.metadata_by_incarnation[fact.node, fact.incarnation] = view.metadata
        return view

    def _take_state(self, fact: facts.PartitionAtBroker, view: _View) -> None:
        """Add a state that the node has not shown twice yet, or that differs from its last one."""
        if not any(fact.state in one.shown for one in self._views.values()):
            self.first_metadata.append(fact)
        shown = view.shown[fact.state] = view.shown.get(fact.state, 0) + 1
        if shown <= 2:
            self.changed_metadata.append(fact)
        else:
            view.settled = fact.state

    def _take_read(self, read: facts.FetchResult) -> None:
        self.reads.append(read)
        if read.replica_id == facts.FUTURE_REPLICA:
            self._join_reads(read)

    def _join_reads(self, read: facts.FetchResult) -> None:
        """Join the reads of a whole log: one Fetch returns the rest of one segment.

        A read is full once a fetch from the end of the last answer returns nothing. The full read, with the offsets of the last
        answer, then replaces its pieces.
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
        RequestByFormerId: lambda story, fact: story.asked_by_former_id.append(fact),
        ConsumedRecord: lambda story, fact: story.consumed.append(fact),
        facts.DeleteRecordsResult: lambda story, fact: story.deletions.append(fact),
        DescribedProducers: lambda story, fact: story.described_producers.append(fact),
        facts.EpochEndOffset: lambda story, fact: story.epoch_ends.append(fact),
        facts.ErrorResponse: lambda story, fact: story.errors.append(fact),
        FetchedOffset: lambda story, fact: story.committed.append(fact),
        facts.FetchResult: _take_read,
        facts.OffsetLookup: lambda story, fact: story.listed.append(fact),
        OffsetCommitResult: lambda story, fact: story.commits.append(fact),
        facts.PartitionAtBroker: _take_metadata,
        facts.ProduceResult: lambda story, fact: story.produced.append(fact),
        ReaderStep: lambda story, fact: story.reader_steps.append(fact),
        ReassignmentResult: lambda story, fact: story.reassignments.append(fact),
        facts.ReplicaOnDisk: lambda story, fact: story.on_disk.append(fact),
        facts.ReplicaInHealthyDirectory: lambda story, fact: story.beside_failed.append(fact),
        facts.RegisteredPartition: lambda story, fact: story.registered.append(fact),
        facts.RegisteredStates: lambda story, fact: story.registered_states.append(fact),
        facts.UncleanElectionResult: lambda story, fact: story.unclean_elections.append(fact),
    }

    def replace_unknown(self, unknown: Any, fact: Any) -> None:
        """Replace a request of unknown outcome by the fact that its answer turned out to be, or by nothing (None)."""
        if unknown is None:
            self.add_fact(fact)
            return
        requests: list[Any] = self._REQUESTS[type(unknown)](self)
        requests[next(n for n, one in enumerate(requests) if one is unknown)] = fact

    _REQUESTS: ClassVar[dict[type[Any], Callable[[PartitionStory], list[Any]]]] = {
        facts.DeleteRecordsResult: lambda story: story.deletions,
        facts.ProduceResult: lambda story: story.produced,
        ReassignmentResult: lambda story: story.reassignments,
        facts.UncleanElectionResult: lambda story: story.unclean_elections,
        OffsetCommitResult: lambda story: story.commits,
    }

    @property
    def open_requests(self) -> list[Any]:
        """The requests of unknown outcome, including those of a deleted topic of the same name."""
        open_ = (UNKNOWN_OUTCOME, Error.REQUEST_TIMED_OUT, Error.NETWORK_EXCEPTION)
        return [
            *(one for one in self.produced if one.error == UNKNOWN_OUTCOME and not one.failed),
            *(one for one in self.deletions if one.error in open_),
            *(one for one in self.reassignments if one.error in facts.CONTROLLER_UNKNOWN),
            *(one for one in self.unclean_elections if not one.granted),
        ]

    # --- the topic

    @property
    def is_internal(self) -> bool:
        """True if coordinators or controllers write the topic."""
        return self.name.startswith("__")

    @property
    def is_known_from_start(self) -> bool:
        """True if the topic was created in this history, so that all requests about it are known.

        Internal topics have an earlier past, as do topics of an example that continues another one.
        """
        created = self.number > 0 or self.topic in self.timeline.created_topics or not self.timeline.continues
        return created and not self.is_internal

    @property
    def sent_before(self) -> dict[str, int] | None:
        """The number of times that earlier examples sent each value to the partition; None if it is unknown."""
        sent = self.timeline.sent_before
        if self.number > 0 or sent is None:
            return {} if self.number > 0 else None
        return sent.get(self.name, {})

    @property
    def log_start_before(self) -> float:
        """The highest log start that requests of earlier examples explain; infinite if these are unknown."""
        return 0 if self.is_known_from_start else self.timeline.log_starts_before.get(self.name, inf)

    # --- changes

    @cached_property
    def changed_by(self) -> ChangedBy:
        """The witnessed faults that caused a change of leader, epoch or ISR, each with the first such change.

        A change is a difference between two answers of the same broker; differences between brokers are none.
        """
        last: dict[str, facts.PartitionAtBroker] = {}
        changes = []
        for seen in self.metadata:
            old = last.get(seen.node, seen)
            if old.state is not seen.state and _leadership(old) != _leadership(seen):
                changes.append(Change(seen.event, self._affected_brokers(old, seen)))
            last[seen.node] = seen
        return changed_by(self.timeline, changes, self.name, self.created_at)

    def _affected_brokers(self, old: facts.PartitionAtBroker, new: facts.PartitionAtBroker) -> frozenset[str]:
        """Return the brokers that lost or got the leadership or its epoch, and those that left or joined the ISR."""
        led = {old.leader, new.leader} if (old.leader, old.epoch) != (new.leader, new.epoch) else set()
        return frozenset(self.timeline.names.get(id, "") for id in led | ({*old.isr} ^ {*new.isr}))

    @property
    def created_at(self) -> int:
        """The event that first described a partition of a recreated topic; -1 for the first topic of its name."""
        return self.metadata[0].event if self.number > 0 and self.metadata else -1

    def disturbed_between(self, first: int, second: int) -> bool:
        """True if, between two events, a fault began or ended, or the leader, the ISR or the live brokers changed visibly."""
        place = bisect_left(self._changes, first + 1)
        changed = place < len(self._changes) and self._changes[place] < second
        return changed or self.timeline.fault_between(first, second)

    @cached_property
    def _changes(self) -> list[int]:
        return [seen.event for seen in self.first_metadata[1:]]

    def is_at_rest(self, fact: Exchange | facts.ReplicaOnDisk) -> bool:
        """True if the answer came after quiescence."""
        return 0 <= self.timeline.rest < fact.event

    @cached_property
    def batches(self) -> list[tuple[facts.ReplicaBatch, int]]:
        """The batches that were ever read, each with the event of its first read."""
        found: dict[facts.ReplicaBatch, int] = {}
        for read in self.reads:
            for batch in read.batches:
                found.setdefault(batch, read.event)
        return list(found.items())


def _remove_last(reads: list[facts.FetchResult], one: facts.FetchResult) -> None:
    del reads[next(place for place in range(len(reads) - 1, -1, -1) if reads[place] is one)]


def _leadership(seen: facts.PartitionAtBroker) -> tuple[int, int, frozenset[int]]:
    return seen.leader, seen.epoch, frozenset(seen.isr)


def log_judge(row: str, *needs: str) -> Callable[[Callable[[PartitionStory], Iterator[Claim]]], Judge]:
    """Make a function over the story of one partition the judge of `row`; see `story_judge`."""
    return story_judge(row, PartitionStory, *needs)
