"""Versions behind the newest: every distance up to the bound is drawn, the newest first when an example is shrunk."""

from __future__ import annotations

from functools import partial
from operator import eq

from hypothesis import find

from strategies.inputs import versions_back


def test_every_distance_is_drawn_and_the_newest_is_the_simplest() -> None:
    strategy = versions_back(3)
    assert [find(strategy, partial(eq, wanted)) for wanted in range(4)] == [0, 1, 2, 3]
    assert find(strategy, lambda back: True) == 0
    assert find(strategy, lambda back: back > 1) == 2
