"""What single requests and their answers tell of a partition (KIP-101, KIP-320).

Everything is named by the numbers of the events that show it, so `one.event < other.event` says what was known first.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec

NONE = 0
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
REQUEST_TIMED_OUT = 7
OFFSET_OUT_OF_RANGE = 1
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
LATEST, EARLIEST = -1, -2
"""The timestamps by which ListOffsets is asked for the ends of a log."""
CONSUMER = -1
FUTURE_REPLICA = -3
"""The replica id whose fetches show a replica's whole log, uncommitted tail included (catalogue, tool T2)."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """A batch as a replica holds it. Its CRC covers everything but base offset and epoch, so equal fields are equal records.

    `records` are (offset, value); a control batch has none here.
    """

    base: int
    last: int
    epoch: int
    crc: int
    valid: bool
    control: bool
    records: tuple[tuple[int, str | None], ...]

    def __str__(self) -> str:
        return f"{self.base}-{self.last} of epoch {self.epoch} (CRC {self.crc:08x})"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what one request and its answer tell: the numbers of the call and of the answer, and who answered."""

    asked: int
    event: int
    node: str


class LogRead(Told, frozen=True, kw_only=True):
    """A Fetch that was answered without an error. `cur` is its CurrentLeaderEpoch and `last` its LastFetchedEpoch, -1 for none.

    `batches` end at or above the fetch offset. `diverging` is (epoch, end offset) where the answer has one. `whole` tells that it
    shows all that the replica holds: pieced together from the fetches that led up to an empty one, the event of which it has.
    """

    cur: int
    last: int
    replica_id: int
    fetch_offset: int
    version: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    diverging: tuple[int, int] | None
    batches: tuple[Held, ...]
    whole: bool = False

    @property
    def by_consumer(self) -> bool:
        return self.replica_id == CONSUMER

    @property
    def log_end(self) -> int:
        """Of a whole read."""
        return self.batches[-1].last + 1 if self.batches else max(self.fetch_offset, self.log_start)

    def shows(self, offset: int) -> bool:
        """Would a record at this offset, if the replica holds it, be among the batches?"""
        inside = max(self.fetch_offset, self.log_start) <= offset and self.diverging is None
        return inside and (self.whole or offset < self.high_watermark)

    def at(self, offset: int) -> Held | None:
        """The batch that covers an offset."""
        place = bisect_left(self.batches, offset, key=lambda batch: batch.last)
        found = self.batches[place] if place < len(self.batches) else None
        return found if found is not None and found.base <= offset else None

    def value_at(self, offset: int) -> str | None:
        batch = self.at(offset)
        return next((value for place, value in batch.records if place == offset), None) if batch is not None else None


class Refusal(Told, frozen=True, kw_only=True):
    """A Fetch, ListOffsets or OffsetForLeaderEpoch that was answered with an error. `position` is the offset or epoch asked for.

    `hint` is the (epoch, leader) that a Fetch was told instead (KIP-951).
    """

    op: str
    cur: int
    last: int
    replica_id: int
    position: int
    error: int
    hint: tuple[int, int] | None


class Write(Told, frozen=True, kw_only=True):
    """A Produce. `error` is -1 where nobody knows what came of it, or with acks=0; `offset` is its base offset, -1 without one.

    `failed` tells that it certainly did not reach a log: it was never sent, or refused before the append.
    """

    acks: int
    values: tuple[str, ...]
    error: int
    offset: int
    failed: bool

    @property
    def committed(self) -> bool:
        """Acknowledged with acks=all."""
        return self.acks == -1 and self.error == NONE and self.offset >= 0


class Seen(msgspec.Struct, frozen=True, gc=False):
    """Leader, epoch and ISR of the partition, as one broker's Metadata had them; `unfenced` are the brokers it named alive."""

    asked: int
    event: int
    node: str
    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    unfenced: tuple[int, ...]


class End(Told, frozen=True, kw_only=True):
    """OffsetForLeaderEpoch, answered without an error: (`epoch`, `end`) for the epoch asked for, both -1 where it is unknown."""

    cur: int
    asked_epoch: int
    epoch: int
    end: int


class Listed(Told, frozen=True, kw_only=True):
    """ListOffsets, answered without an error."""

    cur: int
    timestamp: int
    replica_id: int
    isolation_level: int
    offset: int
    epoch: int


class Trim(Told, frozen=True, kw_only=True):
    """DeleteRecords. `low_watermark` is -1 where it was refused or nobody knows (`error` -1) what came of it."""

    offset: int
    error: int
    low_watermark: int


class Commit(Told, frozen=True, kw_only=True):
    """OffsetCommit of one partition; `error` is -1 where nobody knows what came of it."""

    group: str
    offset: int
    epoch: int
    error: int


class Committed(Told, frozen=True, kw_only=True):
    """What OffsetFetch showed; offset -1 for nothing. `stable`: it was asked to wait for what is not committed yet."""

    group: str
    offset: int
    epoch: int
    stable: bool


class Delivered(msgspec.Struct, frozen=True):
    """A record that a consumer handed to its user; `consumer` and `session` (from one assignment to the next) name whose."""

    event: int
    consumer: str
    session: int
    offset: int
    epoch: int
    value: str | None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What the kit's own epoch-aware reader did: `deliver` records (offset, epoch, value), `rewind` after it was `told`
    (epoch, end offset), or `restart`. `to` is its position after it.
    """

    event: int
    reader: str
    op: str
    to: int
    told: tuple[int, int] | None
    records: tuple[tuple[int, int, str | None], ...]


class OnDisk(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica held on disk. `epochs` are (epoch, start offset), None where the file was missing.

    `batches` are (base offset, last offset, epoch, digest of all bytes).
    """

    event: int
    node: str
    log_start: int
    log_end: int
    epochs: tuple[tuple[int, int], ...] | None
    batches: tuple[tuple[int, int, int, str], ...]
    torn: str
