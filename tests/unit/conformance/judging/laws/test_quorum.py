"""The high watermark of the metadata log, and the voters that have reached it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.excuses import VOTER_LOG_LOST, VOTERS_CHANGED, Evidence
from conformance.judging.judge import judge_history
from conformance.judging.laws.quorum import majority_reaches_the_high_watermark
from history.effects import Effects
from tests.support.descriptions import DescriptionHistory

WIPED = Effects(process="down", disk=("log-dir",))


def judged(history: DescriptionHistory) -> tuple[list[str], list[str]]:
    """The results, and the names of the excuses."""
    found = judge_history([majority_reaches_the_high_watermark], history.history)
    return [one.result for one in found.observations], [one.excuse for one in found.excuses]


def described() -> DescriptionHistory:
    return DescriptionHistory().quorum(9, 9, 9, watermark=9)


@pytest.mark.parametrize(
    ("ends", "watermark", "results"),
    [
        ((9, 9, 3), 9, ["held"]),
        ((12, 10, 3), 9, ["held"]),
        ((9, 8, 8), 9, ["violated"]),
        ((9, -1, -1), 9, ["violated"]),
        ((9, -1, -1), -1, []),
    ],
)
def test_a_majority_has_what_is_below_the_high_watermark(
    ends: tuple[int, ...], watermark: int, results: list[str]
) -> None:
    assert judged(DescriptionHistory().quorum(*ends, watermark=watermark)) == (results, [])


def test_of_four_voters_three_are_the_majority() -> None:
    history = DescriptionHistory().quorum(9, 9, 8, 8, watermark=9, voters=(101, 102, 103, 104))
    assert judged(history) == (["violated"], [])


def test_equal_descriptions_count_once() -> None:
    assert judged(described().quorum(9, 9, 9, watermark=9)) == (["held"], [])


LEFT_OUT: dict[str, tuple[Callable[[], DescriptionHistory], Evidence | None]] = {
    "a voter lost its disk": (lambda: described().loses(WIPED).quorum(9, 0, 8, watermark=9), VOTER_LOG_LOST),
    "in an epoch that may have begun before": (
        lambda: described().loses(WIPED).quorum(9, 0, 8, watermark=9, epoch=5),
        VOTER_LOG_LOST,
    ),
    "another voter was added": (
        lambda: described().quorum(9, 9, 8, 8, watermark=9, voters=(101, 102, 103, 104)),
        VOTERS_CHANGED,
    ),
    "near: a broker lost its disk": (
        lambda: described().loses(WIPED, "broker-1").quorum(9, 0, 8, watermark=9),
        None,
    ),
    "near: a voter lost another partition's log": (
        lambda: described().loses(Effects(disk=("log-tail",))).quorum(9, 0, 8, watermark=9),
        None,
    ),
    "near: the disk was lost later": (lambda: described().quorum(9, 0, 8, watermark=9).loses(WIPED), None),
    "near: an epoch that began afterwards": (
        lambda: (
            DescriptionHistory()
            .loses(WIPED)
            .quorum(9, -1, -1, watermark=-1, epoch=5)
            .quorum(9, 0, 8, watermark=9, epoch=6)
        ),
        None,
    ),
    "near: the same voters since the epoch began": (
        lambda: (
            described()
            .quorum(9, 9, watermark=-1, voters=(101, 102))
            .quorum(9, 8, watermark=9, voters=(101, 102), epoch=5)
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_voters_that_lost_their_log_or_are_others_need_not_have_it(name: str) -> None:
    made, evidence = LEFT_OUT[name]
    results, excuses = judged(made())
    assert ("violated" in results, excuses) == (evidence is None, [evidence.name] if evidence else [])
