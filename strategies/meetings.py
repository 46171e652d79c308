"""Meetings in a schedule: faults that overlap on one subject, and administration while a fault is active.

Pure functions over steps; remove faults that were not injected and steps that were skipped first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from strategies.episodes import Meeting
from strategies.steps import AdministrationStep, AlterClusterDefault, Disturb, Heal, HealPartly, Step


class FaultOnSubject(msgspec.Struct, frozen=True):
    """The name of an active fault, and the subject around which it was injected."""

    fault: str
    on: str


def standing_at_each(steps: Iterable[Step]) -> Iterator[tuple[Step, list[FaultOnSubject]]]:
    """Yield each step with the faults standing before it, earliest first."""
    standing: list[FaultOnSubject] = []
    for step in steps:
        yield step, list(standing)
        match step:
            case Disturb():
                standing.append(FaultOnSubject(step.fault.name, step.on))
            case HealPartly() if standing:
                del standing[step.which % len(standing)]
            case Heal():
                standing.clear()


def count_meetings(steps: Sequence[Step]) -> Counter[Meeting]:
    """Count the pairs of faults that overlap on one subject, in order of injection, and the kinds of administration
    with each fault, by the names of `strategies.episodes.Offer`."""
    found: Counter[Meeting] = Counter()
    for step, standing in standing_at_each(steps):
        if isinstance(step, Disturb):
            found.update((one.fault, step.fault.name) for one in standing if one.on == step.on)
        elif isinstance(step, AdministrationStep | AlterClusterDefault):
            found.update((tag_of(step), one.fault) for one in standing)
    return found


def tag_of(step: Any) -> str:
    """Return the tag of a step, which is the name of its kind."""
    return str(step.__struct_config__.tag)
