"""How `./kit pytest` ends when something else than the checks fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cli.checks import listed_words, long_form

ROOT = Path(__file__).parents[4]
FAILING = "def pytest_sessionfinish():\n    raise UserWarning('of another plugin')\n"
OURS = """
from pathlib import Path
from conformance.plugin import SESSION

class Session:
    longest_check_seconds = 60.0
    place = (Path("."), "none")
    header = summary = lambda self: []
    expects = lambda self, works: None

    def finish(self, exitstatus, hung):
        Path("finished").write_text(str(int(exitstatus)))
        return exitstatus

def pytest_configure(config):
    config.stash[SESSION] = Session()
"""


@pytest.fixture
def ended(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """pytest with a session of ours, and another plugin that fails at its end."""
    for name, text in {"ours": OURS, "failing": FAILING, "test_it": "def test_it(): pass\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "own.ini").write_text("[pytest]\n")
    plugins = [word for name in ("conformance.plugin", "ours", "failing") for word in ("-p", name)]
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli.checks", "-c", "own.ini", *plugins, "test_it.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_error_of_another_plugin_is_trouble_and_no_violation(ended: subprocess.CompletedProcess[str]) -> None:
    assert (ended.returncode, "UserWarning: of another plugin" in ended.stderr) == (3, True), (
        ended.stdout + ended.stderr
    )


def test_it_keeps_no_cluster_up(ended: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    assert (tmp_path / "finished").read_text() == str(int(pytest.ExitCode.OK))


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("--out", "--conformance-out"),
        ("--profile=quick", "--conformance-profile=quick"),
        ("--outs", "--outs"),
        ("out", "out"),
    ],
)
def test_a_short_name_is_that_of_pytests_option(word: str, name: str) -> None:
    assert long_form(word) == name


def of_checks(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli.checks", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wrong_option_is_refused_without_the_inside_of_pytest() -> None:
    refused = of_checks("--conformance-profil=smoke", "--requirment", "GEN-01")
    assert refused.returncode == 2
    assert "unrecognized arguments: --conformance-profil=smoke --requirment" in refused.stderr
    assert not {"usage:", "inifile:", "rootdir:", "pytest.main()"} & {*refused.stderr.split()}


def test_words_are_read_from_a_file(tmp_path: Path) -> None:
    listed = tmp_path / "listed.txt"
    listed.write_text("--collect-only\nconformance/kip320\n")
    assert [*listed_words(["-q", f"@{listed}"])] == ["-q", "--collect-only", "conformance/kip320"]
    refused = of_checks(f"@{tmp_path}/none.txt")
    assert (refused.returncode, refused.stderr) == (2, f"{tmp_path}/none.txt: No such file or directory\n")
