"""Judging: the time that all judges of the log machine take for a million events, on one core, in plain Python.

Events come from stored histories (a run's output directory) or are generated. Generating and reading them is not
counted; the clock is CPU time, so other load on the machine does not matter.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.histories import history
from conformance.judging.judge import Judge
from conformance.judging.log.judges import LOG_JUDGES
from conformance.judging.log.story import PartitionStory
from conformance.judging.reading import Reading
from fixtures.runs import Progress
from history.events import History
from history.store import read_histories

EVERY = 20.0
"""Seconds between two lines of progress."""


class Measured(msgspec.Struct, kw_only=True):
    """Seconds of CPU time by activity: readings of the history and judges, by name."""

    examples: int = 0
    events: int = 0
    observations: int = 0
    violations: int = 0
    seconds: dict[str, float] = {}

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def made_up(events: int, per_example: int) -> Iterator[History]:
    """Examples with that many events together."""
    for number in range(max(1, events // per_example)):
        yield history(str(number), per_example, number)


def stored(out: Path, events: int) -> Iterator[History]:
    """The histories of a run, repeated until there were that many events. Raises ValueError if there are none."""
    paths = sorted(out.rglob("*.jsonl.zst"))
    found = [one for path in paths for one in read_histories(path) if one.complete]
    if not any(one.events for one in found):
        raise ValueError(f"{out} holds no history: give the --conformance-out of a run")
    while events > 0:
        for one in found:
            yield one
            events -= len(one.events)
            if events <= 0:
                return


def measure(histories: Iterable[History], progress: Progress, judges: Sequence[Judge] = LOG_JUDGES) -> Measured:
    """Every history by every judge."""
    measured, told = Measured(), time.monotonic()
    seconds: dict[str, float] = defaultdict(float)
    for one in histories:
        _judge(one, judges, measured, seconds)
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            progress(f"{measured.events} events judged in {sum(seconds.values()):.1f} s")
    measured.seconds = seconds
    return measured


def _judge(one: History, judges: Sequence[Judge], measured: Measured, seconds: dict[str, float]) -> None:
    measured.examples += 1
    measured.events += len(one.events)
    began = time.process_time()
    reading = Reading(one.example, [PartitionStory])
    reading.feed(one.events)
    stories = reading.stories(PartitionStory)
    seconds["reading"] += time.process_time() - began
    for judge in judges:
        began = time.process_time()
        findings = [finding for story in stories for finding in judge.function(story)]
        found = [judge.observation(one.example.example, finding) for finding in findings]
        seconds[f"{judge.row} {judge.function.__name__}"] += time.process_time() - began
        measured.observations += len(found)
        measured.violations += sum(observation.result == "violated" for observation in found)


def table(measured: Measured) -> str:
    """The total, and each one's part in it, as Markdown."""
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
