"""Histories on disk: `histories/<run>/<worker>.jsonl.zst`, one zstd frame per example, flushed after each event."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import zstandard

from history.events import AnyEvent, End, Example, History, Line

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Line)


class HistoryWriter:
    """Appends groups to one file. A worker that is killed loses at most the event it was writing."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab")
        self._frame: Any = None

    def write(self, line: Line) -> None:
        if self._frame is None:
            self._frame = zstandard.ZstdCompressor(level=3).stream_writer(self._file, closefd=False)
        self._frame.write(_encoder.encode(line) + b"\n")
        if isinstance(line, End):
            self._end_frame()
        else:
            self._frame.flush(zstandard.FLUSH_BLOCK)
        self._file.flush()

    def _end_frame(self) -> None:
        if self._frame is not None:
            self._frame.close()
            self._frame = None

    def close(self) -> None:
        self._end_frame()
        self._file.close()

    def __enter__(self) -> HistoryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a history file; one that was cut short ends early and quietly (its last group stays open)."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        for raw in io.BufferedReader(stream):
            if not raw.endswith(b"\n"):
                return
            yield _decoder.decode(raw)


def group(lines: Iterator[Line]) -> Iterator[History]:
    """Lines to examples, in order."""
    example: Example | None = None
    events: list[AnyEvent] = []
    for line in lines:
        if isinstance(line, Example):
            if example is not None:
                yield History(example=example, events=events)
            example, events = line, []
        elif isinstance(line, End):
            if example is not None:
                yield History(example=example, events=events, end=line)
            example, events = None, []
        else:
            events.append(line)
    if example is not None:
        yield History(example=example, events=events)


def read_histories(path: Path) -> Iterator[History]:
    return group(read_lines(path))
