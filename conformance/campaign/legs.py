"""A run over many columns: a pytest of its own for each (a leg), some side by side, each ending written down at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import msgspec

from conformance.campaign.plan import PLAN, Leg, Plan, write_plan
from conformance.running.settings import OPTIONS
from fixtures.runs import new_id

PYTEST = (sys.executable, "-m", "pytest", "-c", str(Path(__file__).parents[2] / "pyproject.toml"), "-v")
ENDS_WITHIN = 120.0
"""Seconds that a leg has to take its clusters down after an interruption."""

_OWN = ("--kafka-version", "--kafka-image", "--kafka-home", "--conformance-run", "--conformance-out", "--baseline")
"""Options that say which leg it is, or are the whole run's affair."""


class Interrupted(KeyboardInterrupt):
    """A signal that ends a run: Ctrl-C, or what a job's runner or a closing terminal sends. `code` is the exit code for it."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


class RunningLeg(msgspec.Struct, frozen=True):
    leg: Leg
    process: subprocess.Popen[bytes]
    began: float


class Runner:
    """Runs the legs of a plan, `at_once` of them side by side, and writes down in `file` how each ended."""

    def __init__(
        self,
        out: Path,
        plan: Plan,
        *,
        at_once: int,
        workers: int,
        file: str = PLAN,
        command: Sequence[str] = PYTEST,
        ends_within: float = ENDS_WITHIN,
    ) -> None:
        self.out = out
        self.plan = plan
        self._at_once = at_once
        self._workers = workers
        self._file = file
        self._command = command
        self._ends_within = ends_within
        self._running: dict[str, RunningLeg] = {}

    def elapsed(self, leg: Leg) -> float:
        """Seconds that a leg has been running, or ran."""
        running = self._running.get(leg.name)
        return time.monotonic() - running.began if running else leg.seconds

    def is_running(self, leg: Leg) -> bool:
        return leg.name in self._running

    def run(self, watch: Callable[[Runner], None]) -> None:
        """Until all legs have ended; `watch` is called after each second, and when a leg has ended.

        Raises Interrupted when a signal ended it; no leg runs any more then, and each has had the time to clear up.
        """
        waiting = list(self.plan.left)
        with _signals():
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
        """Until a running leg has ended, at most so long."""
        for running in list(self._running.values())[:1]:
            with suppress(subprocess.TimeoutExpired):
                running.process.wait(seconds)

    def _start(self, leg: Leg) -> None:
        leg.run, leg.code = new_id(), None
        write_plan(self.out, self.plan, self._file)
        log = log_of(self.out, leg)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            process = subprocess.Popen(
                self.command(leg),
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                # A terminal's Ctrl-C must not reach it twice: the second would end its clearing up.
                start_new_session=True,
            )
        self._running[leg.name] = RunningLeg(leg, process, time.monotonic())

    def command(self, leg: Leg) -> list[str]:
        """pytest lets the last option win, so the user's seed and workers come after the run's own."""
        seed = (
            [] if os.environ.get("KAFKA_CONFORMANCE_CONFORMANCE_SEED") else ["--conformance-seed", str(self.plan.seed)]
        )
        own = ["--conformance-out", str(self.out), "--conformance-run", leg.run, *leg.options, *leg.column]
        return [*self._command, "-n", str(self._workers), *seed, *self.plan.options, *own]

    def _note_ended(self) -> None:
        for running in list(self._running.values()):
            if (code := running.process.poll()) is not None:
                del self._running[running.leg.name]
                running.leg.code = code
                running.leg.seconds = round(time.monotonic() - running.began, 1)
                write_plan(self.out, self.plan, self._file)

    def _end_all(self) -> None:
        """Ask every leg to end, as Ctrl-C would, and give them time for it; a second signal cuts that short."""
        ends = time.monotonic() + self._ends_within
        for running in self._running.values():
            running.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            for running in self._running.values():
                running.process.wait(max(0.0, ends - time.monotonic()))
        self._note_ended()

    def _kill_all(self) -> None:
        """Whatever this process ends with, no leg outlives it; what it left on the engine is swept by the next run."""
        for running in self._running.values():
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
        self._note_ended()


@contextmanager
def _signals() -> Iterator[None]:
    """Whatever ends a run from outside is raised where it runs, as Ctrl-C is."""

    def interrupted(number: int, frame: FrameType | None) -> NoReturn:
        raise Interrupted(number)

    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {kind: signal.signal(kind, interrupted) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def given_by_environment() -> dict[str, str]:
    """Options of the checks that variables give, by variable."""
    shared = [option.variable for option in OPTIONS if option.flag not in _OWN]
    return {variable: os.environ[variable] for variable in shared if os.environ.get(variable)}


def _environment() -> dict[str, str]:
    """The environment without what would add columns to a leg, or is the whole run's affair."""
    own = {option.variable for option in OPTIONS if option.flag in _OWN}
    return {name: value for name, value in os.environ.items() if name not in own}


def log_of(out: Path, leg: Leg) -> Path:
    return out / "logs" / f"{leg.run}.log"


def tail(path: Path, lines: int = 20) -> list[str]:
    """The last lines of a leg's log: what to tell of one that ended badly."""
    return path.read_text(errors="replace").splitlines()[-lines:] if path.exists() else []
