"""Where a row's verdict changes over the versions, with few of them run: what to run next, and what is known then.

Nothing is taken for granted about the order in which versions are good or bad: every two neighbours that differ enclose a change,
and each is narrowed down. What lies between neighbours that agree is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

Told = Literal["good", "bad", ""]
"""What running a version told; empty where it told nothing (inconclusive, error, inapplicable)."""


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """`first` is the first version of which `becomes` is seen, `before` the last that told the other.

    `between` are versions that told nothing, or were not run yet: the change may lie at any of them.
    """

    before: str
    first: str
    becomes: Told
    between: list[str]


def wanted_next(versions: Sequence[str], anchors: Sequence[str], told: Mapping[str, Told]) -> list[str]:
    """The versions to run next: the anchors, then the middle of what lies between each two neighbours that differ."""
    missing = [version for version in anchors if version not in told]
    if missing:
        return missing
    open_between = ([v for v in change.between if v not in told] for change in changes(versions, told))
    return [untried[len(untried) // 2] for untried in open_between if untried]


def changes(versions: Sequence[str], told: Mapping[str, Told]) -> list[VerdictChange]:
    """All that is known to have changed, the oldest first. `versions` are in their order."""
    telling = [(place, version) for place, version in enumerate(versions) if told.get(version)]
    return [
        VerdictChange(before=before, first=first, becomes=told[first], between=list(versions[low + 1 : high]))
        for (low, before), (high, first) in pairwise(telling)
        if told[before] != told[first]
    ]


def unseen(versions: Sequence[str], told: Mapping[str, Told]) -> list[str]:
    """Versions that were not run, since their neighbours agreed."""
    return [version for version in versions if version not in told]
