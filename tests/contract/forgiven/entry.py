"""One entry of the census: the histories that show what a piece of evidence forgives, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from conformance.judging.excuses import Evidence
from conformance.judging.judge import JudgingResult, judge_history
from conformance.judging.judges import JUDGES
from history.events import History

Near = Literal[
    "another node",
    "another subject",
    "before it began",
    "after it ended",
    "refused",
    "described otherwise",
    "a later epoch",
    "too little",
]
"""How a near history differs from the covered one."""


class Forgiven(NamedTuple):
    """A history in which `evidence` leaves a case of `row` undecided, and near ones in which the row is judged.

    `applies` says why a near history that the contract demands cannot exist, by its kind.
    """

    evidence: Evidence
    row: str
    covered: Callable[[], History]
    near: Mapping[Near, Callable[[], History]]
    applies: Mapping[Near, str] = {}

    def is_forgiven(self, history: Callable[[], History]) -> bool:
        """True if judges leave the row undecided by this evidence."""
        excuses = judged(history).excuses
        return (self.row, self.evidence.name) in {(one.requirement, one.excuse) for one in excuses}

    def is_judged(self, history: Callable[[], History]) -> bool:
        """True if judges see the row held or violated."""
        return self.row in {one.requirement for one in judged(history).observations}


def judged(history: Callable[[], History]) -> JudgingResult:
    return judge_history(JUDGES, history())
