"""The raft requests by name, each with fields that a check may override (KIP-595, KIP-630)."""

from collections.abc import Callable, Mapping
from typing import Any

from conformance.rigs.quorum.quorum import FAR, Quorum
from protocol.log import EpochAndOffset, FetchedPartition, FetchOptions, FetchPartition
from protocol.messages import Topic
from protocol.quorum import METADATA, RaftAnswer, SnapshotPiece

Ask = Callable[..., Any]


def vote(quorum: Quorum, name: str, epoch: int, **more: Any) -> RaftAnswer:
    return quorum.client(name).vote(quorum.peer_of(name), epoch, last_offset=FAR, last_offset_epoch=0, **more)


def begin(quorum: Quorum, name: str, epoch: int, **more: Any) -> RaftAnswer:
    return quorum.client(name).begin_quorum_epoch(quorum.peer_of(name), epoch, **more)


def end(quorum: Quorum, name: str, epoch: int, **more: Any) -> RaftAnswer:
    successors = [quorum.bench.id_of(name)]
    return quorum.client(name).end_quorum_epoch(quorum.peer_of(name), epoch, successors=successors, **more)


def fetch(
    quorum: Quorum, name: str, epoch: int, *, topic: Topic = METADATA, version: int | None = None, **options: Any
) -> FetchedPartition:
    return quorum.client(name).fetch(FetchPartition(topic, 0, 0, epoch, 0), FetchOptions(**options), version=version)


def fetch_snapshot(quorum: Quorum, name: str, epoch: int, **more: Any) -> SnapshotPiece:
    return quorum.client(name).fetch_snapshot(EpochAndOffset(1, 1), current_leader_epoch=epoch, **more)


ASK: Mapping[str, Ask] = {
    "vote": vote,
    "begin": begin,
    "end": end,
    "fetch": fetch,
    "fetch-snapshot": fetch_snapshot,
}
API = {
    "vote": "Vote",
    "begin": "BeginQuorumEpoch",
    "end": "EndQuorumEpoch",
    "fetch": "Fetch",
    "fetch-snapshot": "FetchSnapshot",
}
