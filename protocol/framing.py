"""Kafka's frames in a stream of bytes: each request and each answer has its size before it.

It needs nothing but the standard library: helper containers read frames by it too.
"""

import struct

SIZE = struct.Struct(">i")
LARGEST = 1 << 28


class NotFrames(ConnectionError):
    """A stream of bytes that are not Kafka's frames."""


def with_size(content: bytes) -> bytes:
    """Return a request or an answer with its size in front."""
    return SIZE.pack(len(content)) + content


class FrameReader:
    """The frames of one direction of a connection, put together from parts of any length."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, part: bytes) -> list[bytes]:
        """Return the contents of the frames that this part completes. Raises NotFrames."""
        self._rest += part
        found, start = [], 0
        while (end := self._end(start)) <= len(self._rest):
            found.append(bytes(self._rest[start + SIZE.size : end]))
            start = end
        del self._rest[:start]
        return found

    def _end(self, start: int) -> int:
        """Return the end of the frame that begins at `start`, or of its size field while that is incomplete."""
        content = start + SIZE.size
        if content > len(self._rest):
            return content
        (size,) = SIZE.unpack_from(self._rest, start)
        if not 0 <= size <= LARGEST:
            raise NotFrames(f"a frame of {size} bytes: this is not Kafka's protocol")
        return content + int(size)
