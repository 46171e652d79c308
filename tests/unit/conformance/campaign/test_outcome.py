"""Judging a column at a time gives what judging all of them at once gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.outcome import is_partial, judge_columns
from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation
from conformance.judging.news import JudgedCell
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from conformance.running.baseline import Baseline, BaselineColumn, news_since
from conformance.running.session import exit_code
from history.shards import read_header, read_shards
from tests.support.fake_column_run import OTHER, ROW
from tests.support.sample_shards import ShardBuilder, all_checks, write_lines


def columns(folder: Path) -> None:
    """Two columns, one of them run twice, as when violated rows are run again."""
    case = shipped_rows()[OTHER].cases[0].id
    for shard, version, run in (("a", "3.9.2", "r1"), ("b", "4.3.1", "r1"), ("c", "4.3.1", "r2")):
        built = ShardBuilder(f"{run}-{shard}", version, run=run, checks=all_checks()).satisfy(shipped_rows()[ROW])
        built.observe(OTHER, case, "violated" if run == "r2" else "held").finish().write(folder)


def by_name(cells: list[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell.kafka_version, cell.requirement))


def test_columns_by_themselves_are_judged_as_all_at_once(tmp_path: Path) -> None:
    columns(tmp_path)
    together = judge_shards(read_shards(tmp_path))
    assert by_name(judge_columns(tmp_path).cells) == by_name(together)
    assert [c.kafka_version for c in together if c.verdict == "violated"] == ["4.3.1"]


def test_beside_a_file_without_a_header_nothing_is_satisfied(tmp_path: Path) -> None:
    columns(tmp_path)
    lines = ShardBuilder("r3-d", "3.9.2", run="r3").observe(ROW, "consumer").text()
    write_lines(tmp_path / "r3-d.jsonl", lines[1:])
    assert read_header(tmp_path / "r3-d.jsonl") is None
    assert "satisfied" not in {cell.verdict for cell in judge_columns(tmp_path).cells}


def test_the_shards_of_a_run_are_found_by_their_names(tmp_path: Path) -> None:
    columns(tmp_path)
    assert [Path(shard.path).stem for shard in read_shards(tmp_path, "r1")] == ["r1-a", "r1-b"]
    assert len(list(read_shards(tmp_path))) == 3


def deviation(**facts: Any) -> Deviation:
    case = shipped_rows()[OTHER].cases[0].id
    given: dict[str, Any] = {
        "requirement": OTHER,
        "versions": ("4.3..4.3",),
        "cases": (case,),
        "reason": "",
        "race": True,
    }
    return Deviation(**(given | facts))


def known(*columns: str, violated: str = "") -> Baseline:
    cells = [
        JudgedCell(requirement=row, kafka_version=column, verdict="violated" if column == violated else "satisfied")
        for column in columns
        for row in (OTHER, ROW)
    ]
    runs = [BaselineColumn(column, ["smoke"]) for column in columns]
    return Baseline(kafka_versions=[*columns], cells=cells, columns=runs)


def code(out: Path, baseline: Baseline, *deviations: Deviation) -> int:
    judged = judge_columns(out, deviations)
    return exit_code(0, judged.cells, news_since(baseline, judged.cells, judged.explained, judged.profiles))


def test_a_known_deviation_is_no_news_beside_a_baseline_only(tmp_path: Path) -> None:
    """A known deviation stays red in a run that has no baseline, and with another schedule, version or case."""
    columns(tmp_path)
    baseline = known("3.9.2", "4.3.1")
    assert code(tmp_path, baseline) == 1
    assert code(tmp_path, baseline, deviation()) == 0
    assert code(tmp_path, Baseline(), deviation()) == 1
    assert code(tmp_path, baseline, deviation(versions=("3.9..3.9",))) == 1
    assert code(tmp_path, baseline, deviation(takes=(("kill leader",),))) == 1
    assert code(tmp_path, baseline, deviation(cases=(shipped_rows()[OTHER].cases[1].id,))) == 1


def test_a_column_is_held_against_its_own(tmp_path: Path) -> None:
    columns(tmp_path)
    assert code(tmp_path, known("3.9.2", "4.3.1", violated="4.3.1")) == 0
    assert code(tmp_path, known("3.9.2", "4.3.1", violated="3.9.2")) == 1
    assert code(tmp_path, known("3.9.2", "4.2.1", violated="4.2.1")) == 1


@pytest.mark.parametrize(
    ("options", "environment", "partial"),
    [
        (["-n", "4", "--conformance-profile", "quick"], {}, False),
        (["--requirement=KIP320-*"], {}, True),
        (["-kfencing"], {}, True),
        (["--replay", "s.json"], {}, True),
        ([], {"KAFKA_CONFORMANCE_REQUIREMENT": "KIP320-*"}, True),
        ([], {"KAFKA_CONFORMANCE_SEED": "1"}, False),
    ],
)
def test_options_that_leave_out_checks(options: list[str], environment: dict[str, str], *, partial: bool) -> None:
    assert is_partial(options, environment) == partial
