"""A machine of the kit on the miniature: its own rules, executor and judges, with Hypothesis generating and shrinking."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.core.machines import AnyMachine, Executor
from conformance.judging.judge import Judge, judge_all
from conformance.running.machine.shrink import Reproduction, Shrinker
from conformance.running.violations import RequirementViolated, violation_of
from fixtures.errors import KitError
from fixtures.tape import LiveTape
from history.events import End, History
from history.observations import Observation
from tests.miniature.bench import live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster

STEPS = 30
SHRINKER_RUNS = 200
"""After this many tries the shortest schedule so far is taken; further tries have no effect."""


class MiniExample:
    """One example, from the first step to the judges. After trouble of the kit the rest of it is left out."""

    def __init__(self, check: AnyMachine, bugs: Iterable[str] = (), number: int = 1) -> None:
        self.check = check
        self.steps: list[Any] = []
        self.observations: list[Observation] = []
        self.trouble = ""
        self.cluster = MiniCluster(bugs)
        self.tape: LiveTape = live_tape(self.cluster, f"miniature-{number}")
        self.bench = mini_bench(self.cluster, self.tape)
        self._executor: Executor[Any] | None = None

    def step(self, step: Any) -> None:
        self.steps.append(step)
        self._guarded(lambda: self._ready().step(step))

    def rest(self, judges: Sequence[Judge] | None = None) -> None:
        """Judged by all judges of the check, unless some are given."""
        self._guarded(lambda: self._ready().rest())
        self.bench.close()
        self.observations = judge_all(self.check.judges if judges is None else judges, self.history)

    @property
    def history(self) -> History:
        end = End(example=self.tape.example.example, outcome="error" if self.trouble else "judged", detail=self.trouble)
        return History(example=self.tape.example, events=self.tape.events, end=end)

    @property
    def violations(self) -> list[Observation]:
        return [one for one in self.observations if one.result == "violated"]

    def _ready(self) -> Executor[Any]:
        if self._executor is None:
            self._executor = self.check.executor(self.bench)
        return self._executor

    def _guarded(self, do: Callable[[], None]) -> None:
        if not self.trouble:
            try:
                do()
            except KitError as error:
                self.trouble = f"{type(error).__name__}: {error}"


def play(
    check: AnyMachine, steps: Sequence[Any], bugs: Iterable[str] = (), judges: Sequence[Judge] | None = None
) -> MiniExample:
    example = MiniExample(check, bugs)
    for step in steps:
        example.step(step)
    example.rest(judges)
    return example


def shortened(check: AnyMachine, example: MiniExample, row: str, bugs: Iterable[str] = ()) -> MiniExample:
    """By the shrinker of live clusters, which needs few runs; each is judged for this row alone."""
    judges = [one for one in check.judges if one.row == row]
    shortest = example

    def shows(steps: list[Any]) -> Reproduction | None:
        nonlocal shortest
        tried = play(check, steps, bugs, judges)
        if not tried.violations:
            return None
        shortest = min(shortest, tried, key=lambda one: len(one.steps))
        return Reproduction(len(steps), at_rest=True)

    Shrinker(example.steps, Reproduction(len(example.steps), at_rest=True), shows, lambda: 1.0).shrink(
        simpler=check.simpler
    )
    return play(check, shortest.steps, bugs)


@dataclasses.dataclass
class Hunt:
    """The result of a search for a bug, or for a false violation."""

    examples: int = 0
    drawn: int = 0
    """Until the first that showed it; the others are the shrinker's."""
    seconds: float = 0.0
    row: str = ""
    """The row by which it was found: what else a schedule breaks does not keep the shrinker from going on."""
    first: MiniExample | None = None
    shortest: MiniExample | None = None
    troubles: list[str] = dataclasses.field(default_factory=list)
    observations: dict[tuple[str, str], int] = dataclasses.field(default_factory=dict)

    def note(self, example: MiniExample) -> None:
        self.examples += 1
        if example.trouble:
            self.troubles.append(example.trouble)
        for one in example.observations:
            self.observations[one.requirement, one.case] = self.observations.get((one.requirement, one.case), 0) + 1


def hunt(
    check: AnyMachine,
    bugs: Iterable[str] = (),
    *,
    examples: int,
    shrink: bool = True,
    steps: int = STEPS,
    number: int = 0,
    rows: Sequence[str] = (),
) -> Hunt:
    """Let Hypothesis look for a violation, by preference of one of these rows, and shrink what it finds."""
    found, began = Hunt(), time.monotonic()

    def finish(example: MiniExample) -> None:
        example.rest()
        found.note(example)
        violations = [one for one in example.violations if found.row in ("", one.requirement)]
        if found.first is None:
            found.drawn += 1
        if violations:
            found.first = found.first or example
            found.row = found.row or min(violations, key=lambda one: _order(one.requirement, rows)).requirement
            found.shortest = example
            raise violation_of([one for one in violations if one.requirement == found.row])

    @seed(number)
    def factory() -> Any:
        if found.examples - found.drawn >= SHRINKER_RUNS:
            return check.machine(lambda step: None, lambda: None)
        example = MiniExample(check, bugs)
        return check.machine(example.step, lambda: finish(example))

    with suppress(RequirementViolated, ExceptionGroup, Flaky):
        run_state_machine_as_test(factory, settings=_settings(examples, shrink, steps))  # type: ignore[arg-type]
    found.seconds = time.monotonic() - began
    return found


def _order(row: str, rows: Sequence[str]) -> tuple[int, str]:
    return (rows.index(row) if row in rows else len(rows), row)


def _settings(examples: int, shrink: bool, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


__all__ = ["Hunt", "MiniExample", "hunt", "play", "shortened"]
