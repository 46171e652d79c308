"""Shell scripts and workflows, as shellcheck and zizmor read them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
SCRIPTS = ["kit", ".ci/run", "tests/support/fake_gh"]
WORKFLOWS = [".github", "action.yml"]
FROM_OUTSIDE = """\
on: pull_request_target
jobs:
  a:
    runs-on: ubuntu-24.04
    steps: [{run: "echo ${{ github.event.pull_request.title }}"}]
"""


def shellcheck(text: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [PROGRAMS / "shellcheck", "--shell=bash", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def zizmor(*places: str | Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [PROGRAMS / "zizmor", "--offline", "--no-progress", *places]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def steps() -> Iterator[tuple[str, str]]:
    """Each script of a workflow or of the action, with its place; expressions are a word of the shell."""
    for path in (ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))):
        document: dict[str, Any] = msgspec.yaml.decode(path.read_bytes())
        jobs = document["jobs"].values() if "jobs" in document else [document["runs"]]
        scripts = (step["run"] for job in jobs for step in job["steps"] if "run" in step)
        for number, script in enumerate(scripts):
            yield f"{path.name}-{number}", re.sub(r"\$\{\{.*?\}\}", "x", script)


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing_in_a_script(name: str) -> None:
    found = shellcheck((ROOT / name).read_text())
    assert found.returncode == 0, found.stdout


def test_every_shell_script_is_checked() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    begins = {name: (ROOT / name).read_bytes().partition(b"\n")[0] for name in tracked if (ROOT / name).is_file()}
    assert sorted(name for name, line in begins.items() if re.match(rb"#!.*\b(ba)?sh\b", line)) == sorted(SCRIPTS)


@pytest.mark.parametrize(("place", "script"), [*steps()])
def test_shellcheck_finds_nothing_in_a_step(place: str, script: str) -> None:
    found = shellcheck(script)
    assert found.returncode == 0, f"{place}: {found.stdout}"


def test_zizmor_finds_nothing_in_the_workflows() -> None:
    found = zizmor(*WORKFLOWS)
    assert found.returncode == 0, found.stdout


def test_both_find_what_is_wrong(tmp_path: Path) -> None:
    assert "SC2086" in shellcheck("#!/bin/bash\nrm $1\n").stdout
    (tmp_path / "a.yml").write_text(FROM_OUTSIDE)
    found = zizmor(tmp_path / "a.yml")
    assert found.returncode
    assert "template-injection" in found.stdout
