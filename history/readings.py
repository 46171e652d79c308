"""Readings that histories hold besides Kafka's own messages: from consumers, disks, and the controllers' logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec

from protocol.errors import KitError
from protocol.log import EpochAndOffset
from protocol.messages import Operation
from protocol.quorum import METADATA_TOPIC


class DeliveredRecord(msgspec.Struct, frozen=True, gc=False):
    """A record returned by poll. `value` is base64, as in a history."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    value: bytes | None


class Polled(msgspec.Struct, frozen=True, gc=False):
    records: tuple[DeliveredRecord, ...]


class Assigned(msgspec.Struct, frozen=True, gc=False):
    """The partitions that a consumer has from now on."""

    partitions: tuple[tuple[str, int], ...]


class HeldBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A batch in a segment. Equal digests mean equal bytes, including header and leader epoch."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    crc_valid: bool
    size: int
    digest: str


class HeldReplica(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One replica. `epochs` is None if the file is missing; `torn` describes bytes after the last whole batch."""

    node: str
    partition: str
    log_start: int
    log_end: int
    epochs: tuple[EpochEntry, ...] | None
    batches: tuple[HeldBatch, ...]
    torn: str = ""


class HeldReplicas(msgspec.Struct, frozen=True, gc=False):
    replicas: tuple[HeldReplica, ...]


class LoggedBatch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A batch of the metadata log. Equal digests mean equal bytes, including header and leader epoch."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    digest: str


class LeaderChange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A LeaderChange record, in a batch that begins at `offset`."""

    offset: int
    epoch: int
    leader: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]


class HeldSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of the metadata log. Equal digests mean equal records, in whatever order and batches.

    Control records (header and footer) do not count. `torn` describes bytes that are not a batch.
    """

    end_offset: int
    epoch: int
    digest: str
    records: int
    torn: str = ""


class HeldMetadataLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A controller's metadata log and quorum-state on disk.

    `epochs` is None if leader-epoch-checkpoint is missing or malformed, `quorum_state` if that file is missing; `torn`
    describes bytes after the last whole batch. `steady` is False if one of the two files changed while the log was read.
    """

    log_start: int
    log_end: int
    batches: tuple[LoggedBatch, ...]
    leader_changes: tuple[LeaderChange, ...]
    snapshots: tuple[HeldSnapshot, ...]
    epochs: tuple[EpochEntry, ...] | None
    quorum_state: bytes | None
    steady: bool
    torn: str = ""


class EpochEntry(msgspec.Struct, frozen=True, order=True):
    """A leader epoch and its start offset: that of the first record written in it, or to be written."""

    epoch: int
    start_offset: int


class PartitionRegistration(msgspec.Struct, frozen=True, gc=False):
    """A partition's registration at the controllers: its leader, ISR and eligible replicas.

    `leader` is -1 for none; `last_known` has the last known leader while the ISR is empty (KIP-966). `epoch` is the
    leader epoch, -1 if it is unknown. `recovering`: the leader was elected uncleanly. `unfenced` are the brokers that
    were unfenced then, according to the log.
    """

    leader: int
    isr: tuple[int, ...]
    last_known: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    epoch: int = -1
    recovering: bool = False
    replicas: tuple[int, ...] = ()
    unfenced: tuple[int, ...] = ()


class RegistrationHistory(msgspec.Struct, frozen=True, gc=False):
    """All registrations of a partition, in order."""

    topic: str
    index: int
    registrations: tuple[PartitionRegistration, ...]


class RegistrationHistories(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[RegistrationHistory, ...]


class Position(msgspec.Struct, frozen=True, gc=False):
    """The next offset to read, and the epoch of the record before it; -1 if no record before it was delivered."""

    offset: int
    epoch: int = -1


class ReadRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as it was returned to the application."""

    offset: int
    epoch: int
    key: bytes | None
    value: bytes | None


class File(msgspec.Struct, frozen=True):
    """A file from a node's data directory; `content` is None if it does not exist.

    `modified_ms` is the time of its last modification, in milliseconds since 1970; None where it is not recorded.
    """

    content: bytes | None
    modified_ms: int | None = None

    @property
    def text(self) -> str:
        if self.content is None:
            raise KitError("the file was not there when it was read")
        return self.content.decode()


class Received(msgspec.Struct, frozen=True):
    """A request to a scripted peer; `body` is plain JSON data, `number` identifies it for an answer."""

    number: int
    peer: int
    api: str
    version: int
    body: dict[str, Any]
    at: float
    """The arrival time, in seconds of the kit's monotonic clock."""

    @property
    def partition(self) -> dict[str, Any]:
        """The single partition in a raft request."""
        found: dict[str, Any] = self.body["topics"][0]["partitions"][0]
        return found


class Mail(msgspec.Struct, frozen=True):
    """A received request to a peer, or None if none came in time."""

    received: Received | None


class Poll(Operation[Polled], frozen=True):
    within_ms: int


class Assignment(Operation[Assigned], frozen=True):
    """A consumer notes that it was assigned partitions, by its group if it has one."""

    op: ClassVar[str] = "assigned"

    group: str | None = None


Change = Literal["assigned", "revoked", "lost", "failed"]
"""How the partitions of a client changed: a coordinator that removed it takes them as lost; it has none once it failed."""


class Owned(Operation[Assigned], frozen=True):
    """A member of a group that is a client of its own notes which partitions it has after it was assigned some, revoked some,
    lost some to a coordinator that removed it, or failed for good."""

    op: ClassVar[str] = "owned"

    group: str
    how: Change
    member_id: str = ""


class ClientError(Operation[Assigned], frozen=True):
    """A client of its own tells its application of an error, `times` times since it did last; `code` is librdkafka's name.

    The answer is what the client has then. After one that is `fatal` it does nothing any more.
    """

    op: ClassVar[str] = "client_error"

    group: str
    code: str
    reason: str
    times: int
    fatal: bool


class ReaderDelivery(Operation[Position], frozen=True):
    """A reader hands records to its application."""

    op: ClassVar[str] = "deliver"

    topic: str
    partition: int
    records: Sequence[ReadRecord]


class ReaderRewind(Operation[Position], frozen=True):
    """A reader rewinds to before a truncation, to the diverging epoch and end offset that it got (`told`)."""

    op: ClassVar[str] = "rewind"

    topic: str
    partition: int
    before: Position
    told: EpochAndOffset


class ReaderRestart(Operation[Position], frozen=True):
    """A reader whose position was out of range continues from the log start."""

    op: ClassVar[str] = "restart"

    topic: str
    partition: int
    before: Position
    log_start: int


class ReadDisks(Operation[HeldReplicas], frozen=True):
    """A read of partitions' replicas (`topic-0`) from the disks of the brokers that host them."""

    op: ClassVar[str] = "replicas"

    partitions: Sequence[str]
    on: Sequence[Sequence[str]]


class ReadRegistration(Operation[PartitionRegistration], frozen=True):
    """A read of a partition's latest registration in a controller's log on disk."""

    op: ClassVar[str] = "word"

    topic: str
    partition: int


class ReadRegistrations(Operation[RegistrationHistories], frozen=True):
    """A read of all committed registrations of partitions in the controllers' logs on disk."""

    op: ClassVar[str] = "registrations"

    partitions: Sequence[tuple[str, int]]


class ReadFile(Operation[File], frozen=True):
    """A read of a file below a node's data directory."""

    path: str


class ReceiveRequest(Operation[Mail], frozen=True):
    """A wait for a request to the scripted peers: to one of them or (if `peer` is None) to any."""

    op: ClassVar[str] = "receive"

    peer: int | None


class Metric(msgspec.Struct, frozen=True):
    """The attributes of an MBean by name; None if no MBean has the requested name."""

    attributes: dict[str, Any] | None

    @property
    def values(self) -> dict[str, Any]:
        """The attributes; empty if there is no such MBean."""
        return self.attributes or {}


class ReadMetric(Operation[Metric], frozen=True):
    """A read of all attributes of an MBean of a node."""

    op: ClassVar[str] = "metric"

    metric: str


class ToolRun(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a command line tool, and its exit code; `missing` names the part without which it could not be run."""

    code: int = -1
    out: str = ""
    err: str = ""
    missing: str = ""


class RunQuorumTool(Operation[ToolRun], frozen=True):
    """A run of `kafka-metadata-quorum`."""

    op: ClassVar[str] = "quorum_tool"

    arguments: Sequence[str]


class OwnershipChange(msgspec.Struct, frozen=True):
    """The partitions that a member of a group had after they changed."""

    how: Change
    member_id: str
    partitions: tuple[tuple[str, int], ...]


class CopyStep(msgspec.Struct, frozen=True):
    """A step of a client that copies records: its ownerships meanwhile, the partition and offset of the record of which the copy
    is open, and the error after which it starts over."""

    changes: tuple[OwnershipChange, ...] = ()
    copied: tuple[int, int] | None = None
    trouble: str = ""


class StartCopying(Operation[CopyStep], frozen=True):
    """The start of a client that copies records of the topic `source` to the first partition of `target`."""

    op: ClassVar[str] = "start_copying"

    group: str
    protocol: str
    source: str
    target: str


CopyAct = Literal["read", "begin", "end", "leave"]
"""A step of a client that copies records: poll, write a record in a new transaction, commit it, leave the group."""


class CopyRecords(Operation[CopyStep], frozen=True):
    """A step of a client that copies records in transactions."""

    op: ClassVar[str] = "copy_records"

    do: CopyAct


class StartJavaConsumer(Operation[ToolRun], frozen=True):
    """The start of a `VerifiableConsumer`, which goes on in the background."""

    op: ClassVar[str] = "start_java_consumer"

    name: str
    arguments: Sequence[str]


class ToolLines(msgspec.Struct, frozen=True):
    """Lines that a tool in the background has written, and the byte of its output after them."""

    lines: tuple[str, ...]
    end: int


class ReadJavaConsumer(Operation[ToolLines], frozen=True):
    """A read of the output of a `VerifiableConsumer` from a byte on."""

    op: ClassVar[str] = "read_java_consumer"

    name: str
    start: int


class SignalJavaConsumer(Operation[ToolRun], frozen=True):
    """A signal to a `VerifiableConsumer`: TERM, on which it leaves its group, KILL, or 0, which asks whether it runs."""

    op: ClassVar[str] = "signal_java_consumer"

    name: str
    signal: Literal["TERM", "KILL", "0"]


class ReadMetadataLog(Operation[HeldMetadataLog], frozen=True):
    """A read of a controller's metadata log, snapshots and quorum-state from its disk."""

    op: ClassVar[str] = "metadata_log"

    topic: str = METADATA_TOPIC
    partition: int = 0


class GroupRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A record of the offsets topic, decoded with the release's own schemas.

    `kind` is the name of the schema without Key and Value, as `ConsumerGroupMetadata`; `commit` or `abort` for the end of a
    transaction, `unknown` for a record of another kind of group. `value` is None for a tombstone. Bytes are base64.
    """

    offset: int
    leader_epoch: int = -1
    kind: str
    key: dict[str, Any] = {}
    value: dict[str, Any] | None = None
    version: int = -1
    """The version of the value; -1 without one."""
    producer_id: int = -1
    producer_epoch: int = -1
    transactional: bool = False


class GroupRecords(msgspec.Struct, frozen=True, gc=False):
    """The records of one partition of the offsets topic from `start` up to the high watermark `end`, in their order."""

    start: int
    end: int
    records: tuple[GroupRecord, ...] = ()


class ReadGroupLog(Operation[GroupRecords], frozen=True):
    """A read of a partition of the offsets topic at its leader."""

    op: ClassVar[str] = "group_log"

    log_partition: int
    start: int
