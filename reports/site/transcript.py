"""Frames and log lines around the events that show a violation."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from history.events import Answer, AnyEvent, Call, History
from reports.site.evidence_folder import TranscriptFrame

FRAMES = 12
"""The number of frames shown before and after those of an event."""
LONGEST_BODY, LONGEST_HEX, LONGEST_LINE = 3_000, 1_200, 500
LINES = 40
"""The maximum number of lines of a node's log that are shown."""
SECONDS = 5.0
"""The maximum number of seconds between an event and a log line that is shown."""

_STEP = 0.02
"""The maximum number of seconds between a call in the history and its frame."""
_SAMPLE = 60
_BEHIND = 200
"""The maximum number of frames between a request and its answer, counting other connections too."""
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (\w+)")


class FrameView(msgspec.Struct, frozen=True, kw_only=True):
    """A frame in words. `t` is in seconds since the example began; `body` and `hex` may be cut; `more` says by how
    much."""

    t: str
    node: str
    direction: str
    api: str
    body: str
    hex: str
    more: str
    own: bool


class EventFrames(msgspec.Struct, frozen=True, kw_only=True):
    """The frames of one event that shows the violation, and those around them."""

    event: int
    before: list[FrameView]
    own: list[FrameView]
    after: list[FrameView]


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a log; `about` is true if it names a topic, a group or an id of the example."""

    text: str
    about: bool


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a node's log that are shown; `gaps` are the places in `lines` before which lines are left out."""

    node: str
    lines: list[LogLine]
    gaps: list[int]
    total: int


def began_at(history: History, frames: Sequence[TranscriptFrame]) -> float | None:
    """Return when the example began, in seconds since 1970; None if unknown.

    It is determined from a clock that the check read, or else from the transcript: it is the offset at which most calls of the
    history have a frame, if more than half do.
    """
    for event in history.events:
        if isinstance(event, Answer) and isinstance(event.value, dict) and "unix_ms" in event.value:
            return float(event.value["unix_ms"]) / 1000 - event.t
    sent: dict[tuple[str, str], list[float]] = {}
    for frame in frames:
        if frame.direction == "sent":
            sent.setdefault((frame.node, frame.api.lower()), []).append(frame.time_ns / 1e9)
    calls = [event for event in history.events if isinstance(event, Call) and _api_key(event) in sent][-_SAMPLE:]
    shifts = {at - calls[-1].t for at in sent[_api_key(calls[-1])]} if calls else set()
    best = max(
        sorted(shifts), key=lambda shift: sum(_has_time(sent[_api_key(c)], c.t + shift) for c in calls), default=None
    )
    if best is None or sum(_has_time(sent[_api_key(call)], call.t + best) for call in calls) * 2 <= len(calls):
        return None
    return best


def _api_key(call: Call) -> tuple[str, str]:
    return call.node, call.op.replace("_", "")


def _has_time(times: Sequence[float], wanted: float) -> bool:
    place = bisect_left(times, wanted - _STEP)
    return place < len(times) and times[place] <= wanted + _STEP


# --- wire


def exchanges(
    history: History, frames: Sequence[TranscriptFrame], shown: Sequence[int], began: float
) -> list[EventFrames]:
    """Return the frames that were sent and received for each event that is an answer of a node."""
    found = [_exchange_of_event(history, frames, history.events[n], began) for n in shown]
    return [exchange for exchange in found if exchange is not None]


def _exchange_of_event(
    history: History, frames: Sequence[TranscriptFrame], event: AnyEvent, began: float
) -> EventFrames | None:
    call = history.events[event.call] if isinstance(event, Answer) else None
    own = _own_frames(frames, call, call.t + began, event.t + began) if isinstance(call, Call) else []
    if not own:
        return None
    first, last = own[0], own[-1]
    return EventFrames(
        event=event.n,
        before=[_frame_view(frame, began) for frame in frames[max(0, first - FRAMES) : first]],
        own=[_frame_view(frames[n], began, own=True) for n in own[:FRAMES]],
        after=[_frame_view(frame, began) for frame in frames[last + 1 : last + 1 + FRAMES]],
    )


def _own_frames(frames: Sequence[TranscriptFrame], call: Call, begin: float, end: float) -> list[int]:
    """Return the places of a call's request frame and answer frame, if there are any."""
    sent = [
        n
        for n, frame in enumerate(frames)
        if frame.direction == "sent" and frame.node == call.node and begin - _STEP <= frame.time_ns / 1e9 <= end + _STEP
        if frame.api.lower().startswith(_api_key(call)[1])
    ]
    if not sent:
        return []
    request = min(sent, key=lambda n: abs(frames[n].time_ns / 1e9 - begin))
    same = (call.node, frames[request].correlation_id, "received")
    behind = range(request + 1, min(len(frames), request + _BEHIND))
    answer = next((n for n in behind if (frames[n].node, frames[n].correlation_id, frames[n].direction) == same), None)
    return [request] if answer is None else [request, answer]


def _frame_view(frame: TranscriptFrame, began: float, own: bool = False) -> FrameView:
    body = bytes(frame.decoded)
    text = (msgspec.json.format(body, indent=2) if own else body).decode(errors="replace")
    longest = LONGEST_BODY if own else LONGEST_BODY // 6
    cut = [
        f"{len(text) - longest} more characters" if len(text) > longest else "",
        f"{(len(frame.raw) - LONGEST_HEX) // 2} more bytes" if own and len(frame.raw) > LONGEST_HEX else "",
    ]
    return FrameView(
        t=f"{frame.time_ns / 1e9 - began:.3f}",
        node=frame.node,
        direction=frame.direction,
        api=f"{frame.api} v{frame.version}",
        body=text[:longest],
        hex=" ".join(_groups_of_hex(frame.raw[:LONGEST_HEX])) if own else "",
        more=" and ".join(part for part in cut if part),
        own=own,
    )


def _groups_of_hex(text: str) -> Iterator[str]:
    return (text[n : n + 8] for n in range(0, len(text), 8))


# --- logs


def log_view(node: str, lines: Sequence[str], times: Sequence[float], example: str) -> LogView:
    """Choose lines near `times` (seconds since 1970), warnings and those about the example first; without any, the last lines."""
    stamps = list(_stamps_of_lines(lines))
    ranked = []
    for place, (line, (at, level)) in enumerate(zip(lines, stamps, strict=True)):
        far = min((abs(at - time) for time in times), default=0.0) if at else float("inf")
        if far <= SECONDS:
            relevant = example in line or level in ("WARN", "ERROR", "FATAL")
            ranked.append((not relevant, far, place))
    kept = sorted(place for *_, place in sorted(ranked)[:LINES])
    kept = kept if times else list(range(max(0, len(lines) - LINES), len(lines)))
    return LogView(
        node=node,
        lines=[LogLine(text=_shorten_line(lines[place]), about=example in lines[place]) for place in kept],
        gaps=[n for n, place in enumerate(kept) if place and (n == 0 or kept[n - 1] != place - 1)],
        total=len(lines),
    )


def _stamps_of_lines(lines: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Yield time and level of each line; lines of a stack trace have those of their log line."""
    at, level = 0.0, ""
    for line in lines:
        if found := _STAMP.match(line):
            moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
            at, level = moment.timestamp() + int(found[2]) / 1000, found[3]
        yield at, level


def _shorten_line(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line) - LONGEST_LINE} more)"
