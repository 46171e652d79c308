"""The probes of live voters on a voter in memory: silent on one that keeps the rules, even when it is slow; red on each bug."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.checks import Check, all_checks
from conformance.core.evaluate import ExampleOutcome
from conformance.rigs.quorum.live import LIVE_RIG, LIVE_RIG_OF_FIVE
from tests.support.live_voter import on_live_voter
from tests.support.probe_examples import examples

PROBES = [check for check in all_checks().values() if check.rig in (LIVE_RIG, LIVE_RIG_OF_FIVE)]


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
BUGS = {
    "no-check-quorum": {
        ("KIP595-LEAD-01", "describe-quorum"), ("KIP595-LEAD-01", "fetch"), ("KIP595-LEAD-01", "end-sent"), *LEAD_02,
        ("KIP595-END-04", "check-quorum"),
    },
    "any-fetch-counts": LEAD_02,
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
}  # fmt: skip
"""By bug: the cases that it breaks, and no others."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_breaks_its_rows_and_no_others(bug: str) -> None:
    found = [outcome for check in PROBES for outcome in outcomes(check, bug)]
    assert {one.detail for one in found if one.end == "error"} == set()
    assert {broken for one in found for broken in claimed(one, "violated")} == set(BUGS[bug])


@pytest.mark.parametrize("bug", ["no-check-quorum", "one-shot", "never-stands"])
def test_missing_steps_say_nothing_while_the_kit_starves(bug: str) -> None:
    """Only waits for steps that come at a time of their own are excused."""
    found = [outcome for check in PROBES for outcome in outcomes(check, bug, late=9.0)]
    assert {broken for one in found for broken in claimed(one, "violated")} == set()
    assert any(one.excuses for one in found)
