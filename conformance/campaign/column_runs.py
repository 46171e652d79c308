"""A campaign over many columns: one pytest process each, some in parallel; exit codes go to the plan at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from conformance.campaign.plan import PLAN, ColumnRun, Plan, write_plan
from conformance.running.columns import SELECTING
from conformance.running.settings import OPTIONS
from fixtures.runs import new_id

PYTEST = (sys.executable, "-m", "conformance.cli.checks", "-c", str(Path(__file__).parents[2] / "pyproject.toml"), "-v")
EXIT_TIMEOUT = 120.0
"""Seconds that pytest has to stop its clusters after an interruption."""

_OWN = (*SELECTING, "--conformance-run", "--conformance-out", "--baseline")
"""Options that select the column, or belong to the whole campaign."""


class RunningColumn(msgspec.Struct, frozen=True):
    """A process that runs a column; `began` is monotonic time, in seconds."""

    column: ColumnRun
    process: subprocess.Popen[bytes]
    began: float


class Runner:
    """The processes of a plan's columns, `at_once` of them in parallel; the plan in `file` records how each ended."""

    def __init__(
        self,
        out: Path,
        plan: Plan,
        *,
        at_once: int,
        workers: int,
        file: str = PLAN,
        command: Sequence[str] = PYTEST,
        ends_within: float = EXIT_TIMEOUT,
    ) -> None:
        self.out = out
        self.plan = plan
        self._at_once = at_once
        self._workers = workers
        self._file = file
        self._command = command
        self._ends_within = ends_within
        self._running: dict[str, RunningColumn] = {}

    def seconds_of(self, column: ColumnRun) -> float:
        """Return the seconds that a column has been or was running."""
        running = self._running.get(column.name)
        return time.monotonic() - running.began if running else column.seconds

    def is_running(self, column: ColumnRun) -> bool:
        return column.name in self._running

    def run(self, watch: Callable[[Runner], None]) -> None:
        """Run all columns to their end; call `watch` once a second, and when a column has ended.

        Raises KeyboardInterrupt after Ctrl-C or a signal; by then no column runs, and each had time to clean up.
        """
        waiting = list(self.plan.columns_left)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._at_once:
                    self._start(waiting.pop(0))
                self._wait(1.0)
                self._note_ended()
                watch(self)
        except KeyboardInterrupt:
            self._end_all()
            raise
        finally:
            self._kill_all()

    def _wait(self, seconds: float) -> None:
        """Wait until the first running column has ended or this time has passed."""
        for running in list(self._running.values())[:1]:
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(seconds)

    def _start(self, column: ColumnRun) -> None:
        column.run, column.code = new_id(), None
        write_plan(self.out, self.plan, self._file)
        log = log_of(self.out, column)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            process = subprocess.Popen(
                self.command(column),
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_column_environment(),
                stdin=subprocess.DEVNULL,
                # Ctrl-C in a terminal must not reach it twice: the second would interrupt its clean-up.
                start_new_session=True,
            )
        self._running[column.name] = RunningColumn(column, process, time.monotonic())

    def command(self, column: ColumnRun) -> list[str]:
        """Return a column's command. pytest takes an option's last value, so the user's seed and number of workers
        override the plan's."""
        seed = [] if os.environ.get("KAFKA_CONFORMANCE_SEED") else ["--conformance-seed", str(self.plan.seed)]
        own = ["--conformance-out", str(self.out), "--conformance-run", column.run, *column.options, *column.selection]
        return [*self._command, "-n", str(self._workers), *seed, *self.plan.options, *own]

    def _note_ended(self) -> None:
        for running in list(self._running.values()):
            if (code := running.process.poll()) is not None:
                del self._running[running.column.name]
                running.column.code = code
                running.column.seconds = round(time.monotonic() - running.began, 1)
                write_plan(self.out, self.plan, self._file)

    def _end_all(self) -> None:
        """Interrupt every column as Ctrl-C would, and wait for them to end; a second signal ends the waiting."""
        ends = time.monotonic() + self._ends_within
        for running in self._running.values():
            running.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            for running in self._running.values():
                running.process.wait(max(0.0, ends - time.monotonic()))
        self._note_ended()

    def _kill_all(self) -> None:
        """Kill the remaining columns, so that none outlives this process. The next run removes their containers."""
        for running in self._running.values():
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
        self._note_ended()


def options_from_environment() -> dict[str, str]:
    """Return the checks' options that come from environment variables, by variable."""
    shared = [option.variable for option in OPTIONS if option.flag not in _OWN]
    return {variable: os.environ[variable] for variable in shared if os.environ.get(variable)}


def _column_environment() -> dict[str, str]:
    """Return this process's environment without variables that would add columns or belong to the whole campaign."""
    own = {option.variable for option in OPTIONS if option.flag in _OWN}
    return {name: value for name, value in os.environ.items() if name not in own}


def log_of(out: Path, column: ColumnRun) -> Path:
    """Return the file with a column's output."""
    return out / "logs" / f"{column.run}.log"


def tail_of_log(path: Path) -> list[str]:
    """Return a log's last 20 lines, for a column that ended badly."""
    return path.read_text(errors="replace").splitlines()[-20:] if path.exists() else []
