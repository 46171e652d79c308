"""Requests of users with and without a right: what a controller that asks for none, for others, or acts before it asks shows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.core.checks import ObservationClaim, PremiseClaim
from conformance.core.topologies import NODE, READER
from conformance.kip595.authorization import description_needs_describe, raft_request_needs_cluster_action
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica, RaftAnswer

NAME, OWN, GHOST, EPOCH = "controller-101", 101, 7000, 4
RAFT = ["vote", "begin", "end", "fetch", "fetch-snapshot"]


class Controller:
    """A controller, and a broker that forwards to it, as one user asks them."""

    controllers, brokers, cluster_id = (NAME,), ("broker-1",), "c"

    def __init__(self, *bugs: str) -> None:
        self.bugs = bugs
        self.epoch = EPOCH
        self.observers: list[int] = []
        self.user = ""

    @property
    def bench(self) -> Controller:
        return self

    def asked_by(self, user: str) -> Controller:
        self.user = user
        return self

    def client(self, name: str) -> Controller:
        return self

    def node(self, name: str, user: str = "") -> Controller:
        self.user = user
        self._through = name
        return self

    def id_of(self, name: str) -> int:
        return OWN

    peer_of = id_of

    # --- requests

    def _answer(self, epoch: int, replica: int = -1) -> RaftAnswer:
        allowed = (
            self.user == NODE or "asks-for-no-right" in self.bugs or (self.user, *self.bugs) == (READER, "reader-may")
        )
        error = Error.INCONSISTENT_CLUSTER_ID if allowed else Error.CLUSTER_AUTHORIZATION_FAILED
        if self.user != NODE and "acts-first" in self.bugs:
            self.epoch = max(self.epoch, epoch)
            self.observers += [replica] if replica >= 0 else []
        if "refuses-all" in self.bugs:
            error = Error.CLUSTER_AUTHORIZATION_FAILED
        return RaftAnswer(
            version=1, topic=METADATA_TOPIC, partition=0, error=error, top_level_error=error, leader_epoch=self.epoch
        )

    def vote(self, candidate: int, epoch: int, **more: Any) -> RaftAnswer:
        return self._answer(epoch)

    begin_quorum_epoch = end_quorum_epoch = vote

    def fetch(self, wanted: Any, options: Any, version: int | None) -> RaftAnswer:
        return self._answer(wanted.current_leader_epoch, options.replica_id)

    def fetch_snapshot(self, id: Any, **more: Any) -> RaftAnswer:
        return self._answer(more["current_leader_epoch"])

    def attempt(self, name: str, ask: Callable[[LeaderAndEpoch], Any]) -> Any:
        before = LeaderAndEpoch(OWN, self.epoch)
        answer = ask(before)
        after = LeaderAndEpoch(OWN, self.epoch)
        return SimpleNamespace(answer=answer, after=SimpleNamespace(reported=after), is_unchanged=before == after)

    def describe_by_leader(self) -> QuorumAnswer:
        self.user = ""
        return self.describe_quorum()

    def describe_quorum(self) -> QuorumAnswer:
        may = {"", READER} | ({NODE} if "cluster-action-is-enough" in self.bugs else set())
        brokers_right = "brokers-right" in self.bugs and self._through in self.brokers
        error = Error.NONE if self.user in may or brokers_right else Error.CLUSTER_AUTHORIZATION_FAILED
        if "reader-may-not" in self.bugs and self.user:
            error = Error.CLUSTER_AUTHORIZATION_FAILED
        observers = tuple(QuorumReplica(replica_id=id, log_end_offset=1) for id in self.observers)
        return QuorumAnswer(
            version=1, topic=METADATA_TOPIC, partition=0, error=error, top_level_error=error, observers=observers
        )


def results(claims: Any) -> list[str]:
    found: list[str] = []
    for one in claims:
        if isinstance(one, PremiseClaim) and not one.met:
            return ["premise lost"]
        if isinstance(one, ObservationClaim):
            found.append(one.observation.result)
    return found


@pytest.mark.parametrize("case", RAFT)
@pytest.mark.parametrize(
    ("bugs", "result"),
    [((), "held"), (("asks-for-no-right",), "violated"), (("refuses-all",), "premise lost")],
)
def test_a_raft_request_without_the_right(case: str, bugs: tuple[str, ...], result: str) -> None:
    claims = raft_request_needs_cluster_action.body(
        Controller(*bugs), case=case, user="bystander", ahead=3, ghost=GHOST
    )
    assert results(claims) == [result]


@pytest.mark.parametrize(
    ("case", "result"),
    [
        ("vote", "violated"),
        ("begin", "violated"),
        ("end", "violated"),
        ("fetch", "violated"),
        ("fetch-snapshot", "held"),
    ],
)
def test_a_controller_that_acts_before_it_refuses(case: str, result: str) -> None:
    claims = raft_request_needs_cluster_action.body(
        Controller("acts-first"), case=case, user="bystander", ahead=3, ghost=GHOST
    )
    assert results(claims) == [result]


def test_describe_is_not_enough_for_raft_requests() -> None:
    claims = raft_request_needs_cluster_action.body(
        Controller("reader-may"), case="vote", user=READER, ahead=1, ghost=GHOST
    )
    assert results(claims) == ["violated"]


@pytest.mark.parametrize(
    ("bugs", "broken"),
    [
        ((), set()),
        (("brokers-right",), {"broker", "cluster-action"}),
        (("cluster-action-is-enough",), {"cluster-action"}),
        (("reader-may-not",), {"describe"}),
    ],
)
def test_a_description_needs_describe(bugs: tuple[str, ...], broken: set[str]) -> None:
    cases = ["controller", "broker", "cluster-action", "describe"]
    found = {case: results(description_needs_describe.body(Controller(*bugs), case=case)) for case in cases}
    assert found == {case: ["violated" if case in broken else "held"] for case in cases}
