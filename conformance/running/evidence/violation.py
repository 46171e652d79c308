"""A violation with everything that its evidence needs from the history, which is read once."""

import msgspec

from conformance.judging.narration import leaders_before, main_subjects
from history.events import History, Note
from history.observations import Observation
from history.shards import Column
from history.steps import REST_NOTE, TakenStep, steps_taken
from history.subjects import Subject, subjects


class ViolationHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A violation with its history and column.

    `subjects` are all subjects of the events that show it, and `about` the main ones, sorted. `leaders` has the leader and epoch
    of each partition before each of the `steps`, in words. `rest` is the event at which quiescence begins, or None.
    """

    column: Column
    history: History
    observation: Observation
    steps: tuple[TakenStep, ...]
    subjects: frozenset[Subject]
    about: tuple[Subject, ...]
    leaders: tuple[dict[Subject, str], ...]
    rest: int | None


def violation_history(column: Column, history: History, observation: Observation) -> ViolationHistory:
    """Return a violation with the steps and subjects of the history that shows it."""
    steps = tuple(steps_taken(history))
    named = frozenset(subjects(history, observation.events))
    about = tuple(sorted(main_subjects(named)))
    return ViolationHistory(
        column=column,
        history=history,
        observation=observation,
        steps=steps,
        subjects=named,
        about=about,
        leaders=tuple(leaders_before(history, about, [step.begin for step in steps])),
        rest=next((e.n for e in history.events if isinstance(e, Note) and e.text == REST_NOTE), None),
    )
