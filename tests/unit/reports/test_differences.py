"""Changes between two columns: each row once, in a fixed order, and never for the worse and for the better at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.judging.news import BROKEN, WELL, JudgedCase, KnownDeviation
from conformance.judging.verdicts import VERDICTS, Verdict
from reports.differences import between_columns, compare_verdicts, is_mended
from reports.matrix_file import ComparedCell, ComparedMatrix

ROWS = [f"KIP320-FETCH-{number:02}" for number in range(12)]
COLUMN = st.permutations(ROWS).flatmap(
    lambda rows: st.lists(st.sampled_from(VERDICTS), max_size=len(rows)).map(
        lambda verdicts: dict(zip(rows, verdicts, strict=False))
    )
)
Column = dict[str, Verdict]


@given(COLUMN, COLUMN)
def test_each_row_is_there_once_those_of_the_new_column_first(old: Column, new: Column) -> None:
    """Both in their own order: a text about them is the same in every process."""
    rows = [change.requirement for change in compare_verdicts(old, new)]
    assert rows == [*new, *(row for row in old if row not in new)]


@given(COLUMN, COLUMN)
def test_a_change_has_the_verdicts_of_both_sides_and_the_kind_that_they_make(old: Column, new: Column) -> None:
    for change in compare_verdicts(old, new):
        row = change.requirement
        assert (change.before, change.after) == (old.get(row, ""), new.get(row, ""))
        assert (change.kind == "added") == (row not in old)
        assert (change.kind == "removed") == (row not in new)
        assert (change.kind == "unchanged") == (old.get(row) == new.get(row))


@given(COLUMN, COLUMN)
def test_back_again_nothing_that_got_worse_gets_worse(old: Column, new: Column) -> None:
    back = {change.requirement: change for change in compare_verdicts(new, old)}
    for change in compare_verdicts(old, new):
        assert not (change.worse and back[change.requirement].worse)
        assert not (change.worse and is_mended(change))
        assert not (is_mended(change) and change.after in BROKEN)
        assert is_mended(change) == (change.before in BROKEN and change.after in WELL)


@given(COLUMN)
def test_nothing_changes_beside_itself(column: Column) -> None:
    assert all(change.kind == "unchanged" and not change.worse for change in compare_verdicts(column, column))


@given(COLUMN, st.sampled_from(ROWS), st.sampled_from(VERDICTS))
def test_a_row_that_breaks_is_for_the_worse_wherever_it_came_from(column: Column, row: str, before: Verdict) -> None:
    [change] = [
        one for one in compare_verdicts(column | {row: before}, column | {row: "violated"}) if one.requirement == row
    ]
    assert change.worse == (before not in ("violated", "inapplicable", "untested"))


@pytest.mark.parametrize(
    ("before", "after", "turn"),
    [
        ("satisfied", "violated", "worse"),
        ("recorded", "flaky", "worse"),
        ("flaky", "violated", "worse"),
        ("inconclusive", "violated", "new"),
        ("not-run", "flaky", "new"),
        ("inapplicable", "violated", "first_judged"),
        ("untested", "violated", "first_judged"),
        ("violated", "flaky", "other"),
        ("violated", "satisfied", "better"),
        ("violated", "inconclusive", "other"),
        ("satisfied", "inconclusive", "other"),
    ],
)
def test_only_what_was_right_before_gets_worse(before: Verdict, after: Verdict, turn: str) -> None:
    [moved] = between_columns(compared(old=cell("old", before), new=cell("new", after)), "old", "new").moved
    assert moved.turn == turn


def test_a_broken_row_without_a_cell_before_is_judged_for_the_first_time() -> None:
    [moved] = between_columns(compared(old=[], new=cell("new", "violated")), "old", "new").moved
    assert moved.turn == "first_judged"


def test_a_known_deviation_is_told_as_one() -> None:
    known = [KnownDeviation(["a"])]
    after = cell("new", "violated", cases={"a": JudgedCase(violated=1)}, known=known)
    [moved] = between_columns(compared(old=cell("old", "satisfied"), new=after), "old", "new").moved
    assert moved.turn == "known"


def test_another_case_of_a_broken_row_is_for_the_worse() -> None:
    old = cell("old", "violated", cases={"a": JudgedCase(violated=1), "b": JudgedCase()})
    new = cell("new", "violated", cases={"a": JudgedCase(), "b": JudgedCase(violated=1)})
    [moved] = between_columns(compared(old=old, new=new), "old", "new").moved
    assert (moved.change.kind, moved.turn) == ("unchanged", "worse")


def cell(column: str, verdict: Verdict, **facts: Any) -> list[ComparedCell]:
    return [ComparedCell(requirement=ROWS[0], kafka_version=column, verdict=verdict, **facts)]


def compared(**columns: list[ComparedCell]) -> ComparedMatrix:
    return ComparedMatrix(schema=1, kafka_versions=[*columns], cells=[one for each in columns.values() for one in each])
