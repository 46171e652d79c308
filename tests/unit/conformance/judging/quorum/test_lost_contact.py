"""No progress without a majority, and epochs of voters that are cut off."""

from __future__ import annotations

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.lost_contact import (
    isolated_voter_keeps_its_epoch,
    nothing_is_committed_without_a_majority,
)
from tests.support.quorum_writes import FROZEN, WrittenHistory, cut_off, isolated, lost_majority


def results(judge: Judge, history: WrittenHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (lost_majority(6.0), ["violated"]),
        (lost_majority(6.0, error=41), ["held"]),
        (lost_majority(2.0), []),
        (cut_off().passes(6.0).creates("a", 1).heals("cut", 101), []),
    ],
)
def test_nothing_is_acknowledged_without_a_majority(history: WrittenHistory, found: list[str]) -> None:
    shown = results(nothing_is_committed_without_a_majority, history)
    assert shown == [("acks", one) for one in found]


@pytest.mark.parametrize(("later", "after", "found"), [(9, 4.0, ["held"]), (12, 4.0, ["violated"]), (12, 0.0, [])])
def test_the_high_watermark_stays_without_a_majority(later: int, after: float, found: list[str]) -> None:
    history = WrittenHistory().knows(101, 101, 4)
    for node in (102, 103):
        history.fault(f"freeze-{node}", node, effects=FROZEN, heal=False)
    history.passes(after).described(9, 9, 9, watermark=9).described(12, 9, 9, watermark=later)
    assert results(nothing_is_committed_without_a_majority, history) == [("high-watermark", one) for one in found]


@pytest.mark.parametrize(
    ("led", "last", "found"),
    [
        (-1, 4, [("follower", "held")]),
        (-1, 5, [("follower", "violated")]),
        (101, 5, [("leader", "held")]),
        (101, 6, [("leader", "violated")]),
    ],
)
def test_a_voter_that_is_cut_off_keeps_its_epoch(led: int, last: int, found: list[tuple[str, str]]) -> None:
    assert results(isolated_voter_keeps_its_epoch, isolated(led, last)) == found


def test_what_it_stores_after_its_return_does_not_count() -> None:
    history = cut_off().stored(101, -1, 4).heals("cut", 101).stored(101, 102, 6)
    assert results(isolated_voter_keeps_its_epoch, history) == []
