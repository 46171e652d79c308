"""Shrinking a schedule by delta debugging, on the executor that a replay uses: faults first, then operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Reproduces = Callable[[list[Any]], bool]


def shrink(schedule: Sequence[Any], reproduces: Reproduces, in_time: Callable[[], bool]) -> list[Any]:
    """A schedule that still reproduces and from which no single step can be dropped, as far as time allows."""
    shortest, disturbing, done = list(schedule), True, 0
    # A fault may be needed only by an operation that goes, so the kinds take turns until neither gives anything.
    while done < 2 and in_time():
        left = _without(shortest, disturbing, reproduces, in_time)
        done = done + 1 if len(left) == len(shortest) else 1
        shortest, disturbing = left, not disturbing
    return shortest


def _without(schedule: list[Any], disturbing: bool, reproduces: Reproduces, in_time: Callable[[], bool]) -> list[Any]:
    """Drop ever smaller runs of the steps of one kind while what is left still reproduces."""
    size = max(1, len(schedule) // 2)
    while size and in_time():
        dropped = _drop_runs(schedule, disturbing, size, reproduces, in_time)
        size = size // 2 if dropped is None else min(size, max(1, len(dropped) // 2))
        schedule = schedule if dropped is None else dropped
    return schedule


def _drop_runs(
    schedule: list[Any], disturbing: bool, size: int, reproduces: Reproduces, in_time: Callable[[], bool]
) -> list[Any] | None:
    """The schedule without one run of `size` droppable steps, or None when each of them is needed."""
    places = [n for n, step in enumerate(schedule) if step.disturbs == disturbing]
    for start in range(0, len(places), size):
        gone = set(places[start : start + size])
        candidate = [step for n, step in enumerate(schedule) if n not in gone]
        if not in_time():
            return None
        if reproduces(candidate):
            return candidate
    return None
