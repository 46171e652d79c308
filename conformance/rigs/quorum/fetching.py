"""Fetches of the metadata log from a controller, and the log ends and endpoints that controllers report."""

from typing import Any

from conformance.rigs.quorum.quorum import Quorum, Tried
from fixtures.cluster.config import CONTROLLER_PORT
from protocol.cluster import Node
from protocol.log import FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA, QuorumAnswer

FETCH_BY_ID = 13
SMALL = 4096
"""Bytes: room for one or two batches of metadata."""


def try_fetch(
    quorum: Quorum,
    name: str,
    offset: int,
    *,
    ahead: int = 0,
    last_fetched_epoch: int | None = None,
    last_fetched_beyond: int = 0,
    older: int = 0,
    malformed: str = "",
    **options: Any,
) -> Tried[FetchedPartition]:
    """Fetch from a controller at an epoch `ahead` of the quorum's. LastFetchedEpoch is by default that epoch plus
    `last_fetched_beyond`. `malformed` says how the request breaks the protocol."""
    version = quorum.version("Fetch", older, FETCH_BY_ID)

    def ask(settled: LeaderAndEpoch) -> FetchedPartition:
        epoch = settled.leader_epoch + ahead
        last = epoch + last_fetched_beyond if last_fetched_epoch is None else last_fetched_epoch
        wanted = FetchPartition(METADATA, 0, offset, epoch, last, partition_max_bytes=SMALL)
        with quorum.bench.malformed_requests(malformed):
            return quorum.client(name).fetch(
                wanted, FetchOptions(cluster_id=quorum.cluster_id, **options), version=version
            )

    return quorum.attempt(name, ask, disk=False)


def own_end(id: int, described: QuorumAnswer) -> int:
    """Return this voter's log end offset in a DescribeQuorum answer; -1 if it is not a voter there."""
    return next((voter.log_end_offset for voter in described.current_voters if voter.replica_id == id), -1)


def majority_has(described: QuorumAnswer) -> bool:
    """True if the log ends of a majority of the voters have reached the high watermark."""
    reached = [voter for voter in described.current_voters if voter.log_end_offset >= described.high_watermark]
    return len(reached) > len(described.current_voters) // 2


def log_end(quorum: Quorum) -> int:
    """Return the leader's recent log end offset."""
    described = quorum.describe_by_leader()
    return own_end(described.leader_id, described)


def landmarks(quorum: Quorum) -> list[int]:
    """Return notable offsets of the leader's log: epoch starts, middle, high watermark and log end."""
    described = quorum.describe_by_leader()
    end = own_end(described.leader_id, described)
    return sorted({*(line.start for line in quorum.epochs()), end // 2, described.high_watermark, end})


def endpoint_of_leader(tried: Tried[Any]) -> Node:
    """Return the endpoint of the leader's controller listener."""
    id = tried.leader.leader_id
    return Node(node_id=id, host=f"controller-{id}", port=CONTROLLER_PORT)
