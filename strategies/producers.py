"""The producer machine's own steps: what producers send, honest and hostile, aimed by role."""

from typing import ClassVar, Literal, TypeAlias

from strategies import steps

ProducerName = Literal["plain-1", "plain-2", "legacy-1", "legacy-2", "tv2-1", "tv2-2"]
"""Idempotent producers, and two transactional ids per transaction protocol. Until the cluster has finalized the second
protocol (KIP-890), `tv2` producers use the first one, too."""
PLAIN: tuple[ProducerName, ...] = ("plain-1", "plain-2")
TRANSACTIONAL: tuple[ProducerName, ...] = ("tv2-1", "legacy-1", "tv2-2", "legacy-2")

PythonProducerName = Literal["python-plain", "python-transactional"]
"""kafka-python's own producers, idempotent and transactional: they use the first transaction protocol, and decide by
themselves when to send and what to retry."""
PYTHON_PLAIN: PythonProducerName = "python-plain"
PYTHON_TRANSACTIONAL: PythonProducerName = "python-transactional"

WrittenPartition = Literal["strict-0", "strict-1", "strict-2", "loose-0"]
"""The `strict` partitions have different leaders at first, and min.insync.replicas=2. `loose` has 1, so that an
unclean election can lose acknowledged records."""
ReplicaRole = Literal["leader", "follower", "former-leader"]


class OnPartition(steps.SubjectStep, frozen=True, kw_only=True):
    """A step on one partition to which producers write."""

    on: WrittenPartition = "strict-0"


class OfProducer(steps.Step, frozen=True, kw_only=True):
    """A step of one producer that names no partition."""

    producer: ProducerName = "tv2-1"


# --- producer ids


class InitProducerId(OfProducer, frozen=True, kw_only=True, tag="init-producer-id"):
    """InitProducerId of a new instance, which fences the previous one; its transactions last at most `timeout_ms`."""

    timeout_ms: int = 60_000


class OutlastTimeout(OfProducer, frozen=True, kw_only=True, tag="outlast-timeout"):
    """Wait until the coordinator has aborted the open transaction, whose timeout is short."""


class BumpEpoch(OfProducer, frozen=True, kw_only=True, tag="bump-epoch"):
    """InitProducerId with the producer's own id and epoch (KIP-360); an idempotent producer bumps its epoch locally."""


class RaiseEpoch(OfProducer, frozen=True, kw_only=True, tag="raise-epoch"):
    """InitProducerId with the producer's own epoch, once per epoch, until that is `to`: tens of thousands take a while.
    An idempotent producer bumps it locally."""

    to: int = 10


class BumpAsFenced(OfProducer, frozen=True, kw_only=True, tag="bump-as-fenced"):
    """InitProducerId with the previous instance's id and epoch, like `SendAsFenced`: a known gap (KIP360-INIT-10)."""


# --- writing


class Write(OnPartition, frozen=True, kw_only=True, tag="write"):
    """Produce of the next batch, or a retry of the one with an unknown outcome; the first protocol adds its partition
    before."""

    producer: ProducerName = "tv2-1"
    records: int = 1
    to: ReplicaRole = "leader"


class WriteInFlight(OnPartition, frozen=True, kw_only=True, tag="write-in-flight"):
    """Up to five batches sent without waiting; a later step collects their answers."""

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
    """Produce of an acknowledged batch once more, the `back`-th before the latest."""

    producer: ProducerName = "plain-1"
    back: int = 0


# --- transactions


class CommitOffset(OfProducer, frozen=True, kw_only=True, tag="commit-offset"):
    """TxnOffsetCommit of the group's next offset; in the first protocol after AddOffsetsToTxn, or `unadded` without it:
    to be refused, unless the group already is in the transaction."""

    unadded: bool = False


class EndTransaction(OfProducer, frozen=True, kw_only=True, tag="end-transaction"):
    """EndTxn. If its outcome is unknown, the producer's next request sends it again."""

    commit: bool = True


class EndNothing(OfProducer, frozen=True, kw_only=True, tag="end-nothing"):
    """EndTxn of a producer without an open transaction."""

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
    """A request of the previous instance, at its epoch. If there is none, a new instance begins first.

    For a producer without a transactional id it is a write at the previous epoch. With `seen` the current instance
    writes to the partition just before, so that its leader has seen the newer epoch.
    """

    producer: ProducerName = "tv2-1"
    request: FencedRequest = "produce"
    seen: bool = False


# --- kafka-python's producer


class OfPython(steps.Step, frozen=True, kw_only=True):
    """A step of one of kafka-python's producers, which starts at its first step."""

    producer: PythonProducerName = PYTHON_TRANSACTIONAL


class PythonWrite(OnPartition, frozen=True, kw_only=True, tag="python-write"):
    """Records for kafka-python's producer, which sends them by itself; a transaction begins here if none is open."""

    producer: PythonProducerName = PYTHON_TRANSACTIONAL
    records: int = 1


class PythonFlush(OfPython, frozen=True, kw_only=True, tag="python-flush"):
    """Wait a while for the outcomes of its records."""


class PythonCommitOffset(steps.Step, frozen=True, kw_only=True, tag="python-commit-offset"):
    """The group's next offset, committed in the transactional producer's transaction, which begins here if none is
    open."""


class PythonEnd(steps.Step, frozen=True, kw_only=True, tag="python-end"):
    """The end of the transactional producer's transaction; after an error it is an abort."""

    commit: bool = True


class PythonReopen(OfPython, frozen=True, kw_only=True, tag="python-reopen"):
    """Close the producer, even in the middle of a transaction, and start another in its place."""


# --- reading


class FetchCommitted(OnPartition, frozen=True, kw_only=True, tag="fetch-committed"):
    """Fetch with read_committed, from `back` offsets before the highest log end seen, or from the log start."""

    reads: ClassVar[bool] = True
    role: ReplicaRole = "leader"
    back: int | None = None


class Describe(steps.Step, frozen=True, kw_only=True, tag="describe"):
    """DescribeTransactions for each transactional id, ListTransactions at each broker, DescribeProducers at each
    replica."""

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
