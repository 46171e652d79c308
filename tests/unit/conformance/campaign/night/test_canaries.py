"""Canaries: which bug is planted in which night, and when a canary looks well."""

from __future__ import annotations

from pathlib import Path

from conformance.campaign.night.attempts import Attempt, AttemptEnd, FoundAttempt
from conformance.campaign.night.canaries import EMPTY, CanaryOutcome, PlantedBug, canary_outcome, plan_canaries
from conformance.campaign.night.plan import Canary
from conformance.judging.verdicts import Verdict

BUGS = [PlantedBug(name=name, red=["A", "B"], may=["C"]) for name in ("one", "two", "three")]
MUTANT, NOTHING = plan_canaries("3", "4.4.0", BUGS)


def outcome(
    canary: Canary, unharmed: dict[str, Verdict] | None = None, /, *, trouble: str = "", **now: Verdict
) -> CanaryOutcome:
    end = AttemptEnd(is_whole=True, trouble=[trouble] if trouble else [])
    one = FoundAttempt(attempt=Attempt(night="3", leg=canary.name, number=1), folder=Path(), end=end)
    return canary_outcome(canary, [one], [one], now, unharmed or {})


def test_each_night_has_the_bug_whose_turn_it_is_and_an_empty_cluster() -> None:
    assert [plan_canaries(night, "4.4.0", BUGS)[0].mutant for night in ("3", "4", "5", "6")] == [
        "one",
        "two",
        "three",
        "one",
    ]
    days = [plan_canaries(night, "4.4.0", BUGS)[0].mutant for night in ("2026-11-30", "2026-12-01", "2026-12-02")]
    assert sorted(days) == ["one", "three", "two"], "one after the other, also over the end of a month"
    assert (MUTANT.name, NOTHING.name, NOTHING.mutant) == ("canary-one", EMPTY, "")
    assert MUTANT.options == ["--conformance-profile", "smoke"]
    assert NOTHING.options[2:] == ["--requirement", "A", "--requirement", "B"]


def test_a_mutant_that_turns_none_of_its_rows_red_looks_well() -> None:
    assert outcome(MUTANT, A="satisfied", B="inconclusive").looks_well == "one turns none of A, B red"
    assert outcome(MUTANT, C="violated").looks_well
    assert outcome(MUTANT).looks_well
    red = outcome(MUTANT, A="violated", B="violated", C="violated", D="satisfied")
    assert (red.looks_well, red.trouble, red.exit_code) == ("", [], 0)


def test_a_mutant_must_turn_just_its_rows_red() -> None:
    missed = outcome(MUTANT, A="violated", B="satisfied")
    assert (missed.looks_well, missed.trouble, missed.exit_code) == ("", ["one does not turn B red"], 3)
    assert outcome(MUTANT, A="violated", B="not-run").trouble == []
    assert outcome(MUTANT, A="violated", B="error").trouble == ["B of one ended in trouble of the kit"]
    unharmed: dict[str, Verdict] = {"D": "satisfied", "E": "violated"}
    assert outcome(MUTANT, unharmed, A="violated", E="violated").trouble == []
    assert outcome(MUTANT, unharmed, A="violated", D="violated").trouble == ["one turns D red as well"]
    assert outcome(MUTANT, A="violated", D="violated").trouble == [], "there is no column to compare it with"


def test_an_empty_cluster_must_satisfy_nothing() -> None:
    assert outcome(NOTHING, A="error", B="inconclusive").reasons == []
    assert outcome(NOTHING, A="error", B="satisfied").looks_well == "an empty cluster satisfies B"
    assert outcome(NOTHING, A="error", B="recorded").looks_well == "an empty cluster satisfies B"


def test_an_empty_cluster_of_which_nothing_was_asked_is_trouble() -> None:
    reasons = ["nothing was asked of an empty cluster about A, B"]
    assert outcome(NOTHING).trouble == outcome(NOTHING, A="not-run", B="untested").trouble == reasons
    assert outcome(NOTHING, A="error", B="not-run").reasons == [], "the shortest profile leaves out rows"


def test_an_empty_cluster_breaks_the_row_about_nodes_that_come_up() -> None:
    _, empty = plan_canaries("1", "4.4.0", [PlantedBug(name="bug", red=["A"], may=[])])
    nodes: dict[str, Verdict] = {"GEN-10": "violated"}
    assert outcome(empty, A="error", **nodes).exit_code == 0
    assert outcome(empty, A="violated", **nodes).trouble == ["an empty cluster breaks A"]


def test_an_empty_cluster_that_breaks_a_row_is_trouble() -> None:
    found = outcome(NOTHING, A="violated", B="error")
    assert (found.looks_well, found.trouble, found.exit_code) == ("", ["an empty cluster breaks A"], 3)


def test_a_canary_that_ran_is_in_trouble_if_its_run_was() -> None:
    ended = "its run ended with 3"
    assert outcome(MUTANT, A="violated", B="violated", trouble=ended).trouble == [ended]
    assert outcome(NOTHING, A="error", B="error", trouble=ended).trouble == [ended]


def test_a_dead_canary_does_not_look_well() -> None:
    dead = canary_outcome(NOTHING, [], [], {}, {})
    assert (dead.looks_well, dead.trouble, dead.exit_code) == ("", ["it never began"], 3)
