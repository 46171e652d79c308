"""A machine on the miniature: its own rules, executor and judges, with Hypothesis generating and shrinking."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.core.bench import Bench
from conformance.core.machines import AnyMachine
from conformance.core.topologies import CONSUMER_GROUPS
from conformance.judging.judge import Judge
from conformance.judging.judges import JUDGES
from conformance.running.machine.example import Ending, ExampleRun, FinishedExample, Stops
from conformance.running.machine.shrink import Reproduction, Shrinker
from conformance.running.standing import HEAL_TIMEOUT, Standing
from conformance.running.violations import RequirementViolated, violation_of
from fixtures.tape import LiveTape
from tests.miniature.bench import COLUMN, COLUMN_OF_MEMBERS, live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.support.fake_cluster import standing_on

STEPS = 30
SHRINKER_RUNS = 200
"""The number of tries after which the shortest schedule so far is taken."""


class ExampleOnMiniature:
    """The lab for one example: its own miniature, which needs no healing afterwards."""

    judges: Sequence[Judge] = JUDGES

    def __init__(self, bugs: Iterable[str] = (), name: str = "miniature-1", *, members: bool = False) -> None:
        self._cluster = MiniCluster(bugs)
        self.standing = standing_on(self._cluster, COLUMN_OF_MEMBERS if members else COLUMN)
        self._name = name
        self._members = members

    def tape(self, check: str, standing: Standing) -> LiveTape:
        return live_tape(self._cluster, self._name, check)

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        return mini_bench(self._cluster, tape, members=self._members)

    def heal(self, bench: Bench, tape: LiveTape, *, troubled: bool = False, within: float = HEAL_TIMEOUT) -> str:
        return ""


def begun(check: AnyMachine, bugs: Iterable[str] = (), stops: Stops = lambda observation: False) -> ExampleRun:
    lab = ExampleOnMiniature(bugs, members=check.topology is CONSUMER_GROUPS)
    return ExampleRun(check, lab, lab.standing, Ending(stops=stops))


def finished(example: ExampleRun) -> FinishedExample:
    """Return the example once it has ended; raises if a bug in the executor or a judge prevented that."""
    played = example.finish()
    if bugs := [*map(str, played.raised), *([played.trouble] if played.trouble.startswith("Traceback") else [])]:
        raise AssertionError(bugs[0])
    return played


def play(
    check: AnyMachine,
    steps: Sequence[Any],
    bugs: Iterable[str] = (),
    stops: Stops = lambda observation: False,
) -> FinishedExample:
    """Play one example on a miniature: all steps are taken, unless it `stops` at a violation."""
    example = begun(check, bugs, stops)
    for step in steps:
        example.step(step)
    return finished(example)


def shortened(check: AnyMachine, example: FinishedExample, row: str, bugs: Iterable[str] = ()) -> FinishedExample:
    """Shrink an example with the shrinker for live clusters, which needs few runs; each ends at a violation of this
    row."""
    shortest = example

    def shows(steps: list[Any]) -> Reproduction | None:
        nonlocal shortest
        tried = play(check, steps, bugs, lambda one: one.requirement == row)
        if row not in {one.requirement for one in tried.violations}:
            return None
        shortest = min(shortest, tried, key=lambda one: len(one.steps))
        return Reproduction(len(tried.steps), at_rest=True)

    Shrinker(example.steps, Reproduction(len(example.steps), at_rest=True), shows, lambda: 1.0).shrink(
        simpler=check.simpler
    )
    return play(check, shortest.steps, bugs)


@dataclasses.dataclass
class Hunt:
    """The result of a search for a bug, or for a false violation."""

    examples: int = 0
    drawn: int = 0
    """The number of examples drawn until one showed it, without the shrinker's."""
    seconds: float = 0.0
    row: str = ""
    """The row by which it was found; other broken rows do not stop the shrinker."""
    first: FinishedExample | None = None
    shortest: FinishedExample | None = None
    troubles: list[str] = dataclasses.field(default_factory=list)
    observations: dict[tuple[str, str], int] = dataclasses.field(default_factory=dict)

    def note(self, example: FinishedExample) -> None:
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
    """Let Hypothesis look for a violation, preferably of one of these rows, and shrink it."""
    found, began = Hunt(), time.monotonic()

    def finish(run: ExampleRun) -> None:
        example = finished(run)
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
        example = begun(check, bugs)
        return check.machine(example.step, lambda: finish(example))

    with suppress(RequirementViolated, ExceptionGroup, Flaky):
        run_state_machine_as_test(factory, settings=_settings(examples, shrink, check.rule_count(steps)))  # type: ignore[arg-type]
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


__all__ = ["ExampleOnMiniature", "Hunt", "hunt", "play", "shortened"]
