"""Declaring a judge: a pure function from a history to what it observes.

>>> from history.events import Answer, Call, Example
>>> @judge("KIP320-FETCH-02")
... def no_older_epoch_is_served(history):
...     "A fetch that names an older leader epoch than the newest in Metadata is not answered with records."
...     newest = -1
...     for call, answer in history.answered():
...         if call.op == "metadata":
...             newest = max(newest, answer.value["leader_epoch"])
...         elif call.op == "fetch" and call.request["current_leader_epoch"] < newest:
...             yield Finding(not answer.value["batches"], "consumer", (answer.n,), f"epoch {newest} was known")
>>> history = History(example=Example(example="e-1", check="docs", column="4.3.1"), events=[
...     Call(n=0, t=0.0, op="metadata", node="broker-1", request={}),
...     Answer(n=1, t=0.1, call=0, outcome="ok", value={"leader_epoch": 5}),
...     Call(n=2, t=0.2, op="fetch", node="broker-1", request={"current_leader_epoch": 4}),
...     Answer(n=3, t=0.3, call=2, outcome="ok", value={"batches": ["records"]}),
... ])
>>> [(one.requirement, one.result, one.events, one.detail) for one in no_older_epoch_is_served(history)]
[('KIP320-FETCH-02', 'violated', [3], 'epoch 5 was known')]
"""

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
