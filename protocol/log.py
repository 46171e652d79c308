"""The log of a partition: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from protocol.cluster import Node
from protocol.codes import Error
from protocol.messages import Answer, Operation, PartitionAnswer, PendingRequest, Request, Topic
from protocol.records import Batch, NewBatch

EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -2, -1, -3, -4, -5


CONSUMER, DEBUGGER = -1, -2


READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class LeaderAndEpoch(msgspec.Struct, frozen=True, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1


class EpochAndOffset(msgspec.Struct, frozen=True, gc=False):
    epoch: int = -1
    end_offset: int = -1


class AbortedTransaction(msgspec.Struct, frozen=True, gc=False):
    producer_id: int
    first_offset: int


class RecordError(msgspec.Struct, frozen=True, gc=False):
    batch_index: int
    batch_index_error_message: str | None = None


class ProducePartition(msgspec.Struct, frozen=True, gc=False):
    """One partition's records: a batch, or any bytes instead."""

    topic: Topic
    partition: int
    records: NewBatch | bytes | None


class ProducedPartition(PartitionAnswer, frozen=True, kw_only=True):
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None
    current_leader: LeaderAndEpoch | None = None
    node_endpoints: tuple[Node, ...] = ()


class ProduceAnswer(Answer, frozen=True, kw_only=True):
    """The answer to Produce; `partitions` are empty with acks=0, which gets no answer."""

    partitions: tuple[ProducedPartition, ...] = ()


PARTITION_MAX_BYTES = 1024 * 1024
"""The default `partition_max_bytes` of a Fetch, which is that of a consumer."""


class FetchPartition(msgspec.Struct, frozen=True, gc=False):
    """One partition of a Fetch. -1 and None leave a field unknown, as in a consumer's fetch.

    `topic` may be just a name, for versions that identify topics by name.
    """

    topic: Topic | str
    partition: int
    fetch_offset: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = PARTITION_MAX_BYTES
    replica_directory_id: UUID | None = None
    high_watermark: int | None = None


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a Fetch that apply to all its partitions.

    `replica_id` and `replica_epoch` are sent as the version requires (ReplicaState from version 15 on, KIP-903). A
    session starts with epoch 0 and id 0; epoch -1 means none (KIP-227).
    """

    replica_id: int = CONSUMER
    replica_epoch: int = -1
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 0x7FFFFFFF
    isolation_level: int = READ_UNCOMMITTED
    session_id: int = 0
    session_epoch: int = -1
    forgotten: tuple[tuple[Topic, int], ...] = ()
    rack_id: str = ""
    cluster_id: str | None = None


AS_CONSUMER = FetchOptions()


class FetchedPartition(PartitionAnswer, frozen=True, kw_only=True):
    """One partition in the answer to a Fetch; `diverging_epoch`, `current_leader` and `snapshot_id` are None unless the node sent
    them (KIP-595)."""

    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochAndOffset | None = None
    current_leader: LeaderAndEpoch | None = None
    snapshot_id: EpochAndOffset | None = None
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    preferred_read_replica: int = -1
    batches: tuple[Batch, ...] = ()
    session_id: int = 0
    node_endpoints: tuple[Node, ...] = ()


class FetchAnswer(Answer, frozen=True, kw_only=True):
    error: Error = Error.NONE
    session_id: int = 0
    partitions: tuple[FetchedPartition, ...] = ()
    node_endpoints: tuple[Node, ...] = ()


class OffsetQuery(msgspec.Struct, frozen=True, gc=False):
    """The question for one partition's offset; `timestamp` is in ms since 1970, or one of EARLIEST, LATEST and so on."""

    topic: str
    partition: int
    timestamp: int = LATEST
    current_leader_epoch: int = -1


class ListedOffset(PartitionAnswer, frozen=True, kw_only=True):
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1
    old_style_offsets: tuple[int, ...] = ()
    """The offsets in a version 0 answer; empty in later versions."""


class ListOffsetsAnswer(Answer, frozen=True, kw_only=True):
    partitions: tuple[ListedOffset, ...] = ()


class EpochQuery(msgspec.Struct, frozen=True, gc=False):
    topic: str
    partition: int
    leader_epoch: int
    current_leader_epoch: int = -1


class EpochEnd(PartitionAnswer, frozen=True, kw_only=True):
    """The largest known epoch up to the requested one, and its end offset; both are -1 without such an epoch (KIP-320)."""

    leader_epoch: int = -1
    end_offset: int = -1


class EpochEnds(Answer, frozen=True, kw_only=True):
    partitions: tuple[EpochEnd, ...] = ()


class DeletedRecords(PartitionAnswer, frozen=True, kw_only=True):
    low_watermark: int = -1


class Produce(Request[ProducedPartition], frozen=True):
    topic: Topic | str
    partition: int
    records: NewBatch | bytes | None
    acks: int = -1
    transactional_id: str | None = None
    timeout_ms: int = 5_000


class ProduceMany(Request[ProduceAnswer], frozen=True):
    api: ClassVar[str] = "Produce"

    partitions: Sequence[ProducePartition]
    acks: int = -1
    transactional_id: str | None = None
    timeout_ms: int = 5_000


class ParkProduce(Request[PendingRequest], frozen=True):
    api: ClassVar[str] = "Produce"

    partitions: Sequence[ProducePartition]
    timeout_ms: int
    transactional_id: str | None = None


class ParkedProduce(Operation[ProduceAnswer], frozen=True):
    api: ClassVar[str] = "Produce"

    parked: PendingRequest
    within: float


class Fetch(FetchPartition, Operation[FetchedPartition], frozen=True, kw_only=True):
    """A Fetch of one partition, with the fields of both FetchPartition and FetchOptions."""

    api: ClassVar[str] = "Fetch"

    replica_id: int = CONSUMER
    replica_epoch: int = -1
    max_wait_ms: int = 0
    min_bytes: int = 0
    isolation_level: int = READ_UNCOMMITTED
    cluster_id: str | None = None
    version: int | None = None


class FetchMany(Request[FetchAnswer], frozen=True):
    api: ClassVar[str] = "Fetch"

    partitions: Sequence[FetchPartition]
    options: FetchOptions = AS_CONSUMER


class ParkFetch(Request[PendingRequest], frozen=True):
    api: ClassVar[str] = "Fetch"

    partitions: Sequence[FetchPartition]
    options: FetchOptions


class ParkedFetch(Operation[FetchAnswer], frozen=True):
    api: ClassVar[str] = "Fetch"

    parked: PendingRequest
    within: float


class ListOffsets(Request[ListedOffset], frozen=True):
    topic: str
    partition: int
    timestamp: int = LATEST
    current_leader_epoch: int = -1
    replica_id: int = CONSUMER
    isolation_level: int = READ_UNCOMMITTED


class ListOffsetsMany(Request[ListOffsetsAnswer], frozen=True):
    api: ClassVar[str] = "ListOffsets"
    sent_as: ClassVar[Mapping[str, str]] = {"queries": "topics"}

    queries: Sequence[OffsetQuery]
    replica_id: int = CONSUMER
    isolation_level: int = READ_UNCOMMITTED


class OffsetForLeaderEpoch(Request[EpochEnd], frozen=True):
    topic: str
    partition: int
    leader_epoch: int
    current_leader_epoch: int = -1
    replica_id: int | None = None


class OffsetForLeaderEpochMany(Request[EpochEnds], frozen=True):
    api: ClassVar[str] = "OffsetForLeaderEpoch"

    queries: Sequence[EpochQuery]
    replica_id: int | None = None


class DeleteRecords(Request[DeletedRecords], frozen=True):
    topic: str
    partition: int
    offset: int
    timeout_ms: int = 5_000
