"""Versions behind the newest, distances past a limit, and places in a log: what is drawn, and what is the simplest."""

from __future__ import annotations

from functools import partial
from operator import eq

from hypothesis import find

from conformance.running.probe.run import draw_inputs
from strategies.inputs import NEAR, PLACES, Place, near_or_far, versions_back


def test_every_distance_is_drawn_and_the_newest_is_the_simplest() -> None:
    strategy = versions_back(3)
    assert [find(strategy, partial(eq, wanted)) for wanted in range(4)] == [0, 1, 2, 3]
    assert find(strategy, lambda back: True) == 0
    assert find(strategy, lambda back: back > 1) == 2


def test_a_few_draws_have_near_distances_and_far_ones_and_the_limit_itself_is_the_simplest() -> None:
    strategy = near_or_far(1 << 40)
    assert find(strategy, lambda by: True) == 1
    near = [one["by"] <= NEAR for one in draw_inputs({"by": strategy}, 1, 5)]
    assert 2 <= sum(near) <= 3


def test_a_place_is_near_a_landmark_of_any_log_and_never_negative() -> None:
    assert Place(0, -2).among([0, 40, 50]) == 0
    assert Place(4, -1).among([0, 40, 50]) == 39
    assert Place(5, 2).among([0, 40, 50]) == 52
    assert find(PLACES, lambda place: True).landmark == 0
