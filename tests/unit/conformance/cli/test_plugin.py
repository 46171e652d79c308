"""The front door: what is collected, what is refused, and with which code it ends. Nothing here reaches an engine."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

import conformance.plugin
from conformance.catalogue import shipped_rows
from conformance.core.machines import MachineCheck
from conformance.core.registry import check_of_item, checks_by_row, every_check, is_soak
from conformance.core.topologies import adapt_topology
from conformance.judging.news import judged_cell
from conformance.judging.verdicts import Cell, Verdict
from conformance.running.baseline import Baseline, news_since
from conformance.running.evidence.folder import Schedule
from conformance.running.planning.budget import PARTS, WHOLE_PARTS, cost_of
from conformance.running.session import _count_parts, exit_code
from conformance.running.settings import Settings
from fixtures.images import newest_version
from history.command import row_command
from history.shards import Column
from tests.support.older_schema import aged

ROOT = Path(__file__).parents[4]
CHECKS = str(conformance.plugin.HERE)
KNOWN = every_check()
COLUMN = Column(
    label="4.3.1", version="4.3.1", image="kafka", image_id="sha256:1", selection=["--kafka-version", "4.3.1"]
)


@pytest.fixture(autouse=True)
def _nothing_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("KAFKA_CONFORMANCE_")]:
        monkeypatch.delenv(variable)


class Kit:
    """pytest with the plugin, in this process, with an ini file of the test's own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def run(self, *arguments: str, ini: str = "") -> tuple[int, str]:
        """The exit code, and what was printed."""
        file = self.folder / "own.ini"
        file.write_text(f"[pytest]\n{ini}\n")
        own = [
            "-c",
            str(file),
            "--rootdir",
            str(self.folder),
            "-p",
            "no:cacheprovider",
            "-p",
            "no:syrupy",
            "-p",
            "conformance.plugin",
            "-q",
        ]
        code = pytest.main([*own, *arguments])
        printed = self._capture.readouterr()
        return int(code), printed.out + printed.err

    def listed(self, *arguments: str, ini: str = "") -> list[tuple[str, str]]:
        """The checks and labels of the items that `--collect-only` names."""
        code, text = self.run("--collect-only", CHECKS, *arguments, ini=ini)
        assert code == 0, text
        return [_item(line) for line in text.splitlines() if "::" in line]


def _item(line: str) -> tuple[str, str]:
    """`…/kip320/fencing.py::older_epoch_is_fenced[4.3.1]` as (kip320.fencing.older_epoch_is_fenced, 4.3.1)."""
    label = line.rpartition("::")[2].removesuffix("]").partition("[")[2]
    return check_of_item(line).id, label


@pytest.fixture
def kit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Kit:
    return Kit(tmp_path, capsys)


# --- what is collected


def test_nothing_happens_to_tests_of_something_else(kit: Kit) -> None:
    """No engine, no image, no run: other people's tests only see some options more."""
    (kit.folder / "test_theirs.py").write_text("def test_it(): pass")
    code, text = kit.run("--kafka-version", "9.9.9", str(kit.folder))
    assert (code, "1 passed" in text, "conformance:" in text) == (0, True, False)


def test_checks_are_listed_without_an_engine(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    listed = kit.listed("--conformance-profile", "nightly")
    machines = {id for id, check in KNOWN.items() if isinstance(check, MachineCheck)}
    parts = [
        (id, f"{newest_version()} part {part}") for id in machines for part in range(2, WHOLE_PARTS["nightly"] + 1)
    ]
    assert sorted(listed) == sorted([*((id, newest_version()) for id in KNOWN), *parts])


def test_each_version_is_a_column_and_its_clusters_stand_together(kit: Kit) -> None:
    """Clusters with the most work come first while no clock runs, and a machine before other checks of its cluster."""
    listed = kit.listed("--kafka-version", "3.9", "--kafka-version", "4.2..4.3", "--feature", "transaction.version=1")
    labels = {label for _, label in listed}
    assert labels == {f"{version}+transaction.version=1" for version in ("3.9.2", "4.2.2", "4.3.1")}
    runs = [(key, list(items)) for key, items in groupby(listed, key=cluster)]
    assert len(runs) == len({key for key, _ in runs}), "a cluster is booted twice"
    work = [sum(cost_of(KNOWN[check], label) for check, label in items) for _, items in runs]
    assert work == sorted(work, reverse=True)
    for _, items in runs:
        machines = [isinstance(KNOWN[check], MachineCheck) for check, _ in items]
        assert machines == sorted(machines, reverse=True)


def cluster(item: tuple[str, str]) -> tuple[str, str]:
    """Column and topology of what is listed."""
    check, label = item
    return label, adapt_topology(KNOWN[check].topology, label).name


def test_under_a_clock_what_smoke_does_comes_first_and_machines_that_draw_last(kit: Kit) -> None:
    smoke = kit.listed("--conformance-profile", "smoke")
    nightly = kit.listed("--conformance-profile", "nightly")
    assert nightly[: len(smoke)] == smoke
    draws = [" part " in label for _, label in nightly]
    assert draws == sorted(draws)


def test_a_glob_chooses_the_checks_of_its_rows(kit: Kit) -> None:
    listed = kit.listed("--requirement", "KIP320-FETCH-02", "--requirement", "KIP101-INV-05")
    log = next(id for id in KNOWN if id.startswith("machines.log."))
    assert {check for check, _ in listed} == {"kip320.fencing.older_epoch_is_fenced", log}


def test_all_checks_whose_histories_show_a_row_can_be_chosen(kit: Kit) -> None:
    rows = ["--requirement", "KIP320-FETCH-02", "--requirement", "KIP101-INV-05", "--all-that-see-it"]
    wanted = {check for row in ("KIP320-FETCH-02", "KIP101-INV-05") for check in checks_by_row()[row]}
    soaks = {id for id, check in every_check().items() if is_soak(check)}
    assert {check for check, _ in kit.listed(*rows)} == wanted - soaks
    nightly = kit.listed(*rows, "--conformance-profile", "nightly")
    assert soaks & wanted == soaks & {check for check, _ in nightly}


@pytest.mark.parametrize(
    "check", ["kip320.fencing.older_epoch_is_fenced", next(id for id in KNOWN if id.startswith("machines.log."))]
)
def test_the_command_of_a_check_that_sees_a_row_runs_it_alone(kit: Kit, check: str) -> None:
    """A check of the row's own, and another one that sees it on its way."""
    options = shlex.split(row_command([], "KIP320-FETCH-02", check))[2:]
    assert [found for found, _ in kit.listed(*options)] == [check]


def test_a_law_that_no_check_is_written_for_runs_the_machines(kit: Kit) -> None:
    machines = {id for id, check in KNOWN.items() if isinstance(check, MachineCheck)}
    assert {check for check, _ in kit.listed("--requirement", "GEN-12")} == machines
    assert len(kit.listed("--requirement", "GEN-12", "--all-that-see-it")) > len(machines)


def test_a_machine_that_is_named_runs_for_each_row_that_it_sees(kit: Kit) -> None:
    """A hunt for one row goes on with the machines that see it, though a probe was written for it."""
    [(check, _)] = kit.listed("--requirement", "KIP320-FETCH-02", "--conformance-machines", "all")
    assert check.startswith("machines.log.")


def test_a_listing_says_how_long_the_checks_would_take_and_with_v_when_each_begins(kit: Kit) -> None:
    asked = ["--collect-only", CHECKS, "-n", "2", "--requirement", "KIP320-FETCH-02"]
    _, text = kit.run(*asked)
    assert "items: 1, " in text
    assert " on 2\n" in text
    _, text = kit.run(*asked, "-vv")
    assert "gw0     kip320.fencing.older_epoch_is_fenced  (" in text


def test_machines_can_be_chosen_by_name(kit: Kit) -> None:
    """Each machine has one part if there are no workers."""
    names = ("groups", "log", "producers", "topics")
    ids = [next(id for id in KNOWN if id.startswith(f"machines.{name}.")) for name in names]
    given = ["--conformance-profile", "nightly", "--conformance-machines"]
    assert kit.listed(*given, "log") == [(ids[1], newest_version())]
    assert sorted(kit.listed(*given, "all")) == [(id, newest_version()) for id in ids]


def test_machines_share_the_workers() -> None:
    settings = Settings(versions=[], profile="quick", machines=["all"])
    log = next(check for id, check in KNOWN.items() if id.startswith("machines.log."))
    machines = sum(isinstance(check, MachineCheck) for check in KNOWN.values())
    assert [_count_parts(settings, None, log, workers) for workers in (1, machines, 3 * machines + 1)] == [1, 1, 3]
    rows = msgspec.structs.replace(settings, machines=[], requirements=["GEN-01"])
    assert _count_parts(rows, None, log, 100) == PARTS["quick"]
    assert _count_parts(msgspec.structs.replace(settings, machines=[]), None, log, 100) == WHOLE_PARTS["quick"] == 1


def test_a_replay_chooses_its_check(kit: Kit) -> None:
    schedule = Schedule(check="kip320.fencing.older_epoch_is_fenced", column=COLUMN, case="consumer")
    file = kit.folder / "schedule.json"
    file.write_bytes(msgspec.json.encode(schedule))
    assert kit.listed("--replay", str(file)) == [(schedule.check, newest_version())]


@pytest.mark.parametrize("way", ["option", "environment", "ini"])
def test_an_option_is_also_an_environment_variable_and_an_ini_value(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    arguments = {"option": ("--kafka-version", "3.9.2", "--requirement", "KIP320-FETCH-0[23]")}.get(way, ())
    ini = {"ini": "kafka_version =\n    3.9.2\nrequirement = KIP320-FETCH-0[23]"}.get(way, "")
    if way == "environment":
        monkeypatch.setenv("KAFKA_CONFORMANCE_KAFKA_VERSION", "3.9.2")
        monkeypatch.setenv("KAFKA_CONFORMANCE_REQUIREMENT", "KIP320-FETCH-02,KIP320-FETCH-03")
    listed = kit.listed(*arguments, ini=ini)
    assert {label for _, label in listed} == {"3.9.2"}
    assert 0 < len(listed) < len(KNOWN)
    assert all({"KIP320-FETCH-02", "KIP320-FETCH-03"} & set(KNOWN[check].rows) for check, _ in listed)


def test_the_command_line_wins_over_the_environment_and_that_over_the_ini_file(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ini = "kafka_version = 3.3.2"
    assert {label for _, label in kit.listed(ini=ini)} == {"3.3.2"}
    monkeypatch.setenv("KAFKA_CONFORMANCE_KAFKA_VERSION", "3.9.2")
    assert {label for _, label in kit.listed(ini=ini)} == {"3.9.2"}
    assert {label for _, label in kit.listed("--kafka-version", "4.3.1", ini=ini)} == {"4.3.1"}


# --- what is refused


WRONG = [
    (["--requirement", "KIP320-FETCH-99"], "'KIP320-FETCH-99': the catalogue has no such row", "Did you mean KIP320-FETCH-09"),
    (["--kafka-version", "3.7.9"], "Kafka 3.7.9 is not among the released versions", "3.7.0, 3.7.1, 3.7.2"),
    (["--kafka-version", "newest"], "'newest' is not a Kafka version", "3.9..4.3"),
    (["--kafka-version", "4.3..3.9"], "'4.3..3.9' holds no released Kafka", "the older end first"),
    (["--feature", "transaction.version"], "--feature 'transaction.version'", "write NAME=LEVEL"),
    (["--feature", "=1"], "--feature '=1'", "write NAME=LEVEL"),
    (["--replay", "/nonexistent/schedule.json"], "--replay /nonexistent/schedule.json", "schedule.json of an evidence folder"),
    (["--conformance-machines", "clock"], "--conformance-machines 'clock'", "Give one of all, groups, log, producers, topics"),
    (["--conformance-beginning", "/nonexistent/b.json"], "/nonexistent/b.json: ", "beginning.json of a hunt"),
    (["--baseline", "/nonexistent/matrix.json"], "--baseline /nonexistent/matrix.json", "matrix.json of an earlier run"),
    (["--deviations", "/nonexistent/own.toml"], "own.toml: ", "No such file"),
    (["--conformance-profile", "slow"], "--conformance-profile 'slow'", "smoke, quick, nightly"),
    (["--conformance-seed", "seven"], "--conformance-seed 'seven'", "e.g. 1234"),
    (["--conformance-minutes", "0"], "--conformance-minutes '0'", "e.g. 16"),
    (["--conformance-run", "mine"], "--conformance-run 'mine'", "yymmdd-HHMMSS-xxxx"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message", "way_out"), WRONG, ids=lambda value: value[-1] if isinstance(value, list) else ""
)
def test_wrong_use_ends_with_2_and_says_what_is_right(
    kit: Kit, arguments: list[str], message: str, way_out: str
) -> None:
    for listing in ([], ["--collect-only"]):
        code, text = kit.run(CHECKS, *listing, *arguments)
        assert code == 2, text
        assert message in text
        assert way_out in text


def test_a_row_without_a_check_matches_nothing(kit: Kit) -> None:
    unchecked = next(row.id for row in shipped_rows() if row.id not in checks_by_row())
    code, text = kit.run("--collect-only", CHECKS, "--requirement", unchecked)
    assert (code, f"{unchecked!r} is in the catalogue and has no check yet" in text) == (2, True)


def test_a_schedule_that_is_none_is_refused(kit: Kit) -> None:
    file = kit.folder / "schedule.json"
    file.write_text('{"schema": 2, "check": 1}')
    code, text = kit.run(CHECKS, "--replay", str(file))
    assert (code, "Expected `str`, got `int`" in text) == (2, True)


def test_a_schedule_of_an_older_schema_is_refused(kit: Kit) -> None:
    file = kit.folder / "schedule.json"
    file.write_bytes(aged(msgspec.json.encode(Schedule(check="c", column=COLUMN))))
    for listing in ([], ["--collect-only"]):
        code, text = kit.run(CHECKS, *listing, "--replay", str(file))
        assert (code, text.count(f"{file} is of schema 1, which an unreleased kit before 0.1.0 ")) == (2, 1), text


def test_without_an_engine_it_ends_with_3_and_says_what_to_do() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--kafka-version", "4.3.1", "--requirement", "KIP320-FETCH-02"]
    without = os.environ | {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    ended = subprocess.run(command, cwd=ROOT, env=without, capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "unix:///nonexistent/docker.sock" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


# --- the code at the end


def cells(*verdicts: Verdict) -> list[Cell]:
    facts: dict[str, Any] = {"kafka_version": "4.3.1", "reason": "", "observations": 1, "violations": 0, "cases": {}}
    rows = [row.id for row in shipped_rows()]
    return [Cell(requirement=row, verdict=verdict, **facts) for row, verdict in zip(rows, verdicts, strict=False)]


@pytest.mark.parametrize(
    ("status", "verdicts", "code"),
    [
        (0, ["satisfied", "inconclusive", "untested", "inapplicable", "not-run", "flaky", "recorded"], 0),
        (1, ["satisfied", "violated", "error"], 1),
        (0, ["violated"], 1),
        (1, ["satisfied", "error"], 3),
        (0, ["inconclusive", "untested"], 3),
        (0, [], 3),
        (3, ["satisfied"], 3),
        (3, ["satisfied", "violated"], 1),
        (2, ["satisfied", "violated"], 130),
        (4, ["satisfied"], 2),
        (5, ["satisfied"], 2),
    ],
)
def test_what_was_judged_sets_the_code(status: int, verdicts: list[Verdict], code: int) -> None:
    assert code_with(Baseline(), status, *verdicts) == code


def test_with_a_baseline_only_what_is_new_counts() -> None:
    def code(*before: Verdict) -> int:
        known = [judged_cell(cell, {}) for cell in cells(*before)]
        return code_with(Baseline(kafka_versions=["4.3.1"], cells=known), 1, "satisfied", "violated")

    assert code("satisfied", "violated") == 0
    assert code("violated", "satisfied") == 1
    assert code("satisfied", "inapplicable") == 0
    assert code("satisfied", "inconclusive") == 1


def code_with(baseline: Baseline, status: int, *verdicts: Verdict) -> int:
    found = cells(*verdicts)
    return exit_code(status, found, news_since(baseline, found, {}))


def test_auto_takes_workers_from_cores_and_memory_before_the_session_begins(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests' own sessions are left to xdist."""
    asked: list[bool] = []

    def counted() -> int:
        asked.append(True)
        return 0

    monkeypatch.setattr(conformance.plugin, "workers", counted)
    assert kit.run("-n", "auto", "--collect-only", CHECKS)[0] == 0
    assert asked == [True]
    assert (
        kit.run("-n", "auto", "--collect-only", str(ROOT / "tests" / "unit" / "fixtures" / "test_waiting.py"))[0] == 0
    )
    assert asked == [True]
