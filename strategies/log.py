"""Steps of the log machine beside the shared ones: plain data, aimed by role."""

from typing import ClassVar, Literal

from strategies import steps

PartitionName = Literal["strict-0", "strict-1", "loose-0", "compacted-0", "lone-0", "drawn-0", "drawn-1", "fleeting-0"]
"""`strict` has min.insync.replicas=2. `loose` has 1, so that an unclean election can lose records that a leader
acknowledged while it was alone in the ISR; `compacted` is cleaned while the machine works; `lone` has one replica, and
no leader while its broker is down. `drawn` has drawn replicas and settings; `fleeting` is deleted and recreated."""

CodecName = Literal["none", "gzip", "snappy", "lz4", "zstd"]
CODECS: tuple[CodecName, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
ReplicaRole = Literal["leader", "follower", "former-leader"]
"""`former-leader` is the replica that led before the current leader, if it can be reached; else it is the leader."""


class PartitionStep(steps.SubjectStep, frozen=True, kw_only=True):
    """A step about one partition."""

    on: PartitionName = "strict-0"


# --- producers


class Produce(PartitionStep, frozen=True, kw_only=True, tag="produce"):
    """Produce: one batch of `records` records, whose values have `size` bytes at least."""

    records: int = 1
    acks: Literal[-1, 0, 1] = -1
    to: ReplicaRole = "leader"
    codec: CodecName = "none"
    size: int = 0


class ProduceIdempotently(PartitionStep, frozen=True, kw_only=True, tag="produce-idempotently"):
    """Produce of an idempotent producer: its next batch, or once more the one before while its outcome is unknown."""

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
    """A transaction of one batch on a partition: committed, aborted, or left open until the next step of this kind."""

    records: int = 1
    end: Literal["commit", "abort", "open"] = "commit"


class ProduceToAll(steps.Step, frozen=True, kw_only=True, tag="produce-to-all"):
    """Produce: one batch of `records` records to each partition."""

    records: int = 1
    acks: Literal[-1, 1] = -1
    to: ReplicaRole = "leader"


# --- raw fetchers


class Read(PartitionStep, frozen=True, kw_only=True, tag="read"):
    """Fetch from the log start: up to the high watermark as a consumer, or the full log with its uncommitted suffix. The
    request names as current the leader epoch `current_back` before the current one (-1: the next one), or none."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    full_log: bool = False
    current_back: int | None = 0


class FetchAt(PartitionStep, frozen=True, kw_only=True, tag="fetch-at"):
    """Fetch `before_end` offsets before the highest end seen. The request names as last fetched the leader epoch
    `last_fetched_back` before the current one, and as current the one `current_back` before it."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    before_end: int = 0
    last_fetched_back: int = 0
    current_back: int = 0


class FetchInSession(PartitionStep, frozen=True, kw_only=True, tag="fetch-in-session"):
    """Fetch at the log end in the session that this node keeps for the machine, which begins with the first (KIP-227). The
    request names as current the leader epoch `current_back` before the current one."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    current_back: int = 0


class RevisitPosition(PartitionStep, frozen=True, kw_only=True, tag="revisit-position"):
    """Return to a record that was read before, the `back`-th before the latest: Fetch the offset after it with its leader
    epoch as last fetched, and ask for the end of that epoch."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    back: int = 0


class OffsetForLeaderEpoch(PartitionStep, frozen=True, kw_only=True, tag="offset-for-leader-epoch"):
    """OffsetForLeaderEpoch for the epoch `epochs_back` before the current one. The request names as current the one
    `current_back` before it (-1: the next one)."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    epochs_back: int = 0
    current_back: int = 0


class ListOffsets(PartitionStep, frozen=True, kw_only=True, tag="list-offsets"):
    """ListOffsets for the earliest and the latest offset, with a current leader epoch `current_back` below the true one."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    current_back: int = 0


class DeleteRecords(PartitionStep, frozen=True, kw_only=True, tag="delete-records"):
    """DeleteRecords up to `keep` offsets below the high watermark, asked of the holder of a role."""

    keep: int = 1
    to: ReplicaRole = "leader"


class ProbeLeaders(steps.Step, frozen=True, kw_only=True, tag="probe-leaders"):
    """Probe the leader and the former leader of each partition: write to both, perhaps with too few replicas in the ISR, and
    see which high watermark advances and which leader epochs each of them serves."""


# --- consumers of kafka-python


class Consume(steps.Step, frozen=True, kw_only=True, tag="consume"):
    """A consumer without a group polls all partitions from its positions; the first time, from the log starts. There is one in
    each `rack`, that of the broker of this number, which reads from the replica there, and one in none (KIP-392)."""

    reads: ClassVar[bool] = True
    rack: int | None = None


class Join(steps.Step, frozen=True, kw_only=True, tag="join"):
    """Another member joins the group, subscribed to all topics: a rebalance."""


class PollGroup(steps.Step, frozen=True, kw_only=True, tag="poll-group"):
    """Every member polls, and commits its positions with their leader epochs."""

    commit: bool = True


class Leave(steps.Step, frozen=True, kw_only=True, tag="leave"):
    """The member that joined last leaves: a rebalance."""


class OffsetFetch(steps.Step, frozen=True, kw_only=True, tag="offset-fetch"):
    """OffsetFetch of the group's committed offsets of all partitions."""

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
