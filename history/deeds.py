"""The deeds of an example, as texts in order: its steps and faults, which a known deviation may require."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from history.events import Call, Fault, History, Note
from history.observations import Observation
from history.steps import SWEEP_NOTE, TakenStep, steps_about, steps_taken
from history.subjects import subjects

HEALED = "healed "
"""The prefix of a deed that ends the fault of the same words."""

STEPS_OF = {
    "alter_partition_reassignments": "reassign-partition",
    "create_partitions": "add-partitions",
    "create_topics": "create-topic",
    "delete_records": "delete-records",
    "delete_topics": "delete-topic",
    "end_txn": "end-transaction",
    "incremental_alter_configs": "alter-config",
}
"""The machines' step for a request in a check without steps."""

_NODES = {"controller": "voter", "broker": "broker", "node": "node"}
_NODE = re.compile(r"([a-z]+)-\d+")

_Deed = tuple[int, str]
"""The number of an event, and the text of its deed."""


def deeds_of(history: History, events: Collection[int]) -> list[str]:
    """Return the deeds until the last of these events, which show a violation, such as `kill leader`, `delete-topic`,
    `healed kill leader`.

    Steps about other subjects than those of the events, and steps that did nothing, are left out; faults never are. A
    node that a fault names is any broker or voter.
    """
    steps, last = steps_taken(history), max(events, default=len(history.events))
    concerned = steps_about(history, steps, events) if subjects(history, events) else {step.number for step in steps}
    taken = ((step.begin, _step_text(step)) for step in steps if step.number in concerned and not step.left_out)
    done = [
        *_fault_deeds(history),
        *((event.n, "sweep") for event in history.events if isinstance(event, Note) and event.text == SWEEP_NOTE),
        *([*taken] if steps else _request_deeds(history)),
    ]
    return [deed for n, deed in sorted(done, key=lambda one: one[0]) if deed and n <= last]


def deeds_behind(history: History, seen: Observation) -> list[str]:
    """Return the deeds until a violation showed; none for any other observation."""
    return deeds_of(history, seen.events) if seen.result == "violated" else []


def _step_text(step: TakenStep) -> str:
    """Return a step with its role; empty for one that injects or heals, since its faults show that."""
    if "fault" in step.step or step.kind.startswith("heal"):
        return ""
    return f"{step.kind} {step.step.get('role') or step.step.get('to') or ''}".strip()


def _fault_deeds(history: History) -> Iterator[_Deed]:
    """Yield injected and healed faults. A node killed as a role's holder may be started under its own name."""
    standing: list[tuple[str, str, str]] = []
    for event in history.events:
        if not isinstance(event, Fault):
            continue
        if event.phase == "inject":
            words = f"{event.fault} {_role_text(event.role)}"
            standing.append((event.fault, event.node, words))
            yield event.n, words
        elif event.phase == "heal":
            ended = next((one for one in standing if one[:2] == (event.fault, event.node)), None)
            if ended is not None:
                standing.remove(ended)
                yield event.n, f"{HEALED}{ended[2]}"


def _role_text(role: str) -> str:
    node = _NODE.fullmatch(role)
    return _NODES.get(node[1], role) if node else role


def _request_deeds(history: History) -> Iterator[_Deed]:
    calls = (event for event in history.events if isinstance(event, Call))
    return ((call.n, STEPS_OF[call.op]) for call in calls if call.op in STEPS_OF)
