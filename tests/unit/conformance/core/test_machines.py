"""Simpler steps of a machine, as the shrinker tries them."""

from __future__ import annotations

import msgspec

from conformance.core.machines import simpler_steps
from tests.support.fake_faults import Recorded


def test_numbers_become_smaller_and_nothing_else() -> None:
    class Other(msgspec.Struct, frozen=True, kw_only=True):
        role: str = "follower"
        records: int
        back: int = 0
        fault: Recorded = msgspec.field(default_factory=Recorded)

    step = Other(role="leader", records=4, back=-2, fault=Recorded(pick=2))
    assert [msgspec.to_builtins(one) | {"fault": one.fault.pick} for one in simpler_steps(step)] == [
        {"role": "leader", "records": 1, "back": 0, "fault": 0},
        {"role": "leader", "records": 1, "back": -2, "fault": 2},
        {"role": "leader", "records": 4, "back": 0, "fault": 2},
        {"role": "leader", "records": 4, "back": -2, "fault": 0},
    ]
    assert simpler_steps(Other(records=1)) == []
