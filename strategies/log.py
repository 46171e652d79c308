"""The log machine's own steps: plain data, aimed by role."""

from typing import ClassVar, Literal

from strategies import steps

PartitionName = Literal["strict-0", "strict-1", "loose-0", "compacted-0", "lone-0", "drawn-0", "drawn-1", "fleeting-0"]
"""`strict` has min.insync.replicas=2. `loose` has 1, so that an unclean election can lose records acknowledged by a
leader alone in the ISR; `compacted` is cleaned while the machine works; `lone` has one replica, and so no leader while
its broker is down. `drawn` has drawn replicas and settings; `fleeting` is deleted and recreated."""

CodecName = Literal["none", "gzip", "snappy", "lz4", "zstd"]
CODECS: tuple[CodecName, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
ReplicaRole = Literal["leader", "follower", "former-leader"]
"""`former-leader` is the replica that led before the current leader, if it can be reached; otherwise the leader."""


class PartitionStep(steps.SubjectStep, frozen=True, kw_only=True):
    """A step about one partition."""

    on: PartitionName = "strict-0"


# --- producers


class Produce(PartitionStep, frozen=True, kw_only=True, tag="produce"):
    """Produce: one batch of `records` records, whose values have at least `size` bytes."""

    records: int = 1
    acks: Literal[-1, 0, 1] = -1
    to: ReplicaRole = "leader"
    codec: CodecName = "none"
    size: int = 0


class ProduceIdempotently(PartitionStep, frozen=True, kw_only=True, tag="produce-idempotently"):
    """Produce of an idempotent producer: its next batch, or a retry of the previous one while its outcome is
    unknown."""

    producer: int = 1
    records: int = 1
    to: ReplicaRole = "leader"


class ProduceInFlight(PartitionStep, frozen=True, kw_only=True, tag="produce-in-flight"):
    """Produce with acks=all whose answer is collected by a later step."""

    records: int = 1
    to: ReplicaRole = "leader"


class FetchInFlight(PartitionStep, frozen=True, kw_only=True, tag="fetch-in-flight"):
    """Fetch at the log end that waits for records; its answer is collected by a later step."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"


class Collect(steps.Step, frozen=True, kw_only=True, tag="collect"):
    """Collect the answers to all requests in flight."""


class Transact(PartitionStep, frozen=True, kw_only=True, tag="transact"):
    """A transaction of one batch on a partition: committed, aborted, or left open until the next such step."""

    records: int = 1
    end: Literal["commit", "abort", "open"] = "commit"


class ProduceToAll(steps.Step, frozen=True, kw_only=True, tag="produce-to-all"):
    """Produce: one batch of `records` records to each partition."""

    records: int = 1
    acks: Literal[-1, 1] = -1
    to: ReplicaRole = "leader"


# --- raw fetchers


class Read(PartitionStep, frozen=True, kw_only=True, tag="read"):
    """Fetch from the log start: up to the high watermark as a consumer, or the full log with its uncommitted suffix.
    CurrentLeaderEpoch is `current_back` below the current one (-1: the next one), or absent."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    full_log: bool = False
    current_back: int | None = 0


class FetchAt(PartitionStep, frozen=True, kw_only=True, tag="fetch-at"):
    """Fetch `before_end` offsets before the highest log end seen. LastFetchedEpoch is `last_fetched_back` below the
    current leader epoch, and CurrentLeaderEpoch `current_back` below it."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    before_end: int = 0
    last_fetched_back: int = 0
    current_back: int = 0


class FetchInSession(PartitionStep, frozen=True, kw_only=True, tag="fetch-in-session"):
    """Fetch at the log end in the machine's session with this node, which begins with the first such step (KIP-227).
    CurrentLeaderEpoch is `current_back` below the current one."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    current_back: int = 0


class RevisitPosition(PartitionStep, frozen=True, kw_only=True, tag="revisit-position"):
    """Return to the record read `back` before the latest: Fetch the offset after it with its leader epoch as
    LastFetchedEpoch, and look up that epoch's end offset."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    back: int = 0


class OffsetForLeaderEpoch(PartitionStep, frozen=True, kw_only=True, tag="offset-for-leader-epoch"):
    """OffsetForLeaderEpoch for the epoch `epochs_back` below the current one. CurrentLeaderEpoch is `current_back`
    below it (-1: the next one)."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    epochs_back: int = 0
    current_back: int = 0


class ListOffsets(PartitionStep, frozen=True, kw_only=True, tag="list-offsets"):
    """ListOffsets for the earliest and the latest offset, with a CurrentLeaderEpoch `current_back` below the true
    one."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    current_back: int = 0


class DeleteRecords(PartitionStep, frozen=True, kw_only=True, tag="delete-records"):
    """DeleteRecords up to `keep` offsets below the high watermark, sent to the holder of a role."""

    keep: int = 1
    to: ReplicaRole = "leader"


class ProbeLeaders(steps.Step, frozen=True, kw_only=True, tag="probe-leaders"):
    """Probe each partition's leader and former leader: write to both, perhaps with too few replicas in the ISR, and see
    which high watermark advances and which leader epochs each serves."""


# --- consumers of kafka-python


class Consume(steps.Step, frozen=True, kw_only=True, tag="consume"):
    """Poll all partitions with a consumer without a group, from its positions or, the first time, from the log starts.
    There is one in each `rack`, that of the broker of this number, which reads from the replica there, and one without
    a rack (KIP-392)."""

    reads: ClassVar[bool] = True
    rack: int | None = None


class Join(steps.Step, frozen=True, kw_only=True, tag="join"):
    """Add a member to the group, subscribed to all topics: a rebalance."""


class PollGroup(steps.Step, frozen=True, kw_only=True, tag="poll-group"):
    """Poll with every member, and commit its positions with their leader epochs."""

    commit: bool = True


class Leave(steps.Step, frozen=True, kw_only=True, tag="leave"):
    """Remove the latest member: a rebalance."""


class OffsetFetch(steps.Step, frozen=True, kw_only=True, tag="offset-fetch"):
    """OffsetFetch of the group's committed offsets for all partitions."""

    reads: ClassVar[bool] = True


LogStep = (
    Produce
    | ProduceToAll
    | ProduceIdempotently
    | ProduceInFlight
    | FetchInFlight
    | FetchInSession
    | Collect
    | Transact
    | steps.ReadEverything
    | ProbeLeaders
    | Read
    | FetchAt
    | RevisitPosition
    | OffsetForLeaderEpoch
    | ListOffsets
    | DeleteRecords
    | Consume
    | Join
    | PollGroup
    | Leave
    | OffsetFetch
    | steps.AdministrationStep
    | steps.AlterClusterDefault
    | steps.Echo
    | steps.Sweep
    | steps.Disturb
    | steps.DisturbBriefly
    | steps.Heal
    | steps.HealPartly
)
