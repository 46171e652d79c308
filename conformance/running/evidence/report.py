"""A violation's report.md, on two screens: the violation, what a user would notice, the events, and how to reproduce it."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from conformance.catalogue import shipped_rows
from conformance.judging.excerpt import excerpt
from conformance.judging.narration import EventLine, step_in_words
from conformance.running.evidence.disk_words import DISK_LINES, disk_lines_about
from conformance.running.evidence.violation import ViolationHistory
from history.steps import TakenStep

WIDTH = 118
"""The maximum line length. The command is never wrapped."""
MAX_LINES = 6
"""The maximum number of lines of a paragraph."""
MAX_SHOWN_LINES = 16
"""The maximum number of lines for all events that show the violation together; any other event has one line."""
INDENT, MARGIN = " " * 18, 20
"""The indent of an event's further lines, and the width that wrapping takes from each."""
MAX_STEPS = 8
"""The maximum number of steps of a schedule that is shown in full."""
LACKING = 4
NOTICED, HAPPENED = "What a user would notice", "What happened"
REPLAYS_HEADING = "Seen again: "
"""The first words of the paragraph with the result of the replays, which is known only after the report is written."""


def report_text(read: ViolationHistory, replay: str, lacking: Sequence[str], disk: str, notices: Sequence[str]) -> str:
    """Return the text of report.md. `lacking` is why some evidence could not be collected, `disk` describes the replicas, and
    `notices` say what a user would notice.

    Topics and groups are shown without the example's suffix, which all names share.
    """
    short = partial(_remove_suffix, f"-{read.history.example.example}")
    parts = [
        _head_lines(read, short),
        [f"## {NOTICED}", "", *paragraphs(notices)],
        _event_lines(read, short),
        _disk_lines(read, disk, short),
        _replay_lines(replay),
        _file_lines(lacking),
    ]
    return "\n".join(line for part in parts for line in part)


Short: TypeAlias = Callable[[str], str]
"""A function that removes the example's suffix from a text."""


def _remove_suffix(suffix: str, text: str) -> str:
    return text.replace(suffix, "")


def _head_lines(read: ViolationHistory, short: Short) -> list[str]:
    column, observation, example = read.column, read.observation, read.history.example
    row = shipped_rows()[observation.requirement]
    label = f" ({observation.label})" if observation.label else ""
    inputs = f" Inputs: `{observation.inputs}`." if observation.inputs not in ("", "{}") else ""
    image = f"{column.image}, {column.image_id[: len('sha256:') + 12]}"
    where = f"Kafka {column.version} ({image}). Case: {observation.case}. Check: {example.check}.{inputs}"
    return [
        f"# {row.id}: {row.title}{label}",
        "",
        *paragraphs([short(observation.detail.partition("\n")[0]) or observation.label or row.title, short(where)]),
        f"{REPLAYS_HEADING}not replayed yet.",
        "",
        *paragraphs([f"{row.statement.strip()} ({row.family}, {row.section}; level {row.level})"], "> "),
    ]


def paragraphs(texts: Sequence[str], indent: str = "") -> list[str]:
    """Return the texts as paragraphs of at most `MAX_LINES` lines each."""
    lines: list[str] = []
    for text in texts:
        lines += [*wrap_text(text, indent, indent), ""]
    return lines


def wrap_text(text: str, first: str = "", then: str = "", most: int = MAX_LINES) -> list[str]:
    """Wrap a text to lines of at most `WIDTH` characters; the last line shows if the text was cut."""
    found = textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False,
        max_lines=most, placeholder=" […]",
    )  # fmt: skip
    return found or [first.rstrip()]


# --- what happened


def _event_lines(read: ViolationHistory, short: Short) -> list[str]:
    found = excerpt(read.history, read.about, read.observation.events)
    steps = {n: step.number + 1 for step in read.steps for n in range(step.begin, step.end)}
    each = min(4, MAX_SHOWN_LINES // max(1, sum(one.shown for one in found.lines)))
    lines = [line for one in found.lines for line in _exchange_lines(one, steps.get(one.event.n, 0), short, each)]
    where = f" of {len(read.steps)} steps, whose numbers are in brackets" if read.steps else ""
    note = (
        f"{len(found.lines)} of {found.whole} lines{where}: `->` marks what shows it, the others led to it. Times are seconds "
        "since the example began. The example's name, with which all names end, is left out."
    )
    block = ["```", *lines, "```"] if lines else ["Its history has nothing to show."]
    return [f"## {HAPPENED}", "", *_schedule_lines(read.steps, short), *wrap_text(note), "", *block, ""]


def _schedule_lines(steps: Sequence[TakenStep], short: Short) -> list[str]:
    """Return the steps of a short schedule; a long one is only in course.md."""
    if not 0 < len(steps) <= MAX_STEPS:
        return []
    return [*(shorten(f"{step.number + 1}. {short(step_in_words(step.step))}", WIDTH) for step in steps), ""]


def _exchange_lines(one: EventLine, step: int, short: Short, most: int) -> list[str]:
    """Return an event on at most `most` lines if it shows the violation, else on one line."""
    first = one.stamp + (f"[{step}] " if step else "") + (f"{one.node:9} " if one.node else "")
    times = f" (x {one.times})" if one.times > 1 else ""
    most = most if one.shown else 1
    room = WIDTH - len(first) + (most - 1) * (WIDTH - len(INDENT) - MARGIN) - len(times)
    return wrap_text(fit_exchange(short(one.request), short(one.text), room) + times, first, INDENT, most)


def fit_exchange(asked: str, text: str, room: int) -> str:
    """Return a request and its answer in at most `room` characters, each shortened as needed."""
    if not asked:
        return shorten(text, room)
    room -= len(" -> ")
    answer = shorten(text, max(room // 2, room - len(asked)))
    return f"{shorten(asked, room - len(answer))} -> {answer}"


def shorten(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


# --- the rest


def _disk_lines(read: ViolationHistory, disk: str, short: Short) -> list[str]:
    lines = [short(line) for line in disk_lines_about(disk, read.subjects)]
    more = f"({len(lines) - DISK_LINES} more lines: see disks.txt)"
    kept = lines if len(lines) <= DISK_LINES else [*lines[: DISK_LINES - 1], more]
    block = ["```", *(shorten(line, WIDTH) for line in kept), "```"] if kept else ["Nothing was read."]
    return ["## On the disks", "", *block, ""]


def _replay_lines(replay: str) -> Iterator[str]:
    command, option, schedule = replay.partition(" --replay ")
    lines = [f"{command} \\", f"   {option}{schedule}"] if len(replay) > WIDTH else [replay]
    yield from ("## How to see it again", "", *(f"    {line}" for line in lines), "")


def _file_lines(lacking: Sequence[str]) -> Iterator[str]:
    yield from (
        "## Everything else",
        "",
        "- [course.md](course.md): every step, with all that happened in it",
        "- [violation.json](violation.json): the violation as the check recorded it",
        "- [schedule.json](schedule.json): what `--replay` runs",
        "- [history.jsonl](history.jsonl): every request, answer and fault; [transcript.jsonl](transcript.jsonl): the frames",
        "- [logs/](logs/): what each node logged meanwhile",
        "- [disks.txt](disks.txt): all replicas and checkpoints in words; [disk/](disk/): the files themselves",
        "",
    )
    if lacking:
        more = [f"and {len(lacking) - LACKING} more: see violation.json"] if len(lacking) > LACKING else []
        yield from (
            "Not collected:",
            "",
            *(f"- {shorten(one, WIDTH - 2)}" for one in [*lacking[:LACKING], *more]),
            "",
        )


def section_of(text: str, title: str) -> str:
    """Return the text below a heading of a report, up to the next heading; empty if there is no such heading."""
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0].strip("\n")


def insert_replays(text: str, replays: str) -> str:
    """Add the result of the replays to a report, replacing an earlier one."""
    head, _, rest = text.partition(REPLAYS_HEADING)
    after = rest.partition("\n\n")[2]
    return head + "\n".join([*wrap_text(REPLAYS_HEADING + replays), "", after])
