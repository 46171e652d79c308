"""Producers and transactions: producer ids, coordinator requests, markers, and the brokers' state of both."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.messages import Answer, Part, PartitionAnswer, Request


class InitProducerIdAnswer(Answer, frozen=True, kw_only=True):
    """The answer to InitProducerId: producer id and epoch, both -1 with an error."""

    error: Error
    producer_id: int = -1
    producer_epoch: int = -1


class ProducerIdsAnswer(Answer, frozen=True, kw_only=True):
    """The producer ids of the successful requests, in order; `error` is that of the first failed one."""

    error: Error
    producer_ids: tuple[int, ...] = ()


class TxnPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Partitions of one transaction, as (topic, partition), in the form of AddPartitionsToTxn that brokers use.

    `verify_only` asks if they are already in the transaction, and adds none (KIP-890).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[tuple[str, int], ...]
    verify_only: bool = False


class TxnPartition(PartitionAnswer, frozen=True, kw_only=True):
    transactional_id: str


class AddPartitionsToTxnAnswer(Answer, frozen=True, kw_only=True):
    """The answer's `error` applies to the whole request, from version 4 on."""

    error: Error = Error.NONE
    partitions: tuple[TxnPartition, ...] = ()


class AddOffsetsToTxnAnswer(Answer, frozen=True, kw_only=True):
    error: Error


class EndTxnAnswer(Answer, frozen=True, kw_only=True):
    """The answer to EndTxn: from version 5 the producer id and epoch of the next transaction (KIP-890), else -1."""

    error: Error
    producer_id: int = -1
    producer_epoch: int = -1


class TxnMarker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a transaction for (topic, partition) pairs. `transaction_version` needs version 2 (KIP-1228)."""

    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[tuple[str, int], ...]
    coordinator_epoch: int
    transaction_version: int = 0


class MarkedPartition(PartitionAnswer, frozen=True, kw_only=True):
    producer_id: int


class WriteTxnMarkersAnswer(Answer, frozen=True, kw_only=True):
    partitions: tuple[MarkedPartition, ...] = ()


class TxnOffsetResult(PartitionAnswer, frozen=True, kw_only=True):
    pass


class TxnOffsetCommitAnswer(Answer, frozen=True, kw_only=True):
    partitions: tuple[TxnOffsetResult, ...] = ()

    def all_answered(self, error: Error) -> bool:
        """True if there are partitions and each has this error."""
        return {partition.error for partition in self.partitions} == {error}


class ProducerState(Part, frozen=True, kw_only=True):
    """The state of a producer in a partition. `current_txn_start_offset` is -1 without an open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    current_txn_start_offset: int = -1


class ProducersOfPartition(PartitionAnswer, frozen=True, kw_only=True):
    error_message: str | None = None
    active_producers: tuple[ProducerState, ...] = ()

    def producer(self, producer_id: int) -> ProducerState | None:
        """Return one producer's state; None if the partition doesn't have it."""
        found = (state for state in self.active_producers if state.producer_id == producer_id)
        return next(found, None)


class ProducersAnswer(Answer, frozen=True, kw_only=True):
    partitions: tuple[ProducersOfPartition, ...] = ()


class DescribedTransaction(Answer, frozen=True, kw_only=True):
    """`state` is one of Kafka's states, e.g. ``Ongoing``; `start_time_ms` is in ms since 1970, -1 for none."""

    error: Error
    transactional_id: str
    state: str = ""
    timeout_ms: int = -1
    start_time_ms: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    partitions: tuple[tuple[str, int], ...] = ()


class DescribeTransactionsAnswer(Answer, frozen=True, kw_only=True):
    transactions: tuple[DescribedTransaction, ...] = ()


class ListedTransaction(Part, frozen=True, kw_only=True):
    transactional_id: str
    producer_id: int
    state: str = msgspec.field(name="transaction_state")


class ListTransactionsAnswer(Answer, frozen=True, kw_only=True):
    error: Error
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[ListedTransaction, ...] = ()


class InitProducerId(Request[InitProducerIdAnswer], frozen=True):
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    producer_id: int = -1
    producer_epoch: int = -1


class BumpEpochs(Request[InitProducerIdAnswer], frozen=True):
    api: ClassVar[str] = "InitProducerId"

    transactional_id: str
    producer_id: int
    producer_epoch: int
    times: int
    transaction_timeout_ms: int = 60_000


class TakeProducerIds(Request[ProducerIdsAnswer], frozen=True):
    api: ClassVar[str] = "InitProducerId"

    count: int


class AddPartitionsToTxn(Request[AddPartitionsToTxnAnswer], frozen=True):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Sequence[tuple[str, int]]


class AddPartitionsToTxns(Request[AddPartitionsToTxnAnswer], frozen=True):
    api: ClassVar[str] = "AddPartitionsToTxn"

    transactions: Sequence[TxnPartitions]


class AddOffsetsToTxn(Request[AddOffsetsToTxnAnswer], frozen=True):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


class EndTxn(Request[EndTxnAnswer], frozen=True):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


class WriteTxnMarkers(Request[WriteTxnMarkersAnswer], frozen=True):
    markers: Sequence[TxnMarker]


class TxnOffsetCommit(Request[TxnOffsetCommitAnswer], frozen=True):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: Sequence[NewOffset]
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class DescribeProducers(Request[ProducersOfPartition], frozen=True):
    topic: str
    partition: int


class DescribeProducersMany(Request[ProducersAnswer], frozen=True):
    api: ClassVar[str] = "DescribeProducers"

    partitions: Sequence[tuple[str, int]]


class DescribeTransactions(Request[DescribeTransactionsAnswer], frozen=True):
    transactional_ids: Sequence[str]


class DescribeTransaction(Request[DescribedTransaction], frozen=True):
    api: ClassVar[str] = "DescribeTransactions"

    transactional_id: str


class ListTransactions(Request[ListTransactionsAnswer], frozen=True):
    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    duration_ms: int = -1
    transactional_id_pattern: str | None = None
