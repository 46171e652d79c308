"""Which nights are whole."""

from pathlib import Path

import pytest

from conformance.campaign.night.plan import NightPlan, place_of, plan_night, read_night, write_night
from fixtures.errors import WrongUse

NEWEST = ("3.9.2", "4.3.1")


def planned(*legs: str, requirements: list[str] | None = None, whole: bool = True) -> NightPlan:
    return plan_night("2026-11-27", legs, NEWEST, requirements or [], [], is_meant_whole=whole)


def test_a_night_is_whole_if_it_is_meant_so_and_has_all_newest_patches_and_every_row() -> None:
    assert planned(*NEWEST).is_whole
    assert planned("3.9.1", *NEWEST).is_whole
    assert planned("4.3.1").missing == ["it leaves out 3.9.2"]
    assert planned(*NEWEST, requirements=["KIP320-*"]).missing == ["it has only the rows KIP320-*"]
    assert planned(*NEWEST, whole=False).missing == ["it was neither scheduled nor asked for as a whole one"]


def test_each_leg_runs_the_rows_of_the_night() -> None:
    assert planned("4.3.1", requirements=["A-*", "$(id)"]).options == ["--requirement", "A-*", "--requirement", "$(id)"]


def test_nights_follow_one_another_as_days_or_numbers_do() -> None:
    assert place_of("2026-11-27") < place_of("2026-12-01")
    assert place_of("9") < place_of("10")


@pytest.mark.parametrize("name", ["", "tonight", "../1", "1 2", "2026-11-27\n", "$(id)", "-1"])
def test_a_name_that_is_no_date_and_no_number_is_refused(name: str) -> None:
    with pytest.raises(WrongUse, match="named by a date or a number"):
        place_of(name)


def test_a_plan_is_read_as_it_was_written_and_anything_else_refused_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    write_night(file, planned("4.3.1"))
    assert read_night(file) == planned("4.3.1")
    file.write_text(file.read_text().replace("2026-11-27", "../x"))
    with pytest.raises(WrongUse, match="named by a date"):
        read_night(file)
    file.write_text("{")
    with pytest.raises(WrongUse, match=r"plan.json"):
        read_night(file)
