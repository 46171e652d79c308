"""Overviews over all columns: premises that were never met come first, the longest check first."""

from __future__ import annotations

from reports.insights import FaultMet, PremiseReach, Spent
from reports.site import overview

LABELS = ["3.9.2", "4.3.1"]


def premise(check: str, premise: str, label: str, met: int) -> PremiseReach:
    return PremiseReach(kafka_version=label, check=check, premise=premise, met=met, unmet=2)


def spent(check: str, label: str, seconds: float) -> Spent:
    return Spent(kafka_version=label, check=check, examples=1, seconds=seconds, outcomes={})


def test_premises_stand_under_their_part_and_those_never_met_come_first() -> None:
    met, never = premise("kip320.a", "a leader", "4.3.1", 3), premise("kip320.b", "a tail", "3.9.2", 0)
    other = premise("kip101.c", "a crash", "3.9.2", 1)
    found = overview.premises([met, never, other], LABELS)
    assert {part: [view.premise for view in views] for part, views in found.items()} == {
        "kip101": ["a crash"],
        "kip320": ["a tail", "a leader"],
    }
    assert [view.cells for view in found["kip320"]] == [[never, None], [None, met]]
    assert [view.premise for view in overview.never_met(found)] == ["a tail"]


def test_a_premise_that_one_column_met_is_no_hole() -> None:
    found = overview.premises([premise("k.a", "p", "3.9.2", 0), premise("k.a", "p", "4.3.1", 2)], LABELS)
    assert [view.met for view in found["k"]] == [2]
    assert overview.never_met(found) == []


def test_checks_are_in_the_order_of_the_time_that_they_took_on_all_columns() -> None:
    found = overview.spent_views([spent("a", "3.9.2", 5), spent("b", "3.9.2", 4), spent("b", "4.3.1", 4)], LABELS)
    assert [(view.check, view.seconds) for view in found] == [("b", 8), ("a", 5)]
    assert [cell and cell.seconds for cell in found[1].cells] == [5, None]


def test_a_fault_that_only_one_column_met_has_a_gap_in_the_other() -> None:
    met = FaultMet(kafka_version="4.3.1", fault="kill", examples=2, injected=2, witnessed=2, healed=1)
    [view] = overview.faults([], [met], LABELS)
    assert (view.name, view.met, view.groups) == ("kill", [None, met], {})
