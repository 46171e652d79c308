"""The replicas that a reassignment asks for."""

from __future__ import annotations

import pytest

from conformance.core.administration import new_replicas
from conformance.core.roles import Absent
from strategies.steps import Change

BROKERS = (1, 2, 3)


@pytest.mark.parametrize(
    ("held", "change", "pick", "wanted"),
    [
        ((1, 2), "grow", 0, (1, 2, 3)),
        ((3,), "grow", 1, (3, 2)),
        ((1, 2, 3), "shrink", 1, (1, 3)),
        ((1, 2), "swap", 0, (3, 2)),
        ((2,), "swap", 1, (3,)),
        ((1, 2, 3), "reorder", 2, (3, 1, 2)),
        ((1, 2, 3), "reorder", 4, (2, 3, 1)),
    ],
)
def test_the_replicas_follow_from_those_held(
    held: tuple[int, ...], change: Change, pick: int, wanted: tuple[int, ...]
) -> None:
    assert new_replicas(held, BROKERS, change, pick) == wanted


@pytest.mark.parametrize(
    ("held", "change"), [((), "shrink"), ((1, 2, 3), "grow"), ((1, 2, 3), "swap"), ((1,), "shrink"), ((1,), "reorder")]
)
def test_what_is_not_possible_is_left_out(held: tuple[int, ...], change: Change) -> None:
    with pytest.raises(Absent, match=rf"replicas .* of brokers 1, 2, 3 cannot {change}"):
        new_replicas(held, BROKERS, change, 0)
