"""The metadata that a broker shows, answer by answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.judge import judge_history
from conformance.judging.quorum.broker_views import brokers_show_metadata_in_committed_order
from tests.support.quorum import DOWN
from tests.support.quorum_writes import CUT, WrittenHistory

Happens = Callable[[WrittenHistory], WrittenHistory]

SHOWN: dict[str, tuple[Happens, list[str]]] = {
    "one answer": (lambda h: h.creates("a", 1).shows(1, a=1), []),
    "a topic appears": (lambda h: h.shows(1, a=0).creates("a", 1).shows(1, a=1).shows(1, a=1), ["held"]),
    "it is lost": (lambda h: h.creates("a", 1).shows(1, a=1).shows(1, a=0), ["violated"]),
    "it is deleted": (lambda h: h.shows(1, a=1).deletes("a", 1).shows(1, a=0), ["held"]),
    "it may be deleted": (lambda h: h.shows(1, a=1).deletes("a", 1, error=None).shows(1, a=0), ["held"]),
    "it comes back": (lambda h: h.shows(1, a=1).deletes("a", 1).shows(1, a=0).shows(1, a=1), ["violated"]),
    "another one takes its name": (lambda h: h.shows(1, a=1).deletes("a", 1).shows(1, a=0).shows(1, a=2), ["held"]),
    "an older version has no id": (lambda h: h.shows(1, a=1).shows(1, a=-1).shows(1, a=1), ["held"]),
    "another one is shown by a version without ids in between": (
        lambda h: h.shows(1, a=1).shows(1, a=-1).shows(1, a=2),
        ["violated"],
    ),
    "it is created again, and lost": (
        lambda h: h.shows(1, a=1).deletes("a", 1).creates("a", 1, id=2).shows(1, a=2).shows(1, a=0),
        ["violated"],
    ),
    "it is created again, and deleted again": (
        lambda h: h.deletes("a", 1).creates("a", 1, id=2).shows(1, a=2).deletes("a", 1).shows(1, a=0),
        ["held"],
    ),
    "it is created again, and the deletion may be under way": (
        lambda h: h.deletes("a", 1, error=None).creates("a", 1, id=2).shows(1, a=2).shows(1, a=0),
        ["held"],
    ),
    "it is created again, and the deletion may have been sent twice": (
        lambda h: (
            h.fault("cut", 101, effects=CUT, heal=False)
            .deletes("a", 1)
            .heals("cut", 101)
            .creates("a", 1, id=2)
            .shows(1, a=2)
            .shows(1, a=0)
        ),
        ["held"],
    ),
    "an answer without it comes late": (
        lambda h: h.shows(1, a=1).deletes("a", 1, error=None).answers_late(1, {"a": 0}, {"a": 1}),
        ["held"],
    ),
    "another broker is behind": (lambda h: h.shows(1, a=1).shows(2, a=0).shows(1, a=1).shows(2, a=1), ["held"] * 2),
    "a new process is behind": (lambda h: h.shows(1, a=1).fault("kill", 1, effects=DOWN).shows(1, a=0), []),
    "an older one is missing": (
        lambda h: h.creates("a", 1, id=1).creates("b", 1, id=2).shows(1, a=0, b=2),
        ["violated"],
    ),
    "an older one is deleted": (
        lambda h: h.creates("a", 1, id=1).creates("b", 1, id=2).deletes("a", 1).shows(1, a=0, b=2),
        [],
    ),
    "the older one is of unknown outcome": (
        lambda h: h.creates("a", 1, error=None).creates("b", 1, id=2).shows(1, a=0, b=2),
        [],
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_broker_takes_no_step_back(name: str) -> None:
    happens, found = SHOWN[name]
    history = happens(WrittenHistory().knows(101, 101, 4)).knows(101, 101, 4)
    shown = judge_history([brokers_show_metadata_in_committed_order], history.history).observations
    assert [one.result for one in shown] == found
