"""Exploration: Hypothesis draws examples of a machine, which run and are recorded until one shows something new."""

import itertools
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import SkipTest

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase, MultiplexedDatabase, ReadOnlyDatabase
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import run_state_machine_as_test

from conformance.core.machines import AnyMachine
from conformance.running.machine.discovery import Discovery, RecordExample
from conformance.running.machine.example import ExampleRun
from conformance.running.violations import RequirementViolated, violation_of
from strategies.episodes import Steering

BATCH = 5
"""The number of examples per run of Hypothesis. After each of them time may be up, and the counts reached so far steer the next
run."""

INDEPENDENT = "kafka-conformance"
"""A backend that draws examples independently. Hypothesis' own mutates earlier examples, so that most of a short run would be
variations of the simplest one."""
AVAILABLE_PROVIDERS[INDEPENDENT] = HypothesisProvider


class DrawSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters for drawing examples: the `seed`, the approximate number of `steps` of each, the `steering` towards rare
    combinations, and the `database` folder, with a folder per `column`."""

    seed: str
    steps: int
    database: Path
    column: str
    steering: Steering | None = None


class Explorer:
    """A source of drawn examples; `drawn` counts them.

    Hypothesis begins each run with the same simplest example, which takes no step on the cluster. When Hypothesis repeats an
    example to reproduce a failure, that takes no step either, and fails as before.
    """

    def __init__(
        self, check: AnyMachine, begin: Callable[[], ExampleRun], record: RecordExample, wanted: Callable[[], int]
    ) -> None:
        self.drawn = 0
        self._check = check
        self._begin = begin
        self._record = record
        self._wanted = wanted

    def draw(self, drawing: DrawSettings) -> Discovery | None:
        """Draw examples until one has news, and return it; None if no example of this run of Hypothesis has any."""
        found: list[Discovery] = []
        independent = idle_for_simplest(
            lambda: self._machine(found, drawing.steering), lambda: self._idle_machine(drawing.steering)
        )
        self._run(drawing, independent, [Phase.generate])
        return found[0] if found else None

    def replay_failed(self, drawing: DrawSettings) -> Discovery | None:
        """Replay the examples that failed in earlier runs until one has news, and return it; None if none had."""
        found: list[Discovery] = []
        with suppress(SkipTest):  # Hypothesis' word for a run without an example
            self._run(drawing, lambda: self._machine(found, drawing.steering), [Phase.reuse])
        return found[0] if found else None

    def _run(self, drawing: DrawSettings, machine: Callable[[], Any], phases: Sequence[Phase]) -> None:
        kept = settings(
            independent_examples(self._check, drawing.steps, min(BATCH, self._wanted())),
            phases=phases,
            database=database_of(drawing.database, drawing.column),
            verbosity=Verbosity.quiet,
            print_blob=False,
            report_multiple_bugs=False,
        )
        seeded: Any = seed(zlib.crc32(drawing.seed.encode()))(machine)
        # Raised in teardown, so that Hypothesis keeps the example in its database; its results are already in the shard.
        with suppress(RequirementViolated, ExceptionGroup, Flaky):
            run_state_machine_as_test(seeded, settings=kept)

    def _machine(self, found: list[Discovery], steering: Steering | None) -> Any:
        if found:
            return self._check.machine(lambda step: None, lambda: _fail_with(found[0]), steering)
        if self._wanted() <= 0:
            return self._idle_machine(steering)
        self.drawn += 1
        example = self._begin()

        def finish() -> None:
            finding = self._record(example.finish())
            if finding.new_violations:
                found.append(finding)
                _fail_with(finding)

        return self._check.machine(example.step, finish, steering)

    def _idle_machine(self, steering: Steering | None) -> Any:
        return self._check.machine(lambda step: None, lambda: None, steering)


def _fail_with(finding: Discovery) -> None:
    raise violation_of(finding.new_violations)


def idle_for_simplest(machine: Callable[[], Any], idle: Callable[[], Any]) -> Callable[[], Any]:
    """Return a factory of machines for Hypothesis: an idle one for the first example, real ones for all others."""
    examples = itertools.count()
    return lambda: machine() if next(examples) else idle()


def independent_examples(check: AnyMachine, steps: int, examples: int) -> settings:
    """Return Hypothesis settings for `examples` independent examples of about `steps` steps, after the simplest one."""
    return settings(
        max_examples=1 + max(1, examples),
        stateful_step_count=check.rule_count(steps),
        phases=[Phase.generate],
        backend=INDEPENDENT,
        database=None,
        derandomize=False,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def database_of(folder: Path, column: str) -> Any:
    """Return a column's database. Those of other columns are read-only, so that a pass here does not remove an example that
    failed there."""
    own = folder / column
    own.mkdir(parents=True, exist_ok=True)
    others = [ReadOnlyDatabase(DirectoryBasedExampleDatabase(p)) for p in sorted(folder.iterdir()) if p != own]
    return MultiplexedDatabase(DirectoryBasedExampleDatabase(own), *others)
