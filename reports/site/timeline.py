"""An example's time line as geometry: lanes of nodes, marks of calls, bars of faults, bands of leaders.

Its columns are moments, not seconds: the relevant events often happen within milliseconds, after minutes. The times are
written below. Lengths are in pixels of the SVG that `evidence.html.j2` draws.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from conformance.judging.narration import EventLine
from history.events import Answer, AnyEvent, Call, Fault, History, Phase, Premise
from history.steps import TakenStep
from reports.site.fault_spans import FaultPhases, LeaderSince, fault_spans, known_leaders

NEAR = 14
"""The number of events drawn on each side of one that shows the violation; faults and new leaders are always drawn."""
COLUMN, GAP, MARK, BAR, LEADS, PAD = 28, 22, 30, 30, 16, 8
TOP, BOTTOM = 44, 26
_CHAR, _TIME = 6.4, 56
KIT = "checks"
"""The lane of the premises that the check states."""

Shape = Literal["ok", "refused", "fail", "info", "met", "unmet"]
"""The outcome of a call: answered, answered with an error, certainly not done, or perhaps done; also whether a premise was
met."""

LETTERS = {
    "produce": "P", "fetch": "F", "list_offsets": "L", "offset_for_leader_epoch": "E", "metadata": "M", "init_producer_id": "I",
    "end_txn": "T", "offset_commit": "C", "offset_fetch": "O", "vote": "V", "delete_records": "D", "replicas": "R",
}  # fmt: skip
"""The letter in the mark of a call; other calls have a dot."""


class CallMark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark in the timeline, for `count` calls of one kind to a node with the same outcome; `event` is the first.

    `number` counts the marks that show the violation; it is 0 for the others.
    """

    event: int
    x: float
    y: float
    shape: Shape
    letter: str
    op: str
    words: str
    count: int = 1
    number: int = 0


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A fault from inject to heal. Phases are (phase, event, x); `tail` is the rest of the width if none healed it."""

    name: str
    node: str
    x: float
    width: float
    y: float
    phases: list[tuple[Phase, int, float]]
    words: str
    tail: float


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """The band of a leader and its epoch; `words` is the label that fits into it."""

    x: float
    y: float
    width: float
    epoch: int
    words: str


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    y: float
    height: float
    middle: float


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    x: float
    words: str


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of one step, or a gap in which nothing is drawn (`number` 0)."""

    x: float
    width: float
    number: int
    words: str


class TimeLine(msgspec.Struct, frozen=True, kw_only=True):
    width: float
    height: float
    lanes: list[Lane]
    bands: list[Band]
    bars: list[Bar]
    marks: list[CallMark]
    ticks: list[Tick]
    blocks: list[Block]
    letters: dict[str, str]
    shapes: list[Shape]
    left_out: int


class _Moment(msgspec.Struct, kw_only=True):
    """A column: the events of one mark, or one phase of a fault. `skipped` counts those left out before it."""

    lines: list[EventLine]
    node: str
    op: str
    shape: Shape
    step: int
    skipped: int = 0
    x: float = 0.0

    @property
    def event(self) -> AnyEvent:
        return self.lines[0].event


def draw_timeline(history: History, lines: Sequence[EventLine], steps: Sequence[TakenStep], place: str) -> TimeLine:
    """Draw the time line of these events; leaders are those of the partition `place`, or of the quorum for ""."""
    leads = known_leaders(history, place)
    moments = _moments_of_lines(history, lines, steps, {lead.event for lead in leads})
    width = _place_in_columns(moments)
    at = {moment.event.n: moment.x for moment in moments}
    faults = [
        _fault_bar(span, at, width) for span in fault_spans([m.event for m in moments if isinstance(m.event, Fault)])
    ]
    names = _node_lanes(history, moments, leads)
    lanes, rows, y = [], {}, float(TOP)
    for name in names:
        rows[name] = _stack_bars([fault for fault in faults if fault.node == name])
        deep = 1 + max(rows[name].values(), default=-1)
        above = LEADS if leads and name.startswith(("broker", "controller", "node")) else 0
        height = above + MARK + deep * BAR + PAD
        lanes.append(Lane(name=name, y=y, height=height, middle=y + above + MARK / 2))
        y += height
    tops = {lane.name: lane for lane in lanes}
    marks = list(_call_marks(moments, tops))
    return TimeLine(
        width=max([width, *(bar.x + _label_width(bar) + 8 for bar in faults)]),
        height=y + BOTTOM,
        lanes=lanes,
        bands=list(_leader_bands(leads, moments, tops, width)),
        bars=[
            msgspec.structs.replace(bar, y=tops[bar.node].middle + MARK / 2 + rows[bar.node][n] * BAR)
            for node in names
            for n, bar in enumerate(bar for bar in faults if bar.node == node)
        ],
        marks=marks,
        ticks=list(_time_ticks(moments)),
        blocks=list(_step_blocks(moments, steps)),
        letters={mark.letter: mark.op for mark in reversed(marks) if mark.letter},
        shapes=sorted({mark.shape for mark in marks}),
        left_out=sum(moment.skipped for moment in moments),
    )


# --- leaders


def _leader_bands(
    leads: Sequence[LeaderSince], moments: Sequence[_Moment], lanes: dict[str, Lane], width: float
) -> Iterator[Band]:
    ends = [*(_x_of(lead.event, moments, width) for lead in leads), width]
    for lead, begin, end in zip(leads, ends, ends[1:], strict=False):
        if lead.node in lanes and end > begin:
            room = int((end - begin - 8) / _CHAR)
            long, short = f"leads at epoch {lead.epoch}", f"e{lead.epoch}"
            words = long if len(long) <= room else short if len(short) <= room else ""
            yield Band(x=begin, y=lanes[lead.node].y, width=end - begin, epoch=lead.epoch, words=words)


def _x_of(event: int, moments: Sequence[_Moment], width: float) -> float:
    return next((moment.x for moment in moments if moment.lines[-1].event.n >= event), width)


# --- columns


def _moments_of_lines(
    history: History, lines: Sequence[EventLine], steps: Sequence[TakenStep], new: Collection[int]
) -> list[_Moment]:
    near = _places_near(lines)
    moments: list[_Moment] = []
    skipped = 0
    for place, one in enumerate(lines):
        moment = _moment_of_line(history, one, steps)
        if moment is None or not (place in near or isinstance(one.event, Fault) or one.event.n in new):
            skipped += moment is not None
            continue
        last = moments[-1] if moments else None
        if last is not None and not skipped and _are_alike(last, moment):
            last.lines.append(one)
            continue
        moment.skipped, skipped = skipped, 0
        moments.append(moment)
    return moments


def _places_near(lines: Sequence[EventLine]) -> set[int]:
    shown = [place for place, one in enumerate(lines) if one.shown] or [len(lines) - 1]
    return {near for place in shown for near in range(place - NEAR, place + NEAR + 1)}


def _moment_of_line(history: History, one: EventLine, steps: Sequence[TakenStep]) -> _Moment | None:
    event = one.event
    step = next((step.number + 1 for step in steps if step.begin <= event.n < step.end), 0)
    match event:
        case Answer():
            call = history.events[event.call]
            op = call.op if isinstance(call, Call) else ""
            return _Moment(lines=[one], node=one.node, op=op, shape=shape_of(event), step=step)
        case Fault():
            return _Moment(lines=[one], node=event.node, op="", shape="ok", step=step)
        case Premise():
            return _Moment(lines=[one], node=KIT, op="premise", shape="met" if event.met else "unmet", step=step)
    return None


def shape_of(answer: Answer) -> Shape:
    if answer.outcome != "ok":
        return answer.outcome
    value = answer.value
    return "refused" if isinstance(value, dict) and value.get("error_code", 0) else "ok"


def _are_alike(last: _Moment, moment: _Moment) -> bool:
    """True if both are drawn as one: the same kind of call with the same outcome, and neither shows the violation."""
    if isinstance(moment.event, Fault) or moment.lines[0].shown or last.lines[0].shown:
        return False
    return (last.node, last.op, last.shape, last.step) == (moment.node, moment.op, moment.shape, moment.step)


def _place_in_columns(moments: Sequence[_Moment]) -> float:
    x = 10.0
    for moment in moments:
        x += GAP if moment.skipped else 0
        moment.x = x
        x += COLUMN
    return max(x + 10.0, 320.0)


def _node_lanes(history: History, moments: Sequence[_Moment], leads: Sequence[LeaderSince]) -> list[str]:
    seen = {moment.node for moment in moments} | {lead.node for lead in leads}
    members = [str(member["name"]) for member in history.example.members]
    known = sorted(members, key=lambda name: ("controller" in name, name))
    others = sorted(seen - set(known) - {KIT, ""})
    return [name for name in [*known, *others, KIT] if name in seen]


def _call_marks(moments: Sequence[_Moment], lanes: dict[str, Lane]) -> Iterator[CallMark]:
    number = 0
    for moment in moments:
        if isinstance(moment.event, Fault) and not moment.lines[0].shown:
            continue
        first = moment.lines[0]
        number += first.shown
        yield CallMark(
            event=first.event.n,
            x=moment.x + COLUMN / 2,
            y=lanes[moment.node].middle,
            shape=moment.shape,
            letter="" if isinstance(moment.event, Fault) else LETTERS.get(moment.op, ""),
            op=first.request.partition(" ")[0] or moment.op or "fault",
            words=f"{first.node} {first.request} → {first.text}".strip(" →"),
            count=len(moment.lines),
            number=number if first.shown else 0,
        )


def _time_ticks(moments: Sequence[_Moment]) -> Iterator[Tick]:
    free = 0.0
    for moment in moments:
        if moment.x >= free:
            yield Tick(x=moment.x + COLUMN / 2, words=f"{moment.event.t:.2f} s")
            free = moment.x + _TIME


def _step_blocks(moments: Sequence[_Moment], steps: Sequence[TakenStep]) -> Iterator[Block]:
    """Yield a block for adjacent columns of one step, and for each gap between columns."""
    kinds = {step.number + 1: step.kind for step in steps}
    begin = 0
    for place, moment in enumerate(moments):
        if moment.skipped:
            yield Block(x=moment.x - GAP, width=GAP, number=0, words=f"{moment.skipped} more")
        after = moments[place + 1] if place + 1 < len(moments) else None
        if after is None or after.step != moment.step or after.skipped:
            if moment.step:
                width = moment.x + COLUMN - moments[begin].x
                words = f"{moment.step} {kinds[moment.step]}"
                short = words if len(words) * _CHAR <= width else str(moment.step)
                yield Block(x=moments[begin].x, width=width, number=moment.step, words=short)
            begin = place + 1


# --- faults


def _fault_bar(span: FaultPhases, at: dict[int, float], width: float) -> Bar:
    left = at[span.phases[0].n] + 2 if span.has_begun else 0.0
    right = at[span.phases[-1].n] + COLUMN - 2
    return Bar(
        name=span.name,
        node=span.node,
        x=left,
        width=right - left,
        y=0.0,
        phases=[(phase.phase, phase.n, at[phase.n] + COLUMN / 2) for phase in span.phases],
        words=", ".join(phase.phase for phase in span.phases) + ("" if span.is_healed else "; no heal in this example"),
        tail=0.0 if span.is_healed else width - right,
    )


def _stack_bars(bars: Sequence[Bar]) -> dict[int, int]:
    """Assign a row to each bar, so that neither bars nor their names overlap."""
    ends: list[float] = []
    rows: dict[int, int] = {}
    for number, bar in enumerate(bars):
        end = bar.x + max(bar.width, _label_width(bar)) + 6
        row = next((row for row, taken in enumerate(ends) if taken <= bar.x), len(ends))
        ends[row : row + 1] = [end]
        rows[number] = row
    return rows


def _label_width(bar: Bar) -> float:
    """Return the width of a bar's name, which is drawn above it."""
    return 4 + len(bar.name) * _CHAR
