"""The story of the metadata quorum: what controllers answered about leader, epoch, votes and log, and the files on their
disks."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from conformance.judging.changes import Change, ChangedBy, changed_by
from conformance.judging.excuses import Evidence
from conformance.judging.facts.exchange import Exchange, by_asked, by_event
from conformance.judging.facts.gauges import AppliedOffset, RaftGauges
from conformance.judging.facts.metadata_log import MetadataLogOnDisk
from conformance.judging.facts.quorum import (
    ForgedRequest,
    KnownLeader,
    MetadataFetch,
    QuorumDescription,
    RequestToPeer,
    StoredEpochs,
    StoredState,
    VoteResult,
)
from conformance.judging.judge import Excuse
from conformance.judging.quorum.evidence import CONTROLLER_DISK_LOST, REQUEST_FORGED, VOTERS_SCRIPTED
from conformance.judging.story import Story
from conformance.judging.timeline import NEVER, Timeline
from history.effects import LOG_LOSSES, Effects
from history.subjects import Kind

E = TypeVar("E", bound=Exchange)


class QuorumStory(Story):
    """The metadata quorum; the lists are in the order of the answers.

    The story ends when a controller loses its quorum-state: from then on a voter may vote twice in an epoch.
    """

    kind: ClassVar[Kind] = "quorum"
    ends_with_quorum_state: ClassVar[bool] = True

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.known: list[KnownLeader] = []
        self.votes: list[VoteResult] = []
        self.described: list[QuorumDescription] = []
        self.fetched: list[MetadataFetch] = []
        self.states: list[StoredState] = []
        self.stored_epochs: list[StoredEpochs] = []
        self.peer_requests: list[RequestToPeer] = []
        self.forged: list[ForgedRequest] = []
        self.logs: list[MetadataLogOnDisk] = []
        self.gauges: list[RaftGauges] = []
        self.applied: list[AppliedOffset] = []
        self._taken: dict[type[Any], list[Any]] = {
            KnownLeader: self.known,
            VoteResult: self.votes,
            QuorumDescription: self.described,
            MetadataFetch: self.fetched,
            StoredState: self.states,
            StoredEpochs: self.stored_epochs,
            RequestToPeer: self.peer_requests,
            ForgedRequest: self.forged,
            MetadataLogOnDisk: self.logs,
            RaftGauges: self.gauges,
            AppliedOffset: self.applied,
        }

    def add_fact(self, fact: Any) -> None:
        self._taken[type(fact)].append(fact)

    # --- what can be judged

    @property
    def is_scripted(self) -> bool:
        """True if the kit plays voters, whose answers are arbitrary."""
        return bool(self.peer_requests)

    @property
    def has_several_voters(self) -> bool:
        return self.is_scripted or len(self.timeline.controller_names) > 1

    @cached_property
    def disk_lost_at(self) -> int:
        """The first event at which a fault removed records of the metadata log, or more, from a controller; NEVER if none did."""
        controllers = self.timeline.controller_names
        return min(
            (
                span.began
                for span in self.timeline.spans
                if loses_metadata_records(span.effects) and not controllers.isdisjoint(span.nodes)
            ),
            default=NEVER,
        )

    @cached_property
    def forged_at(self) -> int:
        """The first request that the kit sent under a voter's id and that was not refused; NEVER without one."""
        ids = {self.timeline.ids[name] for name in self.timeline.controller_names}
        ids |= {voter.replica_id for one in self.described for voter in one.said.current_voters}
        return min((one.asked for one in self.forged if one.sender in ids), default=NEVER)

    def judgeable_facts(self, facts: Sequence[E]) -> list[E]:
        """Return the facts by which a single node can be judged: those before a controller lost its disk."""
        return [one for one in facts if one.event < self.disk_lost_at] if self.has_several_voters else []

    def comparable_facts(self, facts: Sequence[E]) -> list[E]:
        """Return the facts by which nodes can be compared: those before a forged request, if the kit plays no voter."""
        return [] if self.is_scripted else [one for one in self.judgeable_facts(facts) if one.event < self.forged_at]

    def left_out_of(self, facts: Sequence[Exchange], *, alone: bool = False) -> Iterator[Evidence]:
        """Yield once each reason why facts cannot be compared or, if `alone`, why one node cannot be judged alone."""
        last = max((one.event for one in facts), default=-1)
        if self.has_several_voters and (self.left_out or last >= self.disk_lost_at):
            yield CONTROLLER_DISK_LOST
        if not alone and self.is_scripted and facts:
            yield VOTERS_SCRIPTED
        elif not alone and self.has_several_voters and last >= self.forged_at:
            yield REQUEST_FORGED

    # --- changes

    @cached_property
    def changed_by(self) -> ChangedBy:
        """The faults that hit controllers or their links and caused a change: a leader of a later epoch, or a new process of a
        controller."""
        return changed_by(self.timeline, sorted([*self._leader_changes(), *self._new_processes()]))

    def _leader_changes(self) -> Iterator[Change]:
        """Yield the answers that name the leader of a later epoch than all before."""
        last: KnownLeader | None = None
        for one in self.known:
            if one.leader >= 0 and (last is None or one.epoch > last.epoch):
                if last is not None:
                    yield Change(one.event, self._names((last.leader, one.leader)))
                last = one

    def _new_processes(self) -> Iterator[Change]:
        """Yield the first answer of each later process of a controller."""
        latest: dict[str, int] = {}
        for one in self.known:
            if one.node in self.timeline.controller_names and one.incarnation > latest.get(one.node, 0):
                latest[one.node] = one.incarnation
                yield Change(one.event, frozenset((one.node,)))

    def _names(self, ids: Iterable[int]) -> frozenset[str]:
        return frozenset(self.timeline.names[id] for id in ids if id in self.timeline.names)


def loses_metadata_records(effects: Effects) -> bool:
    """True if the fault loses records of the metadata log, alone or together with those of every partition."""
    return "log-dir" in effects.disk or (effects.every_partition and not LOG_LOSSES.isdisjoint(effects.disk))


def in_real_time(facts: Sequence[E]) -> Iterator[tuple[E, list[E]]]:
    """Yield each fact, in the order of the requests, with the facts that were answered since the previous one and before its
    request."""
    answered, place = sorted(facts, key=by_event), 0
    for one in sorted(facts, key=by_asked):
        later = bisect_left(answered, one.asked, lo=place, key=by_event)
        yield one, answered[place:later]
        place = later


def by_node(facts: Iterable[E]) -> dict[str, list[E]]:
    """Return the facts of each node."""
    found: dict[str, list[E]] = {}
    for one in facts:
        found.setdefault(one.node, []).append(one)
    return found


def excuses(story: QuorumStory, facts: Sequence[Exchange], case: str, *, alone: bool = False) -> Iterator[Excuse]:
    """Yield why facts about a case were left out, as in `QuorumStory.left_out_of`."""
    for evidence in story.left_out_of(facts, alone=alone):
        yield Excuse(evidence, case)
