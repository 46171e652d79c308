"""Requests that name leader epochs: senders, the versions that check them, and predicates on answers."""

from typing import NamedTuple

from conformance.core.checks import PremiseClaim, premise
from conformance.rigs.log.epoch_histories import (
    trimmed_to,
)
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.replica_log import reads_nothing
from fixtures.wire import NodeClient
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import CONSUMER, DEBUGGER, EARLIEST, EpochAndOffset, EpochEnd, FetchedPartition, ListedOffset
from protocol.since import since

FENCED_FROM = since("FetchRequest", "CurrentLeaderEpoch")
FOLLOWERS_SERVE_FROM = since("FetchRequest", "RackId")
"""The first version in which a follower serves a consumer (KIP-392)."""
LARGEST_EPOCH = 2**31 - 1
APIS = {"fetch": "Fetch", "list-offsets": "ListOffsets", "offset-for-leader-epoch": "OffsetForLeaderEpoch"}
FENCED_APIS_FROM = {case: since(f"{api}Request", "CurrentLeaderEpoch") for case, api in APIS.items()}
AnyAnswer = FetchedPartition | ListedOffset | EpochEnd
ENDS_FENCED_FROM = since("OffsetForLeaderEpochRequest", "CurrentLeaderEpoch")
DIVERGES_FROM = since("FetchRequest", "LastFetchedEpoch")
"""The first version of Fetch with LastFetchedEpoch and DivergingEpoch."""
TRIMMED = trimmed_to(4, 6, 7)
TOO_FEW = (Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.REQUEST_TIMED_OUT)


class Sender(NamedTuple):
    """A request's receiver (broker id) and sender (replica id), and the partition's state before it."""

    node: NodeClient
    replica_id: int
    state: PartitionMetadata


def sender_for(partition: Partition, case: str) -> Sender:
    """Return a consumer at the leader; in cases `replica` and `no-endpoints` a follower at the leader, in case
    `follower` a consumer at a follower.
    """
    state = partition.await_agreement()
    follower = next(id for id in state.replicas if id != state.leader)
    node = partition.bench.node(follower if case == "follower" else state.leader)
    return Sender(node, follower if case in ("replica", "no-endpoints") else CONSUMER, state)


def same_leader_and_epoch(partition: Partition, before: PartitionMetadata) -> PremiseClaim:
    """Return the premise that leader and epoch are unchanged, so that all answers in between belong to one epoch."""
    now = partition.await_agreement()
    same = (now.leader, now.leader_epoch) == (before.leader, before.leader_epoch)
    return premise(same, f"still epoch {before.leader_epoch} of leader {before.leader}: {now}")


def is_refusal(answer: AnyAnswer, error: Error) -> bool:
    """True if the answer has this error and no data."""
    if isinstance(answer, FetchedPartition):
        return answer.error is error and reads_nothing(answer)
    offset = answer.offset if isinstance(answer, ListedOffset) else answer.end_offset
    return (answer.error, answer.leader_epoch, offset) == (error, -1, -1)


def ends_epoch(answer: EpochEnd, epoch: int, offset: int) -> bool:
    """True if OffsetForLeaderEpoch succeeded, with this epoch and end offset."""
    return (answer.error, answer.leader_epoch, answer.end_offset) == (Error.NONE, epoch, offset)


def diverges_at(answer: FetchedPartition, epoch: int, end: int) -> bool:
    """True if there is no error and no record, and DivergingEpoch has this epoch and end offset."""
    no_records = answer.error is Error.NONE and not answer.batches
    return no_records and answer.diverging_epoch == EpochAndOffset(epoch, end)


def out_of_range(answer: FetchedPartition) -> bool:
    """True if the error is OFFSET_OUT_OF_RANGE, without records and without a diverging epoch."""
    return answer.error is Error.OFFSET_OUT_OF_RANGE and not answer.batches and answer.diverging_epoch is None


def start_of(partition: Partition, node: NodeClient) -> ListedOffset:
    """Return a replica's log start offset from its own answer."""
    return node.list_offsets(partition.name, partition.index, EARLIEST, replica_id=DEBUGGER)
