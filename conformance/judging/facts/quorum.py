"""Facts about the quorum of controllers: votes, epochs that begin and end, snapshots, descriptions (KIP-595, KIP-630)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from conformance.judging.facts.exchange import Attributed, Decoding, Exchange, decodes, error_of
from history.events import Answer, Call
from history.subjects import METADATA_LOG


class RaftExchange(Exchange, frozen=True, gc=False):
    """A request among voters. `leader` and `epoch` are those of the answer, -1 where it has none."""

    error: int
    leader: int
    epoch: int


class VoteResult(RaftExchange, frozen=True, gc=False):
    """Vote: the candidate's epoch and the end of its log (offset, epoch), and whether the vote was granted."""

    candidate: int
    candidate_epoch: int
    last_offset: int
    last_epoch: int
    pre_vote: bool
    voter: int | None
    granted: bool


class EpochBegun(RaftExchange, frozen=True, gc=False):
    """BeginQuorumEpoch of a leader, to the voter it is meant for."""

    sent_leader: int
    sent_epoch: int
    voter: int | None


class EpochEnded(RaftExchange, frozen=True, gc=False):
    """EndQuorumEpoch of a leader that resigns, with the successors it prefers, the first before the others."""

    sent_leader: int
    sent_epoch: int
    successors: tuple[int, ...]


class SnapshotFetched(RaftExchange, frozen=True, gc=False):
    """A piece of a snapshot (end offset, epoch) of `size` bytes in all, from `position` on."""

    snapshot: tuple[int, int]
    sent_epoch: int
    replica_id: int
    position: int
    size: int


class ReplicaState(msgspec.Struct, frozen=True, gc=False):
    """A voter or an observer by DescribeQuorum; times are milliseconds since 1970, -1 where unknown.

    `directory` is the id of its directory, empty before version 2 (KIP-853).
    """

    id: int
    log_end: int
    last_fetch_ms: int
    last_caught_up_ms: int
    directory: str = ""


class DescribedQuorum(RaftExchange, frozen=True, gc=False):
    """DescribeQuorum."""

    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]


def _of_raft(call: Call, answer: Answer, at: Decoding) -> tuple[int, int, str, int, int, int, int]:
    """The fields of a `RaftExchange`."""
    value = answer.value if answer.outcome == "ok" else {}
    leader, epoch = value.get("leader_id", -1), value.get("leader_epoch", -1)
    return (*at.exchange(call, answer), error_of(answer), leader, epoch)


def _attributed(fact: RaftExchange) -> Iterator[Attributed]:
    yield ("quorum", METADATA_LOG, fact)


@decodes("vote", about=["quorum"])
def _vote(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    fact = VoteResult(
        *_of_raft(call, answer, at),
        candidate=request["candidate_id"],
        candidate_epoch=request["candidate_epoch"],
        last_offset=request["last_offset"],
        last_epoch=request["last_offset_epoch"],
        pre_vote=request["pre_vote"],
        voter=request["voter_id"],
        granted=answer.outcome == "ok" and answer.value["vote_granted"],
    )
    yield from _attributed(fact)


@decodes("begin_quorum_epoch", about=["quorum"])
def _begin_quorum_epoch(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    fact = EpochBegun(
        *_of_raft(call, answer, at),
        sent_leader=request["leader_id"],
        sent_epoch=request["leader_epoch"],
        voter=request["voter_id"],
    )
    yield from _attributed(fact)


@decodes("end_quorum_epoch", about=["quorum"])
def _end_quorum_epoch(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    fact = EpochEnded(
        *_of_raft(call, answer, at),
        sent_leader=request["leader_id"],
        sent_epoch=request["leader_epoch"],
        successors=tuple(request["successors"]),
    )
    yield from _attributed(fact)


@decodes("fetch_snapshot", about=["quorum"])
def _fetch_snapshot(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    value = answer.value if answer.outcome == "ok" else {}
    leader = value.get("current_leader") or {}
    fact = SnapshotFetched(
        *at.exchange(call, answer),
        error_of(answer),
        leader.get("leader_id", -1),
        leader.get("leader_epoch", -1),
        snapshot=(request["snapshot_id"]["end_offset"], request["snapshot_id"]["epoch"]),
        sent_epoch=request["current_leader_epoch"],
        replica_id=request["replica_id"],
        position=request["position"],
        size=value.get("size", -1),
    )
    yield from _attributed(fact)


@decodes("describe_quorum", about=["quorum", "description"])
def _describe_quorum(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if answer.outcome != "ok":
        return
    value = answer.value
    fact = DescribedQuorum(
        *_of_raft(call, answer, at),
        high_watermark=value["high_watermark"],
        voters=_replicas(value["current_voters"]),
        observers=_replicas(value["observers"]),
    )
    yield from _attributed(fact)
    yield ("description", METADATA_LOG, fact)


def _replicas(replicas: list[dict[str, Any]]) -> tuple[ReplicaState, ...]:
    return tuple(
        [
            ReplicaState(
                one["replica_id"],
                one["log_end_offset"],
                one["last_fetch_timestamp"],
                one["last_caught_up_timestamp"],
                one.get("replica_directory_id") or "",
            )
            for one in replicas
        ]
    )
