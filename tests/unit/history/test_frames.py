"""Where examples stand in a file of histories: what finds them, without decompressing."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest
import zstandard

from history.events import Call, End, Example, Line
from history.store import HistoryWriter, frames_of, lines_of, read_frames


def example(name: str) -> list[Line]:
    """With more than a block (128 KiB) in one of its lines."""
    values = {"records": [f"{name} {number}" for number in range(20_000)]}
    return [
        Example(example=name, check="kip.check", column="4.3.1"),
        Call(n=0, t=0.0, op="produce", node="broker-1", request=values),
        Call(n=1, t=0.1, op="produce", node="broker-1", request={"records": ["a" * 300_000]}),
        End(example=name, outcome="judged"),
    ]


def write(path: Path, lines: list[Line]) -> Path:
    with HistoryWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return path


def test_frames_are_found_without_reading_them_and_hold_one_example_each(tmp_path: Path) -> None:
    names = ["e-1", "e-2", "e-3"]
    path = write(tmp_path / "file", [line for name in names for line in example(name)])
    found = list(read_frames(path))
    assert [frame.offset for frame, _ in found] == [0, *accumulate(frame.length for frame, _ in found)][:-1]
    assert sum(frame.length for frame, _ in found) == path.stat().st_size
    assert [list(lines_of(content)) for _, content in found] == [example(name) for name in names]
    assert list(frames_of(path)) == [frame for frame, _ in found]


def test_a_frame_with_a_checksum_ends_after_it(tmp_path: Path) -> None:
    summed = zstandard.ZstdCompressor(write_checksum=True).compress(
        b'{"type":"end","example":"e","outcome":"judged"}\n'
    )
    (tmp_path / "file").write_bytes(summed * 2)
    assert [frame.length for frame in frames_of(tmp_path / "file")] == [len(summed)] * 2


def test_an_empty_file_has_no_frame(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert frames_of(tmp_path / "file") == []


def test_what_is_no_frame_is_one_that_nobody_can_read(tmp_path: Path) -> None:
    path = write(tmp_path / "file", example("e-1"))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"something else")
    _, (frame, content) = read_frames(path)
    assert (frame.offset, frame.length) == (size, 14)
    with pytest.raises(zstandard.ZstdError):
        list(lines_of(content))
