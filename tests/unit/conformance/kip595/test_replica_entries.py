"""Observers that a leader lists: for 300 s after the last fetch, and no longer (KIP595-OBS-03)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from conformance.core.checks import ObservationClaim, PremiseClaim
from conformance.core.cluster import Moment
from conformance.kip595.replica_entries import is_recovered, observer_expires
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica

IDS = [7000, 7001, 7002]
LED = LeaderAndEpoch(101, 4)


class Leader:
    """A leader that lists an observer for `keeps` seconds after its last fetch, and after its first one if `counts_once`."""

    cluster_id = "c"

    def __init__(self, keeps: float = 300.0, *, counts_once: bool = False, elected_at: float = 1e9) -> None:
        self._keeps, self._counts_once, self._elected_at = keeps, counts_once, elected_at
        self._fetched: dict[int, float] = {}
        self.seconds = 0.0
        self.bench = self

    def agreed_leader(self) -> LeaderAndEpoch:
        return LED

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def client(self, name: str) -> Leader:
        return self

    def now(self) -> Moment:
        return Moment(self.seconds, 0)

    def eventually(self, probe: Callable[[], bool], what: str, within: float, every: float, due: Any) -> None:
        while not probe():
            self.seconds += every

    def fetch(self, wanted: Any, options: Any) -> None:
        if not self._counts_once or options.replica_id not in self._fetched:
            self._fetched[options.replica_id] = self.seconds

    def describe_quorum(self) -> QuorumAnswer:
        listed = [id for id, fetched in self._fetched.items() if self.seconds - fetched <= self._keeps]
        return QuorumAnswer(
            version=1,
            topic=METADATA_TOPIC,
            partition=0,
            error=Error.NONE,
            leader_id=101,
            leader_epoch=4 if self.seconds < self._elected_at else 5,
            current_voters=(QuorumReplica(replica_id=101, log_end_offset=9),),
            observers=tuple(QuorumReplica(replica_id=id, log_end_offset=9) for id in listed),
        )


def results(leader: Leader) -> list[str]:
    found: list[str] = []
    for one in observer_expires.body(leader, ids=IDS):
        if isinstance(one, PremiseClaim) and not one.met:
            return ["premise lost"]
        if isinstance(one, ObservationClaim):
            found.append(one.observation.result)
    return found


@pytest.mark.parametrize(
    ("leader", "found"),
    [
        (Leader(), ["held", "held", "held"]),
        (Leader(keeps=1e9), ["violated", "violated", "held"]),
        (Leader(keeps=200.0), ["violated", "violated", "held"]),
        (Leader(counts_once=True), ["held", "held", "violated"]),
        (Leader(elected_at=200.0), ["premise lost"]),
        (Leader(elected_at=305.0), ["premise lost"]),
    ],
    ids=["right", "never expires", "expires early", "expires while it fetches", "elected", "elected late"],
)
def test_an_observer_is_listed_until_300_s_after_its_last_fetch(leader: Leader, found: list[str]) -> None:
    assert results(leader) == found


def entry(offset: int, fetched: int, caught_up: int) -> QuorumReplica:
    return QuorumReplica(
        replica_id=102, log_end_offset=offset, last_fetch_timestamp=fetched, last_caught_up_timestamp=caught_up
    )


@pytest.mark.parametrize(
    ("now", "recovered"),
    [
        (entry(9, 700, 700), True),
        (entry(8, 700, 700), False),
        (entry(9, 500, 700), False),
        (entry(9, 700, 500), False),
        (entry(9, 700, -1), False),
    ],
    ids=["recovered", "behind", "fetch time of before", "caught up as before", "never caught up"],
)
def test_a_resumed_follower_has_later_times(now: QuorumReplica, recovered: bool) -> None:
    answer = msgspec.structs.replace(Leader().describe_quorum(), current_voters=(now,))
    quorum: Any = SimpleNamespace(describe_by_leader=lambda: answer)
    assert is_recovered(quorum, 102, 9, entry(5, 500, 500)) is recovered
