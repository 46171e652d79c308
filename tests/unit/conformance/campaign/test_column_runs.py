"""`./kit matrix` over fake runs of columns: what runs, what is continued, what is moved aside, and the exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.plan import column_runs_for, new_plan, read_plan, write_plan
from conformance.catalogue import shipped_rows
from conformance.cli import plans
from conformance.cli.matrix import matrix
from conformance.cli.means import Means
from conformance.core.registry import own_checks
from conformance.running.columns import wanted_columns
from fixtures.errors import WrongUse
from fixtures.runs import Run, new_id
from fixtures.waiting import eventually
from history.schema import SCHEMA
from history.shards import read_shards
from tests.support.fake_column_run import OTHER, ROW
from tests.support.fake_matrix import ALL_COLUMNS, ROOT, Kit, fresh_kit


@pytest.fixture
def kit(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return fresh_kit(tmp_path, monkeypatch)


# --- what is run


def test_each_column_has_a_pytest_with_the_seed_and_the_options_of_all(kit: Kit) -> None:
    assert kit("--conformance-profile", "quick") == 0
    assert sorted(kit.calls) == list(ALL_COLUMNS) == kit.columns == kit.prepared
    seeds = {options[options.index("--conformance-seed") + 1] for _, options in kit.given}
    assert len(seeds) == 1
    assert all("quick" in options for _, options in kit.given)
    assert kit.merged == [(kit.out, [])]


def test_what_the_user_gives_comes_after_what_the_run_would_choose(kit: Kit) -> None:
    """pytest takes the last of two."""
    kit("-n", "7", "--conformance-seed=5", versions=["4.3.1"])
    [(_, options)] = kit.given
    assert options.index("7") > options.index("-n")
    assert options.index("--conformance-seed=5") > options.index("--conformance-seed")


def test_a_seed_of_the_environment_is_left_to_the_columns(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_SEED", "5")
    kit(versions=["4.3.1"])
    assert "--conformance-seed" not in kit.given[0][1]


def test_own_images_and_kafkas_are_columns_too(kit: Kit, tmp_path: Path) -> None:
    """Several of each, beside released versions; the same one counts once."""
    own = [
        "--kafka-image",
        "mine:1",
        "--kafka-home",
        str(tmp_path),
        "--kafka-image",
        "mine:2",
        "--kafka-image",
        "mine:1",
    ]
    assert kit(*own, versions=[]) == 0
    assert sorted(kit.calls) == sorted(["mine:1", "mine:2", str(tmp_path)])
    assert kit.prepared == []
    assert kit("--add", *own, versions=["3.9.2"]) == 0
    assert kit.calls[3:] == ["3.9.2"]


def test_own_columns_are_also_named_by_the_environment(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_KAFKA_IMAGE", "mine:1 mine:2")
    monkeypatch.setenv("KAFKA_CONFORMANCE_KAFKA_HOME", f"{tmp_path}:{tmp_path.parent}")
    assert kit(versions=[]) == 0
    assert sorted(kit.calls) == sorted(["mine:1", "mine:2", str(tmp_path), str(tmp_path.parent)])


# --- what is refused, before anything is put aside


def test_a_kafka_that_is_not_there_is_told_with_where_it_was_looked_for(kit: Kit) -> None:
    kit()
    with pytest.raises(WrongUse) as refused:
        kit("--kafka-home", "build/kafka", versions=[])
    assert str(ROOT / "build/kafka") in str(refused.value)
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), [])


def test_options_that_pytest_refuses_put_nothing_aside(kit: Kit) -> None:
    kit()
    with pytest.raises(WrongUse, match="what is wrong with it"):
        kit("--requirement", "KIP320-FETSCH", v3_8_1=["refused"])
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), [])


def test_a_folder_serves_one_command_at_a_time(kit: Kit) -> None:
    """A column of a command that was killed may live on: what it is writing must not be put aside."""
    plan = new_plan(column_runs_for(wanted_columns(ALL_COLUMNS)), [])
    with Run.begin(new_id()) as run:
        plan.columns[0].run = run.id
        write_plan(kit.out, plan)
        with pytest.raises(WrongUse, match=rf"3\.8\.1 \(run {run.id}\) is running"):
            kit()
    assert kit() == 0


def test_a_plan_that_is_none_is_refused(kit: Kit) -> None:
    kit.out.mkdir()
    (kit.out / "plan.json").write_text(f'{{"schema": {SCHEMA}}}')
    with pytest.raises(WrongUse, match="is not a plan of this kit"):
        kit()


# --- going on


def test_finished_columns_are_not_run_again_and_nothing_of_the_unfinished_one_is_lost(kit: Kit) -> None:
    assert kit(v3_9_2=["satisfied", "violated", "cut", "killed"]) == 1
    assert kit.columns == list(ALL_COLUMNS)
    [seed] = {shard.header.seed for shard in read_shards(kit.out / "shards") if shard.header}
    assert kit() == 0
    assert kit.calls[3:] == ["3.9.2"]
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), ["3.9.2"])
    assert {shard.header.seed for shard in read_shards(kit.out / "shards") if shard.header} == {seed}
    assert {p.name for p in kit.out.glob("earlier/*/*")} == {"shards", "evidence", "logs"}
    assert not list(kit.out.glob("evidence/*/*"))


def test_a_run_that_ended_starts_over(kit: Kit) -> None:
    kit()
    kit()
    assert sorted(kit.calls) == sorted(ALL_COLUMNS * 2)
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), list(ALL_COLUMNS))


@pytest.mark.parametrize("other", ["options", "columns", "environment"])
def test_another_command_starts_over(kit: Kit, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    kit(v3_9_2=["killed"])
    if other == "environment":
        monkeypatch.setenv("KAFKA_CONFORMANCE_PROFILE", "nightly")
    options = ["--conformance-profile", "nightly"] if other == "options" else []
    versions = ("3.9.2",) if other == "columns" else ALL_COLUMNS
    kit(*options, versions=versions)
    assert sorted(kit.calls[3:]) == list(versions)
    assert (kit.columns, kit.aside) == (list(versions), list(ALL_COLUMNS))


def test_added_columns_leave_those_that_are_there(kit: Kit) -> None:
    kit(versions=["3.9.2"])
    assert kit("--add", "--conformance-profile", "nightly", versions=["3.9.2", "4.3.1"]) == 0
    assert kit.calls == ["3.9.2", "4.3.1"]
    assert (kit.columns, kit.aside) == (["3.9.2", "4.3.1"], [])
    plan = read_plan(kit.out)
    assert plan is not None
    assert [column.name for column in plan.columns] == ["3.9.2", "4.3.1"]


# --- the code


SAID: list[tuple[dict[str, list[str]], int]] = [
    ({}, 0),
    ({"v3_8_1": ["satisfied", "violated"]}, 1),
    # A column with nothing satisfied is no trouble beside others that have something.
    ({"v3_8_1": ["nothing"]}, 0),
    ({"v3_8_1": ["nothing"], "v3_9_2": ["nothing"], "v4_3_1": ["nothing"]}, 3),
    ({"v3_8_1": ["error"]}, 3),
    ({"v3_8_1": ["error"], "v4_3_1": ["violated"]}, 1),
    ({"v3_8_1": ["no-shard"]}, 3),
    ({"v3_8_1": ["no-shard"], "v4_3_1": ["violated"]}, 1),
    ({"v3_8_1": ["satisfied", "trouble"]}, 3),
    ({"v3_8_1": ["satisfied", "killed"]}, 3),
    ({"v3_8_1": ["satisfied", "killed"], "v4_3_1": ["violated"]}, 1),
    ({"v3_8_1": ["wrong", "no-shard"], "v4_3_1": ["violated"]}, 2),
]


@pytest.mark.parametrize(("columns", "code"), SAID, ids=str)
def test_all_columns_are_judged_together(kit: Kit, columns: dict[str, list[str]], code: int) -> None:
    assert kit(**columns) == code
    assert kit.merged == [(kit.out, [])]


def test_the_end_of_a_bad_columns_log_is_shown(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit(v3_8_1=["no-shard", "killed"])
    assert "3.8.1 ended with -9; the end of" in capsys.readouterr().out


def test_containers_kept_on_the_engine_are_shown(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    with Run.begin(new_id()) as run:
        run.keep("a cluster is kept: broker-1 at 127.0.0.1:30001")
    plan = new_plan(column_runs_for(wanted_columns(["3.8.1", "3.9.2"])), [])
    plan.columns[0].run, plan.columns[0].code = run.id, 1
    write_plan(kit.out, plan)
    kit(versions=["3.8.1", "3.9.2"])
    assert "broker-1 at 127.0.0.1:30001" in capsys.readouterr().out


# --- a baseline


def baseline(path: Path, *labels: str) -> Path:
    columns = ["3.8.1", "4.3.1"]
    verdicts = {label: "violated" if label in labels else "satisfied" for label in columns}
    cells = [{"requirement": OTHER, "kafka_version": label, "verdict": verdict} for label, verdict in verdicts.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"kafka_versions": columns, "cells": cells}))
    return path


def test_with_a_baseline_only_what_is_new_in_any_column_counts(kit: Kit) -> None:
    known = baseline(kit.out.parent / "known.json", "3.8.1")
    assert kit("--baseline", str(known), v3_8_1=["satisfied", "violated"]) == 0
    assert kit("--baseline", str(known), v4_3_1=["satisfied", "violated"]) == 1
    assert all("--baseline" not in options for _, options in kit.given)


def test_known_deviations_of_ones_own_reach_the_columns_and_the_merge(kit: Kit) -> None:
    file = kit.out.parent / "own.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("deviation = []")
    assert kit("--deviations", str(file), v4_3_1=["satisfied"]) == 0
    assert all(str(file) in options for _, options in kit.given)
    assert kit.merged == [(kit.out, ["--deviations", str(file)])]


def test_the_baseline_may_be_the_matrix_that_is_put_aside(kit: Kit) -> None:
    """Also when it is gone on with: by then there is no such file any more."""
    known = baseline(kit.out / "matrix" / "matrix.json", "3.8.1")
    red = ["satisfied", "violated"]
    assert kit("--baseline", str(known), v3_8_1=red, v4_3_1=["killed"]) == 3
    assert not known.exists()
    assert kit("--baseline", str(known), v3_8_1=red) == 0
    assert kit.calls[3:] == ["4.3.1"]
    assert kit.merged[1] == (kit.out, ["--baseline", str(kit.out / "baseline.json")])


def test_an_archive_is_left_to_the_merge(kit: Kit) -> None:
    kit("--archive", "nights", versions=["4.3.1"])
    assert kit.merged == [(kit.out, ["--archive", "nights"])]
    assert "--archive" not in kit.given[0][1]


def test_a_baseline_that_is_none_is_refused_before_anything_is_put_aside(kit: Kit) -> None:
    kit()
    with pytest.raises(WrongUse, match=r"matrix\.json of an earlier run"):
        kit("--baseline", "/nonexistent/matrix.json")
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), [])


# --- interruption

SCRIPT = """
import signal
import sys
from conformance.cli.group import run
from conformance.cli.matrix import matrix
from conformance.cli.means import Means
fake = (sys.executable, "-m", "tests.support.fake_column_run")
# As in a terminal, whatever the tests were started from.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
means = Means(prepare=lambda versions: None, pytest=fake, merge=lambda out, options: print("merged"))
sys.exit(run(matrix, sys.argv[1:], "./kit matrix", means))
"""


class Started:
    """The same in a process of its own, with two columns that wait to be interrupted."""

    def __init__(self, kit: Kit) -> None:
        columns = [text for version in ALL_COLUMNS for text in ("--kafka-version", version)]
        waits = ["satisfied", "cut", "waits"]
        self.waiting = kit.out / "waiting"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "--conformance-out", str(kit.out), *columns],
            env=os.environ | {"FAKE_COLUMNS": json.dumps({"3.8.1": waits, "3.9.2": waits})},
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        eventually(
            lambda: len(self.pids) == 2,
            within=60,
            what="two columns wait",
            state=lambda: f"ended with {self.process.poll()}",
        )

    @property
    def pids(self) -> list[int]:
        texts = [path.read_text() for path in self.waiting.glob("*") if path.suffix != ".cleared-up"]
        return [int(text) for text in texts if text]

    def ended(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        lines: Any = self.process.communicate(timeout=60)[0]
        return self.process.returncode, lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_columns_in_good_order_and_the_same_command_goes_on(kit: Kit, number: signal.Signals) -> None:
    started = Started(kit)
    pids = started.pids
    ended, lines = started.ended(number)
    assert (ended, "The same command continues" in lines, lines.count("merged")) == (130, True, 1)
    assert ("3.9.2 ended with 130" in lines, "4.3.1 ended with" in lines) == (True, False)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert len(list(started.waiting.glob("*.cleared-up"))) == 2
    assert kit() == 0
    assert sorted(kit.calls) == sorted(["3.8.1", "3.9.2", *ALL_COLUMNS])
    assert (kit.columns, kit.aside) == (list(ALL_COLUMNS), ["3.8.1", "3.9.2"])


def test_the_rows_of_the_fake_are_rows() -> None:
    assert shipped_rows()[OTHER].cases


def test_as_json_stdout_has_the_verdicts_and_nothing_else(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.merging = {"satisfied": ["3.8.1"], "violated": ["3.9.2"]}
    code = kit("--format", "json", versions=["3.8.1", "3.9.2"], v3_8_1=["satisfied"], v3_9_2=["violated"])
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "exit_code": code,
        "matrix": str(kit.out / "matrix" / "matrix.json"),
        "columns": ["3.8.1", "3.9.2"],
        "verdicts": {ROW: {"3.8.1": "satisfied", "3.9.2": "violated"}},
    }
    assert code == 1
    assert "checks: " in output.err


def test_an_earlier_matrix_is_not_told_as_this_ones(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.merging = {"satisfied": ["3.8.1"]}
    kit(versions=["3.8.1"], v3_8_1=["satisfied"])
    kit.merging = {}
    capsys.readouterr()
    code = kit("--format", "json", "--add", versions=["3.8.1", "3.9.2"], v3_9_2=["violated"])
    assert json.loads(capsys.readouterr().out) == {"exit_code": code, "matrix": None, "columns": [], "verdicts": {}}


def test_a_plan_says_what_would_run_on_each_column_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def prepare(versions: Sequence[str]) -> None:
        raise AssertionError(versions)

    asked = ["--kafka-version", "3.9.2", "--kafka-version", "4.3.1", "--requirement", "KIP320-FETCH-03", "--plan"]
    code = matrix.main([*asked, "--out", str(tmp_path / "out")], standalone_mode=False, obj=Means(prepare=prepare))
    text = capsys.readouterr().out
    assert (code, list(tmp_path.iterdir())) == (0, [])
    assert [line.split()[1] for line in text.splitlines() if line.startswith("column ")] == ["3.9.2", "4.3.1"]
    assert text.count("gw0     kip320.fencing.newer_epoch_is_unknown") == 2
    assert "in all about 0:" in text


def test_a_single_column_gets_all_the_workers_that_the_machine_carries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.cli.plans.workers", lambda: 4)
    assert [plans.workers_a_column(columns, 2) for columns in (0, 1, 2, 5)] == [4, 4, 2, 2]
    asked = ["--kafka-version", "4.3.1", "--requirement", "KIP320-FETCH-03", "--plan", "--format", "json"]
    code = matrix.main([*asked, "--out", str(tmp_path / "out")], standalone_mode=False, obj=Means())
    plan = json.loads(capsys.readouterr().out)
    [item] = plan["columns"]["4.3.1"]["items"]
    assert (code, item["check"], item["topology"], item["worker"]) == (
        0, "kip320.fencing.newer_epoch_is_unknown", "cluster", 0
    )  # fmt: skip
    assert plan["seconds"] == plan["columns"]["4.3.1"]["seconds"] == item["begins"] + item["seconds"]


def test_a_plan_of_violated_rows_has_their_checks_only(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.merging = {"satisfied": ["3.8.1"], "violated": ["3.9.2"]}
    kit(versions=["3.8.1", "3.9.2"], v3_8_1=["satisfied"], v3_9_2=["violated"])
    capsys.readouterr()
    asked = ["--out", str(kit.out), "--rerun-violated", "--plan", "--format", "json"]
    assert matrix.main(asked, standalone_mode=False, obj=Means()) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert {name: {item["check"] for item in plan["items"]} for name, plan in columns.items()} == {
        "3.9.2": set(own_checks()[ROW])
    }
