"""report.md of a violation: what a Kafka committer needs to see it, and to see it again."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.catalogue import shipped_rows
from conformance.core.machines import MACHINES
from conformance.judging.narration import Narration, in_words
from conformance.running.evidence.violation import ViolationHistory
from history.events import History
from history.observations import Observation
from history.subjects import Subject
from history.taken import Taken

MOST_LINES = 40
"""The most lines of one block: those of a step, or all if there are no steps."""
SEEN_AGAIN = "Seen again: "
"""The beginning of the line with the result of the replays, which is known only after the report is written."""


def report_text(read: ViolationHistory, replay: str, lacking: Sequence[str], disk: str) -> str:
    """Return the text of report.md. `lacking` are the reasons for what could not be collected; `disk` describes the
    content of the replicas."""
    parts = [
        _head_lines(read),
        _narrated_events(read.history, read.observation),
        _course_lines(read),
        ["## What is on disk", "", *(["```", disk, "```"] if disk else ["Nothing was read."]), ""],
        _file_lines(replay, lacking),
    ]
    return "\n".join(line for part in parts for line in part)


def _head_lines(read: ViolationHistory) -> list[str]:
    column, observation, example = read.column, read.observation, read.history.example
    row = shipped_rows()[observation.requirement]
    label = f" ({observation.label})" if observation.label else ""
    return [
        f"# {row.id}: {row.title}{label}",
        "",
        f"Kafka {column.version} ({column.image}, {column.image_id})",
        "",
        f"> {row.statement.strip()}",
        "",
        f"Source: {row.family}, {row.section} (level {row.level}). Case: {observation.case}. "
        f"Check: {example.check}, example {example.example}.",
        "",
        f"{SEEN_AGAIN}not replayed yet.",
        "",
    ]


def _narrated_events(history: History, observation: Observation) -> list[str]:
    narration = Narration(history, shown=observation.events)
    lines = [line for n in sorted(observation.events) for line in narration.lines(n, n + 1)]
    inputs = [f"Inputs: `{observation.inputs}`", ""] if observation.inputs not in ("", "{}") else []
    shown = ["Shown by:", "", "```", *lines, "```", ""] if lines else []
    return ["## What was seen", "", *inputs, "```", observation.detail, "```", "", *shown]


# --- what happened


def _course_lines(read: ViolationHistory) -> list[str]:
    """Return the steps of a machine with the events of each, or all events of a probe.

    Names of topics and groups are shown without the suffix of the example, which all of them carry.
    """
    example = read.history.example.example
    about = ", ".join(f"`{name}`" for name in read.about)
    note = f"Times are seconds since the example began; names are told without `-{example}`."
    lines = [line.replace(f"-{example}", "") for line in _story_lines(read)]
    return ["## What happened", "", note + (f" Events are those about {about}." if about else ""), "", *lines]


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


def _step_lines(read: ViolationHistory, step: Taken, leaders: Mapping[Subject, str]) -> list[str]:
    leads = [f"{one}: {leaders[one]}" for one in read.about if one in leaders]
    now = f" ({'; '.join(leads)})" if leads else ""
    explained = step_descriptions(read.history.example.check).get(step.kind, "")
    return [f"**Step {step.number + 1}: {in_words(step.step)}**{now}", "", *([explained, ""] if explained else [])]


def _event_block(lines: Sequence[str]) -> list[str]:
    """Return a block of at most `MOST_LINES` lines that ends just after the last event that shows the violation, or
    else of the first lines, and the number of lines left out."""
    if not lines:
        return []
    shown = [number for number, line in enumerate(lines) if line.startswith("->")]
    end = max(MOST_LINES, (shown[-1] if shown else 0) + 5)
    kept = lines[max(0, end - MOST_LINES) : end]
    left_out = len(lines) - len(kept)
    return ["```", *kept, *([f"({left_out} more lines: see history.jsonl)"] if left_out else []), "```", ""]


def step_descriptions(check: str) -> dict[str, str]:
    """Return descriptions of a machine's kinds of steps, from the first paragraph of their docstrings."""
    machine = MACHINES.get(check)
    docs = {str(kind.__struct_config__.tag): kind.__doc__ or "" for kind in machine.step_types} if machine else {}
    return {kind: " ".join(doc.split("\n\n")[0].split()) for kind, doc in docs.items()}


def _file_lines(replay: str, lacking: Sequence[str]) -> list[str]:
    lost = ["Not collected:", "", *(f"- {line}" for line in lacking), ""] if lacking else []
    return [
        "## How to see it again",
        "",
        f"    {replay}",
        "",
        "## Files",
        "",
        "- `schedule.json`: what `--replay` runs",
        "- `history.jsonl`: every request, answer and fault, in order",
        "- `transcript.jsonl`: the frames of that time, in bytes and decoded",
        "- `logs/`: what each node logged from the beginning of the example on",
        "- `disk/`: what nodes hold of it: replicas with their leader-epoch-checkpoint, checkpoint files; of a group "
        "`__consumer_offsets`, of a transactional id `__transaction_state`, of the quorum quorum-state and the metadata log",
        "",
        *lost,
    ]


def with_replays(text: str, replays: str) -> str:
    """Add the result of the replays to a report."""
    lines = text.splitlines()
    return "\n".join([f"{SEEN_AGAIN}{replays}" if line.startswith(SEEN_AGAIN) else line for line in lines]) + "\n"
