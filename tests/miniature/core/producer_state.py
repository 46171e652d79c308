"""A replica's producer state, as in ProducerStateManager: derived from the log, but surviving deletions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from protocol.codes import Error
from protocol.records import Batch, ControlType

REMEMBERED = 5
"""The number of a producer's latest batches that are recognised as duplicates."""


@dataclasses.dataclass
class Known:
    """One producer: its epoch, its last batches as (first sequence, last sequence, offset), and its open transaction."""

    epoch: int
    batches: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    coordinator_epoch: int = -1
    open_from: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][1] if self.batches else -1


class ProducerStates:
    def __init__(self, bugs: frozenset[str]) -> None:
        self.bugs = bugs
        self.known: dict[int, Known] = {}
        self.expiries = 0

    def rebuild(self, batches: Iterable[Batch]) -> None:
        """Rebuild the state from the remaining log, after a start or truncation."""
        self.known = {}
        for batch in batches:
            self.take(batch)

    def take(self, batch: Batch) -> None:
        """Apply an appended batch or marker."""
        if batch.producer_id < 0:
            return
        known = self.known.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._next_epoch(batch, known)
        if batch.control:
            known.coordinator_epoch = batch.records[0].coordinator_epoch or 0
            if "markers-end-nothing" not in self.bugs:
                known.open_from = -1
            return
        sequence = batch.base_sequence + batch.last_offset - batch.base_offset
        known.batches = [*known.batches, (batch.base_sequence, sequence, batch.base_offset)][-REMEMBERED:]
        if batch.transactional and known.open_from < 0:
            known.open_from = batch.base_offset

    def _next_epoch(self, batch: Batch, before: Known | None) -> Known:
        known = self.known[batch.producer_id] = Known(batch.producer_epoch)
        if before is not None:
            known.coordinator_epoch, known.open_from = before.coordinator_epoch, before.open_from
        return known

    def expire(self) -> None:
        """Forget the producers without an open transaction."""
        self.expiries += 1
        every = "open-transaction-expires" in self.bugs
        self.known = {id: known for id, known in self.known.items() if known.open_from >= 0 and not every}

    def refusal(self, batch: Batch) -> Error:
        """Return the error with which a leader must refuse a producer's batch (KIP-98, KIP-360)."""
        known = self.known.get(batch.producer_id)
        if known is None:
            return Error.NONE
        if batch.producer_epoch < known.epoch:
            wrongly = not {"fenced-epoch-appended", "old-epoch-appended"}.isdisjoint(self.bugs)
            return Error.NONE if wrongly else Error.INVALID_PRODUCER_EPOCH
        if "every-third-write-fenced" in self.bugs and known.batches and (known.batches[-1][2] + 3) % 3 == 0:
            return Error.INVALID_PRODUCER_EPOCH
        expected = known.last_sequence + 1 if batch.producer_epoch == known.epoch else 0
        fits = batch.base_sequence == expected  # 0 where there is only a marker of that epoch
        gap, again = batch.base_sequence > expected, batch.base_sequence < expected
        wrongly = (gap and "gap-appended" in self.bugs) or (again and "duplicates-appended" in self.bugs)
        if gap and "gap-refused-as-fenced" in self.bugs:
            return Error.INVALID_PRODUCER_EPOCH
        return Error.NONE if fits or wrongly else Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def appended(self, batch: Batch) -> int | None:
        """Return the offset of a duplicate batch; None for a new one."""
        known = self.known.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch or "duplicates-appended" in self.bugs:
            return None
        last = batch.base_sequence + batch.last_offset - batch.base_offset
        return next(
            (offset for first, end, offset in known.batches if (first, end) == (batch.base_sequence, last)), None
        )

    @property
    def first_open(self) -> int | None:
        """The first offset of any open transaction."""
        return min((known.open_from for known in self.known.values() if known.open_from >= 0), default=None)


def aborted(batches: Iterable[Batch], offset: int) -> Iterator[tuple[int, int]]:
    """Yield (producer id, first offset) of each aborted transaction whose marker is at or above the offset."""
    began: dict[int, int] = {}
    for batch in batches:
        if batch.control and batch.producer_id in began:
            first = began.pop(batch.producer_id)
            if batch.records[0].control_type is ControlType.ABORT and batch.base_offset >= offset:
                yield batch.producer_id, first
        elif batch.transactional and not batch.control:
            began.setdefault(batch.producer_id, batch.base_offset)


__all__ = ["Known", "ProducerStates", "aborted"]
