"""`python -m tests`: when it makes an engine and images ready, what it runs, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.waiting import eventually
from tests.__main__ import ROOT, needs_engine, places


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        (["-k", "clock"], True),
        (["tests/live/test_cluster.py"], True),
        (["tests/unit/history", "tests/live/test_cluster.py"], True),
        (["tests/unit/history", "-m", "not drawn"], False),
        (["tests/unit/tests/test_main.py::test_an_engine"], False),
        (["tests/live", "--collect-only", "-q"], False),
        (["-m", "not docker and not spark"], False),
        (["-m", "docker"], True),
        (["--help"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_engine_is_asked_only_for_what_may_need_one(options: list[str], needs: bool) -> None:
    assert needs_engine(options) == needs


def test_what_is_named_is_run_and_nothing_else() -> None:
    """pytest gets the folder of all tests unless a place is named."""
    assert places(["-n", "2", "tests/unit/history", "-k", "clock"]) == [ROOT / "tests" / "unit" / "history"]
    assert places(["-k", "clock", "--durations", "5"]) == []


class Started:
    """`python -m tests` on a file of ours, in a process of its own."""

    def __init__(self, folder: Path, test: str, *options: str) -> None:
        self.sign = folder / "sign"
        file = folder / "test_it.py"
        file.write_text(f"import pathlib, time\n\ndef test_it():\n    {test.format(sign=str(self.sign))}\n")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests", "--noconftest", "--rootdir", str(folder), *options, str(file)],
            cwd=ROOT,
            env=os.environ | {"DOCKER_HOST": "unix:///nonexistent/docker.sock"},
        )


@pytest.mark.parametrize(
    ("test", "options", "code"),
    [("pass", [], 0), ("assert False", [], 1), ("pass", ["--nonsense"], 2), ("pass", ["-k", "other"], 2)],
)
def test_it_ends_with_the_codes_of_the_kit(tmp_path: Path, test: str, options: list[str], code: int) -> None:
    assert Started(tmp_path, test, *options).process.wait(timeout=120) == code


def test_a_test_that_kills_its_worker_is_not_run_again(tmp_path: Path) -> None:
    dies = "pathlib.Path({sign!r}).open('a').write('died '); __import__('os').kill(__import__('os').getpid(), 9)"
    started = Started(tmp_path, dies, "-n", "2")
    assert (started.process.wait(timeout=120), started.sign.read_text()) == (1, "died ")


def test_sigterm_ends_pytest_as_ctrl_c_does(tmp_path: Path) -> None:
    waits = "try: pathlib.Path({sign!r}).touch(); time.sleep(120)\n    finally: pathlib.Path({sign!r}).unlink()"
    started = Started(tmp_path, waits, "-n", "0")
    eventually(started.sign.exists, within=120, what="a test that waits")
    started.process.send_signal(signal.SIGTERM)
    assert (started.process.wait(timeout=60), started.sign.exists()) == (130, False)
