"""The positions that a client of the log machine remembers from its writes and reads."""

from collections import defaultdict
from collections.abc import Iterator

from conformance.core.roles import Absent
from protocol.log import FetchedPartition

Position = tuple[int, int]
"""A record's offset and leader epoch."""


class Positions:
    """The highest log end seen of each partition, and the positions of committed records that were read from it."""

    def __init__(self) -> None:
        self.ends: dict[str, int] = defaultdict(int)
        self._read: dict[str, list[Position]] = defaultdict(list)

    def forget(self, on: str) -> None:
        """Forget everything seen of a partition whose name another one has taken."""
        self.ends[on] = 0
        self._read[on] = []

    def note_end(self, on: str, end: int) -> None:
        self.ends[on] = max(self.ends[on], end)

    def note(self, on: str, answer: FetchedPartition) -> None:
        """Note the positions of an answer, and its high watermark as an end."""
        self.note_end(on, answer.high_watermark)
        read = [(record.offset, b.leader_epoch) for b in answer.batches if not b.control for record in b.records]
        self._read[on] += [position for position in read if position[0] < answer.high_watermark]

    def earlier(self, on: str, back: int) -> Position:
        """Return the position read `back` before the latest, modulo their number. Raises Absent if there is none."""
        if not (read := self._read[on]):
            raise Absent(f"nothing was read from {on} yet")
        return read[-1 - back % len(read)]

    def last_of_epochs(self, most: int) -> Iterator[tuple[str, Position]]:
        """Yield each partition's last position in each of its `most` latest leader epochs."""
        for on, read in self._read.items():
            last = {epoch: offset for offset, epoch in sorted(read)}
            for epoch, offset in list(last.items())[-most:]:
                yield on, (offset, epoch)
