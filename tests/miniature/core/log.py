"""One replica's log, with its leader epoch cache, as UnifiedLog and LeaderEpochFileCache keep them."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from collections.abc import Iterable, Sequence

from fixtures.wire.records import encode_batch, read_batches
from history.readings import EpochEntry, HeldBatch
from protocol.records import Batch, NewBatch, NewRecord
from tests.miniature.core.producer_state import ProducerStates

STAMP = struct.Struct(">i")
OFFSET = struct.Struct(">q")
STAMP_AT = 12

UNDEFINED = EpochEntry(-1, -1)


@dataclasses.dataclass(frozen=True)
class Stored:
    """A batch in the log."""

    base: int
    last: int
    epoch: int
    data: bytes
    read: Batch
    times: tuple[int, ...]
    keys: tuple[bytes | None, ...]

    @staticmethod
    def appended(data: bytes, base: int, epoch: int) -> Stored:
        """Return a producer's batch with offset and leader epoch, neither of which the CRC covers."""
        placed = OFFSET.pack(base) + data[OFFSET.size : STAMP_AT] + STAMP.pack(epoch) + data[STAMP_AT + STAMP.size :]
        [read] = read_batches(placed)
        times, keys = tuple(one.timestamp for one in read.records), tuple(one.key for one in read.records)
        return Stored(base, read.last_offset, epoch, placed, read, times, keys)

    def held(self) -> HeldBatch:
        [read] = read_batches(self.data)
        digest = hashlib.sha256(self.data).hexdigest()[:16]
        return HeldBatch(
            base_offset=self.base,
            last_offset=self.last,
            leader_epoch=self.epoch,
            crc=read.crc,
            crc_valid=read.crc_valid,
            size=len(self.data),
            digest=digest,
        )


class EpochMap:
    """The leader epoch cache: epoch -> start offset, both strictly increasing."""

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self.entries = list(entries)

    @property
    def latest(self) -> int:
        return self.entries[-1].epoch if self.entries else -1

    def assign(self, epoch: int, start: int) -> None:
        """Add an epoch; an earlier one without records that began at the same offset is replaced."""
        if epoch > self.latest:
            self.entries = [entry for entry in self.entries if entry.start_offset < start]
            self.entries.append(EpochEntry(epoch, start))

    def end_of(self, epoch: int, log_end: int) -> EpochEntry:
        """Return the largest known epoch up to this one, and its end offset (KIP-279)."""
        if epoch == -1 or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return EpochEntry(epoch, log_end)
        above = next(entry for entry in self.entries if entry.epoch > epoch)
        below = [entry.epoch for entry in self.entries if entry.epoch <= epoch]
        return EpochEntry(below[-1] if below else epoch, above.start_offset)

    def at(self, offset: int) -> int:
        """Return the epoch that covers an offset; -1 below the first entry."""
        return max((entry.epoch for entry in self.entries if entry.start_offset <= offset), default=-1)

    def cut_tail(self, offset: int) -> None:
        self.entries = [entry for entry in self.entries if entry.start_offset < offset]

    def cut_head(self, offset: int) -> None:
        """Truncate from the start: the last entry at or below the offset stays, now beginning there."""
        covering = [entry for entry in self.entries if entry.start_offset <= offset]
        above = self.entries[len(covering) :]
        self.entries = [*(EpochEntry(entry.epoch, offset) for entry in covering[-1:]), *above]


class Log:
    """The batches from `start` to `end`. Batches below `start` stay on disk until a `flush`, which also sets the
    checkpoints.

    `flushed` is the offset up to which the log would survive a power loss.
    """

    def __init__(self, bugs: frozenset[str] = frozenset()) -> None:
        self.bugs = bugs
        self.batches: list[Stored] = []
        self.epochs = EpochMap()
        self.producers = ProducerStates(bugs)
        self.start = 0
        self.end = 0
        self.watermark = 0
        self.flushed = 0
        self._checkpoint = (0, 0)

    # --- appending

    def append_as_leader(self, data: bytes, epoch: int) -> Stored:
        stored = Stored.appended(data, self.end, epoch)
        self._append(stored)
        return stored

    def append_as_follower(self, fetched: Sequence[Stored]) -> None:
        """Append as a follower. An empty log may start inside a batch, as after DeleteRecords; the log start stays."""
        for stored in fetched:
            if stored.base >= self.end or (self.end == self.start and stored.last >= self.end):
                self._append(stored)

    def _append(self, stored: Stored) -> None:
        self.epochs.assign(stored.epoch, max(stored.base, self.start))
        self.batches.append(stored)
        self.producers.take(stored.read)
        self.end = stored.last + 1

    # --- reading

    def read(self, offset: int, upto: int, max_bytes: int = 1 << 30) -> list[Stored]:
        """Return whole batches with offsets in the range, at least one if there is any."""
        found: list[Stored] = []
        for stored in self.batches:
            if stored.last >= offset and stored.last < upto:
                max_bytes -= len(stored.data)
                if found and max_bytes < 0:
                    break
                found.append(stored)
        return found

    def since(self, timestamp: int) -> tuple[int, int, int] | None:
        """Return timestamp, offset and epoch of the first record at or after that time."""
        for stored in self.batches:
            for number, time in enumerate(stored.times):
                if time >= timestamp and stored.base + number >= self.start:
                    return time, stored.base + number, stored.epoch
        return None

    def latest_time(self) -> int:
        return max((time for stored in self.batches if stored.last >= self.start for time in stored.times), default=-1)

    # --- cutting

    def truncate(self, to: int) -> None:
        """Truncate the log; cache entries at or above the offset are removed even if no record is (KAFKA-10706)."""
        if to < self.start:
            return self.restart_at(to)
        if to < self.end:
            kept = [stored for stored in self.batches if stored.last < to]
            self.end = min([to, *(stored.base for stored in self.batches[len(kept) :])])
            self.batches = kept
            self._rebuild_producers()
        if "epoch-beyond-log-end" not in self.bugs:
            self.epochs.cut_tail(to)
        self.watermark = min(self.watermark, self.end)
        self.flushed = min(self.flushed, self.end)
        return None

    def restart_at(self, offset: int) -> None:
        """Empty the log, and restart it at the offset."""
        self.batches = []
        self._rebuild_producers()
        self.epochs = EpochMap()
        self.start = self.end = self.watermark = self.flushed = offset
        self._checkpoint = (offset, offset)

    def _rebuild_producers(self) -> None:
        self.producers.rebuild(stored.read for stored in self.batches)

    def trim(self, start: int) -> None:
        if start > self.start:
            self.start = start
            if "epoch-entry-not-trimmed" not in self.bugs:
                self.epochs.cut_head(start)

    # --- the disk

    def checkpoint(self) -> None:
        """Checkpoint high watermark and log start, as happens from time to time, and delete batches below the log
        start."""
        self._checkpoint = (self.watermark, self.start)
        if "deleted-record-returned" not in self.bugs:
            self.batches = [stored for stored in self.batches if stored.last >= self.start]

    def clean(self, *, by_record: bool = False) -> None:
        """Compact: remove each committed batch whose keys all have later records, but never the newest batch, nor one of a
        transaction. `by_record`: batches are split first, so that single records are removed."""
        if by_record:
            self.batches = [one for stored in self.batches for one in self._split(stored)]
        later: set[bytes | None] = set()
        kept: list[Stored] = []
        for stored in reversed(self.batches):
            in_transaction = stored.read.transactional
            if not kept or stored.last >= self.watermark or in_transaction or not set(stored.keys) <= later:
                kept.append(stored)
                later |= set(stored.keys) if stored.last < self.watermark and not in_transaction else set()
        self.batches = kept[::-1]

    def _split(self, stored: Stored) -> list[Stored]:
        """Return a committed batch as one for each record."""
        if len(stored.keys) < 2 or stored.last >= self.watermark or stored.read.transactional:
            return [stored]
        batches = [NewBatch((NewRecord(one.value, one.key),), timestamp=one.timestamp) for one in stored.read.records]
        offsets = [one.offset for one in stored.read.records]
        return [Stored.appended(encode_batch(one), at, stored.epoch) for one, at in zip(batches, offsets, strict=True)]

    def flush(self) -> None:
        """Flush, as at a clean shutdown."""
        self.checkpoint()
        self.flushed = self.end

    def load(self) -> None:
        """Load the log as a starting broker does: both offsets are those of the last checkpoint."""
        self.watermark, self.start = self._checkpoint
        self.end = self.batches[-1].last + 1 if self.batches else max(self.start, self.end)
        self.watermark = max(self.start, min(self.watermark, self.end))
        if "epoch-beyond-log-end" not in self.bugs:
            self.epochs.cut_tail(self.end)
        self._recover_epochs()
        self._rebuild_producers()
        if "epoch-map-shifted" in self.bugs:
            shifted = [EpochEntry(entry.epoch, entry.start_offset + 1) for entry in self.epochs.entries[1:]]
            self.epochs.entries[1:] = shifted

    def _recover_epochs(self) -> None:
        """Read unflushed batches for epochs missing in the cache."""
        for stored in self.batches:
            if stored.last >= self.flushed:
                self.epochs.assign(stored.epoch, max(stored.base, self.start))

    def lose_tail(self, batches_lost: int, *, flushed_too: bool = False) -> int:
        """Lose the tail by a power loss, which spares flushed batches, or by corruption. Returns the number of lost
        batches."""
        survive = 0 if flushed_too else sum(stored.last < self.flushed for stored in self.batches)
        kept = max(survive, len(self.batches) - batches_lost)
        gone = len(self.batches) - kept
        if gone:
            self.end = self.batches[kept].base
            self.batches = self.batches[:kept]
        return gone


__all__ = ["UNDEFINED", "EpochMap", "Log", "Stored"]
