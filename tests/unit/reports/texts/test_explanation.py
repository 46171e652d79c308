"""The explanation of a cell, section by section: each fact is given once, and a section with nothing to say is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.pooling import Attempts
from history.shards import AttemptCount
from reports.insights import Firsts, Insights, PremiseReach, Spent, TrendPoint, Wavering
from reports.matrix import Pooled
from reports.texts.explanation import ExplainedCell, explanation
from tests.support.sample_matrix import ROW, all_cases, checks, matrix, violation
from tests.support.sample_shards import all_checks

OLD, NEW = "3.9.2", "4.3.1"
[CHECK] = all_checks()[ROW]
ALWAYS = ["What it asks", "Why it is so", "What it rests on", "Over the versions"]


def explained(
    pooled: Pooled | None = None,
    insights: Insights | None = None,
    label: str = NEW,
    run: Path | None = None,
    **header: Any,
) -> dict[str, list[str]]:
    """The lines below each title; the first line, without a title, below ''."""
    found = matrix(pooled or green(), OLD, NEW, **header)
    rule = shipped_rows()[ROW]
    sections: dict[str, list[str]] = {"": []}
    lines = list(explanation(ExplainedCell(found, insights or Insights(), ROW, label, rule, run)))
    for place, line in enumerate(lines):
        if place and not lines[place - 1]:
            sections[line] = []
        elif line:
            sections[[*sections][-1]].append(line)
    return sections


def green(*versions: str) -> Pooled:
    columns = versions or (OLD, NEW)
    return Pooled(cases=[one for v in columns for one in all_cases(v)], checks=[checks(v) for v in columns])


def red(**fields: Any) -> Pooled:
    cases = [*all_cases(OLD), *all_cases(NEW, violated=2)]
    return Pooled(cases=cases, checks=[checks(OLD), checks(NEW)], violations=[violation(NEW, **fields)])


def test_a_green_cell_has_neither_violations_nor_replays() -> None:
    found = explained()
    assert found[""] == [f"{ROW} on {NEW}: ✓ satisfied"]
    assert [*found][1:] == [*ALWAYS, "See for yourself"]
    assert found["Over the versions"] == [f"  ✓ satisfied: {OLD}–{NEW}"]
    assert [line for section in found.values() for line in section if "replay" in line.lower()] == []


def test_a_red_cell_names_its_evidence_relative_to_where_the_reader_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = explained(red(), run=tmp_path / "out")
    assert "      report: out/evidence/x/1/report.md" in found["Violations"]
    assert "      events 1, 2 of example e in out/histories/r/w.jsonl.zst" in found["Violations"]
    assert found["See for yourself"][-1].endswith("--replay out/evidence/x/1/schedule.json")


def test_without_a_run_paths_are_said_to_be_relative() -> None:
    assert explained(red())["See for yourself"][-1] == "  Paths are relative to the run's --conformance-out."


def test_a_violation_without_evidence_has_no_replay_to_paste() -> None:
    found = explained(red(evidence="", history=""))
    assert not any("report" in line or "events" in line for line in found["Violations"])
    assert not any("--replay" in line for line in found["See for yourself"])


def test_a_red_cell_runs_the_check_that_saw_it_and_others_the_row() -> None:
    """Another check than the row's own may have seen it, which `--requirement` alone does not run."""
    start = f"      ./kit pytest --kafka-version {NEW} --requirement {ROW}"
    seen = explained(red(check="machines.log.LogMachine"))["See for yourself"]
    assert seen[:2] == ["  Run what saw it again:", f"{start} --all-that-see-it -k 'machines and log and LogMachine['"]
    assert explained()["See for yourself"] == ["  Run the row again:", start]


def test_a_row_without_a_check_has_no_command() -> None:
    found = explained(Pooled(), checks={})
    assert found[""] == [f"{ROW} on {NEW}: · untested"]
    assert "See for yourself" not in found


def test_a_column_with_missing_lines_says_so() -> None:
    assert any("The column is incomplete: " in line for line in explained(complete=False)["Why it is so"])


def test_the_time_and_the_missed_premises_of_a_check_are_those_of_the_column() -> None:
    known = Insights(
        spent=[
            Spent(kafka_version=label, check=CHECK, examples=examples, seconds=seconds, outcomes={})
            for label, examples, seconds in ((OLD, 1, 99.0), (NEW, 7, 12.4))
        ],
        premises=[
            PremiseReach(kafka_version=OLD, check=CHECK, premise="elsewhere", met=0, unmet=1),
            PremiseReach(kafka_version=NEW, check=CHECK, premise="the epoch rose", met=3, unmet=4),
            PremiseReach(kafka_version=NEW, check=CHECK, premise="always", met=3, unmet=0),
        ],
    )
    rests = explained(insights=known)["What it rests on"]
    place = rests.index(f"    {CHECK}: 7 examples in 12 s")
    assert rests[place + 1] == "      premise 'the epoch rose': met 3, not met 4"
    assert not any("elsewhere" in line or "always" in line or "99 s" in line for line in rests)
    assert f"    {CHECK}" in explained()["What it rests on"], "a check of which no time is known"


def test_what_was_excused_and_left_out_and_lost_is_told_by_case() -> None:
    attempts = Attempts({(CHECK, "consumer"): AttemptCount(made=8, lost=3)})
    cases = [*all_cases(OLD), *all_cases(NEW, excused={"late": 2, "open": 1}, left_out={"gone": 4})]
    pooled = Pooled(cases=cases, checks=[checks(OLD), checks(NEW, attempts=attempts)])
    rests = explained(pooled)["What it rests on"]
    line_of_case = (
        ": 5 held, 3 excused (late 2, open 1), 4 left out (gone 4), 3 of 8 tries lost their premise; 3 distinct inputs"
    )
    assert [line_of_case in line for line in rests if line.startswith("  Case consumer")] == [True]
    assert f"    {CHECK}: 3 lost their premise of 8 examples" in rests
    assert not any("excused" in line or "lost" in line for line in explained(pooled, label=OLD)["What it rests on"])


def test_only_the_latest_runs_of_the_cell_are_shown() -> None:
    points = [
        TrendPoint(
            requirement=ROW, kafka_version=label, run_date=f"2026-11-{day:02}", run=f"r{day}", verdict="satisfied",
            observations=day, violations=0,
        )
        for day in range(1, 13)
        for label in (OLD, NEW)
    ]  # fmt: skip
    shown = explained(insights=Insights(trend=points))["Over the runs"]
    assert len(shown) == 10
    assert shown[0] == "  2026-11-03 r3: ✓ satisfied, 3 observations, 0 violations"
    assert shown[-1].startswith("  2026-11-12 r12: ")


@pytest.mark.parametrize(
    ("last_good", "first_good", "span"),
    [
        ("", "", "no release before it is known to be good); no later release is known to be good"),
        (OLD, "", f"good until {OLD}); no later release is known to be good"),
        ("", NEW, f"no release before it is known to be good); good again since {NEW}"),
    ],
)
def test_since_when_a_row_is_broken_is_told_with_the_good_releases_around(
    last_good: str, first_good: str, span: str
) -> None:
    first = Firsts(
        requirement=ROW, bad=["4.0.0"], good=[], first_bad="4.0.0", last_good=last_good, first_good=first_good
    )
    assert (
        explained(insights=Insights(firsts=[first]))["Over the versions"][-1] == f"  First bad release: 4.0.0 ({span}"
    )


def test_a_row_that_no_release_broke_names_no_first_bad_one() -> None:
    first = Firsts(requirement=ROW, bad=[], good=[NEW], first_bad="", last_good="", first_good="")
    assert not any("First bad" in line for line in explained(insights=Insights(firsts=[first]))["Over the versions"])


def test_tries_that_wavered_are_told_for_this_cell_only() -> None:
    def wavered(label: str, violated: int, answers: dict[str, int]) -> Wavering:
        return Wavering(
            requirement=ROW, kafka_version=label, check=CHECK, case="consumer", inputs="{}", tries=6, violated=violated,
            answers=answers,
        )  # fmt: skip

    known = [wavered(NEW, 0, {"NONE": 4, "FENCED": 2}), wavered(OLD, 1, {})]
    assert explained(insights=Insights(wavering=known))["Violations"] == [
        "  Wavers in case consumer for {}: of 6 identical tries NONE 4 times, FENCED 2 times"
    ]
