"""Where a row's verdict changes over the versions, with few of them run: what to run next, and what is known then.

Nothing is taken for granted about the order in which versions are good or bad: every two neighbours that differ enclose a change,
and each is narrowed down. Versions between neighbours that agree are not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

GoodOrBad = Literal["good", "bad", ""]
"""The verdict of a version's run; empty without a conclusive one (inconclusive, error, inapplicable)."""


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """`first` is the first version of which `becomes` is seen, `before` the last with the other.

    `between` are versions without a verdict, or not run yet: the change may lie at any of them.
    """

    before: str
    first: str
    becomes: GoodOrBad
    between: list[str]


def wanted_next(versions: Sequence[str], anchors: Sequence[str], known: Mapping[str, GoodOrBad]) -> list[str]:
    """The versions to run next: the anchors, then the middle of what lies between each two neighbours that differ."""
    missing = [version for version in anchors if version not in known]
    if missing:
        return missing
    open_between = ([v for v in change.between if v not in known] for change in changes(versions, known))
    return [untried[len(untried) // 2] for untried in open_between if untried]


def changes(versions: Sequence[str], known: Mapping[str, GoodOrBad]) -> list[VerdictChange]:
    """All that is known to have changed, the oldest first. `versions` are in their order."""
    telling = [(place, version) for place, version in enumerate(versions) if known.get(version)]
    return [
        VerdictChange(before=before, first=first, becomes=known[first], between=list(versions[low + 1 : high]))
        for (low, before), (high, first) in pairwise(telling)
        if known[before] != known[first]
    ]


def unseen(versions: Sequence[str], known: Mapping[str, GoodOrBad]) -> list[str]:
    """Versions that were not run, since their neighbours agreed."""
    return [version for version in versions if version not in known]
