"""Simulated runs over measured costs: a longer profile does all that a shorter one does, and no check is left out."""

from __future__ import annotations

import pytest

from conformance.core.checks import Check
from conformance.core.profiles import PROFILES, Profile, shipped_budgets
from conformance.core.registry import every_check, is_in_profile
from conformance.running.planning.budget import cost_of
from conformance.running.planning.ordering import priority_of
from tests.support.simulated_runs import count_boots, done_checks, late_checks, simulated_run, work_ends

WORKERS = shipped_budgets().workers
VERSIONS = ("3.9.2", "4.3.1")


@pytest.mark.parametrize("label", VERSIONS)
def test_a_longer_profile_first_does_what_the_shorter_does_in_its_order(label: str) -> None:
    smoke, quick, nightly = (simulated_run(profile, 1, label) for profile in PROFILES)
    first = [turn.item.work.check for turn in smoke]
    assert [turn.item.work.check for turn in quick][: len(first)] == first
    longer = [turn.item.work.check for turn in quick if is_in_profile(turn.item.check, "quick")]
    assert [turn.item.work.check for turn in nightly][: len(first)] == first
    assert {turn.item.work.check for turn in nightly[: len(longer)]} == set(longer)


@pytest.mark.parametrize("label", VERSIONS)
@pytest.mark.parametrize("workers", [2, 4, 8])
def test_a_longer_profile_never_does_fewer_checks(label: str, workers: int) -> None:
    """Rows are satisfied by the checks that are done; the same checks satisfy the same rows."""
    smoke, quick, nightly = (done_checks(simulated_run(profile, workers, label)) for profile in PROFILES)
    assert smoke <= quick <= nightly


@pytest.mark.parametrize("label", VERSIONS)
def test_quick_leaves_no_check_out_on_the_machine_of_the_budgets(label: str) -> None:
    assert late_checks(simulated_run("quick", WORKERS, label)) == []


def test_smoke_and_quick_end_in_their_minutes() -> None:
    """The work cannot be shared quite evenly."""
    budgets = shipped_budgets().profiles
    assert work_ends(simulated_run("smoke", WORKERS)) <= 1.05 * 60 * budgets["smoke"].minutes
    assert work_ends(simulated_run("quick", WORKERS)) <= 60 * budgets["quick"].minutes


@pytest.mark.parametrize(("profile", "four", "eight"), [("smoke", 2 / 3, 0.85), ("quick", 0.6, 0.75)])
def test_a_machine_with_more_cores_ends_earlier(profile: Profile, four: float, eight: float) -> None:
    """Four cores carry eight workers, eight cores sixteen; the opening of a machine is then most of smoke."""
    on = {workers: simulated_run(profile, workers) for workers in (4, 8, 16)}
    ends = {workers: work_ends(turns) for workers, turns in on.items()}
    assert ends[8] <= four * ends[4]
    assert ends[16] <= eight * ends[8]
    assert all(len({turn.worker for turn in turns}) == workers for workers, turns in on.items())


def test_what_has_no_time_on_a_small_machine_is_not_what_is_cheap() -> None:
    """With half of the workers the clusters with the cheapest checks come first, beyond what smoke does."""
    turns = simulated_run("quick", 2)
    late = [cost_of(every_check()[check], "4.3.1") for check in late_checks(turns)]
    done = [
        cost_of(every_check()[check], "4.3.1")
        for check in done_checks(turns)
        if not is_in_profile(every_check()[check], "smoke")
    ]
    assert sum(done) / len(done) < sum(late) / len(late)


def test_on_a_cluster_the_rows_of_high_priority_and_their_cheapest_checks_come_first() -> None:
    units: dict[str, list[tuple[str, float]]] = {}
    for turn in simulated_run("quick", WORKERS):
        check = turn.item.check
        if isinstance(check, Check):
            place = (priority_of(check), cost_of(check, "4.3.1"))
            units.setdefault(turn.item.unit, []).append(place)
    assert all(places == sorted(places) for places in units.values())


def test_the_boots_are_within_their_budget() -> None:
    for profile, budget in shipped_budgets().profiles.items():
        assert 10 * count_boots(simulated_run(profile, WORKERS)) <= budget.boots
