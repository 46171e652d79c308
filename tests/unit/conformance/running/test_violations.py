"""Exceptions of broken rows: one class for each row, whatever breaks it and however often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance.running.violations import (
    RequirementViolated,
    breach_of,
    breaks_its_row,
    first_of_each_breach,
    violation_class,
    violation_of,
)
from history.observations import Observation

ROWS = ("KIP320-FETCH-02", "KIP101-INV-01", "GEN-01")
OBSERVED = st.builds(
    Observation,
    requirement=st.sampled_from(ROWS),
    case=st.sampled_from(["consumer", "follower"]),
    label=st.sampled_from(["", "divergent-prefix"]),
    result=st.just("violated"),
    example=st.just("e"),
    detail=st.text(max_size=5),
)


def test_an_observation_of_a_recorded_level_is_no_violation() -> None:
    informational, later, law = (
        Observation(requirement=row, case="", result="violated", example="e")
        for row in ("KIP1251-BASE-07", "KIP101-INV-17-L", "GEN-01")
    )
    assert [breaks_its_row(one) for one in (informational, later, law)] == [False, False, True]
    assert not breaks_its_row(Observation(requirement="GEN-01", case="", result="held", example="e"))


@given(st.lists(OBSERVED))
def test_each_breach_is_kept_once_by_what_showed_it_first(seen: list[Observation]) -> None:
    first = first_of_each_breach(seen)
    assert [breach_of(one) for one in first] == list(dict.fromkeys(map(breach_of, seen)))
    for one in first:
        assert one is next(other for other in seen if breach_of(other) == breach_of(one))
    assert first_of_each_breach(first) == first


@given(st.lists(OBSERVED, min_size=1))
def test_what_is_raised_has_a_class_of_its_own_for_each_broken_row(seen: list[Observation]) -> None:
    raised = violation_of(seen)
    rows = sorted({one.requirement for one in seen})
    errors = list(raised.exceptions) if isinstance(raised, ExceptionGroup) else [raised]
    assert [type(error) for error in errors] == [violation_class(row) for row in rows]
    assert all(isinstance(error, RequirementViolated) for error in errors)
    assert isinstance(raised, ExceptionGroup) == (len(rows) > 1)
    for row, error in zip(rows, errors, strict=True):
        first = next(one for one in seen if one.requirement == row)
        assert str(error) == f"{row} violated, case {first.case}: {first.detail}"


def test_a_breach_reads_as_row_case_and_anomaly() -> None:
    one = Observation(requirement=ROWS[0], case="consumer", result="violated", example="e", label="divergent-prefix")
    assert str(breach_of(one)) == "KIP320-FETCH-02 consumer divergent-prefix"
