"""Facts about a partition: its log, its leader and its replicas, by single requests and their answers (KIP-101, KIP-320)."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from operator import attrgetter

import msgspec

from conformance.judging.facts.exchange import NONE, UNKNOWN_OUTCOME, Exchange
from history.readings import PartitionRegistration
from protocol.codes import Error

LATEST, EARLIEST = -1, -2
"""The timestamps that ask ListOffsets for the end and the start of a log."""
CONSUMER = -1
READ_COMMITTED = 1
"""The isolation level read_committed: consumers get only records of committed transactions."""
FUTURE_REPLICA = -3
"""The replica id of the kit's fetches that read a whole log, including its uncommitted suffix."""
CONTROLLER_UNKNOWN = (UNKNOWN_OUTCOME, Error.REQUEST_TIMED_OUT, Error.NETWORK_EXCEPTION, Error.NOT_CONTROLLER)
"""Errors after which a request to a controller may have taken effect, or may still do so."""


class ControlMarker(msgspec.Struct, frozen=True, gc=False):
    """The end of a transaction in a log: its offset, whether it is a commit, and the epoch of the coordinator."""

    offset: int
    committed: bool
    coordinator_epoch: int | None


class ReplicaBatch(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A batch as a replica has it. Its CRC covers everything but base offset and leader epoch, so batches with the same CRC, base
    offset and leader epoch are one object within a history.

    `records` are (offset, value); a control batch has a `marker` instead. Producer id, epoch and sequence are -1 for a batch
    without a producer id.
    """

    base: int
    last: int
    epoch: int
    crc: int
    valid: bool
    control: bool
    records: tuple[tuple[int, bytes | None], ...]
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    marker: ControlMarker | None = None
    codec: int = 0

    def value_at(self, offset: int) -> bytes | None:
        place = bisect_left(self.records, (offset,))
        found = self.records[place] if place < len(self.records) else (-1, None)
        return found[1] if found[0] == offset else None

    def __str__(self) -> str:
        return f"{self.base}-{self.last} of epoch {self.epoch} (CRC {self.crc:08x})"


by_last: Callable[[ReplicaBatch], int] = attrgetter("last")
by_epoch: Callable[[ReplicaBatch], int] = attrgetter("epoch")
"""Keys for looking up batches in a log."""


class FetchResult(Exchange, frozen=True, gc=False):
    """A Fetch that was answered without an error. `cur` is its CurrentLeaderEpoch and `last` its LastFetchedEpoch, or -1.

    `batches` end at or above the fetch offset. `diverging` is the (epoch, end offset) of a DivergingEpoch. A `full` read shows
    the replica's whole log: it joins successive fetches up to an empty one, whose event and offsets it has.
    """

    cur: int
    last: int
    replica_id: int
    fetch_offset: int
    isolation_level: int
    version: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    diverging: tuple[int, int] | None
    batches: tuple[ReplicaBatch, ...]
    aborted_transactions: tuple[tuple[int, int], ...] = ()
    """The (producer id, first offset) of each aborted transaction in the answer."""
    full: bool = False

    @property
    def by_consumer(self) -> bool:
        return self.replica_id == CONSUMER

    @property
    def log_end(self) -> int:
        """The log end offset that a full read shows."""
        return self.batches[-1].last + 1 if self.batches else max(self.fetch_offset, self.log_start)

    def shows(self, offset: int) -> bool:
        """True if the batches would include a record at this offset, provided that the replica has one."""
        inside = max(self.fetch_offset, self.log_start) <= offset and self.diverging is None
        return inside and (self.full or offset < self.high_watermark)

    def batch_at(self, offset: int) -> ReplicaBatch | None:
        """Return the batch that covers an offset."""
        place = bisect_left(self.batches, offset, key=by_last)
        found = self.batches[place] if place < len(self.batches) else None
        return found if found is not None and found.base <= offset else None

    def value_at(self, offset: int) -> bytes | None:
        batch = self.batch_at(offset)
        return batch.value_at(offset) if batch is not None else None


class ErrorResponse(Exchange, frozen=True, gc=False):
    """A Fetch, ListOffsets or OffsetForLeaderEpoch that was answered with an error. `position` is the requested offset or epoch.

    `hint` is the (epoch, leader) that came with the error of a Fetch (KIP-951).
    """

    op: str
    cur: int
    last: int
    replica_id: int
    position: int
    error: int
    hint: tuple[int, int] | None


class ProduceResult(Exchange, frozen=True, gc=False):
    """A Produce of one batch. `error` is -1 if the outcome is unknown, or with acks=0; `offset` is its base offset, or -1.

    `failed`: the batch certainly reached no log, since it was never sent or was rejected before the append.
    """

    acks: int
    values: tuple[bytes | None, ...]
    error: int
    offset: int
    failed: bool
    log_start: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    transactional_id: str | None = None
    opaque: bool = False
    """True if the batch was sent as raw bytes, so that its records are not known."""
    version: int = -1
    timed_out: bool = False
    """True if no answer came in time. With any other unknown outcome the connection was lost."""

    @property
    def last_offset(self) -> int:
        """The offset of the last record, if the batch was acknowledged."""
        return self.offset + len(self.values) - 1

    @property
    def is_committed(self) -> bool:
        """True if the batch was acknowledged with acks=all."""
        return self.acks == -1 and self.error == NONE and self.offset >= 0


class PartitionState(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Leader (-1 for none), epoch, ISR and replicas of a partition, and the unfenced brokers in the same answer."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    unfenced: tuple[int, ...]
    fenced: tuple[int, ...]
    """Replicas that are not among the unfenced brokers."""


class PartitionAtBroker(msgspec.Struct, frozen=True, gc=False):
    """A partition as one broker's Metadata answer describes it. Equal states are one object."""

    asked: int
    event: int
    node: str
    incarnation: int
    faults: int
    """The number of fault phases before the answer. Two answers with the same number have no fault phase between them."""
    state: PartitionState
    leader: int
    epoch: int

    @property
    def isr(self) -> tuple[int, ...]:
        return self.state.isr

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.state.replicas

    @property
    def unfenced(self) -> tuple[int, ...]:
        return self.state.unfenced


class EpochEndOffset(Exchange, frozen=True, gc=False):
    """An OffsetForLeaderEpoch answered without an error: (`epoch`, `end`) for the requested epoch, both -1 if it is unknown."""

    cur: int
    asked_epoch: int
    epoch: int
    end: int


class OffsetLookup(Exchange, frozen=True, gc=False):
    """A ListOffsets answered without an error."""

    cur: int
    timestamp: int
    replica_id: int
    isolation_level: int
    offset: int
    epoch: int


class DeleteRecordsResult(Exchange, frozen=True, gc=False):
    """A DeleteRecords request. `low_watermark` is -1 if it was rejected or its outcome is unknown (`error` -1)."""

    offset: int
    error: int
    low_watermark: int


class RegisteredPartition(Exchange, frozen=True, gc=False):
    """A partition as a broker's DescribeTopicPartitions or a controller's metadata log describes it (KIP-966).

    `eligible` are its eligible leader replicas, or None if the answer has none; `last_known` has its last known leader.
    `recovering`: its leader was elected uncleanly; only the metadata log says so.
    """

    leader: int
    epoch: int
    isr: tuple[int, ...]
    eligible: tuple[int, ...] | None
    last_known: tuple[int, ...]
    recovering: bool = False


class RegisteredStates(Exchange, frozen=True, gc=False):
    """All states of a partition in the committed records of the metadata log, in order."""

    states: tuple[PartitionRegistration, ...]


class UncleanElectionResult(Exchange, frozen=True, gc=False):
    """An unclean election requested by ElectLeaders. It succeeded (`granted`), or its outcome is unknown."""

    granted: bool


class ReplicaOnDisk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One replica on disk. `epochs` are the (epoch, start offset) pairs of leader-epoch-checkpoint, or None without the file.

    `batches` are (base offset, last offset, epoch, digest of all bytes); `torn` describes an incomplete last batch.
    """

    event: int
    node: str
    log_start: int
    log_end: int
    epochs: tuple[tuple[int, int], ...] | None
    batches: tuple[tuple[int, int, int, str], ...]
    torn: str


class ReplicaInHealthyDirectory(Exchange, frozen=True, gc=False):
    """A replica in a healthy log directory of a broker that has another, failed one, from DescribeLogDirs."""


def say_epochs(entries: Iterable[tuple[int, int | None]]) -> str:
    """Return leader epochs with their start offsets in words."""
    words = (f"epoch {epoch} {'missing' if start is None else f'from {start}'}" for epoch, start in entries)
    return ", ".join(words) or "without entries"


def say_divergence(diverging: tuple[int, int] | None) -> str:
    """Describe the answer to a fetch: where it diverges, if it does."""
    return (
        "answered no divergence" if diverging is None else f"answered that epoch {diverging[0]} ends at {diverging[1]}"
    )
