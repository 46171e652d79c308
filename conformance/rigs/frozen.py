"""One real voter of three. The kit plays the others: candidate, leader or silent peer."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from conformance.bench import Bench
from conformance.checks import Rig
from conformance.rigs.quorum import LISTENER, QUORUM_STATE, Stored, cluster_id_of, of
from conformance.topologies import FROZEN_VOTER
from fixtures.cluster import Received
from fixtures.cluster.config import peer_host, peer_port
from fixtures.errors import KitError
from fixtures.wire import Error, NodeClient
from fixtures.wire.cluster import METADATA_TOPIC, Listener
from fixtures.wire.log import EpochAndOffset, LeaderAndEpoch
from fixtures.wire.quorum import METADATA, VOTER_KEYS_FROM, RaftAnswer, VoteAnswer
from fixtures.wire.records import batch

PEERS = FROZEN_VOTER.scripted
OUTSIDER = 9
"""An id that is not in the voter set."""

SOON = 10.0
"""Seconds in which a node surely sends what it has no reason to wait with."""

NO_OP = b"\x01\x14\x00\x00"
"""A NoOpRecord (KIP-835) as the metadata log holds it: frame version 1, api key 20, version 0, no tagged fields."""

EPOCH_OF_LOG = (1, 3)
"""The epochs that the first leader's log holds: with a gap between them."""
RECORDS = 5
"""In each of them."""


class LogEnd(NamedTuple):
    """The epoch of a log's last record, and the offset after it."""

    epoch: int
    offset: int


class FrozenData(msgspec.Struct, frozen=True):
    cluster_id: str


class Frozen:
    """The real voter. Nothing moves but by what a check sends, so that any state can be had and looked at at leisure."""

    def __init__(self, bench: Bench, data: FrozenData) -> None:
        self.bench = bench
        self.cluster_id = data.cluster_id
        [self.name] = bench.controllers
        self.id = bench.id_of(self.name)
        self.peers = bench.peers
        self._open: Received | None = None
        """The last fetch that was returned and is not answered yet: it keeps the node from sending another."""
        self.peers.hang_up()

    @property
    def client(self) -> NodeClient:
        return self.bench.node(self.name, controller=True)

    def version(self, api: str, older: int = 0, at_least: int = 0) -> int:
        return max(self.bench.column.ranges[f"controller.{api}"] - older, at_least)

    @property
    def pre_votes(self) -> bool:
        """Whether an election starts with a pre-vote (KIP-996)."""
        return self.version("Vote") >= 2

    # --- what it says and holds

    def says(self) -> LeaderAndEpoch:
        """Leader and epoch, asked by a Vote with LastOffset -1, which is refused before any state is touched."""
        answer = self.client.vote(
            PEERS[0], 0, last_offset=-1, last_offset_epoch=0, cluster_id=self.cluster_id, version=0
        )
        return of(answer)

    def stored(self) -> Stored:
        return msgspec.json.decode(self.bench.read_file(self.name, QUORUM_STATE).text, type=Stored)

    def next_epoch(self, ahead: int = 1) -> int:
        return self.says().leader_epoch + ahead

    # --- asking it

    def vote(self, candidate: int, epoch: int, log: LogEnd, **more: Any) -> VoteAnswer:
        more.setdefault("cluster_id", self.cluster_id)
        return self.client.vote(candidate, epoch, last_offset=log.offset, last_offset_epoch=log.epoch, **more)

    def begin(self, leader: int, epoch: int, *, version: int | None = None, **more: Any) -> RaftAnswer:
        version = self.version("BeginQuorumEpoch") if version is None else version
        more.setdefault("cluster_id", self.cluster_id)
        return self.client.begin_quorum_epoch(
            leader, epoch, leader_endpoints=endpoints(leader, version), version=version, **more
        )

    def end(self, leader: int, epoch: int, successors: list[int], *, version: int | None = None) -> RaftAnswer:
        version = self.version("EndQuorumEpoch") if version is None else version
        return self.client.end_quorum_epoch(
            leader, epoch, cluster_id=self.cluster_id, successors=successors,
            leader_endpoints=endpoints(leader, version), version=version,
        )  # fmt: skip

    # --- bringing it into a state

    def follow(self, leader: int = PEERS[0], ahead: int = 1) -> Received:
        """Make it follow a peer in a later epoch; returns its fetch, which it sends at once and which waits for an answer."""
        epoch = self.next_epoch(ahead)
        answer = self.begin(leader, epoch)
        if answer.error is not Error.NONE or of(answer) != LeaderAndEpoch(leader, epoch):
            raise KitError(f"{self.name} would not follow {leader} in epoch {epoch}: {answer}")
        fetch = self.fetch_in(epoch, leader)
        if fetch is None:
            raise KitError(f"{self.name} did not fetch from {leader} in epoch {epoch} within {SOON:g} s")
        return fetch

    def fetch_in(self, epoch: int, leader: int, within: float = SOON) -> Received | None:
        """The node's next fetch of this epoch from a leader.

        A node has one request open to another, so fetches of other epochs are answered, which they no longer heed.
        """
        while (fetch := self._open or self.peers.receive("Fetch", peer=leader, within=within)) is not None:
            if epoch_of(fetch) == epoch and fetch.peer == leader:
                self._open = fetch
                return fetch
            self.serve(fetch)
        return None

    def stand(self, leader: int = PEERS[0]) -> Received:
        """Make it ask for votes: its leader resigns and names it the successor. Returns its first Vote, pre-vote or not."""
        fetch = self.follow(leader)
        self.end(leader, epoch_of(fetch), [self.id])
        return self.asked_for_vote()

    def asked_for_vote(self, *, pre_vote: bool | None = None) -> Received:
        """The next Vote that it sends; `pre_vote` says of which kind."""
        while (asked := self.peers.receive("Vote", within=SOON)) is not None:
            if pre_vote in (None, asked.partition.get("pre_vote", False)):
                return asked
        raise KitError(f"{self.name} did not ask for votes within {SOON:g} s")

    def candidate(self) -> Received:
        """Make it a candidate; returns its Vote, which nobody has answered yet."""
        asked = self.stand()
        if asked.partition.get("pre_vote"):
            self.grant(asked)
            asked = self.asked_for_vote(pre_vote=False)
        return asked

    def lead(self) -> int:
        """Make it the leader of a later epoch, by one peer's vote; returns the epoch."""
        asked = self.candidate()
        epoch = candidate_epoch(asked)
        self.grant(asked)
        self.bench.eventually(lambda: self.says() == LeaderAndEpoch(self.id, epoch), f"{self.name} leading {epoch}")
        return epoch

    def log_end(self) -> LogEnd:
        """Where its log ends, as it tells a new leader."""
        return log_end_of(self.follow())

    # --- answering it

    def grant(self, asked: Received, *, granted: bool = True, leader: int = -1, epoch: int | None = None) -> None:
        answer = {
            "partition_index": 0,
            "leader_id": leader,
            "leader_epoch": candidate_epoch(asked) if epoch is None else epoch,
            "vote_granted": granted,
        }
        self.peers.reply(asked, {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [answer]}]})

    def serve(
        self,
        fetch: Received,
        *,
        records: bytes = b"",
        error: Error = Error.NONE,
        leader: LeaderAndEpoch | None = None,
        high_watermark: int = 0,
        diverging: EpochAndOffset | None = None,
    ) -> None:
        """Answer a fetch as its leader, or in the name of another."""
        current = leader or LeaderAndEpoch(fetch.peer, epoch_of(fetch))
        answer: dict[str, Any] = {
            "partition_index": 0,
            "error_code": error,
            "high_watermark": high_watermark,
            "log_start_offset": 0,
            "current_leader": {"leader_id": current.leader_id, "leader_epoch": current.leader_epoch},
            "records": records,
        }
        if diverging is not None:
            answer["diverging_epoch"] = {"epoch": diverging.epoch, "end_offset": diverging.end_offset}
        self.peers.reply(fetch, {"responses": [{"topic_id": METADATA.id, "partitions": [answer]}]})
        self._open = None


def endpoints(peer: int, version: int) -> tuple[Listener, ...]:
    """The leader endpoints that a request of this version carries for a peer; none for one that the kit does not play."""
    if version < VOTER_KEYS_FROM or peer not in PEERS:
        return ()
    return (Listener(LISTENER, peer_host(peer), peer_port(peer)),)


def epoch_of(fetch: Received) -> int:
    epoch: int = fetch.partition["current_leader_epoch"]
    return epoch


def log_end_of(fetch: Received) -> LogEnd:
    return LogEnd(fetch.partition["last_fetched_epoch"], fetch.partition["fetch_offset"])


def candidate_epoch(asked: Received) -> int:
    """KIP-996 calls the candidate the replica."""
    partition = asked.partition
    epoch: int = partition["replica_epoch"] if "replica_epoch" in partition else partition["candidate_epoch"]
    return epoch


def prepare_frozen(bench: Bench) -> FrozenData:
    """Give the voter a log: some records of two epochs, which it fetches from a peer."""
    frozen = Frozen(bench, FrozenData(cluster_id_of(bench)))
    fetch = frozen.follow(ahead=EPOCH_OF_LOG[-1] + 1)
    batches = [
        batch(*[NO_OP] * RECORDS, base_offset=RECORDS * number, leader_epoch=epoch, timestamp=1).encoded()
        for number, epoch in enumerate(EPOCH_OF_LOG)
    ]
    if log_end_of(fetch).offset == 0:
        frozen.serve(fetch, records=b"".join(batches))
        frozen.fetch_in(epoch_of(fetch), fetch.peer)
    end = frozen.log_end()
    if end != LogEnd(EPOCH_OF_LOG[-1], RECORDS * len(EPOCH_OF_LOG)):
        raise KitError(f"{frozen.name} did not take the log that it was given: it ends at {end}")
    return FrozenData(frozen.cluster_id)


FROZEN = Rig(FROZEN_VOTER, prepare_frozen, Frozen, shared=True)
"""A voter that waits for what it is sent. Each example goes to later epochs than the last."""
