"""The frozen-voter probes on a voter in memory: silent on one that keeps the rules, even when it is slow; red on each bug."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.checks import Check, all_checks
from conformance.core.evaluate import ExampleOutcome
from conformance.judging.due import OWED_STEPS
from conformance.judging.excuses import GIVEN_UP
from conformance.kip595.refused_starts import ASKS_NONE
from conformance.rigs.quorum.expendable import BARE, ENDS, EXPENDABLE, RUNS_ON
from conformance.rigs.quorum.frozen import FROZEN
from fixtures.waiting import Overdue
from history.due import Due
from tests.support.probe_examples import examples
from tests.support.voter_cluster import on_voter

PROBES = [check for check in all_checks().values() if check.rig in (FROZEN, EXPENDABLE, BARE)]


def outcomes(check: Check, *bugs: str, **more: Any) -> list[ExampleOutcome]:
    return [on_voter(check, *bugs, case=case, **more, **inputs) for case, inputs in examples(check)]


def violated(outcome: ExampleOutcome) -> set[tuple[str, str]]:
    return {(one.requirement, one.case) for one in outcome.observations if one.result == "violated"}


@pytest.mark.parametrize("check", PROBES, ids=lambda check: check.id)
@pytest.mark.parametrize("lag", [0.001, 0.08])
def test_a_voter_that_keeps_the_rules_breaks_no_row(check: Check, lag: float) -> None:
    """With 80 ms a message an answer may come after the voter's timeout of 300 ms, as on a busy machine."""
    for outcome in outcomes(check, lag=lag):
        assert outcome.end in ("judged", "premise lost"), outcome.detail
        assert violated(outcome) == set()


def test_requests_that_a_slow_voter_gave_up_are_counted() -> None:
    check = all_checks()["kip595.frozen_followers.refused_follower_moves_on"]
    for outcome in outcomes(check, lag=0.08):
        assert {one.excuse for one in outcome.excuses if one.requirement == "KIP595-FETCH-13"} == {GIVEN_UP.name}


BUGS = {
    "names-the-former-leader": {("KIP595-API-07", "vote"), ("KIP595-API-07", "begin")},
    "adopts-older-epochs": {("KIP595-FETCH-13", "unknown-epoch")},
    "pre-votes-without-log": {("KIP595-VOTE-14", "log-end")},
    "deaf-candidate": {("KIP595-VOTE-02", "refused"), ("KIP595-QS-02", "newer-epoch")},
    "names-all-as-granting": {("KIP595-LOG-01", "granting-voters"), ("KIP595-INV-16", "log")},
    "names-too-few-voters": {("KIP595-LOG-01", "first-batch")},
    "names-another-leader": {("KIP595-LOG-01", "first-batch")},
    "one-wait-for-all": {("KIP595-END-02", "version-0"), ("KIP595-END-02", "version-1"), ("KIP595-END-03", "first-of-three")},
    "leader-keeps-vote": {("KIP595-QS-03", "leader")},
    "reads-stop-at-watermark": {("KIP595-FETCH-04", "matching"), ("KIP595-FETCH-06", "uncommitted")},
    "fetches-stay-delayed": {("KIP595-FETCH-08", "deposed"), ("KIP595-FETCH-08", "shutdown")},
    "reads-a-damaged-file": {("KIP595-QS-06", "empty"), ("KIP595-QS-06", "garbled"), ("KIP595-QS-06", "unknown-version")},
    "starts-outside": {
        ("KIP595-CONF-02", "controller-absent"), ("KIP595-CONF-02", "broker-listed"), ("KIP595-CONF-02", "malformed"),
        ("KIP595-CONF-02", "no-voters"),
    },
    "lone-voter-waits": {("KIP595-ELEC-08", "leads-at-once")},
    "end-deposes": {("KIP595-END-06", "forged"), ("KIP595-ELEC-10", "refused")},
    "unfetched-is-caught-up": {("KIP595-OBS-04", "not-yet-fetched")},
    "truncates-committed": {("KIP595-FETCH-12", "below-hw")},
    "follows-second-leader": {("KIP595-BEGIN-05", "second-leader")},
    "adopts-outsiders": {("KIP595-BEGIN-06", "no-endpoints")},
    "epoch-not-raised": {("KIP595-VOTE-14", "stored-first"), ("KIP595-ELEC-10", "granted")},
    "hw-is-minimum": {("KIP595-FETCH-06", "uncommitted"), ("KIP595-HW-01", "past-epoch-start"), ("KIP595-HW-02", "exact")},
    "diverging-fetch-counts": {("KIP595-HW-01", "at-epoch-start")},
    "hw-goes-back": {("KIP595-HW-04", "leader")},
    "observers-count": {("KIP595-HW-03", "known-watermark")},
    "truncates-too-much": {("KIP595-FETCH-11", "leader-end-smaller"), ("KIP595-FETCH-11", "own-end-smaller")},
    "keeps-tail": {("KIP595-FETCH-11", "leader-end-smaller"), ("KIP595-FETCH-11", "own-end-smaller")},
    "later-epoch-appended": {("KIP595-FETCH-15", "alone"), ("KIP595-FETCH-15", "after-others")},
    "no-pre-vote": {
        ("KIP595-ELEC-10", "unanswered"), ("KIP595-ELEC-10", "refused"), ("KIP595-ELEC-10", "granted"),
        ("KIP595-END-02", "version-0"), ("KIP595-END-02", "version-1"), ("KIP595-END-06", "forged"),
    },
    "never-backs-off": {("KIP595-FETCH-13", "not-available")},
    "begin-resets": {("KIP595-BEGIN-04", "repeat")},
    "late-end-elects": {("KIP595-END-01", "older-epoch")},
    "grants-outsiders": {("KIP595-VOTE-09", "outsider")},
    "fetch-cancels-nothing": {("KIP595-END-03", "fetch-cancels")},
    "foreign-epoch-adopted": {
        ("KIP595-API-03", api) for api in ("vote", "begin", "end", "fetch", "fetch-snapshot")
    },
    "foreign-end-elects": {("KIP595-API-03", "end")},
    "foreign-fetch-resets": {("KIP595-API-03", "fetch"), ("KIP595-API-03", "fetch-snapshot")},
    "nonsense-elects-later": {
        ("KIP595-VOTE-07", "offset-negative"), ("KIP595-VOTE-07", "epoch-negative"), ("KIP595-VOTE-07", "epoch-not-below"),
        ("KIP595-VOTE-07", "pre-vote-above"), ("KIP595-VOTE-08", "vote"),
    },
    "fetch-epoch-adopted-later": {("KIP595-FETCH-01", "newer-epoch")},
    "invalid-fetch-resets": {
        ("KIP595-FETCH-02", "offset-negative"), ("KIP595-FETCH-02", "epoch-negative"), ("KIP595-FETCH-02", "epoch-above"),
        ("KIP595-FETCH-02", "wait-negative"),
    },
    "state-written-late": {("KIP595-QS-07", "changed"),
        ("KIP595-QS-02", "vote"), ("KIP595-QS-02", "begin"), ("KIP595-QS-02", "newer-epoch"), ("KIP595-VOTE-14", "stored-first"),
        ("KIP595-VOTE-12", "stored"), ("KIP595-VOTE-12", "other-candidate"), ("KIP595-VOTE-12", "same-candidate"),
    },
    "log-written-late": {("KIP595-FETCH-10", "position")},
    "forgets-its-log": {("KIP595-FETCH-10", "position"), ("KIP595-VOTE-13", "no-append")},
    "forgets-its-vote": {
        ("KIP595-VOTE-12", "stored"), ("KIP595-VOTE-12", "other-candidate"), ("KIP595-VOTE-12", "same-candidate"),
    },
}  # fmt: skip
"""By bug: the cases that it breaks, and no others."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_breaks_its_rows_and_no_others(bug: str) -> None:
    found = [outcome for check in PROBES for outcome in outcomes(check, bug)]
    assert {one.detail for one in found if one.end == "error"} == set()
    assert {broken for one in found for broken in violated(one)} == BUGS[bug]


@pytest.mark.parametrize(
    ("bug", "probe", "due"),
    [
        ("keeps-leader", "frozen_followers.refused_follower_moves_on", "epoch after a refusal"),
        ("stays-candidate", "frozen_followers.candidate_yields", "epoch after a candidacy"),
    ],
)
def test_a_step_that_never_comes_is_due(bug: str, probe: str, due: Due) -> None:
    """It ends the example; the history says what was due, and the row that promises it is violated."""
    for outcome in outcomes(all_checks()[f"kip595.{probe}"], bug):
        assert (outcome.end, violated(outcome)) == ("premise lost", set())
        assert outcome.detail.startswith(OWED_STEPS[due].row)


def test_a_voter_that_never_becomes_a_candidate_fails_the_preparation() -> None:
    with pytest.raises(Overdue, match="does not ask for votes") as passed:
        on_voter(next(check for check in PROBES if check.rig is FROZEN), "deaf-successor")
    assert passed.value.due == "candidacy"


def test_without_a_quorum_state_on_disk_no_probe_ends_in_trouble() -> None:
    found = [outcome for check in PROBES for outcome in outcomes(check, "no-quorum-state")]
    assert {one.detail for one in found if one.end == "error"} == set()
    assert {"KIP595-QS-02", "KIP595-VOTE-02", "KIP595-VOTE-12", "KIP595-BEGIN-01"} <= {
        row for one in found for row, _ in violated(one)
    }


def test_missing_votes_say_nothing_while_the_kit_starves() -> None:
    check = all_checks()["kip595.frozen_followers.voter_asks_others_when_its_leader_does_not_answer"]
    assert [violated(one) for one in outcomes(check, "asks-no-other")] == [
        {("KIP595-FETCH-13", "voter-asks-others")}
    ] * 2
    assert [(one.end, violated(one)) for one in outcomes(check, "asks-no-other", late=2.6)] == [
        ("premise lost", set())
    ] * 2


@pytest.mark.parametrize(
    ("bugs", "variant"), [((), ENDS), (("leads-when-told",), RUNS_ON), (("asks-none",), ASKS_NONE)]
)
def test_what_a_voter_does_that_is_named_as_the_leader_it_has_forgotten_is_recorded(
    bugs: tuple[str, ...], variant: str
) -> None:
    check = all_checks()["kip595.refused_starts.peer_names_the_leader_that_forgot"]
    for outcome in outcomes(check, *bugs):
        assert [one.variant for one in outcome.observations] == ["the log's epoch", variant]


def test_a_voter_that_gave_every_fetch_up_was_told_nothing() -> None:
    check = all_checks()["kip595.refused_starts.peer_names_the_leader_that_forgot"]
    for outcome in outcomes(check, "gives-fetches-up"):
        assert [one.variant for one in outcome.observations] == ["the log's epoch"]
        assert (outcome.end, outcome.detail) == ("premise lost", "an answer that reached the voter in time")
