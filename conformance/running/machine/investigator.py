"""What follows a violation that a machine found: its schedule is shrunk on the cluster, replayed, and told with its evidence.

Rows that one example broke share the shrunk schedule of the first of them as far as its replays break them too. One that they
do not break is shrunk by itself while there is time; after that it keeps the schedule of the example that broke it, and its
report says so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.running.evidence.folder import Replays, conclude
from conformance.running.machine.example import Played
from conformance.running.machine.shrink import Shown, Shrinker
from history.observations import Observation
from history.taken import about, showing, taken

if TYPE_CHECKING:
    from conformance.running.machine.explorer import MachineRun

REPLAYS = 5
KEPT_FOR_REPLAYS = 0.3
"""Of the time for a violation: replays end with it too, but for the first one."""


class Shrunk(msgspec.Struct, kw_only=True):
    """A schedule after shrinking, and what that took."""

    schedule: list[Any]
    before: int
    runs: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.before} steps shrunk to {len(self.schedule)} in {self.runs} runs, {self.seconds:.0f} s"


def follow_up(run: MachineRun, played: Played, broken: Sequence[Observation]) -> None:
    """Shrink and replay until each of the rows has its number of replays, or time is up."""
    began = time.monotonic()
    ends = min(began + run.shrink_seconds, run.ends)
    pending = {observation.requirement: observation for observation in broken}
    while pending:
        row, observation = next(iter(pending.items()))
        del pending[row]
        if time.monotonic() >= ends:
            conclude(run.lab.settings.out_dir / run.found[row], Replays(note=f"Not shrunk: {_why(run)}"))
            continue
        shrunk = _shrunk(run, played, observation, ends)
        for seen in _replay(run, shrunk, row, ends):
            pending.pop(seen, None)
    run.shrink_seconds = max(0.0, run.shrink_seconds - (time.monotonic() - began))


def _why(run: MachineRun) -> str:
    return f"the time for that was used up by the other rows that {run.id} found broken."


# --- shrinking


def _shrunk(run: MachineRun, played: Played, observation: Observation, ends: float) -> Shrunk:
    began = time.monotonic()
    first = _shown(played, observation)
    candidates = _Candidates(run, observation, at_rest=first.at_rest)
    until = ends - KEPT_FOR_REPLAYS * (ends - began)
    shrinker = Shrinker(
        played.steps,
        first,
        candidates.play,
        lambda: (until - time.monotonic()) / (until - began),
        lambda schedule, runs: _tell(run, f"{observation.requirement} with {len(schedule)} steps, after {runs} runs"),
    )
    _tell(run, f"{observation.requirement} is violated; shrinking {first.after} steps")
    schedule = shrinker.shrink(keeping=_hints(played, observation), simpler=run.check.simpler)
    return Shrunk(schedule=schedule, before=len(played.steps), runs=shrinker.runs, seconds=time.monotonic() - began)


def _shown(played: Played, observation: Observation) -> Shown:
    suspicion = played.suspicion
    if suspicion is not None and suspicion.observation.requirement == observation.requirement:
        return Shown(suspicion.after)
    return Shown(len(played.steps), at_rest=True)


def _hints(played: Played, observation: Observation) -> list[set[int]]:
    """The steps that show it; these and the faults on their partition; all that is about their partition."""
    steps = taken(played.history)
    shown, near = showing(steps, observation.events), about(played.history, steps, observation.events)
    faults = {step.number for step in steps if played.steps[step.number].disturbs}
    return [shown, shown | (near & faults), near | shown]


class _Candidates:
    """Runs candidates: they stop as soon as the row is suspected again, and are read out at rest only where that is needed."""

    def __init__(self, run: MachineRun, observation: Observation, *, at_rest: bool) -> None:
        self._run = run
        self._row = observation.requirement
        self._label = observation.label
        self._at_rest = at_rest

    def play(self, schedule: list[Any]) -> Shown | None:
        played = self._run.play(schedule, self._is_it, rests=self._at_rest, hurries=True)
        if not any(self._is_it(o) for o in played.violations):
            return None
        if played.suspicion is not None:
            return Shown(played.suspicion.after)
        return Shown(len(schedule), at_rest=self._at_rest)

    def _is_it(self, observation: Observation) -> bool:
        """Another anomaly of the same row is another bug."""
        return (observation.requirement, observation.label) == (self._row, self._label)


# --- replaying


def _replay(run: MachineRun, shrunk: Shrunk, row: str, ends: float) -> set[str]:
    """Replay it, file how often each row was broken that has no replays yet, and conclude their evidence; returns the rows."""
    seen: Counter[str] = Counter({row: 0})
    evidence: dict[str, str] = {}

    def is_it(observation: Observation) -> bool:
        return observation.requirement == row

    def is_new(observation: Observation) -> bool:
        return observation.requirement not in evidence

    tries = 0
    while tries < REPLAYS and (not tries or time.monotonic() < ends):
        tries += 1
        played = run.play(shrunk.schedule, is_it, shows=is_new)
        seen.update({observation.requirement for observation in played.violations})
        evidence |= played.evidence
    for broken in [row for row in seen if row not in run.concluded]:
        _conclude(run, shrunk, broken, (seen[broken], tries), evidence.get(broken, ""))
    return set(seen)


def _conclude(run: MachineRun, shrunk: Shrunk, row: str, replays: tuple[int, int], evidence: str) -> None:
    seen, tries = replays
    out, first = run.lab.settings.out_dir, run.found[row]
    replayed = Replays(seen=seen, tries=tries, note=f"{shrunk}.", schedule=[_plain(s) for s in shrunk.schedule])
    conclude(out / (evidence or first), replayed)
    if evidence not in ("", first):
        conclude(out / first, Replays(note=f"Shrunk: a shorter schedule is in `{evidence}`."))
    run.concluded.add(row)
    run.replayed(requirement=row, evidence=evidence or first, seen=seen, tries=tries)
    _tell(run, f"{row}: {shrunk}; violated in {seen} of {tries} replays: {evidence or first}")


def _plain(step: Any) -> Any:
    return msgspec.to_builtins(step)


def _tell(run: MachineRun, text: str) -> None:
    print(f"{run.id} on {run.label}: {text}", flush=True)
