"""What all partitions of a history share: names, faults and what they may take, incarnations of nodes, rest."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from typing import Any

import msgspec

from history.events import Call, History

HEALED = "all faults are healed and nobody writes any more"
"""The premise with which the wait for agreement begins (KIP101-INV-18)."""
AT_REST = "at rest"
"""The premise that all replicas agree; what is read after it is judged as read at rest."""
CONVERGES_WITHIN = 33.0
"""Seconds from HEALED to AT_REST: 30 and the session time-out (KIP101-INV-18, KIP320-REPL-09)."""
UNCLEAN = ("unclean-election", "unclean-election-by-config")
DISK_LOSSES = ("cut-tail-above", "cut-tail-below", "flip-bytes", "wipe-disk")
"""Faults after which a replica has lost what it once had."""
EPOCH_FILE_LOSSES = ("remove-epoch-checkpoint", "cut-epoch-checkpoint", "old-epoch-checkpoint")
CRASHES = ("kill", "cut-tail-above")
"""Faults that certainly end a process without a word to the controller."""
RESTARTS = (*CRASHES, *EPOCH_FILE_LOSSES, "stop", "rolling-restart", "cut-tail-below", "remove-index-files", "upgrade")
"""Faults after which a process certainly began anew."""
QUORUM_STATE_LOST = "lose-quorum-state"
RUNS_ON = frozenset(
    (
        "bridge",
        "compaction",
        "cut-at-request",
        "cut-off-from-controllers",
        "delay",
        "delete-records",
        "drop",
        "drop-answer",
        "fenced-producer",
        "halves",
        "hold",
        "isolate",
        "isolated-controller-leader",
        "late-consumer",
        "late-member",
        "leader-move",
        "loss",
        "move-coordinator",
        "move-leader",
        "one-link",
        "pause",
        "pause-past-fencing",
        "paused-zombie",
        "preferred-election",
        "rate-limit",
        "reassignment",
        "recreate-topic",
        "reject",
        "retention-by-size",
        "retention-by-time",
        "ring",
        "roll-by-size",
        "roll-by-time",
    )
)
"""Faults during which the processes they hit go on, or are only frozen. All others begin a new incarnation of a node."""
DOWN = frozenset(("kill", "stop", "pause-past-fencing", "remove-index-files", *DISK_LOSSES, *EPOCH_FILE_LOSSES))
"""Faults whose nodes do nothing at all, from the witness until they are taken back."""
RETURNS = frozenset(("heal", "start", "resume"))
"""Actions by which a node may come back."""
NEVER = sys.maxsize


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a fault; `partition` is what it was aimed around, empty where that was not told."""

    event: int
    fault: str
    phase: str
    role: str
    nodes: tuple[str, ...]
    partition: str
    detail: dict[str, Any]


class Span(msgspec.Struct):
    """How long a fault stood, by events: injected, witnessed, about to be taken back, and healed; NEVER for what did not come."""

    fault: str
    nodes: tuple[str, ...]
    partition: str
    detail: dict[str, Any]
    began: int
    witnessed: int = NEVER
    taken_back: int = NEVER
    ended: int = NEVER

    @property
    def phases(self) -> list[int]:
        return [event for event in (self.began, self.witnessed, self.ended) if event != NEVER]


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
        downs = (span for span in self.spans if span.fault in DOWN and node in span.nodes)
        return any(span.witnessed < first and second < min(span.taken_back, span.ended) for span in downs)

    def note_return(self, call: Call) -> None:
        for span in self.spans:
            mine = call.node in span.nodes or call.request.get("fault") == span.fault
            if mine and span.taken_back == NEVER:
                span.taken_back = call.n

    def _note_span(self, fault: Broken) -> None:
        if fault.fault == "leader-move":  # nothing stands
            return
        if fault.phase == "inject":
            self.spans.append(Span(fault.fault, fault.nodes, fault.partition, fault.detail, fault.event))
            return
        mine = (s for s in self.spans if (s.fault, s.nodes) == (fault.fault, fault.nodes) and s.ended == NEVER)
        if (span := next(mine, None)) is not None:
            if fault.phase == "witness":
                span.witnessed = fault.event
            else:
                span.ended = fault.event

    def note_fault(self, fault: Broken) -> None:
        if fault.phase == "consequence":  # what the cluster made of it is no act of the fault
            return
        self.faults.append(fault)
        self._note_span(fault)
        if fault.fault not in RUNS_ON:
            # For an unclean election the others are killed or frozen too, and come back.
            for node in self.broker_names if fault.fault in UNCLEAN else fault.nodes:
                self._starts.setdefault(node, []).append(fault.event)
