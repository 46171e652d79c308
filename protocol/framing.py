"""Kafka's frames in a stream of bytes: each request and answer is preceded by its size.

It needs only the standard library, since helper containers use it, too.
"""

import struct

SIZE = struct.Struct(">i")
LARGEST = 1 << 28


class NotFrames(ConnectionError):
    """A stream of bytes that are not Kafka's frames."""


def with_size(content: bytes) -> bytes:
    """Return a request or answer preceded by its size."""
    return SIZE.pack(len(content)) + content


class FrameReader:
    """The frames in one direction of a connection, assembled from chunks of any length."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, part: bytes) -> list[bytes]:
        """Return the contents of the frames that this chunk completes. Raises NotFrames."""
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
