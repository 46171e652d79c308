"""The matrix, from pooled tables: without Spark."""

from datetime import date
from typing import Any

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.verdicts import CHANGED_SINCE
from reports.matrix import WAYS, Matrix, Pooled, encode_matrix
from tests.support.sample_matrix import (
    ROW,
    all_cases,
    case,
    cell,
    checks,
    intake,
    known_deviation,
    matrix,
    violation,
    way,
)

V = "4.3.1"
GREEN = Pooled(cases=all_cases(V), checks=[checks(V)])


def test_there_is_one_cell_for_each_row_and_column() -> None:
    found = matrix(Pooled(), "4.3.1", "3.9.2")
    keys = [(c.requirement, c.kafka_version) for c in found.cells]
    assert sorted(keys) == sorted((row.id, version) for row in shipped_rows() for version in ("3.9.2", "4.3.1"))
    assert found.kafka_versions == ["3.9.2", "4.3.1"]


def test_enough_of_every_case_is_satisfied_and_any_case_less_is_not() -> None:
    assert cell(matrix(GREEN, V), V).verdict == "satisfied"
    for number in range(len(GREEN.cases)):
        less = [row for place, row in enumerate(GREEN.cases) if place != number]
        assert cell(matrix(Pooled(cases=less, checks=GREEN.checks), V), V).verdict == "inconclusive"


def test_nothing_is_satisfied_in_a_column_that_was_cut_short() -> None:
    found = cell(matrix(GREEN, V, complete=False), V)
    assert found.verdict == "inconclusive"
    assert "no footer" in found.reason


def test_a_violation_is_never_lost_to_a_shard_cut_short() -> None:
    pooled = Pooled(cases=all_cases(V, violated=1), checks=[checks(V)], violations=[violation(V)])
    found = cell(matrix(pooled, V, complete=False), V)
    assert (found.verdict, found.shown[0].detail) == ("violated", "was answered NONE")


def test_only_probes_waver() -> None:
    pooled = Pooled(cases=all_cases(V, wavering=True), checks=[checks(V)])
    assert cell(matrix(pooled, V), V).verdict == "flaky"
    row = next(row for row in shipped_rows() if row.kind == "property" and not row.needs and row.applies == ["3.3.."])
    pooled = Pooled(cases=all_cases(V, row.id, held=30, wavering=True), checks=[checks(V, row.id)])
    assert cell(matrix(pooled, V), V, row.id).verdict != "flaky"


def test_trouble_of_the_kit_is_an_error_that_says_what_happened() -> None:
    found = cell(matrix(Pooled(checks=[checks(V, errors=1, trouble="Overdue: ...")]), V), V)
    assert (found.verdict, found.checks.trouble) == ("error", "Overdue: ...")


@pytest.mark.parametrize(("header", "verdict"), [({"checks": {}}, "untested"), ({}, "not-run")])
def test_a_row_without_a_check_is_told_from_one_whose_check_did_not_run(header: dict[str, Any], verdict: str) -> None:
    assert cell(matrix(Pooled(), V, **header), V).verdict == verdict


def test_a_row_that_was_changed_since_is_not_run() -> None:
    found = cell(matrix(GREEN, V, rows={ROW: "an older hash"}), V)
    assert (found.verdict, found.reason) == ("not-run", CHANGED_SINCE)


def test_a_row_that_the_version_does_not_have_is_inapplicable() -> None:
    assert (
        cell(matrix(Pooled(), "3.9.2", ranges={"Fetch": 17}), "3.9.2", "KIP1251-STATIC-01b").verdict == "inapplicable"
    )


def test_a_known_deviation_marks_a_red_cell_and_is_told_when_it_no_longer_holds() -> None:
    known = known_deviation(ticket="KAFKA-1")
    red = Pooled(cases=all_cases(V, violated=1), checks=[checks(V)])
    found = matrix(red, V, deviations=[known])
    assert (cell(found, V).known, cell(found, V).verdict, found.stale_deviations) == ([known], "violated", [])
    found = matrix(GREEN, V, deviations=[known])
    assert [(entry.requirement, entry.kafka_version) for entry in found.stale_deviations] == [(ROW, V)]


def test_a_deviation_still_holds_while_a_check_of_its_row_has_not_run() -> None:
    """The check that shows it may be the one that the clock cut off."""
    known = known_deviation(ticket="KAFKA-1")
    named = intake(V).columns[0].checks[ROW]
    found = matrix(GREEN, V, deviations=[known], checks={ROW: [*named, "kip320.fencing.never_reached"]})
    assert (cell(found, V).verdict, found.stale_deviations) == ("satisfied", [])


def test_a_deviation_of_one_case_does_not_explain_another() -> None:
    first, second, *_ = (each.id for each in shipped_rows()[ROW].cases)
    entry = known_deviation(cases=(first,))
    for violated, known in (([first], [entry]), ([second], []), ([first, second], [])):
        red = Pooled(cases=[case(V, id, violated=1) for id in violated], checks=[checks(V)])
        found = cell(matrix(red, V, deviations=[entry]), V)
        assert (found.verdict, found.known) == ("violated", known)


KILLED = (("kill leader",),)


@pytest.mark.parametrize(
    ("ways", "known"),
    [
        ([("was refused", "kill leader")], True),
        ([("was refused", "kill follower")], False),
        ([("was refused",)], False),
        ([("was granted", "kill leader")], False),
        ([("was refused", "kill leader"), ("was refused", "kill leader", "delete-topic")], True),
        ([("was refused", "kill leader"), ("was refused", "freeze leader")], False),
        ([], False),
        ([("was refused", "kill leader", str(n)) for n in range(WAYS)], True),
        ([("was refused", "kill leader", str(n)) for n in range(WAYS + 1)], False),
    ],
    ids=["shown", "another role", "no schedule", "other words", "twice", "once otherwise", "none", "many", "too many"],
)
def test_a_cell_is_known_only_if_its_entries_explain_every_violation(ways: list[tuple[str, ...]], known: bool) -> None:
    first = shipped_rows()[ROW].cases[0].id
    entry = known_deviation(cases=(first,), says=("refused",), takes=KILLED)
    red = case(V, first, violated=1)
    pooled = Pooled(cases=[red], ways=[way(red, *each) for each in ways] or [way(case(V, "gone"))], checks=[checks(V)])
    found = cell(matrix(pooled, V, deviations=[entry]), V)
    assert (found.verdict, found.known) == ("violated", [entry] if known else [])


def test_two_entries_explain_a_cell_together() -> None:
    first, second, *_ = (each.id for each in shipped_rows()[ROW].cases)
    entries = [known_deviation(cases=(each,)) for each in (first, second)]
    red = Pooled(cases=[case(V, each, violated=1) for each in (first, second)], checks=[checks(V)])
    assert cell(matrix(red, V, deviations=entries), V).known == entries


def test_an_entry_whose_date_had_passed_when_the_run_began_is_named() -> None:
    entry = known_deviation(look_again=date(2027, 6, 1))
    for run, due in (("270531-235959-a", []), ("270601-000000-b", [ROW]), ("nightly", [])):
        found = matrix(GREEN, V, deviations=[entry], run=run)
        assert [one.requirement for one in found.due_deviations] == due


@pytest.mark.parametrize("needs", [{"race": True}, {"takes": (("delete-records",),)}, {"meets": (("kill leader",),)}])
def test_one_that_needs_a_race_or_a_schedule_still_holds_where_that_did_not_come(needs: dict[str, Any]) -> None:
    assert matrix(GREEN, V, deviations=[known_deviation(**needs)]).stale_deviations == []
    assert matrix(GREEN, V, deviations=[known_deviation()]).stale_deviations != []


def test_observations_of_unknown_rows_are_counted() -> None:
    assert matrix(Pooled(cases=[case(V, "c", "KIP1-GONE-01")]), V).unknown_rows == {"KIP1-GONE-01": 5}


def test_the_encoding_is_deterministic_and_can_be_read_back() -> None:
    found = matrix(GREEN, V)
    assert encode_matrix(found) == encode_matrix(matrix(GREEN, V))
    assert msgspec.json.decode(encode_matrix(found), type=Matrix) == found
    plain = msgspec.json.decode(encode_matrix(found))
    wanted = {"requirement", "kafka_version", "verdict", "observations", "violations", "cases", "faults", "evidence"}
    assert plain["schema"] == 1
    assert all(wanted <= set(entry) for entry in plain["cells"])
