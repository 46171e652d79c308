"""What all partitions of a history share: names, faults and what they may take, incarnations of nodes, rest."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left

import msgspec

from history.effects import Effects
from history.events import Call, Fault, History
from history.legacy import legacy_effects

HEALED = "all faults are healed and nobody writes any more"
"""The premise with which the wait for agreement begins (KIP101-INV-18)."""
AT_REST = "at rest"
"""The premise that all replicas agree; what is read after it is judged as read at rest."""
CONVERGES_WITHIN = 33.0
"""Seconds from HEALED to AT_REST: 30 and the session time-out (KIP101-INV-18, KIP320-REPL-09)."""
RETURNS = frozenset(("heal", "start", "resume"))
"""Actions by which a node may come back."""
NEVER = sys.maxsize


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a fault, with the effects of its injection; `partition` is the one that it names, or empty."""

    event: int
    fault: str
    phase: str
    role: str
    nodes: tuple[str, ...]
    partition: str
    effects: Effects


class Span(msgspec.Struct):
    """How long a fault stood, by events: injected, witnessed, about to be taken back, and healed; NEVER for what did not come.

    `phases` are all events of it, also those that tell what the cluster made of it.
    """

    fault: str
    nodes: tuple[str, ...]
    partition: str
    effects: Effects
    began: int
    phases: list[int]
    witnessed: int = NEVER
    taken_back: int = NEVER
    ended: int = NEVER


class Cluster:
    """What all partitions of a history share: names, faults, incarnations."""

    def __init__(self, history: History) -> None:
        self.names = {int(member["id"]): str(member["name"]) for member in history.example.members}
        self.ids = {name: id for id, name in self.names.items()}
        self.brokers = frozenset(int(m["id"]) for m in history.example.members if m.get("role") != "controller")
        self.broker_names = {self.names[id] for id in self.brokers}
        self.version = tuple(int(number) for number in re.findall(r"\d+", history.example.column)[:3])
        """As the column says it."""
        self.spans: list[Span] = []
        self.faults: list[Broken] = []
        self.healed = -1
        """The event of HEALED, and of AT_REST where it was met; -1 where there is none."""
        self.rest = -1
        self.disagreed = -1
        """The event of AT_REST where it was not met in time."""
        self._starts: dict[str, list[int]] = {}
        self._effects: dict[str | tuple[str, str], Effects] = {}
        self._events = history.events

    def time(self, event: int) -> float:
        """Seconds since the example began."""
        return self._events[event].t

    def incarnation(self, node: str, event: int) -> int:
        """Which life of the node this was: it rises with every fault that may have begun a new one."""
        return bisect_left(self._starts.get(node, ()), event)

    def faults_between(self, first: int, second: int) -> list[Broken]:
        place = bisect_left(self.faults, first + 1, key=lambda fault: fault.event)
        return self.faults[place : bisect_left(self.faults, second, key=lambda fault: fault.event)]

    def fault_between(self, first: int, second: int) -> bool:
        place = bisect_left(self.faults, first + 1, key=lambda fault: fault.event)
        return place < len(self.faults) and self.faults[place].event < second

    def standing(self, first: int, second: int) -> list[Span]:
        """Faults that stood at any time between two events."""
        return [span for span in self.spans if span.began < second and first < span.ended]

    def down(self, node: str, first: int, second: int) -> bool:
        """Did the node certainly do nothing from one event to the other?"""
        idle = (span for span in self.spans if span.effects.idles and node in span.nodes)
        return any(span.witnessed < first and second < min(span.taken_back, span.ended) for span in idle)

    def note_return(self, call: Call) -> None:
        for span in self.spans:
            mine = call.node in span.nodes or call.request.get("fault") == span.fault
            if mine and span.taken_back == NEVER:
                span.taken_back = call.n

    def note_fault(self, event: Fault) -> None:
        fault = self._phase_of(event)
        if fault.effects.stands:
            self._note_span(fault)
        if fault.phase == "consequence":  # what the cluster makes of it is no act of the fault
            return
        self.faults.append(fault)
        if fault.effects.begins_incarnation:
            for node in self.broker_names if fault.effects.every_broker else fault.nodes:
                self._starts.setdefault(node, []).append(fault.event)

    def effects_of(self, event: Fault) -> Effects:
        """Those that the injection carries; in histories that were written before it did, by the legacy table.

        A witness may name another node than its injection: a leader that was moved.
        """
        if event.phase == "inject":
            found = event.effects or legacy_effects(event.fault, event.detail)
            self._effects[event.fault] = self._effects[event.fault, event.node] = found
            return found
        injected = self._effects.get((event.fault, event.node)) or self._effects.get(event.fault)
        return injected or legacy_effects(event.fault, event.detail)

    def _phase_of(self, event: Fault) -> Broken:
        return Broken(
            event=event.n,
            fault=event.fault,
            phase=event.phase,
            role=event.role,
            nodes=tuple(name for name in event.node.split(",") if name),
            partition=str(event.detail.get("partition", "")),
            effects=self.effects_of(event),
        )

    def _note_span(self, fault: Broken) -> None:
        if fault.phase == "inject":
            span = Span(fault.fault, fault.nodes, fault.partition, fault.effects, fault.event, [fault.event])
            self.spans.append(span)
            return
        mine = (s for s in self.spans if (s.fault, s.nodes) == (fault.fault, fault.nodes) and s.ended == NEVER)
        if (found := next(mine, None)) is not None:
            found.phases.append(fault.event)
            if fault.phase == "witness":
                found.witnessed = fault.event
            elif fault.phase == "heal":
                found.ended = fault.event
