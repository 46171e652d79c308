"""The metadata quorum: Vote, BeginQuorumEpoch, EndQuorumEpoch, DescribeQuorum (KIP-595) and FetchSnapshot (KIP-630)."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from protocol.cluster import Node
from protocol.log import CONSUMER, EpochAndOffset, LeaderAndEpoch
from protocol.messages import PartitionAnswer, Request, Topic

METADATA_TOPIC = "__cluster_metadata"


class QuorumReplica(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    replica_id: int
    replica_directory_id: UUID | None = None
    log_end_offset: int
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1


class Listener(msgspec.Struct, frozen=True, gc=False):
    name: str
    host: str
    port: int


class QuorumNode(msgspec.Struct, frozen=True, gc=False):
    node_id: int
    listeners: tuple[Listener, ...]


class QuorumAnswer(PartitionAnswer, frozen=True, kw_only=True):
    """The quorum of the metadata partition; with a `top_level_error` all other fields are empty."""

    error_message: str | None = None
    leader_id: int = -1
    leader_epoch: int = -1
    high_watermark: int = -1
    current_voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()
    nodes: tuple[QuorumNode, ...] = ()


METADATA = Topic(METADATA_TOPIC, UUID(int=1))
"""The metadata topic; its only partition is 0."""


class RaftAnswer(PartitionAnswer, frozen=True, kw_only=True):
    """The leader (-1 if unknown) and epoch that the receiver knows after handling the request."""

    leader_id: int = -1
    leader_epoch: int = -1
    node_endpoints: tuple[Node, ...] = ()


class VoteAnswer(RaftAnswer, frozen=True, kw_only=True):
    vote_granted: bool = False


class SnapshotPiece(PartitionAnswer, frozen=True, kw_only=True):
    """Bytes of a snapshot from `position` on; `current_leader` is None unless the node sent it."""

    snapshot_id: EpochAndOffset | None = None
    current_leader: LeaderAndEpoch | None = None
    size: int = 0
    position: int = 0
    unaligned_records: bytes | None = None
    node_endpoints: tuple[Node, ...] = ()


class DescribeQuorum(Request[QuorumAnswer], frozen=True):
    topic: str = METADATA_TOPIC
    partition: int = 0


class Vote(Request[VoteAnswer], frozen=True):
    candidate_id: int
    candidate_epoch: int
    last_offset: int
    last_offset_epoch: int
    cluster_id: str | None
    pre_vote: bool = False
    voter_id: int | None = None
    voter_directory_id: UUID | None = None
    topics: Sequence[str] = (METADATA_TOPIC,)
    partition: int = 0


class BeginQuorumEpoch(Request[RaftAnswer], frozen=True):
    leader_id: int
    leader_epoch: int
    cluster_id: str | None
    leader_endpoints: Sequence[Listener] = ()
    voter_id: int | None = None
    voter_directory_id: UUID | None = None
    topics: Sequence[str] = (METADATA_TOPIC,)
    partition: int = 0


class EndQuorumEpoch(Request[RaftAnswer], frozen=True):
    leader_id: int
    leader_epoch: int
    cluster_id: str | None
    successors: Sequence[int] = ()
    leader_endpoints: Sequence[Listener] = ()
    topics: Sequence[str] = (METADATA_TOPIC,)
    partition: int = 0


class FetchSnapshot(Request[SnapshotPiece], frozen=True):
    snapshot_id: EpochAndOffset
    current_leader_epoch: int
    cluster_id: str | None
    position: int = 0
    replica_id: int = CONSUMER
    max_bytes: int = 0x7FFFFFFF
    topic: str = METADATA_TOPIC
    partition: int = 0
