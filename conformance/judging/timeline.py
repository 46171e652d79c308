"""The parts of a history that all subjects share: nodes, faults and their effects, incarnations, quiescence. Events are fed one
by one."""

from __future__ import annotations

import copy
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from math import inf
from typing import Any

import msgspec

from history.due import COORDINATOR_TIMEOUT, SHARE, START_TIMEOUT, is_starved
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, Fault, Note, Overdue, Premise
from protocol.codes import Error
from protocol.messages import Topic
from protocol.topics import CreatedTopic, CreatePartitions, CreateTopics, DeleteTopics

HEALED = "all faults are healed and nobody writes any more"
"""The premise with which the wait for agreement begins (KIP101-INV-18)."""
AT_REST = "at rest"
"""The premise that all replicas agree. Reads after it count as reads at rest."""
CONVERGENCE_TIMEOUT = 33.0
"""Seconds within which AT_REST must follow HEALED: 30 and the session timeout (KIP101-INV-18, KIP320-REPL-09)."""
RETURNS = frozenset(("heal", "start", "resume"))
"""The actions of faults after which a node may come back."""
CHANGES_TOPICS = frozenset((CreateTopics.op, CreatePartitions.op, DeleteTopics.op))
"""The calls that change which topics there are, or their partitions."""
NOTED = RETURNS | CHANGES_TOPICS
"""The calls that the timeline reads; of all other events it reads any but answers."""
UNCLEAN_ELECTION, MIN_ISR = "unclean.leader.election.enable", "min.insync.replicas"
CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES = "cleanup.policy", "retention.ms", "retention.bytes"
JUDGED_BY = frozenset((UNCLEAN_ELECTION, MIN_ISR, CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES))
"""The settings that judges look up at a given time of a partition."""
NEVER = sys.maxsize
_MAY_HAVE_CREATED = frozenset(
    (
        None,
        Error.NONE,
        Error.UNKNOWN_SERVER_ERROR,
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.NOT_CONTROLLER,
    )
)
"""The errors after which a topic may have been created: none, no answer, or an inconclusive one."""
_IDS_EXPIRE = "transactional.id.expiration.ms"
_EXPIRIES = frozenset(("producer.id.expiration.ms", _IDS_EXPIRE))
"""Settings by which brokers forget idle producers; the second one is for releases without the first (KIP-854)."""


class FaultPhase(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a fault, with the effects of its injection; `partition` is the partition that the fault names, or empty."""

    event: int
    fault: str
    phase: str
    role: str
    nodes: tuple[str, ...]
    partition: str
    effects: Effects


class FaultSpan(msgspec.Struct):
    """The events at which a fault was injected, witnessed, asked to heal and healed; NEVER for those that did not come.

    `phases` are all its events, including the cluster's reactions. `left` has the log ends to which it cut its partition, by
    node, if its witness shows them, and `releases` those that nodes ran by their own logs. `touched` are the nodes whose links it
    hits, unless it hits all.
    """

    fault: str
    nodes: tuple[str, ...]
    partition: str
    effects: Effects
    began: int
    phases: list[int]
    witnessed: int = NEVER
    undone: int = NEVER
    ended: int = NEVER
    left: dict[str, int] = {}
    releases: dict[str, str] = {}
    touched: tuple[str, ...] = ()

    def is_continued_by(self, fault: FaultPhase) -> bool:
        """True if this is a later phase of the fault, on the same nodes and, if both name one, the same partition."""
        if self.ended != NEVER or (fault.fault, fault.nodes) != (self.fault, self.nodes):
            return False
        is_new = fault.phase != "witness" or self.witnessed == NEVER
        return is_new and (fault.partition == self.partition or "" in (fault.partition, self.partition))

    def concerns(self, nodes: Collection[str], brokers: Collection[str]) -> bool:
        """True if the fault hit a process, a link or a disk of one of these nodes; `brokers` are all brokers of the cluster."""
        everywhere = brokers if self.effects.every_broker else ()
        return not (self.effects.spares_nodes or {*nodes}.isdisjoint((*self.nodes, *self.touched, *everywhere)))


class WitnessedFault(msgspec.Struct):
    """A witnessed fault: the events of its injection and of its heal, and all nodes that it targeted or hit."""

    fault: str
    nodes: frozenset[str]
    partition: str
    effects: Effects
    began: int
    ended: int = NEVER

    def may_change(self, nodes: Collection[str], partition: str, brokers: Collection[str]) -> bool:
        """True if the fault may be why these nodes lost or took a role: it hit one of them, or is an election or a reassignment
        of the partition."""
        if self.effects.election != "none" or self.effects.moves_replicas:
            return self.partition in ("", partition) and not self.nodes.isdisjoint(nodes)
        hit = {*self.nodes, *brokers} if self.effects.every_broker else self.nodes
        return not (self.effects.spares_nodes or hit.isdisjoint(nodes))


class Timeline:
    """The timeline of one example so far. `events` has all events that were read, including answers.

    `version` rises with each event that may change how older facts are judged.
    """

    def __init__(self, example: Example, events: Sequence[AnyEvent]) -> None:
        self.names = {int(member["id"]): str(member["name"]) for member in example.members}
        self.ids = {name: id for id, name in self.names.items()}
        self.brokers = frozenset(int(m["id"]) for m in example.members if m.get("role") != "controller")
        self.broker_names = {self.names[id] for id in self.brokers}
        self.controller_names = {str(m["name"]) for m in example.members if m.get("role") != "broker"}
        self.ids_expire_after = int(example.settings.get(_IDS_EXPIRE, NEVER)) / 1000
        """Seconds after which coordinators forget idle transactional ids, if the cluster was started with a setting for that."""
        self.forgets_after = min(
            (int(example.settings[one]) / 1000 for one in _EXPIRIES & {*example.settings}), default=inf
        )
        """Seconds after which brokers forget idle producers, if the cluster was started with a setting for that."""
        self.created_topics: set[str] = set()
        """Topics that were created in this history, or may have been."""
        self.configured: list[object] = []
        """The facts about requests that create a topic, or that alter or describe a setting of JUDGED_BY."""
        self.sent_before = example.sent
        """By partition, the values that earlier examples sent, and how often; None if that is not known."""
        self.log_starts_before = example.log_starts
        """By partition, the highest log start that requests of earlier examples explain, where these set a bound."""
        self.scripted_voters = None if example.scripted is None else frozenset(example.scripted)
        """The ids of the voters that the kit plays; None if that is not known."""
        self.settings = example.settings
        """The settings that the cluster was started with."""
        self.continues = bool(example.context)
        """True if the example continues from what another one prepared."""
        self.spans: list[FaultSpan] = []
        self.witnessed: list[WitnessedFault] = []
        self.faults: list[FaultPhase] = []
        self.healed = -1
        """The event of HEALED, and of AT_REST where it was met; -1 where there is none."""
        self.rest = -1
        self.disagreed = -1
        """The event of AT_REST where it was not met in time."""
        self.deletions: list[tuple[int, frozenset[str]]] = []
        """The requests to delete topics, each with its event and the names and ids of the topics."""
        self.topic_changes: list[int] = []
        """The events of requests to create, grow or delete topics."""
        self.version = 0
        self._injected: dict[str, WitnessedFault] = {}
        self.incarnations: dict[str, int] = {}
        """The number of each node's current incarnation; nodes not listed are in their first one, number 0."""
        self._starts: dict[str, list[int]] = {}
        self._effects: dict[str | tuple[str, str], Effects] = {}
        self._events = events
        self._fault_events: list[int] = []

    # --- feeding

    def feed(self, event: AnyEvent) -> None:
        match event:
            case Call() if event.op in CHANGES_TOPICS:
                self._note_topics(event)
            case Call() if event.op in RETURNS:
                self._note_return(event)
            case Fault():
                self._note_fault(event)
            case Premise():
                self._note_premise(event)

    def note_creations(self, request: CreateTopics, results: Iterable[CreatedTopic], facts: Iterable[object]) -> None:
        """Note the creation of topics, with the facts about it; a refused creation changes nothing."""
        self.configured += facts
        if not request.validate_only:
            errors = {one.name: one.error for one in results}
            self.created_topics |= {one.name for one in request.topics if errors.get(one.name) in _MAY_HAVE_CREATED}

    def _note_topics(self, event: Call) -> None:
        self.topic_changes.append(event.n)
        self.version += 1
        if event.op != DeleteTopics.op:
            return
        topics = [Topic.of(topic) for topic in msgspec.convert(event.request, DeleteTopics).topics]
        self.deletions.append((event.n, frozenset([str(key) for topic in topics for key in (topic.name, topic.id)])))

    def may_be_deleted(self, topics: Collection[str], event: int, since: int = -1) -> bool:
        """True if the deletion of a topic with one of these names or ids was requested before an event, and after another."""
        return any(since < asked < event and not found.isdisjoint(topics) for asked, found in self.deletions)

    def note_settings(self, facts: Iterable[object]) -> None:
        """Note the facts about requests that alter or describe settings of JUDGED_BY."""
        self.configured += facts
        self.version += 1

    def snapshot(self) -> Timeline:
        """Return the current timeline, which further events do not change."""
        kept = copy.copy(self)
        kept.spans, kept.faults = copy.deepcopy(self.spans), [*self.faults]
        kept.witnessed, kept._injected = copy.deepcopy(self.witnessed), {**self._injected}
        kept._fault_events = [*self._fault_events]
        kept.incarnations, kept.configured = {**self.incarnations}, [*self.configured]
        kept._starts = {node: [*starts] for node, starts in self._starts.items()}
        return kept

    def _note_premise(self, event: Premise) -> None:
        if event.what == HEALED and event.met:
            self.healed = event.n
        elif event.what == AT_REST:
            self.rest, self.disagreed = (event.n, -1) if event.met else (-1, event.n)
        self.version += event.what in (HEALED, AT_REST)

    def _note_return(self, call: Call) -> None:
        for span in self.spans:
            mine = call.node in span.nodes or call.request.get("fault") == span.fault
            if mine and span.undone == NEVER:
                span.undone = call.n
                self.version += 1
                self._begin_incarnations(span.effects, span.nodes, call.n)

    def _note_fault(self, event: Fault) -> None:
        fault = self._phase_of(event)
        self.version += 1
        self._note_witness(fault, event)
        if fault.effects.stands:
            self._note_span(fault, event)
        if fault.phase == "consequence":  # the cluster's reaction is no act of the fault
            return
        self.faults.append(fault)
        self._fault_events.append(fault.event)
        self._begin_incarnations(fault.effects, fault.nodes, fault.event)

    def _note_witness(self, fault: FaultPhase, event: Fault) -> None:
        if fault.phase == "inject":
            nodes = frozenset((*fault.nodes, *event.detail.get("touched", ())))
            self._injected[fault.fault] = WitnessedFault(
                fault.fault, nodes, fault.partition, fault.effects, fault.event
            )
        elif fault.phase == "witness" and fault.fault in self._injected:
            one = self._injected[fault.fault]
            one.nodes |= {*fault.nodes}
            one.ended = NEVER if fault.effects.stands else fault.event
            self.witnessed.append(one)
        elif fault.phase == "heal":
            for one in self.witnessed:
                if one.fault == fault.fault and one.ended == NEVER and {*fault.nodes} <= one.nodes:
                    one.ended = fault.event

    def _begin_incarnations(self, effects: Effects, nodes: Sequence[str], event: int) -> None:
        if effects.begins_incarnation:
            for node in self.broker_names if effects.every_broker else nodes:
                self._starts.setdefault(node, []).append(event)
                self.incarnations[node] = len(self._starts[node])

    def effects_of(self, event: Fault) -> Effects:
        """Return the effects of a fault, which are recorded with its injection.

        A witness may name another node than the injection, since a leader may have moved.
        """
        if event.phase == "inject":
            self._effects[event.fault] = self._effects[event.fault, event.node] = event.effects or Effects()
        return self._effects.get((event.fault, event.node)) or self._effects.get(event.fault, Effects())

    def _phase_of(self, event: Fault) -> FaultPhase:
        return FaultPhase(
            event=event.n,
            fault=event.fault,
            phase=event.phase,
            role=event.role,
            nodes=tuple(name for name in event.node.split(",") if name),
            partition=str(event.detail.get("partition", "")),
            effects=self.effects_of(event),
        )

    def _note_span(self, fault: FaultPhase, event: Fault) -> None:
        if fault.phase == "inject":
            span = FaultSpan(fault.fault, fault.nodes, fault.partition, fault.effects, fault.event, [fault.event])
            span.touched = tuple(event.detail.get("touched", ()))
            self.spans.append(span)
            return
        if (found := next((span for span in self.spans if span.is_continued_by(fault)), None)) is not None:
            found.phases.append(fault.event)
            if fault.phase == "witness":
                found.witnessed, found.left, found.releases = fault.event, _log_ends(event), _releases(event)
            elif fault.phase == "heal":
                found.ended = fault.event

    # --- asking

    def time(self, event: int) -> float:
        """Return the seconds since the example began."""
        return self._events[event].t

    def stamp_of(self, event: int) -> float:
        """Return the seconds of the latest timestamp that a Produce sent, given by its call or its answer: a producer's idle time
        counts from then on. Of other events, and without a clock in the history, it is their own time."""
        found = self._events[event]
        call = self._events[found.call] if isinstance(found, Answer) else found
        records = call.request.get("records") if isinstance(call, Call) else None
        stamp = _latest_timestamp(records) if isinstance(records, dict) else None
        began = None if stamp is None else self._unix_begin()
        return found.t if stamp is None or began is None else min(found.t, stamp / 1000 - began)

    def _unix_begin(self) -> float | None:
        """The seconds since 1970 at which the example began, by the kit's first look at the clock; None without one."""
        for event in self._events:
            if isinstance(event, Answer) and isinstance(event.value, dict) and "unix_ms" in event.value:
                return float(event.value["unix_ms"]) / 1000 - event.t
        return None

    def watch_time(self, first: int, second: int, within: float) -> float:
        """Return the seconds until `second`, from `first` or, if later, from the last time the kit watched too rarely for a
        bound.

        The kit watched too rarely if it recorded nothing for a quarter of `within`, or recorded that it woke that late.
        """
        began = first
        for n in range(first + 1, second + 1):
            if is_starved(max(self.time(n) - self.time(n - 1), _lateness_of(self._events[n])), within):
                began = n
        return self.time(second) - self.time(began)

    @property
    def watched_the_wait(self) -> bool:
        """False if the wait for agreement failed and the kit watched too rarely, or woke too late, to know why."""
        began, ended = max(self.healed, 0), self.disagreed
        return ended < 0 or self.watch_time(began, ended, CONVERGENCE_TIMEOUT) == self.time(ended) - self.time(began)

    def earlier(self, event: int, within: float) -> int:
        """Return the event that lies `within` seconds earlier. A stretch without events counts for at most a quarter of
        `within`."""
        left, n, later, most = within, event, self.time(event), SHARE * within
        while n > 0 and left > 0:
            n -= 1
            left -= min(later - (later := self._events[n].t), most)
        return n if left <= 0 else 0

    def incarnation(self, node: str, event: int) -> int:
        """Return the number of the node's incarnation at an event. It rises at each phase of a fault that may have restarted the
        node, and when that fault is undone."""
        return bisect_left(self._starts.get(node, ()), event)

    def faults_between(self, first: int, second: int) -> list[FaultPhase]:
        """Return the phases of faults between two other events."""
        return self.faults[bisect_left(self._fault_events, first + 1) : bisect_left(self._fault_events, second)]

    def fault_between(self, first: int, second: int) -> bool:
        """True if a phase of a fault lies between two other events."""
        place = bisect_left(self._fault_events, first + 1)
        return place < len(self._fault_events) and self._fault_events[place] < second

    def may_be_loading(self, first: int, second: int) -> bool:
        """True if a fault lies between two events, and at the second one stands, or the last one ended so shortly before that a
        coordinator may not have loaded all yet."""
        if not (phases := self.faults_between(first, second)):
            return False
        since = self.watch_time(phases[-1].event, second, COORDINATOR_TIMEOUT)
        stand = (span for span in self.active_faults(second - 1, second) if span.effects.stands)
        return since < COORDINATOR_TIMEOUT or any(stand)

    def active_faults(self, first: int, second: int) -> list[FaultSpan]:
        """Return the faults that were active at any time between two events."""
        return [span for span in self.spans if span.began < second and first < span.ended]

    def faults_on(self, node: str) -> list[FaultSpan]:
        """Return the faults that hit a node."""
        return [span for span in self.spans if span.concerns((node,), self.broker_names)]

    def last_return(self, node: str) -> int:
        """Return the event at which the last fault on a node was undone; -1 if there was none, NEVER while one is active."""
        return max((min(span.undone, span.ended) for span in self.faults_on(node)), default=-1)

    def fault_free_seconds(self, node: str, event: int) -> float:
        """Return how many seconds before an event a node was without faults, as far as the kit watched; infinite if it never had
        any, negative while one is active."""
        back = self.last_return(node)
        return inf if back < 0 else self.watch_time(back, event, START_TIMEOUT) if back <= event else -inf

    def other_release(self, node: str, event: int) -> str:
        """Return the release that a fault gave the node and had not taken back by an event; empty if there was none."""
        spans = (span for span in self.spans if span.began < event < span.ended and node in span.releases)
        return next((span.releases[node] for span in spans), "")

    def down(self, node: str, first: int, second: int) -> bool:
        """True if the node was certainly down or frozen from one event to the other."""
        return was_active_throughout((span for span in self.spans if span.effects.idles_processes), node, first, second)

    def cut_off(self, node: str, first: int, second: int) -> bool:
        """True if the node was certainly cut off from the controllers from one event to the other."""
        return was_active_throughout((span for span in self.spans if span.effects.cut_off), node, first, second)


def was_active_throughout(spans: Iterable[FaultSpan], node: str, first: int, second: int) -> bool:
    """True if one of these faults was certainly active on the node from one event to the other."""
    mine = (span for span in spans if node in span.nodes)
    return any(span.witnessed < first and second < min(span.undone, span.ended) for span in mine)


def _lateness_of(event: AnyEvent) -> float:
    """Return how many seconds late the kit woke, for events that record the end of a wait; 0 for others."""
    if isinstance(event, Overdue):
        return event.late
    if isinstance(event, Note):
        return float(event.data.get("late", 0.0))
    if isinstance(event, Answer) and isinstance(event.value, dict) and "tries" in event.value:
        return float(event.value.get("late", 0.0))
    return 0.0


def _latest_timestamp(batch: dict[str, Any]) -> int | None:
    """Return the latest timestamp of a batch's records in ms since 1970; None if one is stamped when it is sent."""
    own = [record.get("timestamp") for record in batch.get("records", ())]
    stamps: list[int | None] = [batch.get("timestamp") if stamp is None else stamp for stamp in own]
    known = [stamp for stamp in stamps if stamp is not None]
    return max(known) if known and len(known) == len(stamps) else None


def _releases(event: Fault) -> dict[str, str]:
    """Return the release that each node became, from the witness: [before, after]."""
    return {node: str(pair[1]) for node, pair in event.detail.get("release", {}).items()}


def _log_ends(event: Fault) -> dict[str, int]:
    """Return the log end after a cut, by node, from the witness: [before, after]."""
    seen = event.detail.get("disk", {event.node: event.detail})
    ends = {node: one.get("log end") for node, one in seen.items()}
    return {node: end[1] for node, end in ends.items() if isinstance(end, list)}
