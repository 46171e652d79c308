"""The search for versions between which a row's verdict changes: the next ones to run, and the changes so far.

Good and bad versions may come in any order: a change lies between every two neighbours that differ, and each is
narrowed down. Versions between neighbours that agree are not run.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

Outcome = Literal["good", "bad", ""]
"""A version's outcome; empty if it decides nothing (inconclusive, error, inapplicable)."""


class VerdictBoundary(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the outcome: `first` is the first version with the outcome `becomes`, `before` the last one with the
    other.

    `between` are versions without an outcome, or not run yet: the change may be at any of them.
    """

    before: str
    first: str
    becomes: Outcome
    between: list[str]

    def __str__(self) -> str:
        other = {"bad": "good", "good": "bad"}[self.becomes]
        around = f"; undecided between them: {', '.join(self.between)}" if self.between else ""
        return f"first {self.becomes}: {self.first} ({self.before} is {other}{around})"


def next_versions(versions: Sequence[str], anchors: Sequence[str], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the versions to run next: the anchors, then the middle version between each two neighbours that
    differ."""
    missing = [version for version in anchors if version not in outcomes]
    if missing:
        return missing
    open_between = (
        [v for v in change.between if v not in outcomes] for change in verdict_boundaries(versions, outcomes)
    )
    return [untried[len(untried) // 2] for untried in open_between if untried]


def verdict_boundaries(versions: Sequence[str], outcomes: Mapping[str, Outcome]) -> list[VerdictBoundary]:
    """Return all known changes, oldest first. `versions` are in ascending order."""
    decided = [(place, version) for place, version in enumerate(versions) if outcomes.get(version)]
    return [
        VerdictBoundary(before=before, first=first, becomes=outcomes[first], between=list(versions[low + 1 : high]))
        for (low, before), (high, first) in pairwise(decided)
        if outcomes[before] != outcomes[first]
    ]


def skipped_versions(versions: Sequence[str], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the versions that were not run because their neighbours agree."""
    return [version for version in versions if version not in outcomes]
