"""Declaring a judge: a pure function from what a history tells to what it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from conformance.judging.log.reading import stories
from conformance.judging.log.story import PartitionStory
from history.events import History
from history.observations import Observation


class Finding(msgspec.Struct, frozen=True):
    """One instance in which the premise held: did the row hold too, for which case, shown by which events?"""

    held: bool
    case: str
    by: tuple[int, ...]
    detail: str = ""
    label: str = ""


Reading = Callable[[History], Sequence[Any]]
"""What judges look at in place of bare events, such as the story of each partition."""


class Judge:
    """A function over each part of a reading of the history, and the row that it judges."""

    def __init__(self, row: str, reading: Reading, function: Callable[[Any], Iterator[Finding]]) -> None:
        self.row = row
        self.reading = reading
        self.function = function

    def __call__(self, history: History) -> list[Observation]:
        """All observations of one example; each shows the events by their numbers."""
        return self.over(history, self.reading(history))

    def over(self, history: History, parts: Sequence[Any]) -> list[Observation]:
        """The same, of a history that was read already."""
        return [self._observation(history, finding) for part in parts for finding in self.function(part)]

    def _observation(self, history: History, finding: Finding) -> Observation:
        return Observation(
            requirement=self.row,
            case=finding.case,
            result="held" if finding.held else "violated",
            example=history.example.example,
            events=sorted(set(finding.by)),
            detail=finding.detail if not finding.held else "",
            label=finding.label if not finding.held else "",
        )


def judge(row: str) -> Callable[[Callable[[History], Iterator[Finding]]], Judge]:
    """Make a function over a whole history the judge of `row`."""
    return lambda function: Judge(row, _whole, function)


def log_judge(row: str) -> Callable[[Callable[[PartitionStory], Iterator[Finding]]], Judge]:
    """Make a function over the story of one partition the judge of `row`."""
    return lambda function: Judge(row, stories, function)


def _whole(history: History) -> Sequence[History]:
    return [history]


def judge_all(judges: Sequence[Judge], history: History) -> list[Observation]:
    """Every judge's observations, in the order of the judges. What several of them look at is read once."""
    readings: dict[Reading, Sequence[Any]] = {}
    for one in judges:
        if one.reading not in readings:
            readings[one.reading] = one.reading(history)
    return [observation for one in judges for observation in one.over(history, readings[one.reading])]
