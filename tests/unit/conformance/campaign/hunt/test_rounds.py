"""The next round of a hunt: its column, its opening, what is tried first, and what is left aside."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conformance.campaign.hunt.rounds import (
    KeptSchedule,
    next_column,
    next_round,
    read_kept_schedules,
    round_minutes,
    settled_breaches,
    untried_schedules,
)
from conformance.campaign.hunt.totals import Totals
from conformance.campaign.plan import column_runs_for
from conformance.core.machines import all_machines
from conformance.running.columns import wanted_columns
from conformance.running.violations import Breach
from tests.support.fake_hunt_run import CASES, ROW
from tests.support.sample_hunt import found, hunt_of, seen

COLUMNS = column_runs_for(wanted_columns(["3.9.2", "4.3.1", "4.4.0"]))
SCHEDULE = seen().schedule


def kept(*names: str) -> list[KeptSchedule]:
    return [KeptSchedule(name=name, schedule=SCHEDULE) for name in names]


def test_the_column_whose_round_is_longest_ago_is_next() -> None:
    assert next_column(hunt_of(), COLUMNS).name == "3.9.2"
    assert next_column(hunt_of("3.9.2", "4.3.1"), COLUMNS).name == "4.4.0"
    assert next_column(hunt_of("4.4.0", "3.9.2", "4.3.1"), COLUMNS).name == "4.4.0"
    assert next_column(hunt_of("4.3.1", "3.9.2", "3.9.2"), COLUMNS[:2]).name == "4.3.1"


def test_seeds_follow_from_the_seed_of_the_hunt() -> None:
    one = next_round(hunt_of("3.9.2", "4.3.1"), COLUMNS, [], [], 6.0, 4)
    assert (one.number, one.seed) == (3, 103)


def test_the_opening_is_for_a_column_without_examples() -> None:
    assert next_round(hunt_of("3.9.2"), COLUMNS[:1], [], [], 6.0, 4).opening
    before = hunt_of("3.9.2", totals=Totals(examples={"judged": 1}))
    assert not next_round(before, COLUMNS[:1], [], [], 6.0, 4).opening


def test_as_many_schedules_are_tried_first_as_fit_into_a_quarter_of_the_round() -> None:
    names = [f"s{n:02}" for n in range(30)]
    one = next_round(hunt_of(), COLUMNS, [], kept(*names), 6.0, 4)
    assert one.schedules == names[:3]


def test_those_that_did_not_fit_come_in_the_next_round_of_the_column() -> None:
    hunt = hunt_of("3.9.2", schedules=["a", "b"])
    assert untried_schedules(hunt, "3.9.2", kept("a", "b", "c")) == ["c"]
    assert untried_schedules(hunt, "4.3.1", kept("a", "b", "c")) == ["a", "b", "c"]


def test_in_the_next_night_all_are_tried_again() -> None:
    hunt = hunt_of("3.9.2", schedules=["a"])
    hunt.begin(8.0)
    assert untried_schedules(hunt, "3.9.2", kept("a")) == ["a"]


def test_what_was_found_on_the_column_in_this_night_is_not_tried_there() -> None:
    finding = found(1, "3.9.2")
    hunt = hunt_of("3.9.2", findings=[finding])
    assert untried_schedules(hunt, "3.9.2", kept(finding.name)) == []
    assert untried_schedules(hunt, "4.3.1", kept(finding.name)) == [finding.name]


def test_known_findings_come_last() -> None:
    known = found(1, "3.9.2", known="KAFKA-1")
    hunt = hunt_of("3.9.2", findings=[known])
    assert untried_schedules(hunt, "4.3.1", kept(known.name, "z")) == ["z", known.name]


def test_only_schedules_of_the_machines_that_run_are_kept(tmp_path: Path) -> None:
    (tmp_path / "failing").mkdir()
    (tmp_path / "failing" / "one.json").write_bytes(msgspec.json.encode(SCHEDULE))
    machines = {one.id.split(".")[1]: one for one in all_machines().values()}
    lines: list[str] = []
    assert [one.name for one in read_kept_schedules(tmp_path, [machines["log"]], lines.append)] == ["one"]
    assert (read_kept_schedules(tmp_path, [machines["topics"]], lines.append), lines) == ([], [])


# --- settled


BREACH = Breach(ROW, "fence-leak", CASES[ROW])


def test_a_breach_is_settled_after_two_rounds_without_anything_new() -> None:
    finding = found(1)
    hunt = hunt_of("3.9.2", "3.9.2", "3.9.2", findings=[finding])
    finding.add_sighting(seen(2))
    assert settled_breaches(hunt, "3.9.2") == []
    finding.add_sighting(seen(3))
    assert settled_breaches(hunt, "3.9.2") == [BREACH]
    assert settled_breaches(hunt, "4.3.1") == []


def test_another_finding_of_the_breach_unsettles_it() -> None:
    finding, other = found(1), found(3, schedule=[{"do": "heal"}])
    finding.add_sighting(seen(2))
    finding.add_sighting(seen(3))
    assert settled_breaches(hunt_of("3.9.2", "3.9.2", "3.9.2", findings=[finding, other]), "3.9.2") == []


def test_every_tenth_round_looks_at_it_again() -> None:
    finding = found(1)
    for number in range(2, 11):
        finding.add_sighting(seen(number))
    assert settled_breaches(hunt_of(*["3.9.2"] * 9, findings=[finding]), "3.9.2") == [BREACH]
    assert settled_breaches(hunt_of(*["3.9.2"] * 10, findings=[finding]), "3.9.2") == []


@pytest.mark.parametrize(
    ("hours", "columns", "minutes"), [(8, 7, 15), (2, 7, 60 / 7), (1.5, 16, 6), (1.5, 7, 45 / 7), (0.1, 1, 3)]
)
def test_a_round_is_as_long_as_two_on_each_column_permit(hours: float, columns: int, minutes: float) -> None:
    assert round_minutes(hours, columns) == pytest.approx(minutes)
