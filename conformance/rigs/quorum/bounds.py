"""Waits bounded by a requirement, and the evidence that tells a busy machine from a node that waits too long.

A busy machine makes a wait longer, never shorter. So the shortest of a few waits is judged and their median recorded. One
that is too long is compared with a step just before it in which the same node has nothing to wait for.
"""

from collections.abc import Callable
from math import inf
from statistics import median
from typing import Any, NamedTuple

from conformance.core.checks import Claim, Claims, excuse, held_if, record_only
from conformance.judging.excuses import NODE_SLOW, STARVED, Evidence
from conformance.rigs.quorum.frozen import SOON
from history.due import is_starved

AT_ONCE = 200.0
"""Milliseconds within which a step counts as immediate: twice the "about 100 ms" of KIP595-END-02."""
TRIES = 3
"""The most times that a wait is measured if it is too long."""
SLOWER = 4
"""A too long wait is excused if it exceeds its bound by less than this many times the longest step."""


class RequestWait(NamedTuple):
    """A wait and a step just before it that needs no waiting, both in milliseconds; infinite if nothing came. `late` is
    the kit's own worst delay in waking meanwhile, in seconds; 0 if the wait was not too long."""

    lasted: float
    step: float
    late: float = 0.0


def measure_waits(wait: Callable[[], RequestWait], enough: float) -> list[RequestWait]:
    """Return the first wait if it is shorter than `enough` milliseconds, else TRIES waits, whose median says more."""
    first = wait()
    return [first] if first.lasted < enough else [first, *(wait() for _ in range(TRIES - 1))]


def judge_waits(waits: list[RequestWait], share: float, *by: object, **more: Any) -> Claims:
    """Observe the shortest wait as `bound_holds` does, and record the median, which also shows a voter that is late more
    often than not."""
    yield bound_holds(waits, share, *by, **more)
    middle, number = median(one.lasted for one in waits), len(waits)
    late = "late" if middle >= share + AT_ONCE else "in time"
    yield record_only(*by, detail=f"{late}: the median of {number} waits is {middle:.0f} ms; due after {share:.0f} ms")


def bound_holds(
    waits: list[RequestWait],
    share: float,
    *by: object,
    right: bool = True,
    at_most: bool = False,
    detail: str = "",
    **more: Any,
) -> Claim:
    """Observe whether the shortest wait lasts `share` milliseconds (or, with `at_most`, no longer) and ends right after
    that; `right` is whether everything else is as required.

    Too long waits are excused if the kit was starved of CPU each time, or if the step explains them.
    """
    shortest = min(one.lasted for one in waits)
    too_long = shortest >= share + AT_ONCE
    if right and too_long and (reason := _excuse_for_waits(waits, share)):
        return excuse(reason, **more)
    shown = ", then ".join(f"after {one.lasted:.0f} ms (a step without a wait took {one.step:.0f} ms)" for one in waits)
    early = shortest < share and not at_most
    return held_if(
        right and not early and not too_long, *by, detail=f"it came {shown}, due after {share:.0f} ms{detail}", **more
    )


def _excuse_for_waits(waits: list[RequestWait], share: float) -> Evidence | None:
    """Return the excuse for waits that are all too long; None if there is none."""
    if all(is_starved(one.late, SOON if one.lasted == inf else (share + AT_ONCE) / 1000) for one in waits):
        return STARVED
    slowest = max(one.step for one in waits)
    return NODE_SLOW if min(one.lasted for one in waits) - share < SLOWER * slowest else None
