"""One real voter of three. The kit plays the others: as candidate, leader or unresponsive peer."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import FROZEN_VOTER, LIVE_VOTER_OF_FIVE
from conformance.core.waiting import WITHIN, Settled
from conformance.judging.excuses import GIVEN_UP
from conformance.judging.facts.quorum import QUORUM_STATE, Stored
from conformance.rigs.quorum.quorum import (
    LISTENER,
    WRITTEN_WITHIN,
    VoterCondition,
    cluster_id_of,
    leader_in,
    stored_or_not,
    written_condition,
)
from fixtures.cluster import Peers
from fixtures.cluster.config import CONTROLLER_PORT, peer_host, peer_port
from fixtures.views.quorum import leader_known_to
from fixtures.wire import NodeClient
from fixtures.wire.quorum import VOTER_KEYS_FROM
from fixtures.wire.records import encode_batch, read_batches
from history.due import Due, is_starved
from history.readings import File, Received
from protocol.codes import Error
from protocol.log import EpochAndOffset, FetchedPartition, FetchOptions, FetchPartition, LeaderAndEpoch
from protocol.quorum import METADATA, METADATA_TOPIC, Listener, RaftAnswer, VoteAnswer
from protocol.records import Batch, NewBatch, batch
from protocol.since import since
from protocol.words import say

SEGMENT = "__cluster_metadata-0/00000000000000000000.log"
PEERS = FROZEN_VOTER.scripted
PLAYED = LIVE_VOTER_OF_FIVE.scripted
"""The ids of all voters that the kit plays, in one topology or another."""
OUTSIDER = 9
"""An id that is not in the voter set."""

ENDPOINTS_FROM = since("FetchRequest", "ReplicaDirectoryId")
"""The version of Fetch from which a raft answer has the leader's endpoint (KIP-853)."""

SOON = 10.0
"""Seconds within which a node certainly sends a request that it need not delay."""

A_WHILE = 0.8
"""Seconds within which an immediate step shows; the voter repeats an unanswered fetch twice meanwhile."""

REQUEST_TIMEOUT = int(FROZEN_VOTER.config.get("controller.quorum.request.timeout.ms", "2000"))
"""Milliseconds after which the voter gives up an unanswered request."""

ANSWERS = 20
"""The most times that a fetch is answered if the voter keeps giving it up first."""

OTHERS = 200
"""The most other requests answered while waiting for one."""

NO_OP = b"\x01\x14\x00\x00"
"""A NoOpRecord (KIP-835) in the metadata log's format: frame version 1, api key 20, version 0, no tagged fields."""

RECORDS = 5
"""The number of records in each of the two epochs after the log's first metadata."""


class LogEnd(NamedTuple):
    """A log end: the last record's epoch, and the offset after it."""

    epoch: int
    offset: int


class FrozenData(msgspec.Struct, frozen=True):
    cluster_id: str


class Frozen:
    """The real voter. Only the check's requests change its state, so any state can be examined at leisure."""

    def __init__(self, bench: Bench, data: FrozenData) -> None:
        self.bench = bench
        self.cluster_id = data.cluster_id
        [self.name] = bench.controllers
        self.id = bench.id_of(self.name)
        self.peers = bench.peers
        self._open: Received | None = None
        """The last fetch returned to the check and not answered yet; until then the node sends no other."""
        self.left_open: list[Received] = []
        """The fetches that `vote_after` left unanswered."""
        self.peers.recall()

    @property
    def client(self) -> NodeClient:
        return self.bench.node(self.name, controller=True)

    def version(self, api: str, older: int = 0, at_least: int = 0) -> int:
        return max(self.bench.column.ranges[f"controller.{api}"] - older, at_least)

    @property
    def pre_votes(self) -> bool:
        """True if elections start with a pre-vote (KIP-996)."""
        return self.version("Vote") >= since("VoteRequest", "PreVote")

    # --- its state

    def reported_leader(self) -> LeaderAndEpoch:
        """Return leader and epoch as the voter reports them; -1 for an unknown leader."""
        return leader_known_to(self.client, PEERS[0], self.cluster_id)

    def condition(self) -> VoterCondition:
        """Read the voter's quorum-state, then its answer."""
        return written_condition(self.bench, self._quorum_state_now, self.reported_leader)

    def quorum_state(self) -> Stored:
        return self.condition().stored

    def stores(self, expected: Stored) -> Settled:
        """Return whether quorum-state becomes this one; that it was there before the answer is for KIP595-QS-02 to judge."""
        what = f"a quorum-state of {say(expected)}"
        return self.bench.wait.becomes_true(lambda: self._quorum_state_now() == expected, what, WRITTEN_WITHIN)

    def _quorum_state_now(self) -> Stored:
        return stored_or_not(self.quorum_state_file())

    def quorum_state_file(self) -> File:
        return self.bench.read_file(self.name, QUORUM_STATE)

    def next_epoch(self, ahead: int = 1) -> int:
        return self.reported_leader().leader_epoch + ahead

    # --- requests to it

    def vote(self, candidate: int, epoch: int, log: LogEnd, **more: Any) -> VoteAnswer:
        more.setdefault("cluster_id", self.cluster_id)
        return self.client.vote(candidate, epoch, last_offset=log.offset, last_offset_epoch=log.epoch, **more)

    def begin(self, leader: int, epoch: int, *, version: int | None = None, **more: Any) -> RaftAnswer:
        version = self.version("BeginQuorumEpoch") if version is None else version
        more.setdefault("cluster_id", self.cluster_id)
        return self.client.begin_quorum_epoch(
            leader, epoch, leader_endpoints=endpoints(leader, version), version=version, **more
        )

    def end(
        self, leader: int, epoch: int, successors: list[int], *, version: int | None = None, **more: Any
    ) -> RaftAnswer:
        version = self.version("EndQuorumEpoch") if version is None else version
        more.setdefault("cluster_id", self.cluster_id)
        return self.client.end_quorum_epoch(
            leader, epoch, successors=successors, leader_endpoints=endpoints(leader, version), version=version, **more
        )

    def fetch_as(self, replica: int, epoch: int, log: LogEnd) -> FetchedPartition:
        """Fetch at this epoch as a replica whose log ends at `log`."""
        options = FetchOptions(replica_id=replica, cluster_id=self.cluster_id)
        return self.client.fetch(FetchPartition(METADATA, 0, log.offset, epoch, log.epoch), options)

    # --- bringing it into a state

    def follow(self, leader: int = PEERS[0], ahead: int = 1) -> Received:
        """Make the voter follow a peer in a later epoch; return its first fetch, which awaits an answer."""
        epoch = self.next_epoch(ahead)
        answer = self.begin(leader, epoch)
        if answer.error is not Error.NONE or leader_in(answer) != LeaderAndEpoch(leader, epoch):
            raise self.bench.wait.overdue(
                "following", f"{self.name} does not follow {leader} in epoch {epoch}: {answer}", SOON
            )
        fetch = self.fetch_in(epoch, leader)
        if fetch is None:
            raise self.bench.wait.overdue(
                "following", f"{self.name} does not fetch from {leader} in epoch {epoch}", SOON
            )
        return fetch

    def fetch_in(self, epoch: int, leader: int) -> Received | None:
        """Return the node's next fetch at this epoch to a leader, or None.

        A node has one request in flight per peer, so every other request is answered in a way that it ignores. Also
        None for a node that sends other requests without end.
        """
        for _ in range(OTHERS):
            asked = self._open or self.peers.receive(within=SOON)
            if asked is None:
                break
            self._open = None
            if asked.api == "Fetch" and asked.peer == leader and epoch_of(asked) == epoch:
                self._open = asked
                return asked
            self.dismiss(asked)
        return self.request_or_none(None, "following", f"{self.name} fetching from {leader} in epoch {epoch}")

    def fetch_while_refused(self, asked: Received, led: LeaderAndEpoch) -> Received | None:
        """Refuse a pre-vote and all that follow, as voters that hear from their leader do; return the voter's next fetch from
        that leader, None if there is none."""
        began = self.bench.now().seconds
        self.refuse(asked, led)
        for _ in range(OTHERS):
            one = self.peers.receive(within=began + SOON - self.bench.now().seconds)
            if one is None:
                break
            if one.api == "Vote":
                self.refuse(one, led)
            elif one.at > began and one.peer == led.leader_id and epoch_of(one) == led.leader_epoch:
                self._open = one
                return one
            else:
                self.dismiss(one)
        return self.request_or_none(None, "following", f"{self.name} fetching from {led.leader_id} again")

    def request_or_none(self, asked: Received | None, due: Due, what: str) -> Received | None:
        """Return the request, or None if none came within SOON. Raises Overdue if the kit was starved of CPU, which
        may be the cause.
        """
        if asked is None and is_starved(self.bench.wait.recorded_late(SOON), SOON):
            raise self.bench.wait.overdue(due, what, SOON)
        return asked

    def dismiss(self, asked: Received) -> None:
        """Answer a request in a way that the voter ignores."""
        if asked.api == "Fetch":
            self.serve(asked, error=Error.NOT_LEADER_OR_FOLLOWER, leader=LeaderAndEpoch(-1, epoch_of(asked)))
        elif asked.api == "Vote":
            refuse_vote(self.peers, asked)
        else:
            acknowledge(self.peers, asked)

    def make_candidate(self, leader: int = PEERS[0], ahead: int = 1) -> Received:
        """Make the voter a candidate, as the successor of a resigning leader; return its first Vote or pre-vote."""
        epoch = epoch_of(self.follow(leader, ahead))
        self.end(leader, epoch, [self.id])
        return self.await_vote(epoch)

    def vote_after(self, epoch: int, *, granted: Received | None = None, within: float = SOON) -> Received | None:
        """Return the voter's next Vote or pre-vote at this epoch or later; after a `granted` pre-vote, only a Vote.

        Its fetches stay unanswered meanwhile, as those to a leader that has resigned.
        """
        until = self.bench.now().seconds + within
        while (asked := self.peers.receive(within=until - self.bench.now().seconds)) is not None:
            if asked.api == "Vote" and (
                candidate_epoch(asked) >= epoch if granted is None else follows_pre_vote(asked, granted)
            ):
                return asked
            if granted is not None and self._repeats(asked, granted):
                self.grant(asked)
            elif asked.api == "Fetch" and epoch_of(asked) >= epoch:
                self.left_open.append(asked)
            else:
                self.dismiss(asked)
        return None

    def sent_since(self, moment: float) -> list[Received]:
        """Return the requests that the voter sends after a moment of the kit's clock, up to A_WHILE from now.
        They stay unanswered."""
        until, sent = self.bench.now().seconds + A_WHILE, list[Received]()
        while (asked := self.peers.receive(within=until - self.bench.now().seconds)) is not None:
            sent += [asked] if asked.at > moment else []
        self._open = None
        return sent

    def await_vote(self, epoch: int) -> Received:
        """Return the same Vote or pre-vote as `vote_after`. Raises Overdue if there is none."""
        asked = self.vote_after(epoch)
        if asked is None:
            raise self.bench.wait.overdue("candidacy", f"{self.name} does not ask for votes after epoch {epoch}", SOON)
        return asked

    def candidate(self, leader: int = PEERS[0], ahead: int = 1) -> Received:
        """Make the voter a candidate; return its Vote, still unanswered."""
        return self.vote_of(self.make_candidate(leader, ahead))

    def vote_of(self, asked: Received) -> Received:
        """Grant this pre-vote and return the Vote that follows; return a Vote unchanged."""
        if not asked.partition.get("pre_vote"):
            return asked
        self.grant(asked)
        vote = self.vote_after(candidate_epoch(asked) + 1, granted=asked, within=WITHIN)
        if vote is None:
            raise self.bench.wait.overdue("step", f"{self.name} sends no Vote after its pre-vote was granted", WITHIN)
        return vote

    def lead(self, leader: int = PEERS[0], ahead: int = 1) -> int:
        """Make the voter the leader of a later epoch than a former leader's, by one peer's vote; return the epoch."""
        return self.win(self.candidate(leader, ahead))

    def win(self, asked: Received) -> int:
        """Make the candidate the leader by this vote alone; return the epoch."""
        epoch = candidate_epoch(asked)
        self.grant(asked)
        led = LeaderAndEpoch(self.id, epoch)
        self.answer_until(
            lambda: self.reported_leader() == led, asked, self.grant, f"{self.name} leading {epoch}", due="leadership"
        )
        return epoch

    def answer_until(
        self,
        done: Callable[[], bool],
        asked: Received,
        answer: Callable[[Received], object],
        what: str,
        *,
        within: float = WITHIN,
        due: Due,
    ) -> None:
        """Wait for the effect of the answer to a request, and answer each repetition of that request."""

        def answer_and_look() -> bool:
            if done():
                return True
            # At this peer only: requests to the other one belong to the next step.
            again = self.peers.receive(asked.api, peer=asked.peer, within=0.0)
            if again is not None and self._repeats(again, asked):
                answer(again)
            return False

        self.bench.eventually(answer_and_look, what, within, due=due)

    def _repeats(self, asked: Received, earlier: Received) -> bool:
        """True if a request repeats an earlier one. A voter does so once its timeout has passed, and then ignores the
        answer to the earlier one; that is counted as an excuse."""
        again = (asked.api, asked.peer, asked.body) == (earlier.api, earlier.peer, earlier.body)
        if again and given_up(earlier, asked):
            self.bench.count_excuse(GIVEN_UP)
        return again

    def offer(self, fetch: Received, *batches: NewBatch) -> Received:
        """Answer a fetch with records that the voter may drop; return the next fetch."""
        records = b"".join(encode_batch(one) for one in batches)
        for _ in range(ANSWERS):
            taken = self.serve(fetch, records=records)
            following = self.fetch_in(epoch_of(fetch), fetch.peer)
            if following is None:
                break
            if taken or log_end_of(following) != log_end_of(fetch):
                return following
            self.bench.count_excuse(GIVEN_UP)
            fetch = following
        raise self.bench.wait.overdue("next fetch", f"{self.name} does not go on fetching from {fetch.peer}", SOON)

    def feed(self, fetch: Received, *batches: NewBatch, high_watermark: int = -1) -> Received:
        """Answer a fetch with records; return the next fetch."""
        records = b"".join(encode_batch(one) for one in batches)
        following = self._fetch_after(
            fetch, lambda asked: self.serve(asked, records=records, high_watermark=high_watermark)
        )
        if following is None:
            raise self.bench.wait.overdue("next fetch", f"{self.name} does not go on fetching from {fetch.peer}", SOON)
        return following

    def diverge(self, fetch: Received, diverging: EpochAndOffset) -> Received | None:
        """Answer a fetch with a diverging epoch; return the next fetch."""
        return self._fetch_after(fetch, lambda asked: self.serve(asked, diverging=diverging))

    def _fetch_after(self, fetch: Received, answer: Callable[[Received], object]) -> Received | None:
        """Answer a fetch so that the log end moves; return the next fetch.

        A node that gave up its fetch before the answer arrived repeats it after its timeout, and is answered again. A
        node that repeats it earlier has ignored the answer.
        """
        for _ in range(ANSWERS):
            answer(fetch)
            following = self.fetch_in(epoch_of(fetch), fetch.peer)
            if following is None or log_end_of(following) != log_end_of(fetch) or not self._gave_up(fetch, following):
                break
            self.bench.count_excuse(GIVEN_UP)
            fetch = following
        return following

    def _gave_up(self, earlier: Received, later: Received) -> bool:
        """True if the voter gave up the earlier request, or may have: a kit that woke late reads both at the same moment."""
        return given_up(earlier, later) or self.bench.wait.recorded_late(SOON) * 1000 >= REQUEST_TIMEOUT / 2

    def log_on_disk(self) -> tuple[Batch, ...]:
        """Return the batches of the voter's log."""
        return read_batches(self.segment_file().content)

    def segment_file(self) -> File:
        """Return the single segment of the voter's log."""
        return self.bench.read_file(self.name, SEGMENT)

    def log_end(self) -> LogEnd:
        """Return the log end as the voter reports it to a new leader."""
        return log_end_of(self.follow())

    # --- answering it

    def grant(self, asked: Received) -> None:
        """Grant the requested vote or pre-vote."""
        grant_vote(self.peers, asked)

    def refuse(self, asked: Received, current: LeaderAndEpoch) -> None:
        """Refuse the requested vote or pre-vote, with the leader and epoch that the peer knows."""
        _answer_vote(self.peers, asked, current)

    def answer_later_epoch(self, asked: Received, current: LeaderAndEpoch) -> None:
        """Answer the voter's Vote with a later epoch, and with that epoch's leader if there is one."""
        _answer_vote(self.peers, asked, current, error=Error.FENCED_LEADER_EPOCH)

    def serve(
        self,
        fetch: Received,
        *,
        records: bytes = b"",
        error: Error = Error.NONE,
        leader: LeaderAndEpoch | None = None,
        high_watermark: int = -1,
        diverging: EpochAndOffset | None = None,
    ) -> bool:
        """Answer a fetch; return True if the voter had not given it up before. A high watermark of -1 is unknown; a
        decreasing one would end the process."""
        current = leader or LeaderAndEpoch(fetch.peer, epoch_of(fetch))
        answer: dict[str, Any] = {
            "partition_index": 0,
            "error_code": error,
            "high_watermark": high_watermark,
            "log_start_offset": 0,
            "current_leader": leader_fields(current),
            "records": records,
        }
        if diverging is not None:
            answer["diverging_epoch"] = {"epoch": diverging.epoch, "end_offset": diverging.end_offset}
        own = (
            endpoint(self.id, self.name, CONTROLLER_PORT)
            if current.leader_id == self.id
            else address(current.leader_id)
        )
        nodes = own if fetch.version >= ENDPOINTS_FROM else {}
        self._open = None
        return self.peers.reply(fetch, {"responses": [{"topic_id": METADATA.id, "partitions": [answer]}], **nodes})


def grant_vote(peers: Peers, asked: Received, *, back: int = 0) -> bool:
    """Grant the vote or pre-vote requested from a peer, quoting an epoch that is `back` epochs older. Return False if the
    voter had given it up."""
    return _answer_vote(peers, asked, LeaderAndEpoch(-1, candidate_epoch(asked) - back), granted=True)


def refuse_vote(peers: Peers, asked: Received) -> bool:
    """Refuse the vote or pre-vote requested from a peer. Return False if the voter had given it up."""
    return _answer_vote(peers, asked, LeaderAndEpoch(-1, candidate_epoch(asked)))


def acknowledge(peers: Peers, asked: Received) -> bool:
    """Acknowledge a leader's BeginQuorumEpoch or EndQuorumEpoch. Return False if it had given it up."""
    leader = LeaderAndEpoch(asked.partition["leader_id"], asked.partition["leader_epoch"])
    return _answer_raft(peers, asked, {"error_code": Error.NONE, **leader_fields(leader)}, leader.leader_id)


def _answer_vote(
    peers: Peers, asked: Received, current: LeaderAndEpoch, *, granted: bool = False, error: Error = Error.NONE
) -> bool:
    answer = {"error_code": error, "vote_granted": granted, **leader_fields(current)}
    return _answer_raft(peers, asked, answer, current.leader_id)


def _answer_raft(peers: Peers, asked: Received, answer: dict[str, Any], leader: int) -> bool:
    topics = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0, **answer}]}]
    nodes = address(leader) if asked.version >= VOTER_KEYS_FROM else {}
    return peers.reply(asked, {"topics": topics, **nodes})


def leader_fields(leader: LeaderAndEpoch) -> dict[str, int]:
    return {"leader_id": leader.leader_id, "leader_epoch": leader.leader_epoch}


def address(peer: int) -> dict[str, Any]:
    """Return an answer's node endpoints that name a peer as leader."""
    if peer not in PLAYED:
        return {}
    return endpoint(peer, peer_host(peer), peer_port(peer))


def endpoint(id: int, host: str, port: int) -> dict[str, Any]:
    return {"node_endpoints": [{"node_id": id, "host": host, "port": port}]}


def endpoints(peer: int, version: int) -> tuple[Listener, ...]:
    """Return a peer's leader endpoints for a request of this version; empty if the version has none."""
    if version < VOTER_KEYS_FROM or peer not in PLAYED:
        return ()
    return (Listener(LISTENER, peer_host(peer), peer_port(peer)),)


def given_up(earlier: Received, later: Received) -> bool:
    """True if the voter gave up the earlier request before it sent the later one. Two connections may have different
    delays, so half the timeout is enough."""
    return (later.at - earlier.at) * 1000 >= REQUEST_TIMEOUT / 2


def follows_pre_vote(asked: Received, pre_vote: Received) -> bool:
    """True if a Vote may follow a granted pre-vote. Checks judge its epoch."""
    return not asked.partition.get("pre_vote") and candidate_epoch(asked) >= candidate_epoch(pre_vote)


def epoch_of(fetch: Received) -> int:
    epoch: int = fetch.partition["current_leader_epoch"]
    return epoch


def log_end_of(fetch: Received) -> LogEnd:
    return LogEnd(fetch.partition["last_fetched_epoch"], fetch.partition["fetch_offset"])


def candidate_epoch(asked: Received) -> int:
    """Return the candidate's epoch in a Vote; KIP-996 calls the candidate the replica."""
    partition = asked.partition
    epoch: int = partition["replica_epoch"] if "replica_epoch" in partition else partition["candidate_epoch"]
    return epoch


def no_ops(count: int, offset: int, epoch: int) -> NewBatch:
    """Return a batch of no-op records, which a controller ignores."""
    return batch(*[NO_OP] * count, base_offset=offset, leader_epoch=epoch, timestamp=1)


def prepare_frozen(bench: Bench) -> FrozenData:
    """Give the voter a log: committed records of a first leader, then records of two epochs with gaps between."""
    frozen = Frozen(bench, FrozenData(cluster_id_of(bench)))
    start = _first_records(frozen)
    fetch = frozen.follow(ahead=5)
    epoch = epoch_of(fetch)
    older, newer = no_ops(RECORDS, start, epoch - 4), no_ops(RECORDS, start + RECORDS, epoch - 2)
    end = log_end_of(frozen.feed(fetch, older, newer))
    if end != LogEnd(epoch - 2, start + 2 * RECORDS):
        what = f"{frozen.name} does not take the log that it was given from {start} on: it ends at {say(end)}"
        raise bench.wait.overdue("next fetch", what, SOON)
    return FrozenData(frozen.cluster_id)


def _first_records(frozen: Frozen) -> int:
    """Make the voter leader, and wait until its first metadata, which both peers fetch, is committed. Return its log
    end."""
    epoch = frozen.lead()

    def has_committed() -> bool:
        described = frozen.client.describe_quorum()
        for end in [v.log_end_offset for v in described.current_voters if v.replica_id == frozen.id]:
            for peer in PEERS:
                frozen.fetch_as(peer, epoch, LogEnd(epoch, end))
        return described.high_watermark > 1

    what = f"a high watermark of {frozen.name} beyond its first metadata, which all voters have"
    frozen.bench.eventually(has_committed, what, due="high watermark")
    return frozen.log_end().offset


FROZEN = Rig(FROZEN_VOTER, prepare_frozen, Frozen, shared=True)
"""A voter that waits for requests. Each example moves it to later epochs."""
