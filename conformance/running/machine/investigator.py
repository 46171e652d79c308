"""Investigation: a finding's schedule is shrunk and replayed on the cluster, and the results are added to its evidence.

All breaches of an example share the shrunk schedule of the first one, if replays of it show them too. Any other breach is shrunk
separately while there is time; otherwise it keeps the original schedule, and the report says so.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from conformance.core.machines import AnyMachine
from conformance.running.evidence.folder import ReplayResult, add_replays
from conformance.running.machine.discovery import Discovery, PlaySchedule, ReplayedBreach
from conformance.running.machine.example import Ending, FinishedExample, Schedule
from conformance.running.machine.shrink import CutShort, Reproduction, Shrinker
from conformance.running.violations import Breach, breach_of
from history.observations import Observation
from history.steps import steps_about, steps_taken, steps_with, sweep_at_rest
from strategies.steps import Heal, Step, Sweep

REPLAYS = 5
REPLAY_SHARE = 0.3
"""The share of a violation's time that is reserved for replays; only the first replay may exceed it."""


class ShrunkSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A shrunk schedule, and what shrinking it cost."""

    schedule: list[Step]
    before: int
    runs: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.before} steps shrunk to {len(self.schedule)} in {self.runs} runs, {self.seconds:.0f} s"


class Investigator:
    """The investigation of a machine's findings, within `seconds` in total.

    `concluded` are breaches that were replayed. `out` is the evidence directory, `tell` reports progress.
    """

    def __init__(
        self, check: AnyMachine, play: PlaySchedule, out: Path, seconds: float, tell: Callable[[str], None]
    ) -> None:
        self.seconds = seconds
        self.concluded: set[Breach] = set()
        self._check = check
        self._play = play
        self._out = out
        self._tell = tell

    def investigate(
        self, finding: Discovery, broken: Sequence[Observation], until: float, done: Callable[[ReplayedBreach], None]
    ) -> None:
        """Shrink and replay until each breach has replays or time is up; call `done` with each result at once."""
        began = time.monotonic()
        ends = min(began + self.seconds, until)
        pending = {breach_of(observation): observation for observation in broken}
        while pending:
            breach, observation = next(iter(pending.items()))
            del pending[breach]
            if time.monotonic() >= ends:
                add_replays(self._out / finding.evidence[breach], ReplayResult(note=f"Not shrunk: {self._why}"))
                continue
            shrunk = self._shrink(finding.played, observation, ends)
            for one in self._replay(finding, shrunk, breach, ends):
                pending.pop(one.breach, None)
                done(one)
        self.seconds = max(0.0, self.seconds - (time.monotonic() - began))

    @property
    def _why(self) -> str:
        return f"the time for that was used up by what else {self._check.id} found broken."

    # --- shrinking

    def _shrink(self, played: FinishedExample, observation: Observation, ends: float) -> ShrunkSchedule:
        began, breach = time.monotonic(), breach_of(observation)
        last = _sweep_steps(played, observation)
        steps, first = [*played.steps, *last], _reproduction_of(played, observation)
        if last:
            first = Reproduction(len(steps))
        until = ends - REPLAY_SHARE * (ends - began)
        shrinker = Shrinker(
            steps,
            first,
            lambda schedule: self._candidate(schedule, breach, at_rest=first.at_rest),
            lambda: (until - time.monotonic()) / (until - began),
            lambda schedule, runs: self._tell(f"{breach} with {len(schedule)} steps, after {runs} runs"),
        )
        self._tell(f"{breach} is violated; shrinking {first.after} steps")
        ends_with = set(range(len(played.steps), len(steps)))
        hints = [hint | ends_with for hint in _hinted_steps(played, observation)]
        schedule = shrinker.shrink(keeping=hints, simpler=self._check.simpler)
        return ShrunkSchedule(
            schedule=schedule, before=len(played.steps), runs=shrinker.runs, seconds=time.monotonic() - began
        )

    def _candidate(self, schedule: Schedule, breach: Breach, *, at_rest: bool) -> Reproduction | None:
        """Run a candidate until the breach is suspected again, and return how; None if it does not show the breach. The cluster
        rests only if `at_rest`. Raises CutShort."""

        def is_it(observation: Observation) -> bool:
            return breach_of(observation) == breach

        played = self._play(schedule, Ending(stops=is_it, rests=at_rest, hurries=True)).played
        if not any(map(is_it, played.violations)):
            if played.cut_short:
                raise CutShort
            return None
        if played.suspicion is not None:
            return Reproduction(played.suspicion.after)
        return Reproduction(len(schedule), at_rest=at_rest)

    # --- replaying

    def _replay(self, finding: Discovery, shrunk: ShrunkSchedule, breach: Breach, ends: float) -> list[ReplayedBreach]:
        """Replay the schedule, count how often each breach without replays is seen, and add the counts to its evidence.

        A replay that the clock cut short before the breach showed does not count.
        """
        seen: Counter[Breach] = Counter({breach: 0})
        evidence: dict[Breach, str] = {}

        def is_it(observation: Observation) -> bool:
            return breach_of(observation) == breach

        def is_new(observation: Observation) -> bool:
            return breach_of(observation) not in evidence

        tries, cut_short = 0, False
        while tries < REPLAYS and not cut_short and (not tries or time.monotonic() < ends):
            again = self._play(shrunk.schedule, Ending(stops=is_it), shows=is_new)
            shown = {breach_of(observation) for observation in again.played.violations}
            cut_short = again.played.cut_short and breach not in shown
            tries += not cut_short
            seen.update(shown)
            evidence.update(again.evidence)
        first = evidence | finding.evidence
        return [
            self._conclude(one, shrunk, (seen[one], tries), evidence.get(one, ""), first[one])
            for one in seen
            if one not in self.concluded
        ]

    def _conclude(
        self, breach: Breach, shrunk: ShrunkSchedule, replays: tuple[int, int], evidence: str, first: str
    ) -> ReplayedBreach:
        """Add the result to the evidence. `evidence` is the folder of the first replay that showed the breach, or empty; `first`
        is the folder of the finding."""
        seen, tries = replays
        plain = [msgspec.to_builtins(step) for step in shrunk.schedule]
        add_replays(
            self._out / (evidence or first), ReplayResult(seen=seen, tries=tries, note=f"{shrunk}.", schedule=plain)
        )
        if evidence not in ("", first):
            add_replays(self._out / first, ReplayResult(note=f"Shrunk: a shorter schedule is in `{evidence}`."))
        self.concluded.add(breach)
        self._tell(f"{breach}: {shrunk}; violated in {seen} of {tries} replays: {evidence or first}")
        return ReplayedBreach(breach=breach, evidence=evidence or first, seen=seen, tries=tries)


def _reproduction_of(played: FinishedExample, observation: Observation) -> Reproduction:
    suspicion = played.suspicion
    if suspicion is not None and breach_of(suspicion.observation) == breach_of(observation):
        return Reproduction(suspicion.after)
    return Reproduction(len(played.steps), at_rest=True)


def _sweep_steps(played: FinishedExample, observation: Observation) -> list[Step]:
    """Return the final sweep that showed the violation, as steps. A replay's own sweep would differ, since it depends on the
    example's number."""
    turn = sweep_at_rest(played.history, observation.events)
    return [] if turn is None else [Heal(), Sweep(turn=turn)]


def _hinted_steps(played: FinishedExample, observation: Observation) -> list[set[int]]:
    """Return sets of steps to try: those that show the violation; these with the faults on their subjects; these with all steps
    there that are no reads; the latest steps on the subjects; and all steps on them."""
    steps = steps_taken(played.history)
    shown, near = steps_with(steps, observation.events), steps_about(played.history, steps, observation.events)
    faults = {step.number for step in steps if played.steps[step.number].disturbs}
    reads = {step.number for step in steps if played.steps[step.number].reads}
    return [shown, shown | (near & faults), shown | (near - reads), *latest_steps(near | shown, shown), near | shown]


def latest_steps(places: Collection[int], needed: Collection[int]) -> list[set[int]]:
    """Return the last quarter and the last half of these places, each with those `needed`: a violation seldom needs much earlier
    steps.

    Bisection drops steps from the front and needs a run for each step that it keeps; on a long schedule these two sets save more
    runs.
    """
    ordered = sorted(places)
    return [{*ordered[-(len(ordered) // share) :], *needed} for share in (4, 2) if len(ordered) >= 2 * share]
