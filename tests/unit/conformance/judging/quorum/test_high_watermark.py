"""The high watermark of the metadata log, and the voters that have reached it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from conformance.judging.excuses import Evidence
from conformance.judging.judge import judge_history
from conformance.judging.quorum.evidence import VOTER_LOG_LOST, VOTERS_CHANGED
from conformance.judging.quorum.high_watermark import (
    high_watermark_is_within_a_majority,
    high_watermark_never_falls,
    leaders_high_watermark_never_goes_back,
    majority_reaches_the_high_watermark,
)
from history.effects import Effects
from history.events import Answer
from tests.support.quorum import QuorumHistory

WIPED = Effects(process="down", disk=("log-dir",))


def judged(history: QuorumHistory) -> tuple[list[str], list[str]]:
    """The results, and the names of the excuses."""
    found = judge_history([majority_reaches_the_high_watermark], history.history)
    return [one.result for one in found.observations], [one.excuse for one in found.excuses]


def begun() -> QuorumHistory:
    return QuorumHistory().described(9, 9, 9, watermark=9)


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
    assert judged(QuorumHistory().described(*ends, watermark=watermark)) == (results, [])


def test_of_four_voters_three_are_the_majority() -> None:
    history = QuorumHistory().described(9, 9, 8, 8, watermark=9, voters=(101, 102, 103, 104))
    assert judged(history) == (["violated"], [])


def test_equal_descriptions_count_once() -> None:
    assert judged(begun().described(9, 9, 9, watermark=9)) == (["held"], [])


LEFT_OUT: dict[str, tuple[Callable[[], QuorumHistory], Evidence | None]] = {
    "a voter lost its disk": (
        lambda: begun().fault("any", 102, effects=WIPED).described(9, 0, 8, watermark=9),
        VOTER_LOG_LOST,
    ),
    "in an epoch that may have begun before": (
        lambda: begun().fault("any", 102, effects=WIPED).described(9, 0, 8, watermark=9, epoch=5),
        VOTER_LOG_LOST,
    ),
    "another voter was added": (
        lambda: begun().described(9, 9, 8, 8, watermark=9, voters=(101, 102, 103, 104)),
        VOTERS_CHANGED,
    ),
    "near: a broker lost its disk": (
        lambda: begun().fault("any", 1, effects=WIPED).described(9, 0, 8, watermark=9),
        None,
    ),
    "near: a voter lost another partition's log": (
        lambda: begun().fault("any", 102, effects=Effects(disk=("log-tail",))).described(9, 0, 8, watermark=9),
        None,
    ),
    "near: the disk was lost later": (
        lambda: begun().described(9, 0, 8, watermark=9).fault("any", 102, effects=WIPED),
        None,
    ),
    "near: an epoch that began afterwards": (
        lambda: (
            QuorumHistory()
            .fault("any", 102, effects=WIPED)
            .described(9, -1, -1, watermark=-1, epoch=5)
            .described(9, 0, 8, watermark=9, epoch=6)
        ),
        None,
    ),
    "near: the same voters since the epoch began": (
        lambda: (
            begun()
            .described(9, 9, watermark=-1, voters=(101, 102))
            .described(9, 8, watermark=9, voters=(101, 102), epoch=5)
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_voters_that_lost_their_log_or_are_others_need_not_have_it(name: str) -> None:
    made, evidence = LEFT_OUT[name]
    results, excuses = judged(made())
    assert ("violated" in results, excuses) == (evidence is None, [evidence.name] if evidence else [])


def results(history: QuorumHistory) -> list[tuple[str, str]]:
    """Return the cases and results of high watermarks in real time."""
    return [(one.case, one.result) for one in judge_history([high_watermark_never_falls], history.history).observations]


LATER: dict[str, tuple[Callable[[QuorumHistory], QuorumHistory], list[tuple[str, str]]]] = {
    "the same": (lambda h: h.described(9, 9, 9, watermark=9), [("describe-quorum", "held")]),
    "a higher one": (lambda h: h.described(12, 12, 9, watermark=12), [("describe-quorum", "held")]),
    "a lower one": (lambda h: h.described(9, 9, 9, watermark=8), [("describe-quorum", "violated")]),
    "a lower one that was reported twice before": (
        lambda h: (
            h.described(9, 9, 9, watermark=9).described(12, 12, 9, watermark=12).described(12, 12, 9, watermark=9)
        ),
        [("describe-quorum", "held"), ("describe-quorum", "held"), ("describe-quorum", "violated")],
    ),
    "a lower one in a later epoch": (lambda h: h.fetched(by=102, epoch=5, watermark=8), [("fetch", "violated")]),
    "a lower one in an older epoch": (lambda h: h.fetched(by=102, epoch=3, watermark=8), []),
    "none yet": (lambda h: h.described(9, 9, 9, watermark=-1, epoch=5), []),
    "a lower one to a fetch that is refused": (lambda h: h.fetched(error=6, watermark=0), []),
    "a lower one of the same leader in a scripted quorum": (
        lambda h: h.plays_peers().described(9, 9, 9, watermark=8),
        [("describe-quorum", "violated")],
    ),
    "a lower one in a later epoch of a scripted quorum": (
        lambda h: h.plays_peers().described(9, 9, 9, watermark=8, epoch=5),
        [],
    ),
    "a lower one of another node in a scripted quorum": (lambda h: h.plays_peers().fetched(by=102, watermark=8), []),
    "a lower one after a fetch in the name of a voter": (
        lambda h: h.fetched(replica=102).described(9, 9, 9, watermark=8),
        [],
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_a_leaders_high_watermark_never_falls(name: str) -> None:
    happens, found = LATER[name]
    history = happens(begun())
    assert results(history) == found
    of_hw_04 = judge_history([leaders_high_watermark_never_goes_back], history.history).observations
    assert [(one.case, one.result) for one in of_hw_04] == [("leader", result) for _, result in found]


def test_an_answer_to_an_earlier_request_may_be_lower() -> None:
    history = QuorumHistory().described(9, 9, 9, watermark=8).described(9, 9, 9, watermark=9)
    slow, answer, quick, newer = history.events
    assert isinstance(answer, Answer)
    assert isinstance(newer, Answer)
    history.events = [
        slow,
        replace(quick, n=1),
        replace(newer, n=2, call=1),
        replace(answer, n=3, call=0),
    ]
    assert results(history) == []


def test_a_minority_breaks_the_invariant_too() -> None:
    history = QuorumHistory().described(9, 8, 8, watermark=9).plays_peers()
    found = judge_history([high_watermark_is_within_a_majority], history.history).observations
    assert [(one.case, one.result) for one in found] == [("describe-quorum", "violated")]
