"""Green is "nothing new": each rule of a column's news, with the nearest history that it must not cover."""

from pathlib import Path

import pytest

from conformance.catalogue.deviations import Deviation
from conformance.judging.news import (
    JudgedCase,
    JudgedCell,
    KnownDeviation,
    baseline_label,
    column_news,
    explained_cases,
)
from conformance.judging.verdicts import VERDICTS, Verdict
from history.exit_codes import EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED
from history.shards import read_shards
from tests.support.sample_shards import ShardBuilder

ROW = "KIP101-INV-01"
OTHERS = [f"KIP320-FETCH-{number:02}" for number in range(20)]


def cell(verdict: Verdict, *violated: str, cases: tuple[str, ...] = ("a", "b"), known: str = "") -> JudgedCell:
    tallies = {case: JudgedCase(violated=int(case in violated)) for case in cases}
    return JudgedCell(
        requirement=ROW,
        kafka_version="4.3.1",
        verdict=verdict,
        cases=tallies,
        known=[KnownDeviation([*known])] if known else [],
    )


def column(row: JudgedCell | None = None, executed: int = 20, verdict: Verdict = "satisfied") -> dict[str, JudgedCell]:
    rest: dict[str, JudgedCell] = {
        name: JudgedCell(requirement=name, kafka_version="4.3.1", verdict=verdict if place < executed else "not-run")
        for place, name in enumerate(OTHERS)
    }
    return rest | ({ROW: row} if row else {})


RED = cell("violated", "a")


@pytest.mark.parametrize(
    ("before", "now", "new", "first", "known"),
    [
        (cell("satisfied"), RED, "a", "", ""),
        (cell("inconclusive"), RED, "a", "", ""),
        (cell("not-run"), RED, "a", "", ""),
        (cell("error"), RED, "a", "", ""),
        (cell("flaky"), RED, "a", "", ""),
        (cell("inapplicable"), RED, "", "a", ""),
        (cell("untested"), RED, "", "a", ""),
        (None, RED, "", "a", ""),
        (cell("violated", "a"), RED, "", "", "a"),
        (cell("violated", "b"), RED, "a", "", ""),
        (cell("violated", cases=()), RED, "", "", "a"),
        (cell("violated", "b", cases=("b",)), RED, "", "a", ""),  # a case that did not exist
        (cell("satisfied", "a"), RED, "a", "", ""),
        (cell("satisfied"), cell("violated", "a", "b", known="a"), "b", "", "a"),
        (cell("satisfied"), cell("satisfied", "a", known="a"), "", "", ""),
        (cell("inapplicable"), cell("violated", "a", known="a"), "", "", "a"),
        (cell("satisfied"), cell("flaky", "a"), "", "", ""),
    ],
)
def test_how_new_a_violated_case_is(
    before: JudgedCell | None, now: JudgedCell, new: str, first: str, known: str
) -> None:
    news = column_news(column(now), column(before))
    found = [[case.case for case in cases] for cases in (news.new, news.first_judged, news.known)]
    assert found == [[*new], [*first], [*known]]
    assert news.exit_code == (EXIT_VIOLATED if new else EXIT_SATISFIED)


def test_trouble_and_a_dead_column_are_never_green_and_hide_nothing_new() -> None:
    assert column_news(column(cell("error")), column()).exit_code == EXIT_TROUBLE
    assert column_news({}, {}).exit_code == EXIT_TROUBLE
    assert column_news(column(verdict="inconclusive"), column(verdict="inconclusive")).exit_code == EXIT_TROUBLE
    assert column_news(column(RED, executed=1), column(cell("satisfied"))).exit_code == EXIT_VIOLATED


@pytest.mark.parametrize(("executed", "code"), [(18, EXIT_SATISFIED), (17, EXIT_TROUBLE)])
def test_nine_tenths_of_what_the_baseline_executed_is_the_floor(executed: int, code: int) -> None:
    news = column_news(column(executed=executed), column())
    assert news.exit_code == code
    assert [*news.too_little] == (
        []
        if code == EXIT_SATISFIED
        else ["too little was executed: 17 of the 20 rows that the baseline executed, the floor is 90%"]
    )


def test_rows_that_the_baseline_did_not_execute_fill_no_floor() -> None:
    """Other rows in their place are no substitute."""
    before = {row: cell for row, cell in column().items() if row in OTHERS[:10]}
    now = column() | {row: JudgedCell(requirement=row, kafka_version="", verdict="not-run") for row in OTHERS[:2]}
    assert column_news(now, before).too_little
    assert not column_news(now, before | {row: now[row] for row in OTHERS[:2]}).too_little


@pytest.mark.parametrize("verdict", VERDICTS)
def test_which_verdicts_count_as_executed(verdict: Verdict) -> None:
    is_executed = verdict in ("violated", "flaky", "inconclusive", "satisfied", "recorded")
    assert bool(column_news(column(executed=0), column(verdict=verdict)).too_little) == is_executed


@pytest.mark.parametrize("details", [("known", "other"), ("other", "known")])
def test_a_case_is_explained_only_if_each_of_its_violations_is(details: tuple[str, str], tmp_path: Path) -> None:
    entry = Deviation(requirement=ROW, versions=("4.3..4.3",), reason="", cases=("a", "b"), says=("known",))
    shard = ShardBuilder("r1-gw0").observe(ROW, "b", "violated", count=1, detail="known")
    for detail in details:
        shard.observe(ROW, "a", "violated", count=1, detail=detail)
    shard.finish().write(tmp_path)
    assert explained_cases(read_shards(tmp_path), [entry]) == {("4.3.1", ROW): ["b"]}


def test_the_baseline_column_of_a_build_is_that_of_its_name_or_else_of_its_release() -> None:
    assert baseline_label("4.3.1", ["3.9.2", "4.3.1"]) == "4.3.1"
    assert baseline_label("4.3.1@mine", ["4.3.1"]) == "4.3.1"
    assert baseline_label("4.3.1@mine", ["4.3.1", "4.3.1@mine"]) == "4.3.1@mine"
    assert baseline_label("4.4.0", ["4.3.1"]) == ""


def test_a_cell_without_its_only_broken_case_is_undecided() -> None:
    assert cell("violated", "a").without("a").verdict == "inconclusive"
    assert cell("violated", "a", "b").without("").broken_cases == []
    left = cell("violated", "a", "b").without("a")
    assert (left.verdict, left.broken_cases) == ("violated", ["b"])
