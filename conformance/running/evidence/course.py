"""course.md of a violation: each step of its example, with the events of the step."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.core.machines import MACHINES
from conformance.judging.narration import Narration, step_in_words
from conformance.running.evidence.violation import ViolationHistory
from history.steps import TakenStep
from history.subjects import Subject

MAX_LINES = 40
"""The maximum number of lines of a block: of one step, or of the whole history if there are no steps."""


def course_text(read: ViolationHistory) -> str:
    """Return the text of course.md: the steps of a machine with their events, or all events of a probe.

    Topics and groups are shown without the example's suffix, which all names share.
    """
    example = read.history.example.example
    about = ", ".join(f"`{name}`" for name in read.about)
    note = f"Times are seconds since the example began; names are told without `-{example}`."
    head = f"# Course of example {example}\n\n{note}{f' Events are those about {about}.' if about else ''}\n\n"
    return head + "\n".join(line.replace(f"-{example}", "") for line in _story_lines(read))


def _story_lines(read: ViolationHistory) -> Iterator[str]:
    narration = Narration(read.history, read.about, read.observation.events)
    if not read.steps:
        yield from _event_block(narration.lines())
        return
    yield from ("Before the first step:", "", *_event_block(narration.lines(0, read.steps[0].begin)))
    for step, leaders in zip(read.steps, read.leaders, strict=True):
        yield from _step_lines(read, step, leaders)
        yield from _event_block(narration.lines(step.begin, step.end))
    if read.rest is not None:
        yield from ("**At rest**", "", *_event_block(narration.lines(read.rest)))


def _step_lines(read: ViolationHistory, step: TakenStep, leaders: Mapping[Subject, str]) -> list[str]:
    leads = [f"{one}: {leaders[one]}" for one in read.about if one in leaders]
    now = f" ({'; '.join(leads)})" if leads else ""
    explained = step_descriptions(read.history.example.check).get(step.kind, "")
    return [f"**Step {step.number + 1}: {step_in_words(step.step)}**{now}", "", *([explained, ""] if explained else [])]


def _event_block(lines: Sequence[str]) -> list[str]:
    """Return a block of at most `MAX_LINES` lines, and the number of lines left out. The block ends just after the last event
    that shows the violation; without such an event it has the first lines."""
    if not lines:
        return []
    shown = [number for number, line in enumerate(lines) if line.startswith("->")]
    end = max(MAX_LINES, (shown[-1] if shown else 0) + 5)
    kept = lines[max(0, end - MAX_LINES) : end]
    left_out = len(lines) - len(kept)
    return ["```", *kept, *([f"({left_out} more lines: see history.jsonl)"] if left_out else []), "```", ""]


def step_descriptions(check: str) -> dict[str, str]:
    """Return a description of each kind of step of a machine: the first paragraph of its docstring."""
    machine = MACHINES.get(check)
    docs = {str(kind.__struct_config__.tag): kind.__doc__ or "" for kind in machine.step_types} if machine else {}
    return {kind: " ".join(doc.split("\n\n")[0].split()) for kind, doc in docs.items()}
