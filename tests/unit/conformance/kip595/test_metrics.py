"""The metrics of the quorum, against the controllers' own words (KIP595-MET-02 to MET-04)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, cast

import pytest

from conformance.core.checks import Claim, ObservationClaim
from conformance.core.waiting import Settled
from conformance.judging.facts.quorum import Stored
from conformance.kip595.metrics import (
    ATTRIBUTES,
    LEADER_ONLY,
    agrees_with_the_protocol,
    broker_finds_the_successor,
    leader_has_attributes_of_its_own,
    nodes_have_the_attributes,
    settles,
    watermarks_catch_up,
    words_are_known,
    wrong_rates,
)
from conformance.rigs.quorum.lab import QuorumLab
from history.readings import Metric
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica

IDS = {"controller-101": 101, "controller-102": 102, "broker-1": 1}
LED = LeaderAndEpoch(101, 4)
NAMED = {"current-leader": 101.0, "current-epoch": 4.0, "number-unknown-voter-connections": 0.0}
RIGHT: dict[str, dict[str, Any]] = {
    "controller-101": {
        **NAMED,
        "current-state": "leader",
        "current-vote": 101.0,
        "high-watermark": 9.0,
        "log-end-offset": 11.0,
    },
    "controller-102": {**NAMED, "current-state": "follower", "current-vote": 101.0, "high-watermark": 8.0},
    "broker-1": {**NAMED, "current-state": "observer", "current-vote": -1.0, "high-watermark": 8.0},
}


class Shown:
    """A quorum at rest whose nodes show these metrics."""

    broker = "broker-1"

    def __init__(self, look: dict[str, dict[str, Any]], applied: int = 8) -> None:
        self._look = look
        self._applied = applied
        self.bench = self
        self.wait = self
        self.members = IDS

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        return Settled(1, probe(), within)

    controllers = ("controller-101", "controller-102")

    def answers(self, names: Iterable[str], ask: Callable[[str], QuorumAnswer]) -> dict[str, QuorumAnswer]:
        return {name: ask(name) for name in names}

    def node(self, name: str, *, controller: bool) -> Shown:
        return self

    def describe_quorum(self) -> QuorumAnswer:
        return self.describe_by_leader()

    def gauges(self, name: str) -> Metric:
        return Metric(self._look[name])

    def applied_offset(self) -> int:
        return self._applied

    def id_of(self, name: str) -> int:
        return IDS[name]

    def name_of(self, id: int) -> str:
        return next(name for name, known in IDS.items() if known == id)

    def read_metrics(self) -> dict[str, Metric]:
        return {name: self.gauges(name) for name in self._look}

    def agreed_leader(self) -> LeaderAndEpoch:
        return LED

    def quorum_state(self, name: str) -> Stored:
        return Stored(101, 4, 101 if name == "controller-102" else -1)

    def describe_by_leader(self) -> QuorumAnswer:
        about: dict[str, Any] = {"topic": METADATA_TOPIC, "partition": 0, "error": Error.NONE}
        about |= {"current_voters": (QuorumReplica(replica_id=101, log_end_offset=11),)}
        return QuorumAnswer(version=1, leader_id=101, leader_epoch=4, high_watermark=9, **about)


def violated(claims: Iterable[Claim]) -> set[str]:
    found = [one.observation for one in claims if isinstance(one, ObservationClaim)]
    return {one.case for one in found if one.result == "violated"}


def shown(node: str, **metrics: Any) -> QuorumLab:
    changed = {name.replace("_", "-"): value for name, value in metrics.items()}
    return cast(QuorumLab, Shown({**RIGHT, node: {**RIGHT[node], **changed}}))


@pytest.mark.parametrize(
    ("lab", "cases"),
    [
        (shown("broker-1"), set()),
        (shown("controller-102", current_leader=103), {"leader-and-epoch"}),
        (shown("broker-1", current_epoch=3), {"leader-and-epoch"}),
        (shown("controller-101", current_vote=-1), {"vote"}),
        (shown("controller-102", current_vote=103), {"vote"}),
        (shown("controller-101", high_watermark=8), {"high-watermark"}),
        (shown("controller-101", log_end_offset=12), {"high-watermark"}),
        (shown("controller-102", log_end_offset=3), set()),
        (shown("controller-102", number_unknown_voter_connections=1), {"connections"}),
        (shown("controller-102", number_unknown_voter_connections=None), {"connections"}),
    ],
)
def test_metrics_that_contradict_the_controllers_are_violations(lab: QuorumLab, cases: set[str]) -> None:
    assert violated(agrees_with_the_protocol(lab, LED)) == cases


@pytest.mark.parametrize(
    ("lab", "cases"),
    [
        (shown("broker-1"), set()),
        (shown("broker-1", current_leader=102), {"broker"}),
        (shown("broker-1", current_leader=-1), {"broker"}),
        (cast(QuorumLab, Shown(RIGHT, applied=7)), {"broker"}),
    ],
)
def test_a_broker_follows_the_successor_and_applies_what_it_committed(lab: QuorumLab, cases: set[str]) -> None:
    assert violated(broker_finds_the_successor(lab, "controller-102")) == cases


class Leaderless(Shown):
    def describe_quorum(self) -> QuorumAnswer:
        return QuorumAnswer(version=1, topic=METADATA_TOPIC, partition=0, error=Error.NOT_LEADER_OR_FOLLOWER)


def test_a_broker_has_no_successor_to_find_where_there_is_none() -> None:
    lab = cast(QuorumLab, Leaderless(RIGHT))
    assert [*broker_finds_the_successor(lab, "controller-101")] == []


@pytest.mark.parametrize(
    ("node", "state", "expected", "cases"),
    [
        ("controller-102", "voted", "VOTED", set()),
        ("controller-102", "voted", "PROSPECTIVE", {"controller"}),
        ("controller-102", "prospective", "PROSPECTIVE", set()),
        ("controller-102", "observer", "VOTED", {"controller"}),
        ("broker-1", "follower", "VOTED", set()),
        ("broker-1", "follower", "PROSPECTIVE", {"broker"}),
        ("broker-1", "leader", "VOTED", {"broker"}),
    ],
)
def test_states_are_those_of_the_release_and_role(node: str, state: str, expected: str, cases: set[str]) -> None:
    look = {node: Metric({"current-state": state})}
    assert violated(words_are_known(shown("broker-1"), look, expected)) == cases


RATES = {"append-records-rate": 0.0, "fetch-records-rate": 1.0, "poll-idle-ratio-avg": 0.9}
LATENCIES = {f"{one}-latency-{kind}": 5.0 for one in ("commit", "election") for kind in ("avg", "max")}
LEADERS = {**RATES, **LATENCIES, "append-records-rate": 2.0}


@pytest.mark.parametrize(
    ("leader", "follower", "cases"),
    [
        ({}, {}, set()),
        ({}, {"append-records-rate": 0.1}, {"append"}),
        ({"append-records-rate": 0.0}, {}, {"append"}),
        ({}, {"fetch-records-rate": 0.0}, {"fetch"}),
        ({}, {"poll-idle-ratio-avg": 1.5}, {"poll-idle"}),
        ({"commit-latency-avg": None}, {}, {"commit-latency"}),
        ({"election-latency-max": None}, {}, {"election-latency"}),
    ],
)
def test_rates_of_another_role_are_violations(
    leader: dict[str, Any], follower: dict[str, Any], cases: set[str]
) -> None:
    look = {"one": Metric({**LEADERS, **leader}), "two": Metric({**RATES, **follower}), "broker": Metric(RATES)}
    assert {case for (case, _), wrong in wrong_rates(look, "one", "two", "broker").items() if wrong} == cases


# --- what nodes catch up with, and what they must have


@pytest.mark.parametrize(("applied", "cases"), [(8, set()), (12, set()), (7, {"broker"})])
def test_the_broker_applies_what_is_committed(applied: int, cases: set[str]) -> None:
    lab = cast(QuorumLab, Shown(RIGHT, applied))
    assert violated(islice(settles(lab, new_process=False, returned="controller-102"), 1)) == cases


@pytest.mark.parametrize(("watermark", "cases"), [(9.0, set()), (8.0, {"catches-up"}), (-1.0, {"catches-up"})])
def test_replicas_learn_the_leaders_high_watermark(watermark: float, cases: set[str]) -> None:
    look = {name: {**found, "high-watermark": watermark} for name, found in RIGHT.items() if name != "controller-101"}
    lab = cast(QuorumLab, Shown({**look, "controller-101": RIGHT["controller-101"]}))
    assert violated(watermarks_catch_up(lab)) == cases


def has(*missing: str, leader_only: str = "controller-101") -> QuorumLab:
    """A quorum in which a node has the attributes of a leader, and no node has some of the others."""
    known = dict.fromkeys(ATTRIBUTES["BASE"] - {*missing}, 0.0)
    more = dict.fromkeys(LEADER_ONLY, 0.0)
    return cast(QuorumLab, Shown({name: known | (more if name == leader_only else {}) for name in IDS}))


@pytest.mark.parametrize(("missing", "broken"), [((), False), (("current-vote",), True)])
def test_each_node_has_the_attributes(missing: tuple[str, ...], broken: bool) -> None:
    assert bool(violated(nodes_have_the_attributes.body(has(*missing), "BASE"))) is broken


@pytest.mark.parametrize(("node", "broken"), [("controller-101", False), ("controller-102", True), ("", True)])
def test_only_the_leader_has_attributes_of_a_leader(node: str, broken: bool) -> None:
    assert bool(violated(leader_has_attributes_of_its_own.body(has(leader_only=node)))) is broken
