"""The wheel, installed where nothing else is: its one command, from a stranger's folder with a `conformance/` of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[2]
ROWS = ("KIP360-SEQ-02", "KIP360-SEQ-05", "KIP360-INIT-01")
LARGEST = 200 * 2**20
"""Bytes that an installation without Spark may have."""


class Installed:
    """A virtual environment with the wheel, and a folder of a user's own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "environment"
        self.theirs = folder / "theirs"
        venv.create(self.home, with_pip=True)
        self._empty = self.size
        built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
        [wheel] = folder.glob("*.whl")
        subprocess.run([self.home / "bin" / "pip", "install", "-q", wheel], check=True, capture_output=True)
        (self.theirs / "conformance").mkdir(parents=True)
        (self.theirs / "conformance" / "__init__.py").write_text("raise AssertionError('a stranger')\n")
        (self.theirs / "reports.py").write_text("raise AssertionError('a stranger')\n")

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.home.rglob("*") if path.is_file() and not path.is_symlink())

    @property
    def added(self) -> int:
        """Bytes of the kit and all that it needs."""
        return self.size - self._empty

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.started("kafka-conformance", *words)

    def started(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment, from the folder, without the variables that lead to this checkout."""
        own = ("KAFKA_CONFORMANCE_", "PYTEST_", "PYTHONPATH")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        command: Sequence[str | Path] = [self.home / "bin" / program, *words]
        return subprocess.run(command, cwd=self.theirs, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


def test_it_is_small_without_spark(installed: Installed) -> None:
    assert installed.added < LARGEST, f"{installed.added / 2**20:.0f} MB"


def test_its_packages_are_not_on_a_strangers_path(installed: Installed) -> None:
    """Their own folder shows them two packages of these names, and none of ours."""
    names = ("conformance", "fixtures", "history", "protocol", "reports", "strategies")
    code = f"import importlib.util as u; print([u.find_spec(n).origin for n in {names} if u.find_spec(n)])"
    found = installed.started("python", "-c", code)
    assert found.stdout.strip() == str(
        [str(installed.theirs / name) for name in ("conformance/__init__.py", "reports.py")]
    )


def test_its_texts_name_its_command(installed: Installed) -> None:
    helped = installed.run("--help")
    assert (helped.returncode, "Usage: kafka-conformance [OPTIONS] COMMAND" in helped.stdout) == (0, True)
    refused = installed.run("pytest", "--requirement", "KIP320-FETCH-99")
    assert (refused.returncode, "`kafka-conformance rows` lists all of them" in refused.stderr + refused.stdout) == (
        2,
        True,
    )
    alone = installed.run("tests")
    assert (alone.returncode, "Run ./kit tests in a checkout" in alone.stderr) == (2, True)


def test_what_needs_spark_says_so_before_anything_is_run(installed: Installed) -> None:
    ended = installed.run("matrix", "--kafka-version", "4.3.1")
    assert (ended.returncode, "pip install 'kafka-conformance-kit[spark]'" in ended.stderr) == (3, True)
    assert not (installed.theirs / "out").exists()


def test_three_rows_from_a_strangers_folder(installed: Installed) -> None:
    asked = [word for row in ROWS for word in ("--requirement", row)]
    ended = installed.run("pytest", "--kafka-version", "4.3.1", *asked)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    shards = [*(installed.theirs / "out" / "shards").glob("*.jsonl")]
    lines = [json.loads(line) for path in shards for line in path.read_text().splitlines()]
    assert {line["requirement"] for line in lines if line["type"] == "observation"} >= set(ROWS)
    assert {" ".join(line["column"]["selection"]) for line in lines if line["type"] == "header"} == {
        "--kafka-version 4.3.1"
    }


def test_a_file_of_the_kits_checks_is_found_by_its_name(installed: Installed) -> None:
    listed = installed.run("pytest", "--collect-only", "-q", "conformance/kip320/fencing.py")
    assert (listed.returncode, "fencing.py::" in listed.stdout) == (0, True), listed.stdout + listed.stderr
