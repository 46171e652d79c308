"""Histories on disk: `histories/<run>/<worker>.jsonl.zst`, one zstd frame per example, flushed after each event."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import msgspec
import zstandard

from history.events import AnyEvent, End, Example, History, Line
from history.schema import require_current

_encoder = msgspec.json.Encoder()
"""Keeps the order of fields, in which sentences name them: a history judged again gives the same words."""
_decoder = msgspec.json.Decoder(Line)

Buffer: TypeAlias = bytes | mmap.mmap

# The format of zstd, RFC 8878.
_LONGEST_HEADER = 18
_BLOCK_HEADER = 3
_RUN_LENGTH = 1
_CHECKSUM = 4


class HistoryWriter:
    """The writer of groups to one file. A worker that is killed loses at most the event that it was writing."""

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


class Frame(msgspec.Struct, frozen=True):
    """The place of one example in a file: bytes from `offset`, `length` of them."""

    offset: int
    length: int


def frames_in_data(data: Buffer) -> Iterator[Frame]:
    """Yield the frames of a history file by the sizes in zstd's block headers, without decompressing anything.

    A frame that was cut short, or bytes that are no frame, extend to the end of `data`.
    """
    offset, end = 0, len(data)
    while offset < end:
        after = min(_end_of_frame(data, offset), end)
        yield Frame(offset, after - offset)
        offset = after


def _end_of_frame(data: Buffer, at: int) -> int:
    try:
        facts = zstandard.get_frame_parameters(data[at : at + _LONGEST_HEADER])
        at += zstandard.frame_header_size(data[at : at + _LONGEST_HEADER])
    except zstandard.ZstdError:
        return len(data)
    last = False
    while not last and at + _BLOCK_HEADER <= len(data):
        header = int.from_bytes(data[at : at + _BLOCK_HEADER], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        at += _BLOCK_HEADER + (1 if kind == _RUN_LENGTH else size)
    return at + (_CHECKSUM if facts.has_checksum else 0) if last else len(data)


class _Named(msgspec.Struct):
    """The name of the example with which a frame begins."""

    example: str = ""


def lines_of(frame: bytes) -> Iterator[Line]:
    """Return the lines of one frame; a frame that was cut short ends early, without an error.

    Raises ZstdError for bytes that are no frame, WrongSchema for a frame of another schema.
    """
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(frame).split(b"\n")[:-1]
    if lines:
        require_current(lines[0], f"history {msgspec.json.decode(lines[0], type=_Named).example!r}")
    return map(_decoder.decode, lines)


def read_lines(path: Path) -> Iterator[Line]:
    """Return the lines of a history file; one that was cut short ends early, without an error or an End."""
    return (line for _, frame in read_frames(path) for line in lines_of(frame))


def read_frames(path: Path) -> Iterator[tuple[Frame, bytes]]:
    """Yield each frame of a history file, one example each, with its bytes."""
    with _map_file(path) as data:
        for frame in frames_in_data(data):
            yield frame, data[frame.offset : frame.offset + frame.length]


def frames_of(path: Path) -> list[Frame]:
    """Return the places of the frames of a history file."""
    with _map_file(path) as data:
        return list(frames_in_data(data))


@contextmanager
def _map_file(path: Path) -> Iterator[Buffer]:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            yield b""  # an empty file can't be mapped
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def group_examples(lines: Iterator[Line]) -> Iterator[History]:
    """Yield the examples that the lines form, in order."""
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
    return group_examples(read_lines(path))
