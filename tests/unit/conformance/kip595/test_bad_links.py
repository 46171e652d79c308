"""Bad links between controllers: a leader with one clean follower leads on, and writes succeed once all links are clean."""

from __future__ import annotations

import pytest

from conformance.kip595.bad_links import keeps_its_epoch, progress_resumes
from conformance.rigs.quorum.writer import Outcome
from protocol.log import LeaderAndEpoch
from tests.support.disturbed_quorum import LED, FakeDisturbed, Waits, as_disturbed, results


@pytest.mark.parametrize(
    ("now", "late", "result"),
    [
        (LED, 0.0, "held"),
        (LeaderAndEpoch(LED.leader_id, LED.leader_epoch + 1), 0.0, "violated"),
        (LeaderAndEpoch(102, LED.leader_epoch + 1), 0.0, "violated"),
        (LeaderAndEpoch(102, LED.leader_epoch + 1), 2.0, "kit-starved"),
    ],
)
def test_a_leader_with_a_clean_follower_keeps_its_epoch(now: LeaderAndEpoch, late: float, result: str) -> None:
    assert results(keeps_its_epoch(as_disturbed(FakeDisturbed(now, late=late)), LED, 0.0)) == [("clean-link", result)]


class LateOnce(Waits):
    """Waits of a kit that woke late once, some seconds ago."""

    def __init__(self, ago: float) -> None:
        super().__init__(2.0)
        self._ago = ago

    def recorded_late(self, within: float) -> float:
        return self.late if within >= self._ago else 0.0


@pytest.mark.parametrize(("ago", "result"), [(40.0, "kit-starved"), (60.0, "violated")])
def test_only_a_kit_that_was_late_while_links_flapped_or_after_that_knows_nothing(ago: float, result: str) -> None:
    fake = FakeDisturbed(LeaderAndEpoch(102, LED.leader_epoch + 1))
    fake.wait = LateOnce(ago)
    assert results(keeps_its_epoch(as_disturbed(fake), LED, fake.seconds() - 45.0)) == [("clean-link", result)]


@pytest.mark.parametrize(("outcome", "result"), [("acknowledged", "held"), ("unknown", "violated")])
def test_a_write_succeeds_once_links_are_clean(outcome: Outcome, result: str) -> None:
    assert results(progress_resumes(as_disturbed(FakeDisturbed(writes=outcome)))) == [("progress", result)]
