"""The epochs in a group's description: members, assignment, group."""

from __future__ import annotations

import pytest

from conformance.judging.judge import judge_all
from conformance.judging.laws.groups import described_epochs_are_in_order
from tests.support.descriptions import DescriptionHistory


@pytest.mark.parametrize(
    ("members", "assignment", "epoch", "results"),
    [
        ((3, 3), 3, 3, ["held"]),
        ((1, 3), 3, 4, ["held"]),
        ((0,), 0, 1, ["held"]),
        ((3, 4), 3, 4, ["violated"]),
        ((3,), 5, 4, ["violated"]),
        ((), 5, 4, []),
    ],
)
def test_no_member_is_ahead_of_the_assignment_nor_that_of_the_group(
    members: tuple[int, ...], assignment: int, epoch: int, results: list[str]
) -> None:
    history = DescriptionHistory().group(*members, assignment=assignment, epoch=epoch)
    twice = history.group(*members, assignment=assignment, epoch=epoch)
    assert [one.result for one in judge_all([described_epochs_are_in_order], twice.history)] == results
