"""The group machine on the miniature, beyond tests/contract: bugs that drawn schedules find."""

from __future__ import annotations

import pytest

from conformance.machines.groups.machine import GROUP_MACHINE
from tests.miniature.groups.bugs import BUGS
from tests.miniature.machine import hunt, play, shortened

pytestmark = pytest.mark.drawn

DRAWN = ["pending-lost-at-load", "older-epoch-refused", "joins-once"]
"""Bugs that turn up soon. `./kit miniature` looks for all of them."""


@pytest.mark.parametrize("name", DRAWN)
def test_a_bug_is_found_among_drawn_schedules_and_shrunk(name: str) -> None:
    found = hunt(GROUP_MACHINE, [name], examples=30, shrink=False, rows=BUGS[name].rows)
    assert found.first is not None
    shortest = shortened(GROUP_MACHINE, found.first, found.row, [name])
    assert found.row in {one.requirement for one in shortest.violations}
    assert len(shortest.steps) <= 8
    assert play(GROUP_MACHINE, shortest.steps).violations == []
