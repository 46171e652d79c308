"""Commands of the pages on a real engine: each as a reader types it, and no more of it than a few minutes."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
WITHIN = 900.0
"""Seconds that a command may take beside other work."""
CHEAP = [
    ("write-your-own-check.md", "./kit setup --kafka-version 4.3.1", "ready: the Docker engine, and Kafka 4.3.1"),
    ("fault-lab.md", "./kit faults --kafka-version 4.3.1 --fault 'kill' --every-role", "witnessed"),
]
"""The page, a command of it, and a text that it prints."""


@pytest.mark.parametrize(
    ("page", "command", "says"), CHEAP, ids=lambda value: value if value.startswith("./kit") else ""
)
def test_a_command_of_a_page_does_what_the_page_says(page: str, command: str, says: str) -> None:
    assert command in (ROOT / "docs" / page).read_text()
    end = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert end.returncode == 0, end.stdout + end.stderr
    assert says in end.stdout


def test_the_matrix_of_the_ci_page_tells_its_verdicts_as_json(tmp_path: Path) -> None:
    (command,) = re.findall(
        r"^(\./kit matrix .* --format json) \|", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE
    )
    row = ["--requirement", "KIP320-FETCH-03", "-k", "newer_epoch_is_unknown"]
    words = [word for word in shlex.split(command) if word not in ("--requirement", "KIP320-FETCH-*")]
    end = subprocess.run(
        [*words, *row, "--out", str(tmp_path / "out")],
        cwd=ROOT, capture_output=True, text=True, timeout=2 * WITHIN, check=False,
    )  # fmt: skip
    printed = msgspec.json.decode(end.stdout)
    assert (end.returncode, printed["exit_code"]) == (0, 0), end.stderr
    assert printed["columns"] == ["4.3.1"]
    assert printed["verdicts"]["KIP320-FETCH-03"] == {"4.3.1": "satisfied"}
    assert Path(printed["matrix"]).is_file()
