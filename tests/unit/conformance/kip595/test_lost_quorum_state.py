"""A voter that lost quorum-state: whether it answers when it had time to end itself is recorded (KIP595-QS-05)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.core.checks import ObservationClaim
from conformance.kip595.lost_quorum_state import ENDS, RUNS_ON, SHOWS_AFTER, leader_comes_back_without_its_file
from protocol.codes import Error
from protocol.quorum import QuorumAnswer
from tests.support.clocked_bench import ClockedBench

LEADER = "controller-101"
ANSWER = QuorumAnswer(
    version=2, topic="__cluster_metadata", partition=0, error=Error.NONE, leader_id=102, leader_epoch=4
)


class Injected:
    nodes = (LEADER,)


class OneVoterLeft:
    """Three voters, one of which is stopped; the leader loses its file, and ends itself `ends_after` seconds after its start."""

    def __init__(self, ends_after: float) -> None:
        self.bench = ClockedBench()
        self.faults = self
        self.done: list[str] = []
        self._ends_after = ends_after
        self._started = 0.0

    @contextmanager
    def standing_fault(self, fault: Any) -> Iterator[None]:
        self.done.append(f"{fault.role} down")
        yield
        self.done.append(f"{fault.role} up")

    def inject(self, fault: Any, follow: bool) -> Injected:
        self.done.append("lost")
        assert not follow
        return Injected()

    def heal(self, fault: Any) -> None:
        self.done.append("started")
        self._started = self.bench.seconds

    def described_by(self, name: str) -> QuorumAnswer | None:
        self.done.append(f"{name} asked")
        return ANSWER if self.bench.seconds - self._started < self._ends_after else None


@pytest.mark.parametrize(("ends_after", "variant"), [(3.0, ENDS), (SHOWS_AFTER, ENDS), (60.0, RUNS_ON)])
@pytest.mark.parametrize("clean", [False, True])
def test_it_is_asked_when_it_would_have_ended(ends_after: float, variant: str, clean: bool) -> None:
    voters = OneVoterLeft(ends_after)
    [claim] = leader_comes_back_without_its_file.body(voters, clean=clean)
    assert isinstance(claim, ObservationClaim)
    assert (claim.observation.case, claim.observation.result) == ("deleted", "recorded")
    assert claim.observation.variant == variant


def test_the_third_voter_alone_is_beside_it() -> None:
    voters = OneVoterLeft(60.0)
    list(leader_comes_back_without_its_file.body(voters, clean=True))
    assert voters.done == ["voter down", "lost", "started", f"{LEADER} asked", "voter up"]
