"""The steps that a machine's example took, with the events and subjects of each."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from history.events import History, Note
from history.subjects import Kind, Subject, subjects, subjects_of, topics_of

STEP_NOTE = "step"
"""The note that begins a step; its data are the step's kind and the step itself."""
REST_NOTE = "rest"
"""The note that begins the end of a machine's example."""
LEFT_OUT_NOTE = "left out"
"""The note of an executor on a step that did nothing, since no node held its role or its fault was unavailable."""

SWEEP_NOTE, SWEPT_NOTE = "sweep", "swept"
"""The notes before and after a sweep's requests; the first one's data has the sweep's turn."""


class TakenStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of an example. Its events are those from `begin` up to, not including, `end`."""

    number: int
    kind: str
    step: dict[str, Any]
    begin: int
    end: int
    t: float
    subject: Kind = "partition"
    """The kind of the step's subject."""
    left_out: bool = False
    """True if the step did nothing, by a note of its executor."""

    @property
    def on(self) -> Any:
        """The step's subject, by the machine's own name for it; None for a step without one."""
        return self.step.get("on")


def kind_of(step: Any) -> str:
    """Return the tag of a step, or of a fault."""
    return str(step.__struct_config__.tag or type(step).__name__)


def note_of(step: Any) -> dict[str, Any]:
    """Return the data of a step's note, with the kind of its subject if the step's type declares that as `subject`."""
    kind = getattr(step, "subject", None)
    return {"kind": kind_of(step), "step": msgspec.to_builtins(step)} | ({"subject": kind} if kind is not None else {})


def steps_taken(history: History) -> list[TakenStep]:
    """Return the steps in order; none in the history of a probe."""
    notes = [e for e in history.events if isinstance(e, Note) and e.text in (STEP_NOTE, REST_NOTE)]
    ends = [*(note.n for note in notes), len(history.events)][1:]
    return [
        TakenStep(
            number=number,
            kind=note.data["kind"],
            step=note.data["step"],
            subject=note.data.get("subject", "partition"),
            begin=note.n,
            end=end,
            t=note.t,
            left_out=any(isinstance(e, Note) and e.text == LEFT_OUT_NOTE for e in history.events[note.n : end]),
        )
        for number, (note, end) in enumerate(zip(notes, ends, strict=True))
        if note.text == STEP_NOTE
    ]


def steps_with(steps: Sequence[TakenStep], events: Collection[int]) -> set[int]:
    """Return the numbers of the steps during which these events occurred."""
    return {step.number for step in steps if any(step.begin <= n < step.end for n in events)}


def sweep_at_rest(history: History, events: Collection[int]) -> int | None:
    """Return the turn of the sweep in which one of these events occurred, if it ends the example and is no step."""
    notes = [
        e for e in history.events if isinstance(e, Note) and e.text in (STEP_NOTE, REST_NOTE, SWEEP_NOTE, SWEPT_NOTE)
    ]
    for before, began, ended in zip(notes, notes[1:], notes[2:], strict=False):
        within = began.text == SWEEP_NOTE and any(began.n < n < ended.n for n in events)
        if within and before.text == REST_NOTE:
            return int(began.data["turn"])
    return None


def steps_about(history: History, steps: Sequence[TakenStep], events: Collection[int]) -> set[int]:
    """Return the numbers of steps that may concern the subjects of these events: steps on those subjects or on their
    partitions' topics, and steps without a subject."""
    found = subjects(history, events)
    wanted = {(subject.kind, machine_name_of(history, steps, subject)) for subject in found | topics_of(found)}
    return {step.number for step in steps if step.on is None or (step.subject, step.on) in wanted}


def machine_name_of(history: History, steps: Sequence[TakenStep], subject: Subject) -> Any:
    """Return the machine's own name for a subject, by the steps whose events name it most; None if no events do."""
    found: Counter[Any] = Counter()
    for step in steps:
        if step.on is not None and step.subject == subject.kind:
            events = history.events[step.begin : step.end]
            found[step.on] += sum(subject in subjects_of(event) for event in events)
    best = found.most_common(1)
    return best[0][0] if best and best[0][1] else None
