"""Frames from a stream of bytes whose parts end anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.framing import LARGEST, SIZE, FrameReader, NotFrames, with_size


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 9), min_size=1))
def test_frames_are_the_same_however_the_stream_is_cut(contents: list[bytes], lengths: list[int]) -> None:
    stream = b"".join(with_size(content) for content in contents)
    reader, found, at, turn = FrameReader(), list[bytes](), 0, 0
    while at < len(stream):
        length = lengths[turn % len(lengths)]
        found += reader.feed(stream[at : at + length])
        at, turn = at + length, turn + 1
    assert found == contents


def test_an_incomplete_frame_is_no_frame() -> None:
    reader = FrameReader()
    assert reader.feed(with_size(b"whole") + with_size(b"half")[:-1]) == [b"whole"]
    assert reader.feed(b"f") == [b"half"]


@pytest.mark.parametrize("size", [-1, LARGEST + 1])
def test_a_size_that_no_frame_has_is_an_error_of_the_connection(size: int) -> None:
    with pytest.raises(NotFrames, match=str(size)):
        FrameReader().feed(SIZE.pack(size))
