"""Kafka's frames in a stream of bytes: each request and each answer has its size before it.

It needs nothing but the standard library: helper containers read frames by it too.
"""

import struct

SIZE = struct.Struct(">i")
LARGEST = 1 << 28


class NotFrames(ConnectionError):
    """A stream of something else."""


def with_size(content: bytes) -> bytes:
    """Put the size before a request or an answer."""
    return SIZE.pack(len(content)) + content


class FrameReader:
    """The frames of one direction of a connection, from parts that end anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, part: bytes) -> list[bytes]:
        """The contents of the frames that this part completes. Raises NotFrames."""
        self._rest += part
        found, start = [], 0
        while (end := self._end(start)) <= len(self._rest):
            found.append(bytes(self._rest[start + SIZE.size : end]))
            start = end
        del self._rest[:start]
        return found

    def _end(self, start: int) -> int:
        """The end of the frame that begins there, or of its size while that is incomplete."""
        content = start + SIZE.size
        if content > len(self._rest):
            return content
        (size,) = SIZE.unpack_from(self._rest, start)
        if not 0 <= size <= LARGEST:
            raise NotFrames(f"a frame of {size} bytes: this is not Kafka's protocol")
        return content + int(size)
