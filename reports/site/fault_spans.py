"""Spans of a time line: faults from inject to heal, and leaders by epoch."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from history.events import Answer, Fault, History


class LeaderSince(msgspec.Struct, frozen=True, kw_only=True):
    """A leader known from `event` on: `node` leads in `epoch`; "" if the partition has no leader."""

    event: int
    node: str
    epoch: int


class FaultPhases(msgspec.Struct, kw_only=True):
    """The phases of one fault, in order. It began before the example if `inject` is missing, and outlived it if `heal`
    is."""

    node: str
    role: str
    fault: str
    phases: list[Fault]

    @property
    def has_begun(self) -> bool:
        return self.phases[0].phase == "inject"

    @property
    def is_healed(self) -> bool:
        return self.phases[-1].phase == "heal"

    @property
    def name(self) -> str:
        return self.fault if self.role == self.node else f"{self.fault} ({self.role})"

    def takes(self, event: Fault) -> bool:
        """True if the event is the next phase of this fault. Its role may have another name or node by then."""
        return not self.is_healed and self.fault == event.fault and (self.role == event.role or self.node == event.node)


def fault_spans(events: Sequence[Fault]) -> list[FaultPhases]:
    """Group the phases that belong to one fault."""
    found: list[FaultPhases] = []
    for event in events:
        waiting = [] if event.phase == "inject" else [span for span in found if span.takes(event)]
        span = next((span for span in waiting if span.node == event.node), waiting[0] if waiting else None)
        if span is None:
            span = FaultPhases(node=event.node, role=event.role, fault=event.fault, phases=[])
            found.append(span)
        span.phases.append(event)
    return found


def known_leaders(history: History, place: str) -> list[LeaderSince]:
    """Return the leadership changes that answers show, each with the first event that does; epochs only increase."""
    names = {int(member["id"]): str(member["name"]) for member in history.example.members}
    known: list[LeaderSince] = []
    for event in history.events:
        if isinstance(event, Answer) and event.outcome == "ok" and isinstance(event.value, dict):
            for leader, epoch in _leaders_in(event.value, place):
                node = names.get(leader, "")
                if not known or epoch > known[-1].epoch or (epoch == known[-1].epoch and node and not known[-1].node):
                    known.append(LeaderSince(event=event.n, node=node, epoch=epoch))
    return known


def _leaders_in(value: dict[str, Any], place: str) -> Iterator[tuple[int, int]]:
    if "brokers" in value:
        for topic in value.get("topics", ()):
            for partition in topic["partitions"]:
                if f"{topic['name']}-{partition['partition_index']}" == place:
                    yield partition["leader_id"], partition["leader_epoch"]
    elif "current_voters" in value and place in ("", f"{value.get('topic')}-{value.get('partition')}"):
        yield value["leader_id"], value["leader_epoch"]
