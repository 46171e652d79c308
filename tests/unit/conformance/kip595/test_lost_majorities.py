"""Progress without one follower (KIP595-LIVE-08)."""

from __future__ import annotations

import pytest

from conformance.kip595.lost_majorities import WriteProgress, keeps_committing
from conformance.rigs.quorum.writer import Outcome, Write
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
