"""Progress without one follower (KIP595-LIVE-08)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from conformance.kip595.lost_majorities import WriteProgress, keeps_committing, progress
from conformance.rigs.quorum.writer import Outcome, Write
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer
from tests.support.disturbed_quorum import FakeDisturbed, as_disturbed, results


def wrote(seconds: float, outcome: Outcome = "acknowledged") -> Write:
    return Write("a", "broker-1", outcome, seconds)


@pytest.mark.parametrize(
    ("writes", "after", "result"),
    [
        ([wrote(0.1), wrote(0.2)], 12, "held"),
        ([wrote(0.1), wrote(2.9)], 12, "held"),
        ([wrote(0.1), wrote(3.2)], 12, "violated"),
        ([wrote(1.5), wrote(1.5)], 12, "violated"),
        ([wrote(0.1), wrote(0.2, "unknown")], 12, "violated"),
        ([wrote(0.1), wrote(0.2, "refused")], 12, "violated"),
        ([wrote(0.1)], 9, "violated"),
        ([wrote(0.1)], -1, "violated"),
    ],
)
def test_one_write_may_be_slow_by_a_fetch_timeout(writes: list[Write], after: int, result: str) -> None:
    found = WriteProgress(writes, 9, after)
    assert results(keeps_committing(as_disturbed(FakeDisturbed()), found, 0.1, "paused")) == [("paused", result)]


def test_a_starved_kit_proves_nothing() -> None:
    found = WriteProgress([wrote(0.1), wrote(3.2)], 9, 12)
    assert results(keeps_committing(as_disturbed(FakeDisturbed(late=1.0)), found, 0.1, "down")) == [
        ("down", "kit-starved")
    ]


class Deposed(FakeDisturbed):
    """A quorum that has no leader at the first look, and one at the next."""

    def __init__(self, vote: int) -> None:
        super().__init__()
        self._vote = vote
        self._looks = 0

    def version(self, api: str) -> int:
        assert api == "Vote"
        return self._vote

    def answers(self, names: Iterable[str], ask: Callable[[str], Any]) -> dict[str, Any]:
        self._looks += 1
        found = QuorumAnswer(
            version=1, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=102, leader_epoch=5,
            high_watermark=self._looks,
        )  # fmt: skip
        return {} if self._looks == 1 else {"controller-102": found}

    def write_for(self, seconds: float) -> list[Write]:
        return []


@pytest.mark.parametrize(("vote", "returned", "before"), [(1, True, 2), (1, False, -1), (2, True, -1)])
def test_before_pre_votes_an_election_may_follow_the_return_of_a_follower(
    vote: int, returned: bool, before: int
) -> None:
    assert progress(as_disturbed(Deposed(vote)), returned=returned).before == before
