"""Steps of the producer machine beside the shared ones: what producers send, honest and hostile, aimed by role."""

from typing import ClassVar, Literal, TypeAlias

from strategies import steps

ProducerName = Literal["plain-1", "plain-2", "legacy-1", "legacy-2", "tv2-1", "tv2-2"]
"""Idempotent producers, and two transactional ids for each transaction protocol. Until the cluster has finalized the
second protocol (KIP-890), `tv2` producers speak the first one, too."""
PLAIN: tuple[ProducerName, ...] = ("plain-1", "plain-2")
TRANSACTIONAL: tuple[ProducerName, ...] = ("tv2-1", "legacy-1", "tv2-2", "legacy-2")

PythonProducerName = Literal["python-plain", "python-transactional"]
"""kafka-python's own producers, idempotent and transactional: they speak the first transaction protocol, and decide by
themselves when to send requests and which to retry."""
PYTHON_PLAIN: PythonProducerName = "python-plain"
PYTHON_TRANSACTIONAL: PythonProducerName = "python-transactional"

WrittenPartition = Literal["strict-0", "strict-1", "strict-2", "loose-0"]
"""The `strict` partitions have different leaders at first, and min.insync.replicas=2. `loose` has 1, so that an
unclean election can lose acknowledged records."""
ReplicaRole = Literal["leader", "follower", "former-leader"]


class OnPartition(steps.SubjectStep, frozen=True, kw_only=True):
    """A step about one partition that producers write to."""

    on: WrittenPartition = "strict-0"


class OfProducer(steps.Step, frozen=True, kw_only=True):
    """A step of one producer, about no partition in particular."""

    producer: ProducerName = "tv2-1"


# --- producer ids


class InitProducerId(OfProducer, frozen=True, kw_only=True, tag="init-producer-id"):
    """InitProducerId of a new instance, which fences the one before; its transactions last for at most `timeout_ms`."""

    timeout_ms: int = 60_000


class OutlastTimeout(OfProducer, frozen=True, kw_only=True, tag="outlast-timeout"):
    """Wait until the coordinator has aborted the open transaction, whose time-out is short."""


class BumpEpoch(OfProducer, frozen=True, kw_only=True, tag="bump-epoch"):
    """InitProducerId with the producer's own id and epoch (KIP-360); an idempotent producer raises its epoch by itself."""


class RaiseEpoch(OfProducer, frozen=True, kw_only=True, tag="raise-epoch"):
    """InitProducerId by the own epoch, one request for each epoch, until it is `to`: tens of thousands take a while. An
    idempotent producer raises it by itself."""

    to: int = 10


class BumpAsFenced(OfProducer, frozen=True, kw_only=True, tag="bump-as-fenced"):
    """InitProducerId with the id and epoch of the instance before, as `SendAsFenced`: a known gap (KIP360-INIT-10)."""


# --- writing


class Write(OnPartition, frozen=True, kw_only=True, tag="write"):
    """Produce of the next batch, or of the one of unknown outcome again; in the first protocol its partition is added first."""

    producer: ProducerName = "tv2-1"
    records: int = 1
    to: ReplicaRole = "leader"


class WriteInFlight(OnPartition, frozen=True, kw_only=True, tag="write-in-flight"):
    """Up to five batches that are sent without waiting; their answers are collected by a later step."""

    producer: ProducerName = "plain-1"
    batches: int = 2


class WriteToSeveral(OnPartition, frozen=True, kw_only=True, tag="write-to-several"):
    """One Produce with a batch for each partition that the leader of this one leads."""

    producer: ProducerName = "tv2-1"
    records: int = 1


class Collect(steps.Step, frozen=True, kw_only=True, tag="collect"):
    """Collect the answers to all requests in flight."""


class SkipSequence(OnPartition, frozen=True, kw_only=True, tag="skip-sequence"):
    """Produce of a batch whose sequence is `gap` too high."""

    producer: ProducerName = "plain-1"
    gap: int = 1


class RepeatBatch(OnPartition, frozen=True, kw_only=True, tag="repeat-batch"):
    """Produce of a batch that was acknowledged, the `back`-th before the latest, once more."""

    producer: ProducerName = "plain-1"
    back: int = 0


# --- transactions


class CommitOffset(OfProducer, frozen=True, kw_only=True, tag="commit-offset"):
    """TxnOffsetCommit of the next offset of the group; in the first protocol after AddOffsetsToTxn, or `unadded` without it: that
    is to be refused, unless the group is in the transaction already."""

    unadded: bool = False


class EndTransaction(OfProducer, frozen=True, kw_only=True, tag="end-transaction"):
    """EndTxn. If its outcome is unknown, the producer's next request sends it again."""

    commit: bool = True


class EndNothing(OfProducer, frozen=True, kw_only=True, tag="end-nothing"):
    """EndTxn of a producer that has no open transaction."""

    commit: bool = True


FencedRequest = Literal["produce", "add-partitions", "add-offsets", "commit-offset", "commit", "abort"]
FENCED_REQUESTS: tuple[FencedRequest, ...] = (
    "produce",
    "add-partitions",
    "add-offsets",
    "commit-offset",
    "commit",
    "abort",
)


class SendAsFenced(OnPartition, frozen=True, kw_only=True, tag="send-as-fenced"):
    """A request of the instance before, at its epoch. If there is none, a new instance begins first.

    Of a producer without a transactional id it is a write at the epoch before. `seen`: the current instance writes to the
    partition just before, so that its leader has seen the newer epoch.
    """

    producer: ProducerName = "tv2-1"
    request: FencedRequest = "produce"
    seen: bool = False


# --- kafka-python's producer


class OfPython(steps.Step, frozen=True, kw_only=True):
    """A step of one of kafka-python's producers, which begins at its first step."""

    producer: PythonProducerName = PYTHON_TRANSACTIONAL


class PythonWrite(OnPartition, frozen=True, kw_only=True, tag="python-write"):
    """Records for kafka-python's producer to send, which goes on by itself; in a transaction, begun here if none is open."""

    producer: PythonProducerName = PYTHON_TRANSACTIONAL
    records: int = 1


class PythonFlush(OfPython, frozen=True, kw_only=True, tag="python-flush"):
    """Wait for the outcome of its records, for a while."""


class PythonCommitOffset(steps.Step, frozen=True, kw_only=True, tag="python-commit-offset"):
    """The next offset of the group in the transaction of the transactional one, begun here if none is open."""


class PythonEnd(steps.Step, frozen=True, kw_only=True, tag="python-end"):
    """The end of the transaction of the transactional one; after an error it is aborted."""

    commit: bool = True


class PythonReopen(OfPython, frozen=True, kw_only=True, tag="python-reopen"):
    """Close the producer, whatever is under way, and begin another one in its place."""


# --- reading


class FetchCommitted(OnPartition, frozen=True, kw_only=True, tag="fetch-committed"):
    """Fetch with read_committed, from `back` offsets before the highest end that was seen, or from the log start."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    back: int | None = None


class Describe(steps.Step, frozen=True, kw_only=True, tag="describe"):
    """DescribeTransactions of each transactional id, ListTransactions of each broker, and DescribeProducers of each replica."""

    reads: ClassVar[bool] = True


class DeleteRecords(OnPartition, frozen=True, kw_only=True, tag="delete-records"):
    """DeleteRecords up to `keep` offsets below the high watermark."""

    keep: int = 1


ProducerStep: TypeAlias = (
    InitProducerId
    | OutlastTimeout
    | BumpEpoch
    | RaiseEpoch
    | BumpAsFenced
    | Write
    | WriteInFlight
    | WriteToSeveral
    | Collect
    | SkipSequence
    | RepeatBatch
    | CommitOffset
    | EndTransaction
    | EndNothing
    | SendAsFenced
    | PythonWrite
    | PythonFlush
    | PythonCommitOffset
    | PythonEnd
    | PythonReopen
    | FetchCommitted
    | Describe
    | DeleteRecords
    | steps.ReassignPartition
    | steps.CancelReassignment
    | steps.ElectPreferredLeader
    | steps.Disturb
    | steps.DisturbBriefly
    | steps.Heal
    | steps.HealPartly
    | steps.Echo
    | steps.Sweep
    | steps.ReadEverything
)
