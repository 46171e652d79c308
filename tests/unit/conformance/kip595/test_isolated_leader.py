"""When a leader that is cut off gives up, by its answers and their times (KIP595-LIVE-06)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from conformance.core.checks import ObservationClaim
from conformance.core.cluster import Moment
from conformance.kip595.isolated_leader import Isolated, gives_up
from protocol.codes import Error
from protocol.quorum import QuorumAnswer

LEADS = QuorumAnswer(
    version=2, topic="__cluster_metadata", partition=0, error=Error.NONE, leader_id=101, leader_epoch=3
)


class Clock:
    """A bench whose time passes between two looks."""

    def __init__(self, begins: float, every: float, late: float = 0.0) -> None:
        self.seconds = begins - every
        self._every = every
        self._late = late

    def now(self) -> Moment:
        self.seconds += self._every
        return Moment(self.seconds, 0)

    @property
    def wait(self) -> Clock:
        return self

    def recorded_late(self, within: float) -> float:
        return self._late

    def comes_true(self, probe: Callable[[], bool], what: str, within: float) -> None:
        any(probe() for _ in range(100))


class IsolatedUntil:
    """A leader that is looked at from `first` on, and leads until `gone` seconds after the cut."""

    def __init__(self, gone: float, first: float = 3.0, every: float = 0.25, late: float = 0.0) -> None:
        self.bench = Clock(first, every, late)
        self._gone = gone

    def leads(self, name: str) -> QuorumAnswer | None:
        return LEADS if self.bench.seconds < self._gone else None


def seen(isolated: IsolatedUntil) -> list[str]:
    claims = gives_up(cast(Isolated, isolated), "controller-101", 0.0)
    return [claim.observation.result for claim in claims if isinstance(claim, ObservationClaim)]


@pytest.mark.parametrize(
    ("gone", "results"), [(1.0, ["held"]), (4.9, ["held"]), (5.6, ["violated"]), (60.0, ["violated"])]
)
def test_it_gives_up_within_one_and_a_half_fetch_timeouts_and_two_seconds(gone: float, results: list[str]) -> None:
    assert seen(IsolatedUntil(gone)) == results


def test_a_leader_that_had_given_up_before_a_late_look_shows_nothing() -> None:
    assert seen(IsolatedUntil(gone=3.0, first=7.0)) == []
    assert seen(IsolatedUntil(gone=8.0, first=7.0)) == ["violated"]


def test_a_kit_that_starved_meanwhile_leaves_it_open() -> None:
    assert seen(IsolatedUntil(gone=5.6, late=2.0)) == []
    assert seen(IsolatedUntil(gone=5.6, late=1.0)) == ["violated"]
