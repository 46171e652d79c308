"""Declaring a judge: a pure function from a history to what it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from history.events import History
from history.observations import Observation


class Finding(msgspec.Struct, frozen=True):
    """One instance in which the premise held: did the row hold too, for which case, shown by which events?"""

    held: bool
    case: str
    by: tuple[int, ...]
    detail: str = ""
    label: str = ""


Function = Callable[[History], Iterator[Finding]]


class Judge:
    """A function over a history, and the row that it judges."""

    def __init__(self, row: str, function: Function) -> None:
        self.row = row
        self.function = function

    def __call__(self, history: History) -> list[Observation]:
        """All observations of one example; each shows the events by their numbers."""
        return [self._observation(history, finding) for finding in self.function(history)]

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


def judge(row: str) -> Callable[[Function], Judge]:
    """Make a function over a history the judge of `row`."""
    return lambda function: Judge(row, function)


def judge_all(judges: Sequence[Judge], history: History) -> list[Observation]:
    """Every judge's observations, in the order of the judges."""
    return [observation for one in judges for observation in one(history)]
