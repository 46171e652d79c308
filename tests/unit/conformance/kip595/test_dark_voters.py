"""Voters that were cut off for long: how far their epochs may grow, and what may change when they return."""

from __future__ import annotations

from uuid import UUID

import pytest

from conformance.kip595.dark_voters import Growth, nothing_changes, stays
from protocol.log import LeaderAndEpoch
from tests.support.disturbed_quorum import FakeDisturbed, as_disturbed, results

BEFORE, LATER = LeaderAndEpoch(101, 4), LeaderAndEpoch(102, 6)
THERE = {"broker-1": {"a": UUID(int=1)}, "broker-2": {"a": UUID(int=1)}}


@pytest.mark.parametrize(
    ("expected", "led", "last", "result"),
    [
        ("NO_GROWTH", False, 4, "held"),
        ("NO_GROWTH", False, 5, "violated"),
        ("NO_GROWTH", True, 5, "held"),
        ("NO_GROWTH", True, 4, "violated"),
        ("NO_GROWTH", True, 6, "violated"),
        ("MAY_GROW", False, 14, "held"),
        ("MAY_GROW", False, 3, "violated"),
    ],
)
def test_growth_is_bound_from_pre_votes_on(expected: str, led: bool, last: int, result: str) -> None:
    found = results(stays(expected, Growth("controller-103", 4, last, led), "follower"))
    assert found == [("follower", result), ("follower", "recorded")]


@pytest.mark.parametrize(
    ("expected", "led", "shown", "late", "result"),
    [
        ("NO_GROWTH", BEFORE, THERE, 0.0, "held"),
        ("NO_GROWTH", LATER, THERE, 0.0, "violated"),
        ("NO_GROWTH", LATER, THERE, 2.0, "kit-starved"),
        ("MAY_GROW", LATER, THERE, 0.0, "held"),
        ("MAY_GROW", LATER, {**THERE, "broker-2": {}}, 0.0, "violated"),
        ("NO_GROWTH", BEFORE, {**THERE, "broker-1": {}}, 0.0, "violated"),
    ],
)
def test_the_return_of_a_follower(
    expected: str, led: LeaderAndEpoch, shown: dict[str, dict[str, UUID | None]], late: float, result: str
) -> None:
    fake = FakeDisturbed(led, kept=["a"], shown=shown, late=late)
    assert results(nothing_changes(as_disturbed(fake), expected, BEFORE))[0] == ("follower", result)
