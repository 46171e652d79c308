"""`./kit matrix --rerun-violated`: what runs again, what is kept, and what is printed of each case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.plan import RERUN, ColumnRun, read_plan
from conformance.campaign.rerun import ViolatedCase, case_reruns, column_runs_again, violated_cases
from conformance.catalogue import shipped_rows
from fixtures.errors import WrongUse
from history.shards import read_shard
from tests.support.fake_column_run import OTHER, ROW
from tests.support.fake_matrix import ALL_COLUMNS, Kit, fresh_kit
from tests.support.sample_shards import ShardBuilder

RED = ["satisfied", "violated"]


@pytest.fixture
def kit(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return fresh_kit(tmp_path, monkeypatch)


def merged(out: Path, violated: dict[str, list[str]]) -> None:
    """A matrix as a merge would have written it."""
    cells = [
        {
            "requirement": row,
            "kafka_version": label,
            "verdict": "violated" if row in violated.get(label, []) else "satisfied",
        }
        for label in ALL_COLUMNS
        for row in (ROW, OTHER)
    ]
    (out / "matrix").mkdir(parents=True, exist_ok=True)
    (out / "matrix" / "matrix.json").write_text(
        json.dumps({"schema": 1, "kafka_versions": ALL_COLUMNS, "cells": cells})
    )


def test_only_violated_rows_run_again_where_they_are_and_nothing_is_put_aside(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    kit(v3_8_1=RED, v3_9_2=RED)
    merged(kit.out, {"3.8.1": [OTHER], "3.9.2": [OTHER]})
    before = kit.given
    kit.prepared.clear()
    assert kit("--rerun-violated", versions=[], v3_8_1=RED, v3_9_2=["nothing"]) == 1
    again = kit.given[len(before) :]
    assert sorted(column for column, _ in again) == kit.prepared == ["3.8.1", "3.9.2"]
    for _, options in again:
        assert [options[n + 1] for n, option in enumerate(options) if option == "--requirement"] == [OTHER]
        assert options[options.index("--conformance-profile") + 1] == "smoke"
        assert (
            options[options.index("--conformance-seed") + 1]
            != before[0][1][before[0][1].index("--conformance-seed") + 1]
        )
    assert (kit.columns, kit.aside) == (["3.8.1", "3.8.1", "3.9.2", "3.9.2", "4.3.1"], [])
    assert len(kit.merged) == 2
    lines = capsys.readouterr().out
    assert f"{OTHER}  3.8.1  seen again, violated in 5 of 5 observations" in lines
    assert f"{OTHER}  3.9.2  not run: see the column's log" in lines


def test_a_row_that_holds_this_time_is_shown(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    """The violation of before is a proof and stays: so does the code."""
    kit(v3_8_1=RED)
    merged(kit.out, {"3.8.1": [OTHER, ROW]})
    assert kit("--rerun-violated", versions=[]) == 1
    assert f"{ROW}  3.8.1  not seen again in " in capsys.readouterr().out


def test_rows_and_columns_may_be_named(kit: Kit) -> None:
    kit(v3_8_1=RED, v3_9_2=RED)
    merged(kit.out, {"3.8.1": [OTHER, ROW], "3.9.2": [OTHER]})
    kit("--rerun-violated", "--requirement", f"{ROW[:-1]}*", "--requirement", "X", versions=["3.8.1"])
    [(column, options)] = kit.given[3:]
    assert (column, options.count("--requirement"), "X" in options) == ("3.8.1", 2, False)


def test_what_a_column_brought_that_was_killed_is_put_aside(kit: Kit) -> None:
    kit(v3_8_1=RED)
    merged(kit.out, {"3.8.1": [OTHER]})
    kit("--rerun-violated", versions=[], v3_8_1=["satisfied", "cut", "killed"])
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), ["3.8.1"])
    plan = read_plan(kit.out, RERUN)
    assert plan is not None
    assert [column.code for column in plan.columns] == [-9]


def test_without_a_matrix_there_is_nothing_to_run_again(kit: Kit) -> None:
    with pytest.raises(WrongUse, match=r"there is no .*matrix\.json\. Run `./kit matrix` first"):
        kit("--rerun-violated", versions=[])


def test_with_nothing_violated_nothing_is_run(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    merged(kit.out, {})
    assert kit("--rerun-violated", versions=[]) == 0
    assert (kit.calls, "nothing is run" in capsys.readouterr().out) == ([], True)


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "matrix").mkdir()
    (tmp_path / "matrix" / "matrix.json").write_text("[]")
    with pytest.raises(WrongUse, match="--rerun-violated"):
        violated_cases(tmp_path)


# --- which column a label is


def runs_again(tmp_path: Path, label: str, **header: Any) -> list[ColumnRun]:
    shard = ShardBuilder("s", label=label, run="261121-000000-0001", **header).finish().write(tmp_path)
    return column_runs_again([ViolatedCase(label, ROW)], [read_shard(shard)])


def test_what_its_shards_recorded_selects_a_column(tmp_path: Path) -> None:
    selection = ["--kafka-home", "/kafka", "--label", "mine", "--as", "3.9.2", "--server-property", "license=k"]
    [column] = runs_again(tmp_path, "mine", selection=selection)
    assert column.selection == selection
    assert column.options == ["--conformance-profile", "smoke", "--requirement", ROW]


@pytest.mark.parametrize(
    ("check", "more"),
    [("kip320.fencing.older_epoch_is_fenced", []), ("machines.log.LogMachine", ["--all-that-see-it"])],
)
def test_the_check_that_saw_the_violation_runs_again(tmp_path: Path, check: str, more: list[str]) -> None:
    row, run = "KIP320-FETCH-02", "261121-000000-0001"
    shard = (
        ShardBuilder("s", label="3.9.2", run=run)
        .observe(row, "consumer", "violated", check=check)
        .finish()
        .write(tmp_path)
    )
    [column] = column_runs_again([ViolatedCase("3.9.2", row)], [read_shard(shard)])
    assert column.options == ["--conformance-profile", "smoke", "--requirement", row, *more]


def test_a_column_without_shards_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"none of its shards is left"):
        column_runs_again([ViolatedCase("4.3.1", ROW)], [])


# --- what the rerun shows of each case


def matrix_with_cases(out: Path, **violated: int) -> None:
    """A matrix with one violated cell of ROW in 4.3.1; its cases by their violations."""
    cell = {
        "requirement": ROW,
        "kafka_version": "4.3.1",
        "verdict": "violated",
        "cases": {case: {"violated": count} for case, count in violated.items()},
    }
    (out / "matrix").mkdir(parents=True)
    (out / "matrix" / "matrix.json").write_text(json.dumps({"kafka_versions": ["4.3.1"], "cells": [cell]}))


def test_the_violated_cases_of_a_row_are_told_apart(tmp_path: Path) -> None:
    matrix_with_cases(tmp_path, b=2, a=1, c=0)
    violated = violated_cases(tmp_path)
    assert violated == [ViolatedCase("4.3.1", ROW, "a"), ViolatedCase("4.3.1", ROW, "b")]
    shard = ShardBuilder("s", run="261121-000000-0001").finish().write(tmp_path)
    [column] = column_runs_again(violated, [read_shard(shard)])
    assert column.options.count(ROW) == 1


def rerun(tmp_path: Path, known: list[str], shard: ShardBuilder) -> list[str]:
    column = ColumnRun(name="4.3.1", selection=[], run="261121-000000-0002")
    lines = read_shard(shard.finish().write(tmp_path))
    return [str(case) for case in case_reruns([ViolatedCase("4.3.1", ROW, one) for one in known], [column], [lines])]


def test_a_case_that_is_seen_again_does_not_count_for_another(tmp_path: Path) -> None:
    first, second = (case.id for case in shipped_rows()[ROW].cases[:2])
    shard = ShardBuilder("s", run="261121-000000-0002").observe(ROW, first, "violated", count=2)
    shard.observe(ROW, second, "held", count=3)
    assert rerun(tmp_path, [first, second], shard) == [
        f"{ROW} ({first})  4.3.1  seen again, violated in 2 of 2 observations",
        f"{ROW} ({second})  4.3.1  not seen again in 3 observations",
    ]


def test_a_case_that_only_the_rerun_violates_is_shown_as_new(tmp_path: Path) -> None:
    first, second = (case.id for case in shipped_rows()[ROW].cases[:2])
    shard = ShardBuilder("s", run="261121-000000-0002").observe(ROW, second, "violated", count=1)
    assert rerun(tmp_path, [first], shard) == [
        f"{ROW} ({first})  4.3.1  not seen again in 0 observations",
        f"{ROW} ({second})  4.3.1  not violated before, violated in 1 of 1 observations",
    ]


def test_a_row_without_a_check_that_ran_is_not_run(tmp_path: Path) -> None:
    [lines] = rerun(tmp_path, ["a"], ShardBuilder("s", run="261121-000000-0002"))
    assert lines.endswith("not run: see the column's log")
