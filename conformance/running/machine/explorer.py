"""Exploring: Hypothesis draws examples of a machine, which are run and recorded until one shows something new."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase, MultiplexedDatabase, ReadOnlyDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.core.machines import AnyMachine
from conformance.running.machine.discovery import Discovery, Record
from conformance.running.machine.example import ExampleRun
from conformance.running.violations import RequirementViolated, violation_of
from strategies.episodes import Steering

BATCH = 10
"""Examples that Hypothesis draws in one run of it: it repeats none of them, time may be up after any, and what they reached
steers the next run."""


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """How examples are drawn: by `seed`, of about `steps` steps each, towards what was rarest so far (`steering`), kept in the
    `database` of `column` below its folder."""

    seed: str
    steps: int
    database: Path
    column: str
    reuse: bool
    steering: Steering | None = None


class Explorer:
    """Draws examples while more are wanted; `drawn` is how many there were.

    Machines that Hypothesis creates after a finding, to reproduce a failure or to use up its examples, do nothing.
    """

    def __init__(
        self, check: AnyMachine, begin: Callable[[], ExampleRun], record: Record, wanted: Callable[[], int]
    ) -> None:
        self.drawn = 0
        self._check = check
        self._begin = begin
        self._record = record
        self._wanted = wanted

    def draw(self, drawing: Drawing) -> Discovery | None:
        """Examples until one has news; None if none had, among as many as are wanted or as Hypothesis draws in one run."""
        found: list[Discovery] = []

        def machine() -> Any:
            return self._machine(found, drawing.steering)

        seeded: Any = seed(zlib.crc32(drawing.seed.encode()))(machine)
        # Raised in teardown so that Hypothesis keeps the example in its database; what it was is in the shard by then.
        with suppress(RequirementViolated, ExceptionGroup, Flaky):
            run_state_machine_as_test(seeded, settings=self._settings(drawing))
        return found[0] if found else None

    def _machine(self, found: list[Discovery], steering: Steering | None) -> Any:
        if found or self._wanted() <= 0:
            return self._check.machine(lambda step: None, lambda: None, steering)
        self.drawn += 1
        example = self._begin()

        def finish() -> None:
            finding = self._record(example.finish())
            if finding.news:
                found.append(finding)
                raise violation_of(finding.news)

        return self._check.machine(example.step, finish, steering)

    def _settings(self, drawing: Drawing) -> settings:
        reused = [Phase.reuse] if drawing.reuse else []
        return settings(
            max_examples=max(1, min(BATCH, self._wanted())),
            stateful_step_count=self._check.rules_in(drawing.steps),
            phases=[Phase.explicit, *reused, Phase.generate],
            database=database_of(drawing.database, drawing.column),
            derandomize=False,
            deadline=None,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )


def database_of(folder: Path, column: str) -> Any:
    """One directory for each column, the others read-only beside it: a pass there must not remove an example that failed here."""
    own = folder / column
    own.mkdir(parents=True, exist_ok=True)
    others = [ReadOnlyDatabase(DirectoryBasedExampleDatabase(p)) for p in sorted(folder.iterdir()) if p != own]
    return MultiplexedDatabase(DirectoryBasedExampleDatabase(own), *others)
