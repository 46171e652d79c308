"""A page for each evidence folder: the row, the violation, its time line and faults, and how to reproduce it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from conformance.catalogue import Requirement, shipped_rows
from conformance.judging.narration import EventLine, Narration, main_subjects, step_in_words
from history.events import Answer, Call, Fault, History
from history.observations import Observation
from history.steps import TakenStep, steps_taken
from history.subjects import Subject, subjects
from history.subjects import names_of_kind as names_of
from reports.matrix import Matrix, ReportedCell, Violation
from reports.site.evidence_folder import EvidenceFolder, is_readable, names_short, read_folder
from reports.site.render import RawLink, put_file, raw_link, render_page
from reports.site.timeline import Shape, TimeLine, draw_timeline, shape_of
from reports.site.transcript import EventFrames, LogView, began_at, exchanges, log_view
from reports.texts.wording import sentence_of

OPEN, NEAR = 12, 40
"""The distances from an event that shows the violation: up to OPEN events away are shown at once, up to NEAR are folded; faults
are always shown."""
FEW = 4
"""The number of rows up to which they are not folded."""
SHOWN = 12
"""The maximum number of events that are marked as showing the violation."""
LONGEST, LONGEST_RAW = 400, 1_500
DISK_LINES = 200

WORDS: dict[Shape, str] = {
    "ok": "ok", "refused": "refused", "fail": "failed", "info": "unknown", "met": "met", "unmet": "not met",
}  # fmt: skip


class ViolationText(msgspec.Struct, frozen=True, kw_only=True):
    """A violation of the row, in words."""

    case: str
    label: str
    sentence: str
    detail: str


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the example. `number` numbers those that show the violation; `raw` are request and answer."""

    event: int
    t: str
    node: str
    asked: str
    text: str
    kind: str
    word: str
    number: int
    step: int
    raw: list[tuple[str, str]]


class CourseSection(msgspec.Struct, frozen=True, kw_only=True):
    """A range of events: open, folded, or only counted (`rows` empty)."""

    how: str
    rows: list[EventRow]
    count: int


class ScheduleStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the schedule; `numbers` are those of the events in it that show the violation."""

    number: int
    t: str
    words: str
    left_out: bool
    numbers: list[int]


class EvidenceView(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a page."""

    cell: ReportedCell
    row: Requirement
    folder: EvidenceFolder
    found: list[ViolationText]
    notices: list[str]
    shown: list[EventRow]
    unshown: int
    place: str
    line: TimeLine
    steps: list[ScheduleStep]
    parts: list[CourseSection]
    wire: list[EventFrames]
    logs: list[LogView]
    disk: list[str]
    disk_more: int
    seen_again: str
    shrunk_to: str
    clock: bool


def evidence_pages(matrix: Matrix, out: Path, run: Path | None) -> dict[str, str]:
    """Write the pages below `out`; return the page of each evidence folder, relative to `out`, by the folder's path in
    matrix.json.

    There are none if the run's folder cannot be read from here. Pages of deleted folders are removed.
    """
    catalogue = shipped_rows()
    cells = [cell for cell in matrix.cells if cell.requirement in catalogue]
    known = {path: cell for cell in reversed(cells) for path in evidence_names(cell)}
    pages = {path: f"{path}.html" for path in sorted(known) if run is not None and is_readable(run, path)}
    for path, page in pages.items():
        seen = evidence_view(known[path], catalogue[known[path].requirement], read_folder(run or Path(), path))
        put_file(out, page, _page_text(seen, page, pages, raw_link(out, run, page)))
    for stale in {*out.glob("evidence/*/*.html")} - {out / page for page in pages.values()}:
        stale.unlink()
    return pages


def evidence_names(cell: ReportedCell) -> list[str]:
    """Return the evidence folders that a cell names."""
    return list(dict.fromkeys([*cell.evidence, *(violation.evidence for violation in cell.shown)]))


def evidence_view(cell: ReportedCell, row: Requirement, folder: EvidenceFolder) -> EvidenceView:
    history, filed = folder.history, folder.violation
    matching = [violation for violation in cell.shown if violation.evidence == folder.path]
    broken: Sequence[Violation | Observation] = matching or ([filed.observation] if filed else [])
    found = [
        ViolationText(case=one.case, label=one.label, sentence=sentence_of(one), detail=one.detail) for one in broken
    ]
    events = _shown_events(history, [n for one in broken for n in one.events])
    about = _main_subjects(history, events)
    lines = Narration(history, about, events[:SHOWN]).events()
    steps, place = steps_taken(history), next(iter(names_of(about, "partition")), "")
    rows = list(_event_rows(history, lines, steps))
    shown = [row for row in rows if row.number]
    began = began_at(history, folder.frames)
    times = [began + history.events[row.event].t for row in shown] if began is not None else []
    seen_again = filed.seen_again if filed else ""
    return EvidenceView(
        cell=cell,
        row=row,
        folder=folder,
        found=found or [ViolationText(case="", label="", sentence="", detail="")],
        notices=filed.notices if filed else [],
        shown=shown,
        unshown=len(events) - len(shown),
        place=place,
        line=draw_timeline(history, lines, steps, place),
        steps=[_schedule_step(step, shown, history.example.example) for step in steps],
        parts=list(_course_sections(rows)),
        wire=exchanges(history, folder.frames, [row.event for row in shown], began) if began is not None else [],
        logs=[log_view(node, lines, times, history.example.example) for node, lines in sorted(folder.logs.items())],
        disk=folder.disks[:DISK_LINES],
        disk_more=max(0, len(folder.disks) - DISK_LINES),
        seen_again=seen_again,
        shrunk_to=_shrunk_to(seen_again),
        clock=began is not None,
    )


def _shown_events(history: History, events: Sequence[int]) -> list[int]:
    """Return the events that can be shown: answers instead of their calls, and only events of the history."""
    answers = {event.call: event.n for event in history.events if isinstance(event, Answer)}
    return sorted({answers.get(n, n) for n in events if 0 <= n < len(history.events)})


def _main_subjects(history: History, events: Sequence[int]) -> list[Subject]:
    """Return the main subjects of these events. Metadata names all partitions, so it counts only if nothing else does."""
    metadata = {
        n for n in events if isinstance(event := history.events[n], Answer) and _call_op(history, event) == "metadata"
    }
    others = subjects(history, [n for n in events if n not in metadata])
    return sorted(main_subjects(others or subjects(history, events)))


def _call_op(history: History, answer: Answer) -> str:
    call = history.events[answer.call]
    return call.op if isinstance(call, Call) else ""


def _shrunk_to(seen_again: str) -> str:
    """Return the folder of the shorter schedule, or an empty text if the report names none."""
    return seen_again.partition("a shorter schedule is in `")[2].partition("`")[0]


def _schedule_step(step: TakenStep, shown: Sequence[EventRow], example: str) -> ScheduleStep:
    return ScheduleStep(
        number=step.number + 1,
        t=f"{step.t:.1f}",
        words=names_short(step_in_words(step.step), example),
        left_out=step.left_out,
        numbers=[row.number for row in shown if row.step == step.number + 1],
    )


# --- the events


def _event_rows(history: History, lines: Sequence[EventLine], steps: Sequence[TakenStep]) -> Iterator[EventRow]:
    example, number = history.example.example, 0
    near = _places_near([one.shown for one in lines], OPEN)
    for place, one in enumerate(lines):
        event = one.event
        number += one.shown
        shape = shape_of(event) if isinstance(event, Answer) else None
        yield EventRow(
            event=event.n,
            t=f"{event.t:.3f}",
            node=one.node or (event.node if isinstance(event, Fault) else ""),
            asked=_shorten_text(names_short(one.request, example)),
            text=_shorten_text(names_short(one.text, example)),
            kind=shape or str(event.__struct_config__.tag),
            word=WORDS[shape] if shape else "",
            number=number if one.shown else 0,
            step=next((step.number + 1 for step in steps if step.begin <= event.n < step.end), 0),
            raw=_raw_exchange(history, event) if place in near and isinstance(event, Answer) else [],
        )


def _places_near(shown: Sequence[bool], far: int) -> set[int]:
    """Return the places within `far` of an event that shows the violation, or of the last event if none does."""
    centres = [place for place, one in enumerate(shown) if one] or [len(shown) - 1]
    return {near for centre in centres for near in range(centre - far, centre + far + 1)}


def _course_sections(rows: Sequence[EventRow]) -> Iterator[CourseSection]:
    shown = [row.number > 0 for row in rows]
    close, near = _places_near(shown, OPEN), _places_near(shown, NEAR)

    def how(numbered: tuple[int, EventRow]) -> str:
        place, row = numbered
        return "open" if place in close or row.kind == "fault" else "folded" if place in near else "left out"

    for kind, group in groupby(enumerate(rows), key=how):
        members = [row for _, row in group]
        kind = "open" if kind == "folded" and len(members) <= FEW else kind
        yield CourseSection(how=kind, rows=[] if kind == "left out" else members, count=len(members))


def _raw_exchange(history: History, answer: Answer) -> list[tuple[str, str]]:
    call = history.events[answer.call]
    asked = call.request if isinstance(call, Call) else {}
    return [
        ("request", _short_json(asked)),
        ("answer", _short_json(answer.value) if answer.outcome == "ok" else answer.error),
    ]


def _short_json(value: object) -> str:
    return _shorten_text(msgspec.json.encode(value).decode(), LONGEST_RAW)


def _shorten_text(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more in history.jsonl)"


# --- the page


def _page_text(seen: EvidenceView, page: str, pages: dict[str, str], link: RawLink) -> str:
    example = seen.folder.history.example.example
    return render_page(
        "evidence.html.j2",
        page,
        view=seen,
        link=link,
        short=lambda text: names_short(text, example),
        shorter=pages.get(seen.shrunk_to, ""),
        inputs=msgspec.json.encode(seen.folder.history.example.inputs, order="sorted").decode(),
        others=[pages[path] for path in evidence_names(seen.cell) if path in pages and path != seen.folder.path],
        words=WORDS,
    )
