"""An election beside a voter of 3.9: found or never found, and what is no such election (KIP595-ELEC-09)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.kip595.rolling_upgrade import elects_beside_an_older_voter
from conformance.rigs.quorum.writer import Outcome, Write
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer
from tests.support.disturbed_quorum import CONTROLLERS, FakeDisturbed, as_disturbed, results

LEADS = QuorumAnswer(
    version=1, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=103, leader_epoch=5, high_watermark=9
)


class OneOlderVoter(FakeDisturbed):
    """Three voters, of which `older` is of 3.9; the leader's death is followed by an election unless pre-votes are stuck."""

    def __init__(self, *, stuck: bool = False, older: str = "controller-102", writes: Outcome = "acknowledged") -> None:
        super().__init__(LeaderAndEpoch(101, 4), described=LEADS)
        self.done: list[str] = []
        self._stuck, self._older, self._outcome = stuck, older, writes
        self._dead = False

    controllers = list(CONTROLLERS)  # type: ignore[assignment]

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def eventually(self, probe: Any, what: str, due: str) -> Any:
        return probe()

    @contextmanager
    def standing(self, fault: Any) -> Iterator[Any]:
        self.done.append(f"{fault.to} at a {fault.role}")
        yield SimpleNamespace(nodes=(self._older,))
        self.done.append("upgraded")

    @contextmanager
    def away(self, name: str, role: str, *, frozen: bool) -> Iterator[None]:
        self.done.append(f"{name} {'frozen' if frozen else 'dead'}")
        self._dead = not frozen or self._dead
        yield
        self._dead = frozen and self._dead
        self.done.append(f"{name} back")

    def write_for(self, seconds: float) -> list[Write]:
        return [Write("a", "broker-1", self._outcome, 0.1)]

    def describe_quorum(self) -> QuorumAnswer | None:
        if self._stuck and self._dead:
            return QuorumAnswer(version=1, topic=METADATA_TOPIC, partition=0, error=Error.NOT_LEADER_OR_FOLLOWER)
        return LEADS


def test_the_third_voter_is_elected_while_the_older_one_is_behind() -> None:
    voters = OneOlderVoter()
    assert results(elects_beside_an_older_voter(as_disturbed(voters), pick=0)) == [("older-peer", "held")]
    assert voters.done == [
        "3.9.2 at a voter",
        "controller-102 frozen",
        "controller-101 dead",
        "controller-102 back",
        "controller-101 back",
        "upgraded",
    ]


def test_pre_votes_that_never_end_break_the_row() -> None:
    found = results(elects_beside_an_older_voter(as_disturbed(OneOlderVoter(stuck=True)), pick=0))
    assert found[0] == ("older-peer", "violated")


@pytest.mark.parametrize("voters", [OneOlderVoter(older="controller-101"), OneOlderVoter(writes="unknown")])
def test_an_older_leader_and_an_older_voter_that_missed_nothing_are_no_such_election(voters: OneOlderVoter) -> None:
    found = results(elects_beside_an_older_voter(as_disturbed(voters), pick=0))
    assert found[0][0] == "unmet"
