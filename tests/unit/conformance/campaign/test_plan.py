"""The plan of a campaign: going on where an interrupted one ended, and nothing that was recorded is ever lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.campaign.plan import (
    ENDED,
    PLAN,
    Plan,
    choose_plan,
    column_runs_for,
    new_plan,
    read_plan,
    recordings_of,
    write_plan,
)
from conformance.running.columns import wanted_columns
from fixtures.errors import WrongUse
from history.schema import SCHEMA

OPTIONS = ["--conformance-profile", "smoke"]
CODES = st.sampled_from([None, *ENDED, 130, -9])
COLUMNS = st.lists(CODES, min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.campaign.plan.is_alive", lambda run: False)


def quiet(text: str) -> None:
    """Nothing is shown."""


def recorded(out: Path, run: str) -> dict[str, str]:
    """Files as a run of a column leaves them: their contents by path."""
    paths = [f"shards/{run}-gw0-4.3.1.jsonl", f"histories/{run}/gw0.jsonl.zst", f"evidence/R/{run}-gw0-1/report.md",
             f"logs/{run}.log", f"progress/{run}-gw0.json"]  # fmt: skip
    for path in paths:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(path)
    return {path: path for path in paths}


@contextmanager
def interrupted(codes: list[int | None]) -> Iterator[tuple[Path, Plan, dict[str, dict[str, str]]]]:
    """A folder with a plan whose columns ended so, and what each of them recorded."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        columns = column_runs_for(wanted_columns([f"4.{n}.0" for n in range(len(codes))]))
        for number, (column, code) in enumerate(zip(columns, codes, strict=True)):
            column.run, column.code = f"run-{number}", code
        plan = Plan(options=OPTIONS, seed=7, columns=columns)
        write_plan(out, plan)
        yield out, plan, {column.name: recorded(out, column.run) for column in columns}


def in_place(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} - {PLAN}


def everything(out: Path) -> list[str]:
    """The contents of all files but plans, wherever they are now."""
    return sorted(path.read_text() for path in out.rglob("*") if path.is_file() and path.name != PLAN)


def again(plan: Plan, *more: str, options: list[str] | None = None) -> Plan:
    names = [*(column.name for column in plan.columns), *more]
    return new_plan(column_runs_for(wanted_columns(names)), OPTIONS if options is None else options)


@settings(deadline=None, max_examples=40)
@given(codes=COLUMNS, add=st.booleans(), other_options=st.booleans())
def test_no_recording_is_lost_and_only_what_ended_stays_in_place(
    codes: list[int | None], add: bool, other_options: bool
) -> None:
    with interrupted(codes) as (out, before, files):
        wanted = again(before, options=["--other"] if other_options else None)
        plan = choose_plan(out, wanted, add=add, say=quiet)
        goes_on = add or (bool(before.columns_left) and not other_options)
        kept = {name for column in before.columns if column.has_ended and goes_on for name in files[column.name]}
        assert {path for path in in_place(out) if not path.startswith("earlier/")} == kept
        assert everything(out) == sorted(text for of in files.values() for text in of.values())
        assert [column.name for column in plan.columns_left] == [
            column.name for column in before.columns if not (column.has_ended and goes_on)
        ]
        assert (plan.seed == before.seed) or not goes_on
        assert read_plan(out) == plan


@settings(deadline=None, max_examples=20)
@given(codes=COLUMNS)
def test_planning_once_more_changes_nothing(codes: list[int | None]) -> None:
    with interrupted(codes) as (out, before, _):
        first = choose_plan(out, again(before), add=True, say=quiet)
        files = in_place(out)
        assert choose_plan(out, again(before), add=True, say=quiet) == first
        assert in_place(out) == files


def test_added_columns_come_after_those_that_exist() -> None:
    with interrupted([0, 130]) as (out, before, _):
        plan = choose_plan(out, again(before, "4.9.0"), add=True, say=quiet)
        assert [(column.name, column.code) for column in plan.columns] == [
            ("4.0.0", 0),
            ("4.1.0", 130),
            ("4.9.0", None),
        ]


def test_a_column_that_still_runs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.campaign.plan.is_alive", lambda run: run == "run-1")
    with interrupted([0, None]) as (out, before, files):
        with pytest.raises(WrongUse, match=r"4\.1\.0 \(run run-1\) is running"):
            choose_plan(out, again(before), add=True, say=quiet)
        assert in_place(out) == {path for of in files.values() for path in of}


def test_recordings_of_a_run_are_those_with_its_whole_id(tmp_path: Path) -> None:
    mine, other = recorded(tmp_path, "run-1"), recorded(tmp_path, "run-12")
    found = {str(path.relative_to(tmp_path)) for path in recordings_of(tmp_path, "run-1")}
    assert all(any(path.startswith(one) for one in found) for path in mine)
    assert not any(path.startswith(one + "/") or path == one for path in other for one in found)
    assert recordings_of(tmp_path, "") == []


def test_a_file_that_is_no_plan_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text(f'{{"schema": {SCHEMA}}}')
    with pytest.raises(WrongUse, match="move it away"):
        read_plan(tmp_path)
    assert read_plan(tmp_path / "elsewhere") is None


def test_each_version_image_and_distribution_is_a_column() -> None:
    found = column_runs_for(wanted_columns(["3.9.2", "4.3.1"], images=["mine:1"], homes=["/opt/mine"]))
    assert [(column.name, column.selection) for column in found] == [
        ("3.9.2", ["--kafka-version", "3.9.2"]),
        ("4.3.1", ["--kafka-version", "4.3.1"]),
        ("mine:1", ["--kafka-image", "mine:1"]),
        ("/opt/mine", ["--kafka-home", "/opt/mine"]),
    ]
    assert not any(column.has_ended for column in found)
