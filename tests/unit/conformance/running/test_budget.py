"""Time is planned before a run: work first, no check starves another, and what is left is used."""

import math

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats, integers, sampled_from

from conformance.core.profiles import MINUTES, Profile
from conformance.core.registry import every_check, is_in_profile, is_soak
from conformance.running.planning.budget import (
    COSTS,
    PARTS,
    PATIENCE,
    TimePlan,
    Work,
    kind_of,
    plan_time,
    whole_minutes,
)

WHOLE = ("quick", "nightly")


def items(machines: int, parts: int, probes: int = 40, searches: int = 0, labels: int = 1) -> list[Work]:
    """In the order in which they begin."""
    columns = [f"4.{n}.0" for n in range(labels)]
    return [
        *(Work(check=f"probe {n}", label=label, kind="probe") for label in columns for n in range(probes)),
        *(Work(check=f"schedule {n}", label=label, kind="schedule") for label in columns for n in range(10)),
        *(
            Work(check=f"machine {m}", label=label, kind="machine", part=part)
            for part in range(1, parts + 1)
            for label in columns
            for m in range(machines)
        ),
        *(Work(check="rarest", label=columns[0], kind="rarest", part=n) for n in range(1, searches + 1)),
    ]


def played(plan: TimePlan, work: list[Work], workers: int, lasts: float) -> dict[Work, float]:
    """The time of each item if each probe and schedule `lasts` this long, and the others use all of their time."""
    clocks = [0.0] * workers
    got: dict[Work, float] = {}
    for one in work:
        first = clocks.index(min(clocks))
        allowed = plan.share(one).allowance(clocks[first])
        usual = {"probe": lasts, "schedule": lasts, "soak": COSTS["soak"]}
        got[one] = min(allowed, usual.get(one.kind, allowed))
        clocks[first] += got[one]
    return got


def test_smoke_has_no_clock() -> None:
    work = items(4, PARTS["smoke"])
    plan = plan_time("smoke", 0, work, 2)
    assert {plan.share(one).allowance(10_000.0) for one in work} == {math.inf}


@pytest.mark.parametrize("searches", [0, 2])
def test_four_machines_and_two_workers_starve_nothing(searches: int) -> None:
    """Twelve parts on two workers, however long the probes before them take."""
    work = items(4, 3, searches=searches)
    plan = plan_time("quick", 15, work, 2)
    for lasts in (1.0, 20.0, 1000.0):
        got = played(plan, work, 2, lasts)
        parts = [got[one] for one in work if one.kind == "machine"]
        assert min(parts) >= 0.9 * max(parts)
        assert min(parts) >= 30.0
        assert 2 * 900.0 * 0.99 <= sum(got.values()) <= 2 * 900.0 + 1


def test_time_that_probes_leave_goes_to_machines_and_to_the_rarest_cases() -> None:
    work = items(1, 3, searches=3)
    got = played(plan_time("quick", 15, work, 3), work, 3, 3.0)
    machine = sum(seconds for one, seconds in got.items() if one.kind == "machine")
    rarest = sum(seconds for one, seconds in got.items() if one.kind == "rarest")
    assert machine == pytest.approx(2 * rarest, rel=0.1)
    assert machine + rarest == pytest.approx(3 * 900 - 50 * 3, rel=0.02)


def with_soak(work: list[Work]) -> list[Work]:
    """A soak comes after probes and schedules, and before the machines."""
    first = next(n for n, one in enumerate(work) if one.kind == "machine")
    return [*work[:first], Work(check="soak", label=work[0].label, kind="soak"), *work[first:]]


@pytest.mark.parametrize("workers", [1, 2, 4, 6])
@pytest.mark.parametrize("lasts", [5.0, 30.0, 60.0, 300.0])
def test_a_soak_takes_nothing_from_probes_and_schedules_and_starves_no_machine(workers: int, lasts: float) -> None:
    work = items(4, PARTS["nightly"], searches=workers)
    alone, beside = (
        played(plan_time("nightly", 0, all, workers), all, workers, lasts) for all in (work, with_soak(work))
    )
    bounded = [one for one in work if one.kind in ("probe", "schedule")]
    assert [beside[one] for one in bounded] == [alone[one] for one in bounded]
    parts = [seconds for one, seconds in beside.items() if one.kind == "machine"]
    assert min(parts) >= 60.0


def test_a_soak_that_does_not_fit_is_not_begun() -> None:
    [soak] = [one for one in with_soak(items(1, 3)) if one.kind == "soak"]
    share = plan_time("nightly", 60, with_soak(items(1, 3)), 2).share(soak)
    assert share.allowance(0.0) == PATIENCE["soak"]
    assert share.allowance(share.until - COSTS["soak"]) == COSTS["soak"]
    assert share.allowance(share.until - COSTS["soak"] + 1) == 0.0


def test_only_the_nightly_profile_has_soaks() -> None:
    soaks = [check for check in every_check().values() if is_soak(check)]
    assert [check.id for check in soaks] == ["kip101.flapping.leaders_flap_for_long"]
    assert {kind_of(check) for check in soaks} == {"soak"}
    assert [profile for profile in MINUTES for check in soaks if is_in_profile(check, profile)] == ["nightly"]


def test_a_hanging_check_is_cut_off_and_the_others_run() -> None:
    work = items(1, 3)
    plan = plan_time("quick", 15, work, 3)
    assert plan.share(work[0]).allowance(0.0) == PATIENCE["probe"]
    assert plan.share(work[0]).allowance(899.0) == 0.0


def test_columns_share_their_time() -> None:
    assert plan_time("quick", 0, items(1, 3, labels=2), 4).total == 2 * 60 * MINUTES["quick"]
    assert plan_time("smoke", 5, items(1, 1), 4).total == 300, "minutes that were asked for are a clock, in smoke too"


@pytest.mark.parametrize(
    ("profile", "workers", "minutes"),
    [("quick", 8, 15), ("quick", 4, 15), ("quick", 2, 27), ("quick", 1, 54), ("smoke", 1, 0), ("nightly", 1, 60)],
)
def test_a_whole_profile_has_more_time_on_fewer_workers_than_its_budget_counts_on(
    profile: Profile, workers: int, minutes: float
) -> None:
    assert whole_minutes(profile, workers) == pytest.approx(minutes)


def test_an_item_that_was_not_planned_has_all_the_time() -> None:
    assert plan_time("quick", 0, [], 1).share(items(1, 1)[0]).allowance(1e6) == math.inf


@given(
    sampled_from(WHOLE), integers(1, 5), integers(1, 3), integers(1, 8), floats(0.1, 2000.0), sampled_from([0, 1, 4])
)
@example("quick", 5, 3, 1, 12.0, 1)
def test_no_part_of_a_machine_is_starved(
    profile: Profile, machines: int, parts: int, workers: int, lasts: float, searches: int
) -> None:
    work = items(machines, parts, searches=searches)
    plan = plan_time(profile, 0, work, workers)
    got = [seconds for one, seconds in played(plan, work, workers, lasts).items() if one.kind == "machine"]
    assert min(got) >= 0.5 * max(got)
    assert min(got) >= 15.0
