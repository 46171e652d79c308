"""The probes of live voters on a voter in memory: silent on one that keeps the rules, even when it is slow; red on each bug."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import pytest

from conformance.core.checks import Check, all_checks
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.kip595.live_elections import (
    lost_fetches_start_no_election,
    silent_leader_is_given_up_after_the_fetch_timeout,
)
from conformance.rigs.quorum.frozen import REQUEST_TIMEOUT
from conformance.rigs.quorum.live import FETCH_TIMEOUT, LIVE_RIG, LIVE_RIG_AT_DEFAULTS, LIVE_RIG_OF_FIVE, Live
from history.readings import Received
from tests.support.live_voter import LiveVoter, on_live_voter
from tests.support.probe_examples import examples
from tests.support.voter_cluster import VoterCluster, bench_on

AT_DEFAULTS = [check for check in all_checks().values() if check.rig is LIVE_RIG_AT_DEFAULTS]
PROBES = [*AT_DEFAULTS, *(one for one in all_checks().values() if one.rig in (LIVE_RIG, LIVE_RIG_OF_FIVE))]


def outcomes(check: Check, *bugs: str, **more: Any) -> list[ExampleOutcome]:
    return [on_live_voter(check, *bugs, case=case, **more, **inputs) for case, inputs in examples(check)]


def claimed(outcome: ExampleOutcome, result: str) -> set[tuple[str, str]]:
    return {(one.requirement, one.case) for one in outcome.observations if one.result == result}


def cases_of(check: Check) -> set[tuple[str, str]]:
    return {(check.own_rows[0], case) for case in check.cases or ()}


@pytest.mark.parametrize("check", PROBES, ids=lambda check: check.id)
@pytest.mark.parametrize("lag", [0.001, 0.01])
def test_a_voter_that_keeps_the_rules_breaks_no_row_and_shows_each_case(check: Check, lag: float) -> None:
    held = set()
    for outcome in outcomes(check, lag=lag):
        assert outcome.end == "judged", outcome.detail
        assert [one.detail for one in outcome.observations if one.result == "violated"] == []
        held |= claimed(outcome, "held")
    assert held == cases_of(check)


@pytest.mark.parametrize("check", PROBES, ids=lambda check: check.id)
def test_a_very_slow_voter_breaks_no_row(check: Check) -> None:
    """With 80 ms a message an answer may come after the voter's timeout of 300 ms, as on a busy machine."""
    for outcome in outcomes(check, lag=0.08):
        assert outcome.end in ("judged", "premise lost"), outcome.detail
        assert [one.detail for one in outcome.observations if one.result == "violated"] == []


LEAD_02 = {("KIP595-LEAD-02", case) for case in ("consumer", "observer", "wrong-epoch", "diverging")}
IN_ITS_NAME = {
    ("KIP595-BEGIN-07", "each-voter"), ("KIP595-LEAD-01", "end-sent"), ("KIP595-END-04", "check-quorum"),
    ("KIP595-END-04", "shutdown"), ("KIP595-END-04", "silent-voter"),
}  # fmt: skip
BUGS = {
    "no-check-quorum": {
        ("KIP595-LEAD-01", "describe-quorum"), ("KIP595-LEAD-01", "fetch"), ("KIP595-LEAD-01", "end-sent"), *LEAD_02,
        ("KIP595-END-04", "check-quorum"),
    },
    "any-fetch-counts": LEAD_02,
    "voters-are-not-fenced": {("KIP595-FETCH-01", "newer-epoch"), ("KIP595-FETCH-01", "older-epoch")},
    "one-voter-is-enough": {("KIP595-LEAD-01", "describe-quorum")},
    "sent-in-another-name": IN_ITS_NAME,
    "sent-from-nowhere": {("KIP595-BEGIN-07", "each-voter")},
    "no-fetch-counts": {("KIP595-LEAD-02", "one-voter"), ("KIP595-LEAD-03", "fetch-snapshot")},
    "resigns-in-silence": {
        ("KIP595-LEAD-01", "end-sent"), ("KIP595-END-04", "check-quorum"), ("KIP595-END-04", "shutdown"),
        ("KIP595-END-04", "silent-voter"),
    },
    "successors-reversed": {
        ("KIP595-END-04", "check-quorum"), ("KIP595-END-04", "shutdown"), ("KIP595-END-04", "silent-voter")
    },
    "one-shot": {("KIP595-BEGIN-07", "unanswered"), ("KIP595-END-04", "silent-voter")},
    "tells-one": {
        ("KIP595-BEGIN-07", "each-voter"), ("KIP595-BEGIN-07", "unanswered"), ("KIP595-LEAD-01", "end-sent"),
        ("KIP595-END-04", "check-quorum"), ("KIP595-END-04", "shutdown"), ("KIP595-END-04", "silent-voter"),
    },
    "counts-a-voter-twice": {
        ("KIP595-VOTE-15", "one-grant"), ("KIP595-VOTE-15", "pre-votes"), ("KIP595-VOTE-15", "older-epoch")
    },
    "leads-by-one-vote": {
        ("KIP595-VOTE-15", "one-grant"), ("KIP595-VOTE-15", "pre-votes"), ("KIP595-VOTE-15", "older-epoch")
    },
    "counts-older-epochs": {("KIP595-VOTE-15", "older-epoch")},
    "fires-on-first-loss": {("KIP595-ELEC-01", "silent-leader"), ("KIP595-ELEC-01", "lost-request")},
    "constant-timeout": {("KIP595-ELEC-02", "spread")},
    "tight-loop": {("KIP595-ELEC-03", "refused")},
    "one-epoch": {("KIP595-ELEC-03", "refused")},
    "one-shot-vote": {("KIP595-ELEC-04", "unanswered")},
    "asks-all-again": {("KIP595-ELEC-04", "answered")},
    "snapshot-is-no-progress": {("KIP595-LEAD-03", "fetch-snapshot")},
    "leads-again": {("KIP595-LEAD-06", "check-quorum"), ("KIP595-LEAD-06", "restarted")},
    "stays-resigned": {("KIP595-LEAD-06", "check-quorum"), ("KIP595-LEAD-06", "restarted")},
    "skips-an-epoch": {("KIP595-LEAD-06", "check-quorum"), ("KIP595-LEAD-06", "restarted")},
    "never-stands": {("KIP595-ELEC-01", "silent-leader")},
    "any-answer-counts": {("KIP595-ELEC-01", "silent-leader")},
}  # fmt: skip
"""By bug: the cases that it breaks, and no others."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_breaks_its_rows_and_no_others(bug: str) -> None:
    found = [outcome for check in PROBES for outcome in outcomes(check, bug)]
    assert {one.detail for one in found if one.end == "error"} == set()
    assert {broken for one in found for broken in claimed(one, "violated")} == set(BUGS[bug])


@pytest.mark.parametrize(
    ("bug", "row"),
    [("no-check-quorum", "LEAD-01"), ("never-stands", "ELEC-01"), ("fires-on-first-loss", "ELEC-01")],
)
def test_a_check_at_defaults_sees_a_bug_by_itself(bug: str, row: str) -> None:
    found = [outcome for check in AT_DEFAULTS for outcome in outcomes(check, bug)]
    assert {id for one in found for id, _ in claimed(one, "violated")} == {f"KIP595-{row}"}


@pytest.mark.parametrize("bug", ["no-check-quorum", "one-shot", "never-stands"])
def test_missing_steps_say_nothing_while_the_kit_starves(bug: str) -> None:
    """Only waits for steps that come at a time of their own are excused."""
    found = [outcome for check in PROBES for outcome in outcomes(check, bug, late=9.0)]
    assert {broken for one in found for broken in claimed(one, "violated")} == set()
    assert any(one.excuses for one in found)


class LateAnswer(VoterCluster):
    """A cluster beside which the kit does not get to send one of its answers for almost two fetch timeouts."""

    def __init__(self, voter: LiveVoter, number: int) -> None:
        super().__init__(voter)
        self.number = number
        """That of the answer, from 1."""

    def reply(self, number: int, body: dict[str, Any]) -> bool:
        self.number -= 1
        if self.number == 0:
            self.voter.pass_time(self.voter.now + 1.9 * FETCH_TIMEOUT / 1000)
        return super().reply(number, body)


@pytest.mark.parametrize("number", range(1, 30))
def test_an_answer_that_the_kit_sends_late_elects_nobody_too_early(number: int) -> None:
    """The voter was not served in each fetch timeout."""
    check = lost_fetches_start_no_election
    cluster = LateAnswer(LiveVoter(frozenset(), 0.001, Live.others), number)
    bench = bench_on(cluster, check, "lost-request")
    inputs = {"leader": 2, "troubles": ["lost", "refused", "lost"]}
    outcome = evaluate_check(check, bench, inputs, msgspec.to_builtins(LIVE_RIG.prepare(bench)))
    assert [one.detail for one in outcome.observations if one.result == "violated"] == []


class LateRequest(LiveVoter):
    """A voter that keeps the rules, one of whose fetches takes most of its request timeout to reach the peer."""

    TAKES = 0.8 * REQUEST_TIMEOUT / 1000

    def __init__(self, number: int) -> None:
        super().__init__(frozenset(), 0.001, Live.others)
        self.number = number
        """That of the fetch, from 1."""
        self.given_up_at = inf

    def send(self, peer: int, api: str, body: dict[str, Any]) -> None:
        super().send(peer, api, body)
        self.number -= api == "Fetch"
        if api == "Fetch" and self.number == 0:
            self.given_up_at = self.now + REQUEST_TIMEOUT / 1000
            self.inbox[-1] = self.flight[peer] = msgspec.structs.replace(self.inbox[-1], at=self.now + self.TAKES)

    def give_up_requests(self) -> None:
        super().give_up_requests()
        if self.now >= self.given_up_at:
            self.given_up_at, self.flight = inf, {}

    def answer(self, asked: Received, body: dict[str, Any]) -> bool:
        """Answer as ever; what comes after a request timeout has reached the voter, too."""
        super().answer(asked, body)
        return True


@pytest.mark.parametrize("number", range(2, 14))
def test_an_answer_to_a_request_that_was_given_up_serves_nobody(number: int) -> None:
    """The kit answers it soon after it arrived, and yet after the voter's request timeout."""
    check, cluster = silent_leader_is_given_up_after_the_fetch_timeout, VoterCluster(LateRequest(number))
    bench = bench_on(cluster, check, "silent-leader")
    inputs = {"leader": 2, "fetches": 3, "refuses": False}
    outcome = evaluate_check(check, bench, inputs, msgspec.to_builtins(LIVE_RIG.prepare(bench)))
    assert [one.detail for one in outcome.observations if one.result == "violated"] == []
