"""The budgets of profiles: what the checks of each family cost fits, and what does not is named with its reason."""

from __future__ import annotations

from collections import defaultdict

import pytest

from conformance.core.profiles import MINUTES, PROFILES, Profile, shipped_budgets
from conformance.core.registry import every_check, is_in_profile, shortest_profile
from conformance.running.planning.budget import cost_of
from conformance.running.planning.ordering import priority_of

BUDGETS = shipped_budgets()


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_the_checks_of_each_family_fit_their_budget(profile: Profile) -> None:
    """A new check that does not fit is named in the file, with the reason, or one of its family becomes cheaper."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for check in every_check().values():
        if is_in_profile(check, profile):
            seconds[check.id.partition(".")[0]] += cost_of(check, "4.3.1")
    over = {
        family: took for family, took in seconds.items() if took > BUDGETS.profiles[profile].families.get(family, 0.0)
    }
    assert not over


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_the_families_budgets_and_boots_come_to_the_minutes_of_all_workers(profile: Profile) -> None:
    budget = BUDGETS.profiles[profile]
    assert budget.seconds <= 60 * budget.minutes * BUDGETS.workers
    assert MINUTES[profile] in (0, budget.minutes)


def test_a_check_that_is_too_long_for_a_profile_is_one_that_there_is_and_has_a_reason() -> None:
    named = BUDGETS.from_quick | BUDGETS.only_nightly
    assert named.keys() <= every_check().keys()
    assert not BUDGETS.from_quick.keys() & BUDGETS.only_nightly.keys()
    assert all(named.values())
    found = {id: shortest_profile(every_check()[id]) for id in named}
    assert found == dict.fromkeys(BUDGETS.from_quick, "quick") | dict.fromkeys(BUDGETS.only_nightly, "nightly")


def test_of_rows_of_the_highest_priority_only_schedules_of_the_quorum_a_machine_and_clients_are_only_nightly() -> None:
    others = ("machines.", "kip1251.java_consumers.", "kip1251.client_copies.")
    nightly = [every_check()[id] for id in BUDGETS.only_nightly if not id.startswith(others)]
    highest = [check for check in nightly if priority_of(check) == "P1"]
    assert [check.id for check in highest if not getattr(check, "schedule", "").startswith("KIP595-SC-")] == []


def test_a_longer_profile_has_all_checks_of_a_shorter_one() -> None:
    sizes = [{id for id, check in every_check().items() if is_in_profile(check, profile)} for profile in PROFILES]
    assert sizes[0] < sizes[1] < sizes[2] == every_check().keys()
