"""`./kit faults` over fake self-tests: the table, the same as JSON, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conformance.cli import faults as commands
from conformance.cli.app import main
from fixtures.faults import selftest
from fixtures.faults.base.fault import Fault
from fixtures.faults.selftest import Ending, SelfTest
from fixtures.runs import Run


class Fakes:
    """Doubles of all that the command calls; every fault has the `ending`, and `ended` are the runs that were ended."""

    def __init__(self) -> None:
        self.ending: Ending = "witnessed"
        self.ready: list[str] = []
        self.ended: list[str] = []

    def make_ready(self, versions: Sequence[str]) -> None:
        self.ready = list(versions)

    def self_test(
        self, image: str, faults: Sequence[Fault], run: Run, progress: Callable[[str], None], *, sabotage: bool
    ) -> list[SelfTest]:
        progress(f"{image} is tested")
        return [SelfTest(fault=one.name, role=one.role, ending=self.ending, reason="none") for one in faults]


@pytest.fixture
def fakes(state: Any, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    made = Fakes()
    for name, fake in {
        "make_ready": made.make_ready,
        "image_of": lambda column: f"image of {column.title}",
        "connect": lambda: None,
        "prepare_engine": lambda versions, progress: None,
    }.items():
        monkeypatch.setattr(commands, name, fake)
    monkeypatch.setattr(selftest, "self_test", made.self_test)
    monkeypatch.setattr(Run, "end", lambda run, client: made.ended.append(run.id))
    return made


def test_each_version_has_its_table(fakes: Fakes, capsys: pytest.CaptureFixture[str]) -> None:
    fakes.ending = "unwitnessed"
    assert main(["faults", "--kafka-version", "4.3.1", "--kafka-version", "3.9.2", "--fault", "kill"]) == 3
    out = capsys.readouterr().out
    assert fakes.ready == ["3.9.2", "4.3.1"]
    assert "3.9.2: kill of leader is unwitnessed: none" in out
    assert len(fakes.ended) == 1


def test_as_json_it_is_all_that_stands_on_stdout(fakes: Fakes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "--kafka-version", "4.3.1", "--fault", "kill", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert [(one["fault"], one["ending"]) for one in json.loads(printed.out)["4.3.1"]] == [("kill", "witnessed")]
    assert "image of 4.3.1 is tested" in printed.err


def test_a_fault_that_is_misspelt_has_near_ones(fakes: Fakes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "--fault", "klil"]) == 2
    assert "'klil' matches no fault. Did you mean kill" in capsys.readouterr().err


def test_a_build_of_ones_own_is_tested(fakes: Fakes, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--kafka-image", "mine:1", "--label", "mine"]
    assert main(["faults", *own, "--fault", "kill"]) == 0
    assert fakes.ready == []
    assert "image of mine is tested" in capsys.readouterr().out
