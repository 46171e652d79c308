"""Fetches of the metadata log from a controller, and the log ends and endpoints that controllers describe."""

from __future__ import annotations

from typing import Any

from conformance.rigs.quorum.quorum import Quorum, Tried
from fixtures.cluster.config import CONTROLLER_PORT
from fixtures.wire.cluster import Node
from fixtures.wire.log import FetchedPartition, LeaderAndEpoch
from fixtures.wire.quorum import METADATA

FETCH_BY_ID = 13
SMALL = 4096
"""Bytes: room for one or two batches of metadata."""


def fetched(
    quorum: Quorum,
    name: str,
    offset: int,
    *,
    ahead: int = 0,
    last_fetched_epoch: int | None = None,
    older: int = 0,
    **more: Any,
) -> Tried[FetchedPartition]:
    """Fetch from a controller in an epoch `ahead` of the quorum's; by default the claimed log ends in that epoch."""
    version = quorum.version("Fetch", older, FETCH_BY_ID)

    def ask(settled: LeaderAndEpoch) -> FetchedPartition:
        epoch = settled.leader_epoch + ahead
        return quorum.client(name).fetch(
            METADATA, 0, offset, current_leader_epoch=epoch, cluster_id=quorum.cluster_id, version=version,
            last_fetched_epoch=epoch if last_fetched_epoch is None else last_fetched_epoch,
            partition_max_bytes=SMALL, **more,
        )  # fmt: skip

    return quorum.tried(name, ask, disk=False)


def own_end(id: int, described: Any) -> int:
    """The log end offset of this voter in a DescribeQuorum answer."""
    return next(int(voter.log_end_offset) for voter in described.current_voters if voter.replica_id == id)


def log_end(quorum: Quorum) -> int:
    """The leader's log end offset, as of a moment ago."""
    described = quorum.described()
    return own_end(described.leader_id, described)


def endpoint_of_leader(tried: Tried[Any]) -> Node:
    """The endpoint at which the leader's controller listener is reached."""
    id = tried.leader.leader_id
    return Node(node_id=id, host=f"controller-{id}", port=CONTROLLER_PORT)
