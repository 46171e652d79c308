"""Which steps of a machine an example took, which events belong to each of them, and which partition they were about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from history.events import Answer, AnyEvent, Call, Fault, History, Note

STEP_NOTE = "step"
"""The note with which a step begins; its data are the step's kind and the step itself."""
REST_NOTE = "rest"
"""The note with which the end of a machine's example begins."""
LEFT_OUT_NOTE = "left out"
"""The note with which an executor says that a step did nothing, since nobody played its role or its fault could not be had."""
TAGS = ("do", "fault")
"""The fields that tell the kind of a step, and of a fault in it."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A step that was taken. Its events are those from `begin` up to, not including, `end`."""

    number: int
    kind: str
    step: dict[str, Any]
    begin: int
    end: int
    t: float
    left_out: bool = False
    """Whether it did nothing, as its executor said."""

    @property
    def on(self) -> Any:
        """The partition that it is about, by the machine's own name for it; None for one about none in particular."""
        return self.step.get("on")


def kind_of(step: Any) -> str:
    """The tag of a step, or of a fault."""
    return str(step.__struct_config__.tag or type(step).__name__)


def note_of(step: Any) -> dict[str, Any]:
    return {"kind": kind_of(step), "step": msgspec.to_builtins(step)}


def taken(history: History) -> list[Taken]:
    """The steps in their order; none in the history of a probe."""
    notes = [e for e in history.events if isinstance(e, Note) and e.text in (STEP_NOTE, REST_NOTE)]
    ends = [*(note.n for note in notes), len(history.events)][1:]
    return [
        Taken(
            number=number,
            kind=note.data["kind"],
            step=note.data["step"],
            begin=note.n,
            end=end,
            t=note.t,
            left_out=any(isinstance(e, Note) and e.text == LEFT_OUT_NOTE for e in history.events[note.n : end]),
        )
        for number, (note, end) in enumerate(zip(notes, ends, strict=True))
        if note.text == STEP_NOTE
    ]


def showing(steps: Sequence[Taken], events: Collection[int]) -> set[int]:
    """The numbers of the steps in which these events came."""
    return {step.number for step in steps if any(step.begin <= n < step.end for n in events)}


def about(history: History, steps: Sequence[Taken], events: Collection[int]) -> set[int]:
    """The numbers of the steps that may concern what these events tell of: those on its partitions, and those on none."""
    wanted = {step.on for place in places(history, events) for step in steps if step.on == on_of(history, steps, place)}
    return {step.number for step in steps if step.on is None or step.on in wanted}


def on_of(history: History, steps: Sequence[Taken], place: str) -> Any:
    """The machine's own name for a partition: that of the steps which asked for it most."""
    found: Counter[Any] = Counter()
    for step in steps:
        if step.on is not None:
            events = history.events[step.begin : step.end]
            found[step.on] += sum(place in places_of(event) for event in events)
    best = found.most_common(1)
    return best[0][0] if best and best[0][1] else None


def in_words(step: dict[str, Any]) -> str:
    """`produce, on strict-0, records 3`: the kind of a step and its parameters."""
    tag = next((tag for tag in TAGS if isinstance(step.get(tag), str)), "")
    told = [f"{name.replace('_', ' ')} {_value(value)}" for name, value in step.items() if name != tag]
    return ", ".join([*([step[tag]] if tag else []), *told])


def _value(value: Any) -> str:
    return (
        f"({in_words(value)})" if isinstance(value, dict) and value else msgspec.json.encode(value).decode().strip('"')
    )


# --- partitions


def places(history: History, events: Collection[int]) -> set[str]:
    """The partitions (`topic-0`) that these events speak of: an answer by its request, where that names them."""
    found: set[str] = set()
    for event in (history.events[n] for n in events):
        asked = history.events[event.call] if isinstance(event, Answer) else event
        found |= places_of(asked) or places_of(event)
    return found


def places_of(event: AnyEvent) -> set[str]:
    match event:
        case Call():
            return set(_named(event.request))
        case Answer():
            return set(_named(event.value))
        case Fault():
            return {str(event.detail["partition"])} if "partition" in event.detail else set()
    return set()


def _named(value: Any) -> Iterator[str]:
    """Partitions anywhere in plain data: as {topic, partition}, as [topic, partition], or as Metadata has them."""
    match value:
        case {"topic": {"name": str(name)} | str(name), "partition": int(index)}:
            yield f"{name}-{index}"
        case {"name": str(name), "partitions": [{"partition_index": _}, *_] as partitions}:
            yield from (f"{name}-{one['partition_index']}" for one in partitions)
        case [str(name), int(index)]:
            yield f"{name}-{index}"
        case dict():
            for item in value.values():
                yield from _named(item)
        case list() | tuple():
            for item in value:
                yield from _named(item)
