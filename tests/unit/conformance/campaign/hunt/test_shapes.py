"""Shapes of schedules: equal whatever the numbers and names, different for another kind, fault, role or subject."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.campaign.hunt.shapes import digest_of, shape_of

Steps = list[dict[str, Any]]


def kill(on: str = "strict-0", role: str = "leader", **others: Any) -> dict[str, Any]:
    return {"do": "disturb", "on": on, "fault": {"fault": "kill", "role": role, **others}}


def produce(on: str = "strict-0", **others: Any) -> dict[str, Any]:
    return {"do": "produce", "on": on, **others}


SCHEDULE = [kill(pick=0), produce(records=3, acks=-1, to="former-leader"), {"do": "heal"}]


def test_a_shape_has_a_word_for_each_step() -> None:
    assert shape_of(SCHEDULE) == ("disturb #1 kill leader", "produce #1 former-leader", "heal")
    assert shape_of([]) == ()


SAME: list[Steps] = [
    [kill(pick=2), produce(records=1, acks=1, to="former-leader"), {"do": "heal"}],
    [kill("loose-0"), produce("loose-0", to="former-leader"), {"do": "heal"}],
    [{"fault": {"role": "leader", "fault": "kill"}, "on": "x", "do": "disturb"}, produce("x", to="former-leader"), SCHEDULE[2]],
]  # fmt: skip
OTHER: list[Steps] = [
    [kill(role="follower"), *SCHEDULE[1:]],
    [SCHEDULE[0], produce(to="leader"), SCHEDULE[2]],
    [SCHEDULE[0], produce("strict-1", to="former-leader"), SCHEDULE[2]],
    [{"do": "disturb-briefly", **{k: v for k, v in kill().items() if k != "do"}}, *SCHEDULE[1:]],
    [{"do": "disturb", "on": "strict-0", "fault": {"fault": "stop", "role": "leader"}}, *SCHEDULE[1:]],
    SCHEDULE[:2],
    [*SCHEDULE, {"do": "heal"}],
    [SCHEDULE[1], SCHEDULE[0], SCHEDULE[2]],
]


@pytest.mark.parametrize("schedule", SAME)
def test_numbers_and_names_make_no_difference(schedule: Steps) -> None:
    assert shape_of(schedule) == shape_of(SCHEDULE)


@pytest.mark.parametrize("schedule", OTHER)
def test_kinds_faults_roles_order_and_subjects_make_one(schedule: Steps) -> None:
    assert shape_of(schedule) != shape_of(SCHEDULE)


def test_subjects_and_named_nodes_are_numbered_by_first_use() -> None:
    one = shape_of([produce("b-0"), kill("a-0", role="broker-2"), produce("a-0"), produce("b-0")])
    assert one == ("produce #1", "disturb #2 kill #3", "produce #2", "produce #1")
    assert one == shape_of([produce("x-0"), kill("y-0", role="broker-1"), produce("y-0"), produce("x-0")])


def test_steps_within_a_step_count() -> None:
    together = {"do": "together", "steps": [produce("a-0", records=2), kill("a-0")]}
    assert shape_of([together]) == ("together produce #1 disturb #1 kill leader",)


def test_the_digest_is_that_of_row_label_and_shape() -> None:
    digests = {
        digest_of(row, label, shape) for row in "ab" for label in "cd" for shape in (("x",), ("x", "y"), ("xy",))
    }
    assert len(digests) == 12
    assert {len(digest) for digest in digests} == {8}
