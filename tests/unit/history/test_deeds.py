"""The deeds of an example, in words: of a machine its steps, of any check its faults."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from history.deeds import deeds_behind, deeds_of
from history.events import AnyEvent, Call, Example, Fault, History, Note, Phase
from history.observations import Observation
from history.steps import LEFT_OUT_NOTE, STEP_NOTE, SWEEP_NOTE, note_of
from history.subjects import Kind


class Delete(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="delete-topic"):
    on: str
    subject: ClassVar[Kind] = "topic"


class Write(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="produce"):
    on: str
    to: str = "leader"


class Disturb(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="disturb"):
    on: str
    fault: dict[str, Any]


def recorded(*events: AnyEvent) -> History:
    numbered = [msgspec.structs.replace(event, n=n) for n, event in enumerate(events)]
    return History(example=Example(example="e", check="c", column="4.3.1"), events=numbered)


def fault(name: str, phase: Phase, role: str = "leader", node: str = "broker-1") -> Fault:
    return Fault(n=0, t=0.0, fault=name, phase=phase, role=role, node=node)


def step(one: Any) -> Note:
    return Note(n=0, t=0.0, text=STEP_NOTE, data=note_of(one))


def call(op: str, **request: Any) -> Call:
    return Call(n=0, t=0.0, op=op, node="broker-1", request=request)


def test_faults_are_told_with_their_roles_and_their_ends() -> None:
    """A node that was killed as the leader is started under its name."""
    found = recorded(
        fault("kill", "inject"),
        fault("kill", "witness"),
        fault("freeze", "inject", "controller-101", "controller-101"),
        fault("kill", "heal", "broker-1"),
        fault("cut-tail-above", "inject", "node-1", "node-1"),
    )
    assert deeds_of(found, []) == ["kill leader", "freeze voter", "healed kill leader", "cut-tail-above node"]


def test_what_came_after_the_violation_did_not_cause_it() -> None:
    found = recorded(fault("kill", "inject"), call("fetch"), fault("freeze", "inject"))
    assert deeds_of(found, [1]) == ["kill leader"]


def test_steps_about_other_subjects_are_left_out() -> None:
    found = recorded(
        step(Delete(on="drawn")),
        call("delete_topics", topics=["x"]),
        step(Delete(on="fleeting")),
        call("delete_topics", topics=["y"]),
        step(Write(on="drawn-0")),
        call("produce", topic="x", partition=0),
    )
    assert deeds_of(found, [5]) == ["delete-topic", "produce leader"]
    assert deeds_of(found, [3]) == ["delete-topic"]


def test_a_step_that_did_nothing_is_left_out_and_one_that_injects_is_told_by_its_fault() -> None:
    nothing = Note(n=0, t=0.0, text=LEFT_OUT_NOTE)
    disturb = step(Disturb(on="drawn-0", fault={"fault": "kill", "role": "leader"}))
    found = recorded(step(Delete(on="drawn")), nothing, disturb, fault("kill", "inject"))
    assert deeds_of(found, []) == ["kill leader"]


def test_a_check_without_steps_is_told_by_its_requests_and_sweeps() -> None:
    sweep = Note(n=0, t=0.0, text=SWEEP_NOTE, data={"turn": 1})
    found = recorded(
        call("create_topics"), call("fetch"), call("alter_partition_reassignments"), sweep, call("end_txn")
    )
    assert deeds_of(found, []) == ["create-topic", "reassign-partition", "sweep", "end-transaction"]


def test_only_a_violation_is_told_with_what_was_done() -> None:
    found = recorded(fault("kill", "inject"))
    seen = Observation(requirement="R", case="c", result="violated", example="e", events=[0])
    assert deeds_behind(found, seen) == ["kill leader"]
    assert deeds_behind(found, msgspec.structs.replace(seen, result="held")) == []
