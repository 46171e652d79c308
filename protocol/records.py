"""Record batches, as produced and as read."""

from typing import Any

import msgspec

from protocol.codes import Codes
from protocol.words import say


class Codec(Codes):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class ControlType(Codes):
    """The types of control records, as in org.apache.kafka.common.record.ControlRecordType."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class RecordHeader(msgspec.Struct, frozen=True, gc=False):
    key: str
    value: bytes | None = None


class NewRecord(msgspec.Struct, frozen=True, gc=False):
    """A record to produce; `timestamp` is in ms since 1970, None for the batch's."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[RecordHeader, ...] = ()
    timestamp: int | None = None


class NewBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch of magic 2 to produce. `timestamp` is in ms since 1970, None for the time of encoding."""

    records: tuple[NewRecord, ...]
    base_offset: int = 0
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: bool = False
    codec: Codec = Codec.NONE
    timestamp: int | None = None


def batch(*values: bytes, **fields: Any) -> NewBatch:
    """Return a batch of plain values; `fields` are those of NewBatch."""
    return NewBatch(tuple(NewRecord(value) for value in values), **fields)


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record as read. `control_type` is set in control batches, `coordinator_epoch` in end-of-transaction markers."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...] = ()
    control_type: ControlType | None = None
    coordinator_epoch: int | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch as read. Batches of magic 0 and 1 hold one message set entry and no producer, epoch or sequence.

    `records` is empty if `crc_valid` is False, since records are not parsed then.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    magic: int = 2
    crc: int
    crc_valid: bool
    attributes: int
    codec: Codec
    transactional: bool = False
    control: bool = False
    log_append_time: bool = False
    base_timestamp: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    size: int
    """Bytes on the wire, lengths included."""
    records: tuple[Record, ...] = ()

    def __str__(self) -> str:
        """Return offsets and epoch, the producer, and the content."""
        producer = f" by producer {self.producer_id} at epoch {self.producer_epoch}" if self.producer_id >= 0 else ""
        inside = say([one.control_type.name if one.control_type else one.value for one in self.records])
        return f"{self.base_offset}-{self.last_offset} of epoch {self.leader_epoch}{producer}: {inside}"
