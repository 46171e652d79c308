"""Writes of metadata: kept if they were acknowledged, all or nothing if not, and never acknowledged alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import Judge, judge_history
from conformance.judging.quorum.writes import (
    acknowledged_metadata_is_kept,
    acknowledged_metadata_survives_a_minority,
    controller_that_is_cut_off_acknowledges_nothing_of_its_own,
)
from history.effects import Effects
from tests.support.quorum import DOWN
from tests.support.quorum_writes import CUT, FROZEN, WrittenHistory, cut_off

Happens = Callable[[WrittenHistory], WrittenHistory]


def results(judge: Judge, history: WrittenHistory) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judge_history([judge], history.history).observations]


KEPT: dict[str, tuple[Happens, list[tuple[str, str]]]] = {
    "an acknowledged topic is there": (lambda h: h.creates("a", 1).rests({"a": 1}), [("acked", "held")]),
    "it is missing": (lambda h: h.creates("a", 1).rests({"a": 0}), [("acked", "violated")]),
    "it is missing at one broker": (lambda h: h.creates("a", 1).rests({"a": 1}, {"a": 0}), [("acked", "violated")]),
    "another one of its name is there": (lambda h: h.creates("a", 1).rests({"a": 7}), [("acked", "violated")]),
    "a deleted topic is gone": (lambda h: h.creates("a", 1).deletes("a", 2).rests({"a": 0}), [("acked", "held")]),
    "it is back": (lambda h: h.creates("a", 1).deletes("a", 2).rests({"a": 1}), [("acked", "violated")]),
    "a refused topic is not there": (lambda h: h.creates("a", 1, error=36).rests({"a": 0}), []),
    "an open one is there": (lambda h: h.creates("a", 1, error=None).rests({"a": 1}), [("unacked", "held")]),
    "it is nowhere": (lambda h: h.creates("a", 1, error=41).rests({"a": 0}), [("unacked", "held")]),
    "it is at one broker": (lambda h: h.creates("a", 1, error=41).rests({"a": 1}, {"a": 0}), [("unacked", "violated")]),
    "a name is used again": (lambda h: h.creates("a", 1).deletes("a", 1).creates("a", 1, id=2).rests({"a": 0}), []),
    "it is deleted after that, of which no answer tells": (
        lambda h: h.creates("a", 1).rests({"a": 1}).deletes("a", 1),
        [],
    ),
    "it is deleted after that, and a broker is behind": (
        lambda h: h.creates("a", 1).rests({"a": 1}).deletes("a", 1).shows(1, a=1),
        [],
    ),
    "no broker is asked at rest": (lambda h: h.creates("a", 1).shows(1, a=0), []),
}


@pytest.mark.parametrize("name", KEPT)
def test_acknowledged_writes_are_kept_and_others_are_all_or_nothing(name: str) -> None:
    happens, found = KEPT[name]
    assert results(acknowledged_metadata_is_kept, happens(WrittenHistory().knows(101, 101, 4))) == found


def test_a_lost_disk_leaves_it_open() -> None:
    wiped = Effects(process="down", disk=("log-dir",))
    history = WrittenHistory().knows(101, 101, 4).creates("a", 1).fault("wipe", 102, effects=wiped).rests({"a": 0})
    assert results(acknowledged_metadata_is_kept, history) == []


MINORITIES = {"cut": CUT, "paused": FROZEN, "killed": DOWN}


@pytest.mark.parametrize("case", MINORITIES)
def test_a_minority_costs_nothing(case: str) -> None:
    for shown, result in ((1, "held"), (0, "violated")):
        history = cut_off("any", effects=MINORITIES[case]).creates("a", 1).heals("any", 101).rests({"a": shown})
        assert results(acknowledged_metadata_survives_a_minority, history) == [(case, result)]


def test_two_that_fail_at_once_are_no_minority() -> None:
    one_by_one = cut_off().heals("cut", 101).fault("kill", 102).creates("a", 1).rests({"a": 1})
    assert results(acknowledged_metadata_survives_a_minority, one_by_one) == [("cut", "held"), ("killed", "held")]
    at_once = cut_off().fault("kill", 102).creates("a", 1).heals("cut", 101).rests({"a": 0})
    assert results(acknowledged_metadata_survives_a_minority, at_once) == []


ALONE: dict[str, tuple[Happens, list[str]]] = {
    "it refuses": (lambda h: h.creates("a", 101, error=41).heals("cut", 101).rests({"a": 0}), ["held"]),
    "it does not answer": (lambda h: h.creates("a", 101, error=None).heals("cut", 101).rests({"a": 1}), ["held"]),
    "it acknowledges": (lambda h: h.creates("a", 101).heals("cut", 101).rests({"a": 0}), ["violated"]),
    "it acknowledges what others have": (lambda h: h.creates("a", 101).heals("cut", 101).rests({"a": 1}), ["held"]),
    "another controller acknowledges": (lambda h: h.creates("a", 102).heals("cut", 101).rests({"a": 0}), []),
    "it acknowledges afterwards": (lambda h: h.heals("cut", 101).creates("a", 101).rests({"a": 0}), []),
}


@pytest.mark.parametrize("name", ALONE)
def test_a_controller_that_is_cut_off_acknowledges_nothing_alone(name: str) -> None:
    happens, found = ALONE[name]
    shown = results(controller_that_is_cut_off_acknowledges_nothing_of_its_own, happens(cut_off()))
    assert shown == [("pinned", one) for one in found]


def test_the_change_of_leader_is_what_an_observation_lived_through() -> None:
    history = cut_off().creates("a", 1).knows(102, 102, 5).heals("cut", 101).rests({"a": 1})
    [seen] = judge_history([acknowledged_metadata_is_kept], history.history).observations
    assert seen.lived == ["cut"]
