"""Running a machine on one column: generate on the live cluster, judge each example, shrink and replay what it finds."""

from __future__ import annotations

import time
import traceback
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase, MultiplexedDatabase, ReadOnlyDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.catalogue import Facts
from conformance.evaluate import applicable
from conformance.machines import Executor, MachineCheck
from conformance.running.check_run import CheckRun
from conformance.running.evidence import SCHEDULE_NOTE, write_evidence
from conformance.running.lab import Lab, Standing, slug, with_reason
from conformance.running.shrink import shrink
from conformance.running.violations import RequirementViolated, violation_of
from fixtures.errors import KitError
from fixtures.tape import LiveTape
from history.events import End, History
from history.observations import Observation

DRAWN_EXAMPLES = {"smoke": 0, "quick": 9, "nightly": 60}
STEPS = {"smoke": 10, "quick": 15, "nightly": 30}
SHRINK_SECONDS = {"smoke": 60.0, "quick": 300.0, "nightly": 300.0}
REPLAYS = 5
MAJORITY_OF = 3


class MachineRun(CheckRun):
    """One machine on one column."""

    def __init__(self, check: MachineCheck, lab: Lab, label: str) -> None:
        super().__init__(check.id, check.rows, check.topology, lab, label)
        self.check = check
        self._profile = lab.settings.profile
        self._found: tuple[list[Any], History, Observation] | None = None

    def run_examples(self) -> None:
        self.play(self.check.opening)
        if self._found is None and DRAWN_EXAMPLES[self._profile]:
            self._draw()
        if self._found is not None:
            self._shrink_and_replay()

    def _draw(self) -> None:
        # Raised in teardown so that Hypothesis keeps the example in its database; what it was is in the shard by then.
        with suppress(RequirementViolated, ExceptionGroup, Flaky):
            self._generate()

    def _generate(self) -> None:
        machine = self.check.machine
        number = zlib.crc32(f"{self.check.id} {self.lab.settings.seed}".encode())

        @seed(number)
        def factory() -> Any:
            example = self._example()
            return machine(example.step, example.finish)

        run_state_machine_as_test(factory, settings=self._settings())  # type: ignore[arg-type]  # a factory does too

    def _example(self) -> LiveExample:
        """A new one; what keeps it from beginning is noted first, since Hypothesis may make something else of it."""
        try:
            return LiveExample(self, self.standing())
        except KitError as error:
            self.trouble += [] if str(error) in self.trouble else [str(error)]
            raise

    def _settings(self) -> settings:
        return settings(
            max_examples=DRAWN_EXAMPLES[self._profile],
            stateful_step_count=STEPS[self._profile],
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            database=database_of(self.lab, self.standing().column.label),
            derandomize=False,
            deadline=None,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )

    # --- one example

    def judged(self, standing: Standing, steps: list[Any], history: History, seconds: float) -> list[Observation]:
        """File an example that ended; returns what broke a row."""
        facts = Facts(version=standing.column.version, ranges=standing.column.ranges)
        observations = applicable(self.check.judge(history), facts)
        violations = [o for o in observations if o.result == "violated"]
        # Examples after the first violation are tries of the shrinker; its result gets a folder of its own.
        shown = first_of_each_row(violations) if self._found is None else []
        evidence = {id(o): self._evidence(standing, history, o) for o in shown}
        self.file(standing, history, observations, evidence, seconds)
        if violations and self._found is None:
            self._found = (steps, history, violations[0])
        return violations

    def _evidence(self, standing: Standing, history: History, observation: Observation) -> str:
        return write_evidence(self.lab.settings.out_dir, standing.cluster, standing.column, history, observation)

    def play(self, steps: Sequence[Any]) -> tuple[History, list[Observation]]:
        """Run a schedule once more, outside of Hypothesis; returns what was violated."""
        example = self._example()
        with suppress(RequirementViolated, ExceptionGroup):
            for step in steps:
                example.step(step)
            example.finish()
        return example.history, example.violations

    # --- after a violation

    def _shrink_and_replay(self) -> None:
        steps, history, observation = self._found  # type: ignore[misc]
        row = observation.requirement
        ends = time.monotonic() + SHRINK_SECONDS[self._profile]

        def reproduces(candidate: list[Any]) -> bool:
            return self._majority(candidate, row)

        shortest = shrink(steps, reproduces, lambda: time.monotonic() < ends)
        seen = 0
        for _ in range(REPLAYS):
            history_again, violations = self.play(shortest)
            again = next((o for o in violations if o.requirement == row), None)
            if again is not None:
                seen += 1
                history, observation = history_again, again
        standing = self.standing()
        evidence = self._evidence(standing, history, observation)
        self.lab.shard(standing.column).replay(requirement=row, evidence=evidence, seen=seen, tries=REPLAYS)

    def _majority(self, candidate: list[Any], row: str) -> bool:
        """Two of three; the third is run only when the first two differ."""
        seen = 0
        for tries in range(1, MAJORITY_OF + 1):
            seen += any(o.requirement == row for o in self.play(candidate)[1])
            if 2 * seen > MAJORITY_OF or 2 * (tries - seen) > MAJORITY_OF:
                break
        return 2 * seen > MAJORITY_OF


class LiveExample:
    """One example on the cluster, from the first step to the judges."""

    def __init__(self, run: MachineRun, standing: Standing) -> None:
        self._run = run
        self._standing = standing
        self._began = time.monotonic()
        self._steps: list[Any] = []
        self._trouble = ""
        self.violations: list[Observation] = []
        # The schedule is known only at the end; the header of the group is written first, so it names none.
        self._tape: LiveTape = run.lab.tape(run.check.id, standing)
        self._bench = run.lab.bench(self._tape, standing)
        self._executor: Executor | None = None
        self.history: History = History(example=self._tape.example, events=self._tape.events)

    def step(self, step: Any) -> None:
        """Run one step; after trouble of the kit the rest of the example is skipped, and it proves nothing."""
        self._steps.append(step)
        self._guarded(lambda: self._ready().step(step))

    def finish(self) -> None:
        """Rest, judge and file; raises the row's exception when something was violated."""
        self._guarded(lambda: self._ready().rest())
        replaced = self._run.lab.healed(self._bench, self._tape, troubled=bool(self._trouble))
        self._trouble = with_reason(self._trouble, replaced)
        self._bench.close()
        schedule = [msgspec.to_builtins(step) for step in self._steps]
        self._tape.note(SCHEDULE_NOTE, {"steps": schedule})
        outcome = "error" if self._trouble else "judged"
        self.history = self._tape.end(
            End(example=self._tape.example.example, outcome=outcome, detail=self._trouble)  # type: ignore[arg-type]
        )
        # Also in an example that ended in trouble a violation is a proof: the judges need no rest to see one.
        self.violations = self._run.judged(self._standing, self._steps, self.history, time.monotonic() - self._began)
        if replaced:
            self._run.replace_cluster(replaced)
        if self._trouble:
            self._run.failed(self._trouble)
        if self.violations:
            raise violation_of(self.violations)

    def _ready(self) -> Executor:
        if self._executor is None:
            self._executor = self._run.check.executor(self._bench)
        return self._executor

    def _guarded(self, do: Any) -> None:
        if self._trouble:
            return
        try:
            do()
        except KitError as error:
            self._trouble = f"{type(error).__name__}: {error}"
        except Exception:  # a bug of the executor: what it has recorded is judged all the same
            self._trouble = traceback.format_exc()


def first_of_each_row(violations: list[Observation]) -> list[Observation]:
    first: dict[str, Observation] = {}
    for observation in violations:
        first.setdefault(observation.requirement, observation)
    return list(first.values())


def database_of(lab: Lab, label: str) -> Any:
    """One directory for each column, the others read-only beside it: a pass there must not forget what failed here."""
    root = lab.settings.out_dir / "examples"
    own = root / slug(label)
    own.mkdir(parents=True, exist_ok=True)
    others = [ReadOnlyDatabase(DirectoryBasedExampleDatabase(p)) for p in sorted(root.iterdir()) if p != own]
    return MultiplexedDatabase(DirectoryBasedExampleDatabase(own), *others)
