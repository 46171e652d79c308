"""The words of the command line: each help and each refusal is a snapshot, and none of them asks an engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance.catalogue import Requirement, shipped_rows
from conformance.catalogue.quotes import quotes_by_row
from conformance.cli.app import COMMANDS, main
from conformance.cli.rows import MAX_NAMED
from conformance.core.machines import all_machines
from conformance.core.registry import checks_by_row, every_check
from conformance.running.settings import OPTIONS

ROOT = Path(__file__).parents[4]
OWN_HELP = sorted(set(COMMANDS) - {"pytest", "tests", "miniature"})
"""The others pass --help on, to programs with a help of their own."""
UNTESTED = "KIP320-CONS-04"

REFUSED = {
    "an unknown command": ["nonsense"],
    "help about a command with a slip": ["help", "matrx"],
    "a command with a slip": ["mergr"],
    "an option with a slip": ["storm", "--cycle", "3"],
    "a report with a slip": ["explian"],
    "a merge without folders": ["merge", "--in", "out/shards"],
    "a matrix that is not there": ["diff", "a.json", "b.json"],
    "a row in lower case and with a slip": ["rows", "kip320-fetch-0x"],
    "a bisection of no row": ["bisect", "NOPE"],
    "a bisection of a row with a slip": ["bisect", "KIP320-FETCH-2"],
    "a bisection without a row": ["bisect"],
    "a bisection that only lists": ["bisect", "KIP320-LO-04", "--collect-only"],
    "a matrix that only lists": ["matrix", "--kafka-version", "4.3.1", "--collect-only"],
    "no columns side by side": ["matrix", "--columns-at-once", "0"],
    "a hunt that only lists": ["hunt", "--hours", "1", "--markers"],
    "a hunt without hours": ["hunt", "--kafka-version", "4.3.1"],
    "a storm on two versions": ["storm", "--kafka-version", "4.2..4.3"],
    "a storm without a cycle": ["storm", "--cycles", "0"],
    "hours that are no number": ["hunt", "--hours", "x", "--kafka-version", "4.3.1"],
    "a machine that is not there": ["hunt", "--hours", "1", "--machine", "clock"],
    "a version that is none": ["setup", "--kafka-version", "nonsense"],
    "a mutant with a slip": ["mutants", "build", "unfenced-leader-epoc", "--kafka-version", "4.3.1"],
    "a mutant of no Kafka": ["mutants", "build", "unfenced-leader-epoch"],
    "a mutant's option with a slip": ["mutants", "build", "unfenced-leader-epoch", "--kafka-versio", "4.3.1"],
    "a benchmark with a slip": ["benchmarks", "judgin"],
    "a benchmark's option with a slip": ["benchmarks", "judging", "--event", "3"],
    "an unreleased version": ["matrix", "--kafka-version", "3.7.9"],
    "a home that is not there": ["matrix", "--kafka-home", "/nonexistent/kafka"],
    "a folder without shards": ["rejudge", "--out", "/nonexistent/out"],
    "too many faults at once": ["storm", "--at-once", "4"],
    "a fault that is none": ["faults", "--fault", "nonsense"],
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of one width, no options from the environment, and an engine that must not be asked."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the engine was asked")

    monkeypatch.setenv("COLUMNS", "100")
    for name in [name for name in os.environ if name.startswith("KAFKA_CONFORMANCE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("docker.from_env", refuse)
    monkeypatch.setattr("docker.DockerClient", refuse)
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("command", OWN_HELP)
def test_each_command_has_a_help(command: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert main([command, "--help"]) == main([command, "-h"]) == 0
    first, second = capsys.readouterr().out.split("Usage: ")[1:]
    assert first == second == snapshot


def test_the_kit_says_what_it_can_do(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert (main(["--help"]), main(["-h"])) == (0, 0)
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    ("given", "option"),
    [(["help"], ["--help"]), (["help", "diff"], ["diff", "--help"]), (["version"], ["--version"])],
)
def test_help_and_version_are_taken_as_commands(
    given: list[str], option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 0
    output = capsys.readouterr().out
    assert main(option) == 0
    assert output == capsys.readouterr().out


@pytest.mark.parametrize("command", ["matrix", "bisect", "hunt"])
def test_a_help_has_every_option_that_is_handed_on(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    output = capsys.readouterr().out
    chosen = {"bisect": {"--requirement"}, "hunt": {"--baseline", "--replay"}}.get(command, set())
    for option in OPTIONS:
        if option.flag not in chosen and not (command == "hunt" and option.flag.startswith("--conformance-")):
            assert re.search(rf"^ .*{option.flag}\b", output, re.MULTILINE), option.flag


def test_a_list_that_a_terminal_does_not_hold_is_paged(monkeypatch: pytest.MonkeyPatch) -> None:
    paged: list[str] = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.echo_via_pager", paged.append)
    assert main(["rows", "KIP101-INV-*"]) == 0
    assert paged == []
    assert main(["rows"]) == 0
    assert len(paged[0].splitlines()) == len(list(shipped_rows())) + 1


def test_without_a_command_the_help_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_the_version_is_that_of_the_kit(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_wrong_use_ends_with_2_and_says_the_way_out(
    given: list[str], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(given) == 2
    assert capsys.readouterr().err == snapshot


# --- rows


def test_rows_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [row.id for row in shipped_rows()]
    untested = [row.id for row in shipped_rows() if row.id not in checks_by_row()]
    assert last == f"{len(lines)} rows, {len(untested)} of them without a check"
    assert {line.split()[0] for line in lines if " untested " in line} == set(untested)


def test_rows_tells_all_about_one(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert main(["rows", "KIP320-OFLE-01"]) == main(["rows", "kip320-ofle-01"]) == 0
    text = capsys.readouterr().out
    assert text == 2 * text[: len(text) // 2]
    assert text.partition("\nown checks:")[0].splitlines() == snapshot


def test_rows_tells_a_row_s_own_checks_from_those_that_also_see_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "KIP320-FETCH-03"]) == 0
    own, others = capsys.readouterr().out.split("own checks: ")[1].split("others that see it on their way: ")
    assert re.findall(r" s  (\S+)", own) == ["kip320.fencing.newer_epoch_is_unknown"]
    assert own.rstrip().endswith("./kit pytest --requirement KIP320-FETCH-03")
    also = set(checks_by_row()["KIP320-FETCH-03"]) - {"kip320.fencing.newer_epoch_is_unknown"}
    assert set(re.findall(r" s  (\S+)", others)) == also
    assert others.startswith(f"{len(also)}, ")
    assert others.rstrip().endswith("./kit pytest --requirement KIP320-FETCH-03 --all-that-see-it")


def test_rows_names_some_of_all_the_checks_that_see_a_law(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "GEN-21"]) == 0
    assert f"and {len(every_check()) - len(all_machines()) - MAX_NAMED} more" in capsys.readouterr().out


def test_rows_takes_a_glob(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "kip101-inv-0*", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in found] == [row.id for row in shipped_rows() if row.id.startswith("KIP101-INV-0")]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["--kip", "360"], lambda row: row.kip == 360),
        (["--kip", "0"], lambda row: row.kip == 0),
        (["--level", "should", "--level", "gap"], lambda row: row.level in ("should", "gap")),
        (["--kind", "scenario"], lambda row: row.kind == "scenario"),
        (["--untested"], lambda row: row.id not in checks_by_row()),
        (["kip595-*", "--level", "must"], lambda row: row.kip == 595 and row.level == "must"),
    ],
)
def test_rows_are_filtered(
    given: list[str], wanted: Callable[[Requirement], bool], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rows", *given, "--format", "json"]) == 0
    found = [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert found == [row.id for row in shipped_rows() if wanted(row)]
    assert found


def test_rows_as_json_say_which_have_no_check_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in found] == [row.id for row in shipped_rows()]
    assert set(found[0]) == {
        "id", "kip", "level", "priority", "kind", "title", "statement", "section", "read", "quote", "applies", "needs", "cases",
        "expectations", "tickets", "checks", "own_checks", "seconds", "untested",
    }  # fmt: skip
    rows = {row.id: row for row in shipped_rows()}
    assert all(row["statement"] == rows[row["id"]].statement.strip() for row in found)
    assert [[case["id"] for case in row["cases"]] for row in found] == [
        [c.id for c in row.cases] for row in rows.values()
    ]
    assert all(bool(row["checks"]) == (row["untested"] is None) for row in found)
    quoted = {row["id"]: row["quote"] for row in found if row["quote"]}
    assert quoted == {id: {"source": one.source, "text": one.text} for id, one in quotes_by_row().items()}
    assert {row["untested"] for row in found} == {None, "the kit has no check for this row"}
    assert all(bool(row["checks"]) == bool(row["own_checks"]) for row in found)
    assert all(set(row["own_checks"]) <= set(row["checks"]) == set(row["seconds"]) for row in found)


def test_the_readme_counts_the_rows_without_a_check() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    untested = [row.kip for row in shipped_rows() if row.id not in checks_by_row()]
    counted = ", ".join(f"{count} of KIP-{kip}" for kip, count in Counter(untested).most_common())
    most, _, fewest = counted.rpartition(", ")
    assert (
        f"Of the {len(list(shipped_rows()))} rows of the catalogue {len(untested)} have none: {most} and {fewest}."
        in text
    )


# --- other programs


def ended(*words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own. No engine answers there."""
    environment = os.environ | {
        "DOCKER_HOST": "unix:///nonexistent/docker.sock",
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": f"-c {ROOT / 'pyproject.toml'}",
    }
    return subprocess.run(
        [sys.executable, "-m", "conformance", *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["pytest", "--markers"], 0, "docker: needs a Docker engine"),
        (["pytest", "--fixtures"], 0, "capsys"),
        (["pytest", "--cache-show"], 0, "no tests ran"),
        (["pytest", "--collect-only", "-q", "-k", "nothing_of_that_name"], 2, "no tests collected"),
        (["pytest", "--help"], 0, "Kafka conformance"),
        (["python", "-c", "raise SystemExit(7)"], 7, ""),
        (["ruff", "--version"], 0, "ruff "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_program_of_the_environment_ends_as_it_does(words: list[str], code: int, says: str) -> None:
    end = ended(*words)
    assert (end.returncode, says in end.stdout + end.stderr) == (code, True)


REFUSED_WITH_PYTEST = {
    "an option of another kit": ["pytest", "--bootstrap-server", "x"],
    "options with a slip": ["pytest", "--kafka-versoin", "4.3.1", "--conformance-outs=x"],
    "an option with a slip in a bisection": ["bisect", "KIP320-LO-04", "--kafka-version", "4.3.1", "--featur", "x=1"],
    "a home that is not there, to list": ["pytest", "--collect-only", "-q", "--kafka-home", "/nonexistent/kafka"],
    "a row in lower case": ["pytest", "--requirement", "kip320-fetch-02"],
    "a row without a check": ["pytest", "--requirement", UNTESTED],
    "a profile that is none": ["pytest", "--conformance-profile", "slow"],
    "a seed that is no number": ["pytest", "--conformance-seed", "x"],
    "a schedule that is not there": ["matrix", "--kafka-version", "4.3.1", "--replay", "/nonexistent/schedule.json"],
    "a baseline that is not there": ["matrix", "--kafka-version", "4.3.1", "--baseline", "/nonexistent/matrix.json"],
    "a folder of recordings that can't be made": ["pytest", "--conformance-out", "/dev/null/out"],
    "a folder of a matrix that can't be made": ["matrix", "--conformance-out", "/dev/null/out"],
    "a folder of a hunt that can't be made": ["hunt", "--hours", "1", "--out", "/dev/null/hunt"],
}


@pytest.mark.parametrize("given", REFUSED_WITH_PYTEST.values(), ids=REFUSED_WITH_PYTEST)
def test_wrong_use_that_pytest_knows_ends_with_2_before_an_engine_is_asked(
    given: list[str], snapshot: SnapshotAssertion
) -> None:
    end = ended(*given)
    assert end.returncode == 2
    assert end.stderr.replace(f" {ROOT}", " ROOT") == snapshot


def test_without_an_engine_it_says_what_to_do(snapshot: SnapshotAssertion) -> None:
    end = ended("pytest", "--kafka-version", "4.3.1")
    assert end.returncode == 3
    assert end.stderr == snapshot
