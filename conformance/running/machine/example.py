"""One example of a machine, from its first step to its verdicts. Judges also look at it while it runs."""

import math
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from conformance.catalogue import Facts
from conformance.core.bench import Bench
from conformance.core.evaluate import applicable_claims, judge_on_column
from conformance.core.machines import AnyMachine, Executor
from conformance.judging.due import ended_by_itself, hindrance
from conformance.judging.judge import Judge, JudgeError, Judging
from conformance.running.standing import HEAL_TIMEOUT, HURRIED_HEAL_TIMEOUT, Standing, with_reason
from conformance.running.violations import breaks_its_row
from fixtures.spending import spending
from fixtures.tape import LiveTape
from fixtures.waiting import OutOfTime, deadline, ran_out_of_time
from history.events import End, History
from history.observations import Observation
from history.shards import ExcuseCount
from history.steps import REST_NOTE, STEP_NOTE, note_of
from protocol.errors import KitError
from strategies.steps import Step

SUSPICION_NOTE = "suspicion"
"""The note after the step at which a judge suspected a violation; no further step runs."""
REST_TIMEOUT = 120.0
"""Seconds that an example has to come to rest."""

Schedule = Sequence[Step]
"""The steps of a machine (`MachineCheck.step`) in order."""
Stops = Callable[[Observation], bool]
"""A predicate: True if the example may stop once this violation is suspected."""


class Suspicion(msgspec.Struct, frozen=True):
    """A violation that a judge suspects after this many steps. Only the whole history decides."""

    observation: Observation
    after: int


class FinishedExample(msgspec.Struct, frozen=True, kw_only=True):
    """A finished example. `steps` are those that ran; `replaced` is why the cluster must be replaced.

    `cut_short` says that time ran out before the last step, or before the cluster came to rest. `hindered` says why the tested
    system, not the kit, is to blame for the `trouble`.
    """

    standing: Standing
    steps: list[Step]
    history: History
    observations: list[Observation]
    excuses: list[ExcuseCount] = []
    raised: list[JudgeError] = []
    suspicion: Suspicion | None
    trouble: str
    hindered: str
    replaced: str
    cut_short: bool = False
    seconds: float

    @property
    def violations(self) -> list[Observation]:
        return [o for o in self.observations if breaks_its_row(o)]

    @property
    def explanation(self) -> str:
        """The explanation of a suspicion that the whole history did not confirm; empty if there was none."""
        suspicion = self.suspicion
        if suspicion is None or any(o.requirement == suspicion.observation.requirement for o in self.violations):
            return ""
        suspected = suspicion.observation
        return (
            f"suspected after step {suspicion.after}, and explained by what came then: "
            f"{suspected.requirement} {suspected.detail}"
        )


class ExampleLab(Protocol):
    """The part of a lab that an example needs. Clock, cluster and faults come with its tape and bench."""

    judges: Sequence[Judge]

    def tape(self, check: str, standing: Standing) -> LiveTape: ...

    def bench(self, tape: LiveTape, standing: Standing) -> Bench: ...

    def heal(self, bench: Bench, tape: LiveTape, *, troubled: bool = False, within: float = HEAL_TIMEOUT) -> str: ...


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The way in which an example ends.

    No step runs after a suspicion that `stops` accepts, nor after `at` (`time.monotonic`), when rest and healing are hurried too.
    `rests` says whether the executor brings the cluster to rest and reads everything at the end; with `hurries` it does not after
    a suspicion, since the shrinker only needs a healed cluster.
    """

    stops: Stops
    rests: bool = True
    hurries: bool = False
    at: float = math.inf


class ExampleRun:
    """An example that runs steps until it ends, and skips all later ones. Its cluster is in a lab or in memory."""

    def __init__(self, check: AnyMachine, lab: ExampleLab, standing: Standing, ending: Ending) -> None:
        self._check = check
        self._lab = lab
        self._standing = standing
        self._ending = ending
        self._cut_short = False
        self._began = time.monotonic()
        self._steps: list[Step] = []
        self._suspicion: Suspicion | None = None
        self._trouble = ""
        self._hindered = False
        """True if the tested system is to blame for the trouble."""
        self._ran_out = False
        """True if the only error is that time was up."""
        self._tape = lab.tape(check.id, standing)
        self._judging = Judging([one for one in lab.judges if not one.after_healing], self._tape.example)
        self._bench = lab.bench(self._tape, standing)
        self._executor: Executor[Any] | None = None

    def step(self, step: Step) -> None:
        """Run one step, unless time is up, the kit failed or a violation is suspected."""
        if self._suspicion is not None or self._is_over:
            return
        self._guard(self._ready)
        if not self._trouble:
            self._steps.append(step)
            self._tape.note(STEP_NOTE, note_of(step))
            before = len(self._tape.events)
            self._guard(lambda: self._ready().step(step))
            if len(self._tape.events) > before:
                self._judge_new_events()

    def finish(self) -> FinishedExample:
        """Rest, heal and judge. If the only error is that time ran out, the example's premise is lost, which is no error of the
        kit."""
        if self._ending.rests and not (self._ending.hurries and self._suspicion is not None):
            self._guard(self._come_to_rest)
        within = HURRIED_HEAL_TIMEOUT if self._is_over else HEAL_TIMEOUT
        replaced = self._lab.heal(self._bench, self._tape, troubled=bool(self._trouble), within=within)
        trouble = with_reason(self._trouble, replaced)
        blamed = ended_by_itself if self._trouble and not self._hindered else hindrance
        hindered = blamed(self._tape.history)
        self._bench.close()
        cut_off = within == HURRIED_HEAL_TIMEOUT and (self._ran_out or not self._trouble)
        outcome: Literal["judged", "premise lost", "error"] = "premise lost" if hindered or cut_off else "error"
        history = self._tape.end(
            End(example=self._tape.example.example, outcome=outcome if trouble else "judged", detail=trouble)
        )
        # A violation is proof even in an example that ended in trouble: judges need no rest to see one.
        found = judge_on_column(self._facts, self._lab.judges, history)
        return FinishedExample(
            standing=self._standing,
            steps=self._steps,
            history=history,
            observations=found.observations,
            excuses=found.excuses,
            raised=found.raised,
            suspicion=self._suspicion,
            trouble=trouble,
            hindered=hindered if trouble else "",
            replaced=replaced,
            cut_short=self._is_over,
            seconds=time.monotonic() - self._began,
        )

    def _come_to_rest(self) -> None:
        executor = self._ready()
        self._tape.note(REST_NOTE)
        with deadline(time.monotonic() + (HURRIED_HEAL_TIMEOUT if self._is_over else REST_TIMEOUT)):
            executor.bring_to_rest()

    @property
    def _is_over(self) -> bool:
        return self._cut_short or time.monotonic() >= self._ending.at

    def _ready(self) -> Executor[Any]:
        if self._executor is None:
            with spending("prepare"):
                self._executor = self._check.executor(self._bench)
        return self._executor

    def _guard(self, do: Callable[[], object]) -> None:
        if self._trouble:
            return
        try:
            do()
        except OutOfTime as error:
            # A step that ran out of time shows nothing; an end that could not be read is trouble.
            self._trouble = f"{type(error).__name__}: {error}" if self._cut_short else ""
            self._ran_out = self._cut_short = True
        except KitError as error:
            self._bench.record_failure(error)
            self._ran_out = ran_out_of_time(error)
            self._hindered = bool(hindrance(self._tape.history))
            self._trouble = f"{type(error).__name__}: {error}"
        except Exception:  # a bug of the executor: the recorded part is judged all the same
            self._trouble = traceback.format_exc()

    # --- judging

    def _judge_new_events(self) -> None:
        """Judge the events since the previous step, and note a suspected violation."""
        try:
            with spending("judge"):
                self._judging.follow(self._tape.events)
                suspected = applicable_claims(self._judging.violations(), self._facts)
        except Exception:  # reported when the whole history is judged
            return
        seen = next((one for one in suspected if self._ending.stops(one)), None)
        if seen is not None:
            self._suspicion = Suspicion(seen, len(self._steps))
            self._tape.note(SUSPICION_NOTE, {"requirement": seen.requirement, "detail": seen.detail})

    @property
    def _facts(self) -> Facts:
        column = self._standing.column
        return Facts(version=column.version, ranges=column.ranges)
