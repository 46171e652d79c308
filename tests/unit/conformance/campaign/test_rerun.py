"""`./kit matrix --rerun-violated`: what is run again, what stays, and what is said of each row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.campaign.plan import RERUN, Leg, Plan, read_plan
from conformance.campaign.rerun import legs_again, violated_in
from fixtures.errors import WrongUse
from history.shards import read_shard
from tests.support.fake_leg import OTHER, ROW
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
    said = capsys.readouterr().out
    assert f"{OTHER}  3.8.1  seen again, violated in 5 of 5 observations" in said
    assert f"{OTHER}  3.9.2  not run: see the column's log" in said


def test_a_row_that_holds_this_time_is_told(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_what_a_leg_brought_that_was_killed_is_put_aside(kit: Kit) -> None:
    kit(v3_8_1=RED)
    merged(kit.out, {"3.8.1": [OTHER]})
    kit("--rerun-violated", versions=[], v3_8_1=["satisfied", "cut", "killed"])
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), ["3.8.1"])
    plan = read_plan(kit.out, RERUN)
    assert plan is not None
    assert [leg.code for leg in plan.legs] == [-9]


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
        violated_in(tmp_path)


# --- which column a label is


def legs(tmp_path: Path, label: str, plan: Plan | None = None, **header: str) -> list[Leg]:
    shard = ShardBuilder("s", label=label, run="261121-000000-0001", **header).finish().write(tmp_path)
    return legs_again({label: [ROW]}, [read_shard(shard)], plan)


@pytest.mark.parametrize(
    ("label", "column", "features"),
    [
        ("4.3.1", ["--kafka-version", "4.3.1"], []),
        ("4.3.1@mine:1", ["--kafka-image", "kafka:4.3.1@mine:1"], []),
        (
            "4.3.1+group.version=1+transaction.version=1",
            ["--kafka-version", "4.3.1"],
            ["--feature", "group.version=1", "--feature", "transaction.version=1"],
        ),
    ],
)
def test_a_label_names_its_column_and_its_features(
    tmp_path: Path, label: str, column: list[str], features: list[str]
) -> None:
    [leg] = legs(tmp_path, label, profile="quick")
    assert leg.column == column
    assert leg.options == ["--conformance-profile", "quick", *features, "--requirement", ROW]


def test_a_kafka_of_the_users_own_is_the_one_of_the_plan(tmp_path: Path) -> None:
    home = Leg(name="/kafka", column=["--kafka-home", "/kafka"], run="261121-000000-0001")
    [leg] = legs(tmp_path, "4.3.1@/kafka", Plan(options=[], seed=1, legs=[home]))
    assert leg.column == ["--kafka-home", "/kafka"]


def test_a_column_without_shards_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"none of its shards is left"):
        legs_again({"4.3.1": [ROW]}, [], None)
