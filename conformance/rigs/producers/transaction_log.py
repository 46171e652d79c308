"""The transaction coordinator's records in __transaction_state, read by Fetch and decoded with the release's
schemas."""

import struct
from collections.abc import Iterator

import msgspec

from conformance.core.bench import Bench
from conformance.rigs.coordinator_logs import batches_from
from fixtures.disk.transactions import STATES, transactional_id_of
from fixtures.views.coordinator import Coordinator
from protocol.cluster import CoordinatorType
from protocol.records import Record
from protocol.transactions import DescribedTransaction

ARTIFACTS = ("kafka-transaction-coordinator", "kafka_2.13")
"""The jar with the schemas, then the one that had them in earlier releases."""
VERSION = struct.Struct(">h")


class LoggedPartitions(msgspec.Struct, frozen=True):
    """The partitions of one topic in a transaction's record."""

    topic: str
    partition_ids: tuple[int, ...]


class LoggedTransaction(msgspec.Struct, frozen=True):
    """The fields of TransactionLogValue (KIP-98)."""

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_start_timestamp_ms: int
    transaction_partitions: tuple[LoggedPartitions, ...] | None = None

    @property
    def partitions(self) -> frozenset[tuple[str, int]]:
        return frozenset((one.topic, id) for one in self.transaction_partitions or () for id in one.partition_ids)

    def is_described_by(self, shown: DescribedTransaction) -> bool:
        """True if `shown` is how a coordinator that loaded this record must describe the transaction.

        Without a transaction at this epoch there is no start time; up to 3.9 the last transaction's is described.
        """
        state = STATES[self.transaction_status]
        logged = (state, self.producer_id, self.producer_epoch, self.transaction_timeout_ms, self.partitions)
        described = (
            shown.state,
            shown.producer_id,
            shown.producer_epoch,
            shown.timeout_ms,
            frozenset(shown.partitions),
        )
        return logged == described and (state == "Empty" or self.transaction_start_timestamp_ms == shown.start_time_ms)


class TransactionLog:
    """The part of a transactional id's partition of __transaction_state that was written since this object was created."""

    def __init__(self, bench: Bench, transactional_id: str) -> None:
        self._bench = bench
        self._id = transactional_id
        self._coordinator = Coordinator(bench, transactional_id, CoordinatorType.TRANSACTION)
        self._index = self._coordinator.index()
        self._start = self._coordinator.node().list_offsets(self._coordinator.topic, self._index).offset

    def newest(self) -> LoggedTransaction | None:
        """Return the newest record of the transactional id; None if there is none or it is a tombstone."""
        found: LoggedTransaction | None = None
        for record in self._records():
            if transactional_id_of(record) == self._id:
                found = None if record.value is None else self._decode(record.value)
        return found

    def _decode(self, value: bytes) -> LoggedTransaction:
        [version] = VERSION.unpack_from(value)
        return self._bench.decode(ARTIFACTS, "TransactionLogValue", value[VERSION.size :], LoggedTransaction, version)

    def _records(self) -> Iterator[Record]:
        for batch in batches_from(self._coordinator.node(), self._coordinator.topic, self._index, self._start):
            yield from batch.records
