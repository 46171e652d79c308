"""A known violation is no news, and hides nothing else."""

from conformance.judging.verdicts import CaseTally, Cell
from conformance.running.baseline import Baseline, BaselineCase, BaselineCell, new_violations

ROW = "KIP101-INV-01"


def red(*cases: str, column: str = "4.3.1") -> Cell:
    return Cell(
        requirement=ROW,
        kafka_version=column,
        verdict="violated",
        reason="",
        observations=1,
        violations=len(cases),
        cases={case: CaseTally(violated=int(case in cases)) for case in ("replicas", "time")},
    )


def known(*cases: str, column: str = "4.3.1") -> Baseline:
    cell = BaselineCell(ROW, column, "violated", {case: BaselineCase(violated=1) for case in cases})
    return Baseline(kafka_versions=[column], cells=[cell])


def test_another_case_of_a_known_row_is_new() -> None:
    assert new_violations([red("replicas", "time")], known("replicas")) == [(ROW, "time")]
    assert new_violations([red("replicas")], known("replicas", "time")) == []


def test_a_matrix_without_cases_knows_the_whole_row() -> None:
    assert new_violations([red("replicas", "time")], known()) == []


def test_a_column_that_the_baseline_does_not_have_is_held_against_all_of_its_columns() -> None:
    assert new_violations([red("time", column="4.4.0")], known("time")) == []
    assert new_violations([red("time", column="4.4.0")], known("replicas")) == [(ROW, "time")]


def test_a_column_is_held_against_its_own() -> None:
    other = Baseline(kafka_versions=["3.9.2", "4.3.1"], cells=known("time", column="3.9.2").cells)
    assert new_violations([red("time")], other) == [(ROW, "time")]
