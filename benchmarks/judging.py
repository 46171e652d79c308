"""The time that all judges take for a million events on one core.

Events come from stored histories (a run's output directory) or are generated. Neither reading nor generating them
counts. Time is CPU time, so other load on the machine does not matter.
"""

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.histories import history
from conformance.judging.judge import Finding, Judge
from conformance.judging.judges import JUDGES
from conformance.judging.reading import Reading
from conformance.judging.together import Together
from fixtures.errors import WrongUse
from fixtures.runs import Progress
from history.events import Answer, Call, History
from history.store import read_histories

EVERY = 20.0
"""Seconds between two lines of progress."""


class Measured(msgspec.Struct, kw_only=True):
    """The result; `seconds` is the CPU time of reading the histories, and of each judge by its name."""

    examples: int = 0
    events: int = 0
    observations: int = 0
    violations: int = 0
    seconds: dict[str, float] = {}

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def generated_histories(events: int, per_example: int) -> Iterator[History]:
    """Generate examples with about that many events in all."""
    for number in range(max(1, events // per_example)):
        yield history(str(number), per_example, number)


def stored_histories(out: Path, events: int) -> Iterator[History]:
    """Yield the histories of a run, repeated until there are that many events. Raises WrongUse if there are none."""
    paths = sorted(out.rglob("*.jsonl.zst"))
    found = [one for path in paths for one in read_histories(path) if one.complete]
    if not any(one.events for one in found):
        raise WrongUse(f"{out} holds no history: give the --conformance-out of a run")
    while events > 0:
        for one in found:
            yield one
            events -= len(one.events)
            if events <= 0:
                return


def measure(histories: Iterable[History], progress: Progress, judges: Sequence[Judge] = JUDGES) -> Measured:
    """Judge every history by every judge, and measure the CPU time."""
    measured, reported_at = Measured(), time.monotonic()
    seconds: dict[str, float] = defaultdict(float)
    for one in histories:
        _judge_history(one, judges, measured, seconds)
        if time.monotonic() - reported_at > EVERY:
            reported_at = time.monotonic()
            progress(f"{measured.events} events judged in {sum(seconds.values()):.1f} s")
    measured.seconds = seconds
    return measured


def _judge_history(one: History, judges: Sequence[Judge], measured: Measured, seconds: dict[str, float]) -> None:
    measured.examples += 1
    measured.events += len(one.events)
    joints = [at for at in dict.fromkeys(judge.at for judge in judges) if isinstance(at, tuple)]
    alone = [judge.at for judge in judges if isinstance(judge.at, type)]
    kinds = [*dict.fromkeys([*alone, *(kind for joint in joints for kind in joint)])]
    began = time.process_time()
    reading = Reading(one.example, kinds)
    reading.feed(one.events)
    looks = dict.fromkeys(judge.at for judge in judges if not isinstance(judge.at, type | tuple))
    noted = [event for event in one.events if not isinstance(event, Call | Answer)]
    parts: dict[object, Sequence[Any]] = {kind: reading.stories(kind) for kind in kinds}
    parts |= {joint: [Together(reading.timeline, {kind: reading.stories(kind) for kind in joint})] for joint in joints}
    parts |= {look: look(one, noted) for look in looks}
    seconds["reading"] += time.process_time() - began
    for judge in judges:
        began = time.process_time()
        claims = [claim for part in parts[judge.at] for claim in judge.function(part)]
        found = [judge.observation(one.example.example, claim) for claim in claims if isinstance(claim, Finding)]
        seconds[str(judge)] += time.process_time() - began
        measured.observations += len(found)
        measured.violations += sum(observation.result == "violated" for observation in found)


def table(measured: Measured) -> str:
    """Return the total, and the share of reading and of each judge, as Markdown."""
    lines = [
        f"{measured.events} events in {measured.examples} examples: {measured.total:.1f} s, "
        f"{measured.total / measured.events * 1e6:.1f} s a million; {measured.observations} observations, "
        f"{measured.violations} of them violations",
        "",
        "| | seconds | share |",
        "|---|---:|---:|",
    ]
    by_time = sorted(measured.seconds.items(), key=lambda pair: -pair[1])
    return "\n".join([*lines, *(f"| {name} | {s:.2f} | {s / measured.total:.0%} |" for name, s in by_time)])


# --- beside another checkout

PROGRAM = """
import gc, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from history.store import read_histories
from conformance.judging.judge import judge_all
try:
    from conformance.judging.judges import JUDGES
except ImportError:  # until 150b3fae each kind of check had judges of its own
    from conformance.judging.due import DUE_JUDGES
    from conformance.judging.laws.judges import LAWS
    from conformance.judging.log.judges import LOG_JUDGES
    from conformance.judging.producers.judges import PRODUCER_JUDGES
    from conformance.judging.topics.judges import TOPIC_JUDGES
    JUDGES = (*LOG_JUDGES, *PRODUCER_JUDGES, *TOPIC_JUDGES, *LAWS, *DUE_JUDGES)
found = [one for path in sorted(Path(sys.argv[2]).rglob("*.jsonl.zst")) for one in read_histories(path)]
gc.freeze()
began = time.process_time()
observations = sum(len(judge_all(JUDGES, one)) for one in found)
print(time.process_time() - began, sum(len(one.events) for one in found), observations)
"""
"""A program that judges a folder's histories with a checkout's code, and prints CPU seconds, events and
observations."""


class JudgingComparison(msgspec.Struct, kw_only=True):
    """The seconds per round of this and the other code over the same events, and the number of observations by each."""

    events: int
    seconds: list[tuple[float, float]]
    observations: tuple[int, int]


def compare_checkouts(other: Path, out: Path, rounds: int, progress: Progress) -> JudgingComparison:
    """Judge a run's histories with this code and another checkout's, in turn, each in its own process."""
    here = Path(__file__).parents[1]
    measured: list[tuple[float, float]] = []
    for number in range(rounds):
        mine, theirs = (_judge_with(checkout, out) for checkout in (here, other))
        measured.append((mine[0], theirs[0]))
        progress(f"round {number + 1}: {mine[0]:.2f} s here, {theirs[0]:.2f} s there")
    return JudgingComparison(events=int(mine[1]), seconds=measured, observations=(int(mine[2]), int(theirs[2])))


def _judge_with(checkout: Path, out: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(checkout), str(out.resolve())],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WrongUse(f"the judges of {checkout} cannot be run: {done.stderr.strip().splitlines()[-1:]}")
    return [float(value) for value in done.stdout.split()]


def comparison_table(measured: JudgingComparison) -> str:
    """Return the medians of the rounds, and of their ratios, as Markdown."""
    here, there = (median(pair[side] for pair in measured.seconds) for side in (0, 1))
    ratio = median(theirs / mine for mine, theirs in measured.seconds)
    return "\n".join(
        [
            f"| {measured.events} events, {len(measured.seconds)} rounds | seconds | events a second | observations |",
            "|---|---:|---:|---:|",
            f"| here | {here:.2f} | {measured.events / here:.0f} | {measured.observations[0]} |",
            f"| there | {there:.2f} | {measured.events / there:.0f} | {measured.observations[1]} |",
            f"| ratio | {ratio:.2f} | | |",
        ]
    )
