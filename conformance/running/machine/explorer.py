"""Running a machine on one column: generate on the live cluster, judge each example, follow up on what it finds."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase, MultiplexedDatabase, ReadOnlyDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from conformance.catalogue import shipped
from conformance.core.machines import MachineCheck
from conformance.judging.verdicts import FLOORS
from conformance.running.budget import EXPLORING, PARTS, SHRINKING
from conformance.running.check_run import CheckRun
from conformance.running.evidence.folder import write_evidence
from conformance.running.lab import Lab, slug
from conformance.running.machine.example import LiveExample, Played, Stops
from conformance.running.machine.investigator import follow_up
from conformance.running.violations import RequirementViolated, violation_of
from fixtures.errors import KitError
from history.observations import Observation

DRAWN_EXAMPLES = {"smoke": 0, "quick": 40, "nightly": 240}
"""Examples of a machine on one column, shared by its parts, where no clock ends them."""
STEPS = {"smoke": 10, "quick": 20, "nightly": 30}
BATCH = 20
"""Examples that Hypothesis is asked for at a time: it repeats none of them, and time may be up after any."""


class MachineRun(CheckRun):
    """One machine on one column.

    `found` are the rows seen violated so far, with the evidence of the first example that showed each; `concluded` are those
    of them that were replayed. A row that is known to be broken stops no further example: what else there is to find is
    still looked for.
    """

    def __init__(self, check: MachineCheck, lab: Lab, label: str, part: int = 1, *, further: bool = False) -> None:
        super().__init__(check.id, check.rows, check.topology, lab, label, further=further)
        self.check = check
        self.part = part
        self.found: dict[str, str] = {}
        self.shrink_seconds = SHRINKING[lab.settings.profile]
        self.following_up = False
        self.concluded: set[str] = set()
        self._profile = lab.settings.profile
        self._asked = {row.id for row in shipped().matching(lab.settings.requirements)}
        self._drawn = 0
        self._explores_until = math.inf

    def run_examples(self) -> None:
        if self.ends < math.inf:
            self._explores_until = self.ends - (1 - EXPLORING) * (self.ends - time.monotonic())
        if self.part == 1:
            self._follow_up(self.play(self.check.opening))
        while self._wants_more():
            before = self._drawn
            if (found := self._draw()) is not None:
                self._follow_up(found)
            elif self._drawn == before:
                break
        self._say_what_time_left_out()

    @property
    def _wanted(self) -> float:
        """As many as there is time for, where all of it is used."""
        if self.lab.settings.fills_its_time and self.ends < math.inf:
            return math.inf
        return math.ceil(DRAWN_EXAMPLES[self._profile] / PARTS[self._profile])

    def _say_what_time_left_out(self) -> None:
        """The floor of what a machine's judges see is in examples; each part draws its own of them."""
        floor = math.ceil(FLOORS["property"].examples / PARTS[self._profile])
        if self._drawn < floor and self.ends < math.inf and not self.gave_up:
            self.cut_off = True
            self.remarks.append(f"time was up after {self._drawn} of {floor} drawn examples")

    def _wants_more(self) -> bool:
        return self._drawn < self._wanted and time.monotonic() < self._explores_until and not self.gave_up

    @property
    def gave_up(self) -> bool:
        """A machine has many examples, with faults of many kinds: some in trouble are no reason to end it, most of them are."""
        return super().gave_up and 2 * len(self._errors) >= self._examples

    # --- drawing

    def _draw(self) -> Played | None:
        """Draw examples until one breaks a row that was not known to be broken; None when there was none."""
        drawing = _Drawing(self)
        # Raised in teardown so that Hypothesis keeps the example in its database; what it was is in the shard by then.
        with suppress(RequirementViolated, ExceptionGroup, Flaky):
            run_state_machine_as_test(self._seeded(drawing), settings=self._settings())
        return drawing.found

    def _seeded(self, drawing: _Drawing) -> Any:
        number = zlib.crc32(f"{self.check.id} {self.lab.settings.seed} {self.part} {self._drawn or ''}".encode())

        @seed(number)
        def factory() -> Any:
            return drawing.machine()

        return factory

    def _settings(self) -> settings:
        # What was kept from earlier runs is tried once; in a later round it is known.
        reused = [] if self.found else [Phase.reuse]
        return settings(
            max_examples=int(min(BATCH, self._wanted - self._drawn)),
            stateful_step_count=STEPS[self._profile],
            phases=[Phase.explicit, *reused, Phase.generate],
            database=database_of(self.lab, self.standing().column.label),
            derandomize=False,
            deadline=None,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )

    def drawn_example(self) -> LiveExample:
        self._drawn += 1
        return self.example(self._is_enough)

    # --- one example

    def _is_news(self, observation: Observation) -> bool:
        return observation.requirement not in self.found

    def _is_enough(self, observation: Observation) -> bool:
        """What the user did not ask for is followed up too, but ends no example before what was asked for may come."""
        return self._is_news(observation) and observation.requirement in self._asked

    def example(self, stops: Stops, *, rests: bool = True, hurries: bool = False) -> LiveExample:
        """A new one; what keeps it from beginning is noted first, since Hypothesis may make something else of it."""
        try:
            standing = self.standing()
            return LiveExample(self.check, self.lab, standing, stops, rests=rests, hurries=hurries, ends=self.ends)
        except KitError as error:
            self.trouble += [] if str(error) in self.trouble else [str(error)]
            raise

    def play(
        self,
        steps: Sequence[Any],
        stops: Stops | None = None,
        *,
        rests: bool = True,
        hurries: bool = False,
        shows: Stops | None = None,
    ) -> Played:
        """Run a schedule outside of Hypothesis, and file it, also with evidence of what it `shows`."""
        example = self.example(stops or self._is_enough, rests=rests, hurries=hurries)
        for step in steps:
            example.step(step)
        return self.ended(example, shows)

    def ended(self, example: LiveExample, shows: Stops | None = None) -> Played:
        """End an example and file it: with evidence of each row that it is the first to break."""
        played = example.finish()
        first = first_of_each_row(played.violations)
        played.news = [o for o in first if self._is_news(o)]
        shown = [o for o in first if o in played.news or (shows is not None and shows(o))]
        played.evidence = {o.requirement: self._evidence(played, o) for o in shown}
        self.found = played.evidence | self.found
        evidence = {id(o): played.evidence[o.requirement] for o in shown}
        self.file(
            played.standing, played.history, played.observations, evidence, played.seconds, detail=played.explained
        )
        if played.replaced:
            self.replace_cluster(played.replaced)
        # A try of the shrinker that ran into trouble has shown nothing, and is no reason to give up.
        if played.trouble and not self.following_up:
            self.failed(played.trouble, played.seconds)
        return played

    def _evidence(self, played: Played, observation: Observation) -> str:
        standing = played.standing
        return write_evidence(
            self.lab.settings.out_dir, standing.cluster, standing.column, played.history, observation, played.seconds
        )

    # --- after a violation

    def _follow_up(self, played: Played) -> None:
        """Of the rows that it broke first: those that were asked for before others, what ended the example before the rest."""
        suspected = played.suspicion.observation.requirement if played.suspicion is not None else ""
        self.following_up = True
        follow_up(
            self,
            played,
            sorted(played.news, key=lambda o: (o.requirement not in self._asked, o.requirement != suspected)),
        )
        self.following_up = False


class _Drawing:
    """Hypothesis' view of a run: machines whose steps go to the cluster until one has found something or time is up.

    Those it makes after that, to see a failure again or to use up its examples, do nothing.
    """

    def __init__(self, run: MachineRun) -> None:
        self.found: Played | None = None
        self._run = run

    def machine(self) -> Any:
        if self.found is not None or not self._run._wants_more():
            return self._run.check.machine(lambda step: None, lambda: None)
        example = self._run.drawn_example()

        def finish() -> None:
            played = self._run.ended(example)
            if played.news:
                self.found = played
                raise violation_of(played.news)

        return self._run.check.machine(example.step, finish)


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
