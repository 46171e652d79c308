"""A run over many columns: a pytest of its own for each (a leg), some side by side; an interrupted run goes on later.

The plan, `DIR/plan.json`, says which legs there are and which have ended. A leg that was interrupted is run again from its
beginning: what it had recorded goes to `earlier/` with all that it brought, since half a column would look like a whole one.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from fixtures.runs import new_id

PARTS_OF_A_RUN = ("shards", "histories", "evidence", "matrix", "rejudged", "logs", "plan.json")
ENDED = (0, 1, 2, 3)
"""Codes of a leg that came to its end; 130 and those of a process that was killed are of one that did not."""

_COLUMN_VARIABLES = ("KAFKA_CONFORMANCE_KAFKA_VERSION", "KAFKA_CONFORMANCE_KAFKA_IMAGE", "KAFKA_CONFORMANCE_KAFKA_HOME")

Say = Callable[[str], None]


class Leg(msgspec.Struct, kw_only=True):
    """One column's pytest: what names the column, the id of its run, and how it ended, if it did."""

    name: str
    column: list[str]
    run: str = ""
    code: int | None = None
    seconds: float = 0.0

    @property
    def ended(self) -> bool:
        return self.code in ENDED


class Plan(msgspec.Struct, kw_only=True):
    """The legs of a run, the options that they share, and the seed of all their drawn inputs."""

    options: list[str]
    seed: int
    legs: list[Leg]

    @property
    def left(self) -> list[Leg]:
        return [leg for leg in self.legs if not leg.ended]


def legs_for(versions: Sequence[str], image: str, home: str) -> list[Leg]:
    """A leg for each released version, and one for the user's own image and Kafka."""
    legs = [Leg(name=version, column=["--kafka-version", version]) for version in versions]
    legs += [Leg(name=image, column=["--kafka-image", image])] if image else []
    legs += [Leg(name=home, column=["--kafka-home", home])] if home else []
    return legs


def planned(out: Path, legs: Sequence[Leg], options: Sequence[str], *, add: bool, say: Say) -> Plan:
    """The plan to work on: the interrupted one of the same options, or a new one.

    A new one puts what is in `out` aside. With `add` the columns that are there stay, and only those are run that are not.
    """
    known = read_plan(out)
    if known is not None and (add or (known.left and known.options == list(options))):
        plan = _gone_on_with(known, legs, options)
        say(f"{out}: {len(plan.legs) - len(plan.left)} columns are there, {len(plan.left)} are to be run")
    else:
        put_aside(out, [out / name for name in PARTS_OF_A_RUN], say)
        plan = Plan(options=list(options), seed=secrets.randbits(32), legs=list(legs))
    for leg in plan.left:
        put_aside(out, _recorded_by(out, leg.run), say)
    write_plan(out, plan)
    return plan


def _gone_on_with(known: Plan, legs: Sequence[Leg], options: Sequence[str]) -> Plan:
    names = {leg.name for leg in known.legs}
    return Plan(
        options=list(options), seed=known.seed, legs=[*known.legs, *(leg for leg in legs if leg.name not in names)]
    )


def read_plan(out: Path) -> Plan | None:
    path = out / "plan.json"
    return msgspec.json.decode(path.read_bytes(), type=Plan) if path.exists() else None


def write_plan(out: Path, plan: Plan) -> None:
    """Whole or not at all: it is read again after whatever ended this process."""
    out.mkdir(parents=True, exist_ok=True)
    draft = out / "plan.json.draft"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    draft.rename(out / "plan.json")


def put_aside(out: Path, parts: Sequence[Path], say: Say) -> None:
    """Move what an earlier run left to `earlier/`, in its order; nothing that was recorded is lost."""
    present = [part for part in parts if part.exists()]
    if not present:
        return
    earlier = out / "earlier" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    for part in present:
        target = earlier / part.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)
    say(f"what an earlier run left in {out} is now in {earlier}")


def _recorded_by(out: Path, run: str) -> list[Path]:
    """Everything in `out` that carries a run's id."""
    if not run:
        return []
    return [
        *out.glob(f"shards/{run}-*"),
        *out.glob(f"histories/{run}"),
        *out.glob(f"evidence/*/{run}-*"),
        *out.glob(f"logs/{run}.*"),
    ]


class Runner:
    """Runs the legs of a plan, `at_once` of them side by side, and writes down how each ended."""

    def __init__(self, out: Path, plan: Plan, *, at_once: int, workers: int) -> None:
        self.out = out
        self.plan = plan
        self._at_once = at_once
        self._workers = workers
        self._running: dict[str, tuple[Leg, subprocess.Popen[bytes], float]] = {}

    @property
    def running(self) -> list[Leg]:
        return [leg for leg, _, _ in self._running.values()]

    def run(self, watch: Callable[[Runner], None]) -> None:
        """Until all legs have ended; `watch` is called again and again, and paces it.

        Ctrl-C reaches the legs as well, which end by themselves; they are waited for.
        """
        waiting = list(self.plan.left)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._at_once:
                    self._start(waiting.pop(0))
                watch(self)
                self._note_ended()
        except KeyboardInterrupt:
            for _, process, _ in self._running.values():
                process.wait()
            self._note_ended()
            raise

    def wait(self, seconds: float) -> None:
        """Until a running leg has ended, at most so long."""
        for _, process, _ in list(self._running.values())[:1]:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)

    def _start(self, leg: Leg) -> None:
        leg.run, leg.code = new_id(), None
        write_plan(self.out, self.plan)
        log = self.out / "logs" / f"{leg.run}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            process = subprocess.Popen(
                self._command(leg),
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_without_columns(),
                stdin=subprocess.DEVNULL,
            )
        self._running[leg.name] = (leg, process, time.monotonic())

    def _command(self, leg: Leg) -> list[str]:
        given = self.plan.options
        seed = [] if "--conformance-seed" in given else ["--conformance-seed", str(self.plan.seed)]
        workers = [] if {"-n", "--numprocesses"} & set(given) else ["-n", str(self._workers)]
        configuration = str(Path(__file__).parents[2] / "pyproject.toml")
        own = ["--conformance-run", leg.run, *leg.column]
        return [sys.executable, "-m", "pytest", "-c", configuration, "-v", *workers, *seed, *given, *own]

    def _note_ended(self) -> None:
        for name, (leg, process, began) in list(self._running.items()):
            if (code := process.poll()) is not None:
                del self._running[name]
                leg.code, leg.seconds = code, round(time.monotonic() - began, 1)
                write_plan(self.out, self.plan)


def _without_columns() -> dict[str, str]:
    """The environment without what would add columns to a leg."""
    return {name: value for name, value in os.environ.items() if name not in _COLUMN_VARIABLES}


def code_of(codes: Sequence[int | None]) -> int:
    """One code for all legs: the first of interrupted, wrong use, violated, trouble that any of them ended with, else 0."""
    return next((code for code in (130, 2, 1, 3) if code in codes), 0 if set(codes) == {0} else 3)


def log_of(out: Path, leg: Leg) -> Path:
    return out / "logs" / f"{leg.run}.log"


def tail(path: Path, lines: int = 20) -> Iterator[str]:
    """The last lines of a leg's log: what to tell of one that ended badly."""
    return iter(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else iter(())
