"""Schedules that were recorded under former names are read as they were meant."""

from __future__ import annotations

from pathlib import Path

import msgspec

from conformance.machines.log.machine import LOG_MACHINE, OPENING
from history.taken import kind_of
from strategies.former_steps import FORMER_FIELDS, FORMER_STEPS, current_step, words_in
from strategies.log import FetchAt, ListOffsets, OffsetForLeaderEpoch, ProduceToAll, Read, RevisitPosition

RECORDED = msgspec.json.decode(
    (Path(__file__).parents[2] / "support" / "recorded_schedule.json").read_bytes(), type=list
)
"""The opening of the log machine as it was recorded before any step was renamed, and steps with other values in each field."""

OTHERS = [
    OffsetForLeaderEpoch(on="loose-0", role="former-leader", epochs_back=3, current_back=-1),
    RevisitPosition(on="lone-0", role="former-leader", back=4),
    ProduceToAll(records=3, acks=1, to="former-leader"),
    FetchAt(on="strict-1", role="follower", before_end=-1, last_fetched_back=2, current_back=-1),
    Read(on="lone-0", role="former-leader", full_log=True, current_back=2),
    ListOffsets(on="strict-0", role="former-leader", current_back=2),
]


NEWER = {
    "add-partitions",
    "alter-cluster-default",
    "alter-config",
    "cancel-reassignment",
    "collect",
    "create-topic",
    "delete-topic",
    "echo",
    "elect-preferred-leader",
    "elect-uncleanly",
    "fetch-in-flight",
    "fetch-in-session",
    "heal-partly",
    "produce-idempotently",
    "produce-in-flight",
    "reassign-partition",
    "recreate-topic",
    "sweep",
    "transact",
}
"""Kinds of steps that the opening has had only since then."""


def test_a_recorded_schedule_is_the_one_of_today() -> None:
    older = [step for step in OPENING if kind_of(step) not in NEWER]
    assert LOG_MACHINE.steps(RECORDED) == [*older, *OTHERS]


def test_no_recorded_field_is_lost() -> None:
    """msgspec leaves out what a step does not have."""
    for recorded, step in zip(RECORDED, LOG_MACHINE.steps(RECORDED), strict=True):
        assert current_step(recorded).keys() <= msgspec.to_builtins(step).keys()


def test_a_step_of_today_stays_itself() -> None:
    for step in [*OPENING, *OTHERS]:
        assert current_step(msgspec.to_builtins(step)) == msgspec.to_builtins(step)


def test_former_names_are_given_to_nothing_else() -> None:
    kinds = {kind.__struct_config__.tag: kind for kind in LOG_MACHINE.step_types}
    assert not kinds.keys() & FORMER_STEPS.keys()
    for tag, fields in FORMER_FIELDS.items():
        step = kinds[FORMER_STEPS.get(tag, tag)]
        names = {field.name for field in msgspec.structs.fields(step)}
        assert set(fields.values()) <= names
        assert not names & fields.keys()


def test_the_words_of_a_schedule_are_found_in_any_step() -> None:
    kill = {"do": "shake", "fault": {"fault": "kill", "role": "deposed"}}
    together = {"do": "together", "steps": [{"do": "disturb", "fault": {"fault": "pause", "role": "controller-101"}}]}
    assert words_in([kill, together, {"do": "produce", "to": "follower"}]) == {
        "disturb-briefly", "kill", "former-leader", "together", "disturb", "pause", "voter", "produce", "follower",
    }  # fmt: skip
    assert words_in([]) == set()
