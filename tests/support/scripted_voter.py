"""A Raft voter in memory for the rig of the frozen voter, with requests to scripted peers, a disk and a clock.

It keeps the rules of KIP-595 that the probes of that rig check, except those in `bugs`. Time passes only during waits;
each message takes `lag`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from conformance.core.topologies import FROZEN_VOTER
from conformance.judging.facts.quorum import QUORUM_STATE
from conformance.rigs.quorum.frozen import PEERS, REQUEST_TIMEOUT, SEGMENT, no_ops
from fixtures.cluster.config import PEER_PORTS, UNCHANGED, peer_host
from fixtures.cluster.storage import DatedFile
from fixtures.wire import NotSent
from fixtures.wire.records import encode_batch, read_batches
from history.events import ProcessEnd
from history.readings import Received
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC
from protocol.records import NewBatch
from tests.support.control_records import leader_change

T = TypeVar("T")

MEMBERS = FROZEN_VOTER.members()
[NAME] = [member.name for member in MEMBERS]
OWN = MEMBERS[0].id
CLUSTER = "some-cluster"
HIGHEST = {"Vote": 2, "BeginQuorumEpoch": 1, "EndQuorumEpoch": 1, "DescribeQuorum": 2, "Fetch": 18, "FetchSnapshot": 1}
BACKOFF = 1.0
TIMEOUT = REQUEST_TIMEOUT / 1000


class Voter:
    """The voter: `call` sends it a request; `receive` and `reply` handle the requests that it sends to its peers."""

    def __init__(self, bugs: frozenset[str], lag: float = 0.001) -> None:
        self.bugs = bugs
        self.lag = lag
        self.peers = PEERS
        self.now = 100.0
        self.starts = 0
        self.start_empty()

    def renew(self, settings: Mapping[str, str | None] = UNCHANGED, cluster_id: str = "") -> None:
        """Begin as on an empty disk."""
        self.start_empty()
        if settings:
            self.start_with(settings)

    def start_empty(self) -> None:
        self.epoch, self.leader, self.voted, self.former = 0, -1, -1, -1
        self.log: list[NewBatch] = []
        self.role = "unattached"
        self.high_watermark = -1
        self.ends, self.observers = dict.fromkeys(self.peers, -1), dict[int, int]()
        self.granted: set[int] = set()
        self.answered: set[int] = set()
        self.stands_at = float("inf")
        self.appends_at = float("inf")
        self.fetches_at = 0.0
        self.flight: dict[int, Received] = {}
        self.inbox: list[Received] = []
        self.read: list[Received] = []
        self.numbers = self.turn = 0
        self.status, self.starts, self.forgot = "running", self.starts + 1, False
        self.routes = {id: id for id in PEERS}
        self.written: dict[str, bytes] = {}
        self.stored, self.stored_at, self.writes_at = (-1, 0, -1), self.now, float("inf")
        self.log_at = self.now

    # --- its log

    @property
    def end(self) -> int:
        last = self.log[-1] if self.log else None
        return last.base_offset + len(last.records) if last else 0

    @property
    def last_epoch(self) -> int:
        return self.log[-1].leader_epoch if self.log else 0

    def end_of(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to this one in the log, and its end; this one at 0 without any."""
        known = [one for one in self.log if one.leader_epoch <= epoch]
        return (known[-1].leader_epoch, known[-1].base_offset + len(known[-1].records)) if known else (epoch, 0)

    def append(self, count: int) -> None:
        self.take(no_ops(count, self.end, self.epoch))

    def take(self, batch: NewBatch) -> None:
        self.log.append(batch)
        self.log_at = self.now + (0.1 if "log-written-late" in self.bugs else 0.0)

    def truncate(self, epoch: int, offset: int) -> None:
        """Drop whole batches, as the probes expect; a bug drops one more."""
        kept = [one for one in self.log if one.leader_epoch <= epoch and one.base_offset < offset]
        self.log = kept[:-1] if "truncates-too-much" in self.bugs else kept

    # --- the passing of time

    def pass_time(self, until: float) -> None:
        while self.now < until:
            self.now = min(until, self.now + 0.005)
            self.tick()

    def tick(self) -> None:
        if self.status != "running":
            return
        self.give_up_requests()
        if self.now >= self.writes_at:
            self.write()
        if self.now >= self.stands_at:
            self.stand()
        if self.role == "follower" or (self.forgot and "asks-none" not in self.bugs):
            self.ask_leader()
        if self.role in ("prospective", "candidate"):
            self.ask_for_votes(self.answered)
        if self.now >= self.appends_at:
            self.append(1)
            self.appends_at = self.now + 0.05

    def give_up_requests(self) -> None:
        for peer, asked in list(self.flight.items()):
            if self.now - (asked.at - self.lag) >= TIMEOUT:
                del self.flight[peer]

    def ask_leader(self) -> None:
        """Ask the leader, and after each fetch without records another peer: a leader that does not answer may have a
        successor, which that one knows."""
        if self.flight or self.now < self.fetches_at:
            return
        leader = self.routes.get(self.leader, self.peers[0])
        other = next(peer for peer in self.peers if peer != leader)
        self.send(leader if self.turn % 2 == 0 else other, "Fetch", self.fetch())
        self.turn += "asks-no-other" not in self.bugs

    def ask_for_votes(self, done: set[int]) -> None:
        for peer in self.peers:
            if peer not in self.flight and peer not in done:
                self.send(peer, "Vote", {**self.vote(self.role == "prospective"), "voter_id": peer})

    def send(self, peer: int, api: str, body: dict[str, Any]) -> None:
        self.numbers += 1
        self.flight[peer] = Received(self.numbers, peer, api, HIGHEST[api], body, at=self.now + self.lag)
        self.inbox.append(self.flight[peer])

    def fetch(self) -> dict[str, Any]:
        place = {
            "current_leader_epoch": self.epoch,
            "fetch_offset": self.end,
            "last_fetched_epoch": self.last_epoch,
            "high_watermark": self.high_watermark,
            "replica_directory_id": str(UUID(int=7)),
        }
        state = {"replica_id": OWN, "replica_epoch": -1}
        topics = [{"partitions": [place]}]
        return {"cluster_id": CLUSTER, "max_wait_ms": 500, "replica_state": state, "topics": topics}

    def vote(self, pre_vote: bool) -> dict[str, Any]:
        place = {
            "replica_id": OWN,
            "replica_epoch": self.epoch,
            "last_offset_epoch": self.last_epoch,
            "last_offset": 0 if pre_vote and "pre-votes-without-log" in self.bugs else self.end,
            "pre_vote": pre_vote,
        }
        return {"cluster_id": CLUSTER, "topics": [{"partitions": [place]}]}

    # --- its roles

    def become(self, role: str, epoch: int, leader: int = -1, voted: int = -1) -> None:
        self.former = self.leader if self.leader >= 0 else self.former
        self.role, self.epoch, self.leader, self.voted, self.turn = role, epoch, leader, voted, 0
        self.stands_at = self.appends_at = float("inf")
        self.granted, self.answered, self.flight = set(), set(), {}
        if role != "follower":
            self.high_watermark = -1
        self.store()

    def adopt(self, epoch: int, leader: int) -> None:
        self.become("follower" if leader >= 0 else "unattached", epoch, leader)
        self.tick()

    def stand(self) -> None:
        if "deaf-successor" in self.bugs:
            self.stands_at = float("inf")
            return
        if "no-pre-vote" in self.bugs:
            self.become("candidate", self.epoch + 1, voted=OWN)
        else:
            self.become("prospective", self.epoch, self.leader, self.voted)

    def leader_change(self, granted: set[int]) -> NewBatch:
        voters = {OWN, *self.peers} - ({PEERS[1]} if "names-too-few-voters" in self.bugs else set())
        granting = voters if "names-all-as-granting" in self.bugs else {OWN, *granted}
        return leader_change(OWN + ("names-another-leader" in self.bugs), voters, granting, self.end, self.epoch)

    def won(self) -> None:
        granted = self.granted
        if self.role == "prospective":
            raised = self.epoch + (0 if "epoch-not-raised" in self.bugs else 1)
            self.become("candidate", raised, voted=OWN)
        else:
            self.become("leader", self.epoch, OWN, OWN if "leader-keeps-vote" in self.bugs else -1)
            self.ends, self.observers = dict.fromkeys(self.peers, -1), {}
            self.take(self.leader_change(granted))
            self.append(2)
            self.appends_at = self.now + 0.05
        self.tick()

    # --- requests of the check

    def end_itself(self) -> None:
        self.status, self.flight, self.inbox = "exited", {}, []

    def call(self, api: str, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        self.pass_time(self.now + self.lag)
        done = self.handle(api, version, fields) if self.status == "running" else {}
        if self.status != "running":
            raise NotSent(f"{NAME} has ended")
        self.pass_time(self.now + self.lag)
        return done

    def handle(self, api: str, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        if fields.get("cluster_id", CLUSTER) not in (CLUSTER, None):
            if "foreign-epoch-adopted" in self.bugs:
                self.become("unattached", self.epoch + 1)
            if "foreign-end-elects" in self.bugs and api == "EndQuorumEpoch":
                self.stands_at = self.now
            if "foreign-fetch-resets" in self.bugs and api in ("Fetch", "FetchSnapshot"):
                self.high_watermark, self.flight, self.role = -1, {}, "unattached"
            return {"error_code": Error.INCONSISTENT_CLUSTER_ID, "topics": [], "responses": []}
        asked = fields["topics"][0]["partitions"][0]
        if api == "Fetch":
            wait = fields.get("max_wait_ms", 0)
            return self.served(asked, fields.get("replica_state", {}).get("replica_id", -1), wait)
        if api == "DescribeQuorum":
            return {"error_code": 0, "topics": [self.topic(self.described())]}
        for one in fields.get("leader_endpoints", []):
            self.routes[asked["leader_id"]] = int(one["port"]) - PEER_PORTS
        kind = {"Vote": self.voting, "BeginQuorumEpoch": self.begun, "EndQuorumEpoch": self.ended}[api]
        error, more = kind(asked)
        if fields.get("voter_id", OWN) != OWN or "voter_directory_id" in asked:
            error, more, self.voted = Error.INVALID_VOTER_KEY, {}, -1
        self.store()
        known = {"leader_id": self.leader, "leader_epoch": self.epoch}
        endpoints = self.endpoints() if version > 0 else []
        return {
            "error_code": 0, "topics": [self.topic({"error_code": error, **known, **more})], "node_endpoints": endpoints
        }  # fmt: skip

    def endpoints(self) -> list[dict[str, Any]]:
        """Return the address of the leader, if there is one and it is a peer."""
        named = self.former if "names-the-former-leader" in self.bugs else self.leader
        port = PEER_PORTS + named
        return [{"node_id": named, "host": peer_host(named), "port": port}] if named in self.peers else []

    @staticmethod
    def topic(partition: dict[str, Any]) -> dict[str, Any]:
        return {"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0, **partition}]}

    def voting(self, asked: dict[str, Any]) -> tuple[Error, dict[str, Any]]:
        candidate, epoch = asked["replica_id"], asked["replica_epoch"]
        last, may_equal = asked["last_offset_epoch"], bool(asked.get("pre_vote"))
        if min(asked["last_offset"], last, candidate) < 0 or last > epoch or (last == epoch and not may_equal):
            if "nonsense-elects-later" in self.bugs and epoch > self.epoch:
                self.stands_at = self.now + 0.3
            return Error.INVALID_REQUEST, {"vote_granted": False}
        if epoch < self.epoch:
            return Error.FENCED_LEADER_EPOCH, {"vote_granted": False}
        if epoch > self.epoch and not ("deaf-candidate" in self.bugs and self.role == "candidate"):
            self.become("unattached", epoch)
        long_enough = (asked["last_offset_epoch"], asked["last_offset"]) >= (self.last_epoch, self.end)
        if "grants-outsiders" in self.bugs and candidate not in self.peers:
            long_enough = True
        if asked.get("pre_vote"):
            return Error.NONE, {"vote_granted": long_enough and self.role != "leader"}
        granted = self.leader < 0 and self.voted in (-1, candidate) and long_enough
        if granted:
            self.voted = candidate
        return Error.NONE, {"vote_granted": granted}

    def begun(self, asked: dict[str, Any]) -> tuple[Error, dict[str, Any]]:
        leader, epoch = asked["leader_id"], asked["leader_epoch"]
        if leader < 0:
            return Error.INVALID_REQUEST, {}
        if epoch < self.epoch:
            return Error.FENCED_LEADER_EPOCH, {}
        if leader not in self.routes and "adopts-outsiders" not in self.bugs:
            self.end_itself()
        elif leader not in self.routes:
            self.become("unattached", self.epoch, leader)
        elif epoch > self.epoch or self.leader < 0:
            self.become("follower", epoch, leader, self.voted if epoch == self.epoch else -1)
        elif leader != self.leader and "follows-second-leader" in self.bugs:
            self.become("follower", epoch, leader)
        elif leader != self.leader:
            self.end_itself()
        elif "begin-resets" in self.bugs:
            self.high_watermark, self.flight = -1, {}
        return Error.NONE, {}

    def ended(self, asked: dict[str, Any]) -> tuple[Error, dict[str, Any]]:
        leader, epoch = asked["leader_id"], asked["leader_epoch"]
        if leader < 0:
            return Error.INVALID_REQUEST, {}
        if epoch < self.epoch and "late-end-elects" not in self.bugs:
            return Error.FENCED_LEADER_EPOCH, {}
        if self.role == "follower" and (leader == self.leader or epoch < self.epoch):
            listed = asked.get("preferred_successors") or [
                one["candidate_id"] for one in asked.get("preferred_candidates", [])
            ]
            self.stands_at = self.now + self.backoff(listed)
        return Error.FENCED_LEADER_EPOCH if epoch < self.epoch else Error.NONE, {}

    def backoff(self, listed: list[int]) -> float:
        if "one-wait-for-all" in self.bugs:
            return 0.5
        if OWN not in listed or listed[0] == OWN:
            return BACKOFF if OWN not in listed else 0.0
        shift = listed.index(OWN) - 1 - (len(listed) - 1)
        return min(BACKOFF, BACKOFF * float(2**shift))

    def described(self) -> dict[str, Any]:
        if self.role != "leader":
            return {"error_code": Error.NOT_LEADER_OR_FOLLOWER}
        ends = {OWN: self.end, **self.ends}
        if "unfetched-is-caught-up" in self.bugs:
            ends = {id: self.end if end < 0 else end for id, end in ends.items()}
        voters = [{"replica_id": id, "log_end_offset": end} for id, end in ends.items()]
        known = {"leader_id": OWN, "leader_epoch": self.epoch, "high_watermark": self.high_watermark}
        observers = [{"replica_id": id, "log_end_offset": end} for id, end in self.observers.items()]
        return {"error_code": 0, **known, "current_voters": voters, "observers": observers}

    def refusal(self, asked: dict[str, Any], wait: int) -> Error:
        epoch, last = asked["current_leader_epoch"], asked["last_fetched_epoch"]
        if min(asked["fetch_offset"], last, wait) < 0 or last > epoch:
            if "invalid-fetch-resets" in self.bugs:
                self.flight, self.role = {}, "unattached"
            return Error.INVALID_REQUEST
        if epoch > self.epoch:
            if "fetch-epoch-adopted-later" in self.bugs:
                self.stands_at = self.now + 0.3
            return Error.UNKNOWN_LEADER_EPOCH
        known = Error.FENCED_LEADER_EPOCH if epoch < self.epoch else Error.NOT_LEADER_OR_FOLLOWER
        return Error.NONE if self.role == "leader" and epoch == self.epoch else known

    def served(self, asked: dict[str, Any], replica: int, wait: int) -> dict[str, Any]:
        partition: dict[str, Any] = {"partition_index": 0, "error_code": 0, "log_start_offset": 0, "records": b""}
        partition["current_leader"] = {"leader_id": self.leader, "leader_epoch": self.epoch}
        fenced = self.role != "leader" or replica not in self.peers or "voters-are-not-fenced" not in self.bugs
        refused = self.refusal(asked, wait) if fenced else Error.NONE
        if refused:
            partition["error_code"] = refused
        else:
            epoch, end = self.end_of(asked["last_fetched_epoch"])
            diverges = asked["fetch_offset"] > end
            if not diverges or "diverging-fetch-counts" in self.bugs:
                (self.ends if replica in self.peers else self.observers)[replica] = asked["fetch_offset"]
                self.commit()
            if diverges:
                partition["diverging_epoch"] = {"epoch": epoch, "end_offset": end}
            after = [one for one in self.log if one.base_offset >= asked["fetch_offset"] and not diverges]
            if "reads-stop-at-watermark" in self.bugs:
                after = [one for one in after if one.base_offset < self.high_watermark]
            partition["records"] = b"".join(encode_batch(one) for one in after)
        partition["high_watermark"] = -1 if refused else self.high_watermark
        return {"error_code": 0, "responses": [{"topic_id": UUID(int=1), "partitions": [partition]}]}

    def commit(self) -> None:
        ends = sorted([self.end, *self.ends.values()])
        reached = ends[0] if "hw-is-minimum" in self.bugs else ends[1]
        if "observers-count" in self.bugs and self.high_watermark >= 0:
            ends = sorted([*ends, *self.observers.values()])
            reached = ends[len(ends) // 2]
        if reached > min(one.base_offset for one in self.log if one.leader_epoch == self.epoch):
            self.high_watermark = reached if "hw-goes-back" in self.bugs else max(self.high_watermark, reached)

    # --- answers of the check

    def answer(self, asked: Received, body: dict[str, Any]) -> bool:
        self.pass_time(self.now + self.lag)
        if self.flight.get(asked.peer) is not asked or (self.forgot and "gives-fetches-up" in self.bugs):
            return False
        del self.flight[asked.peer]
        part = (body.get("topics") or body["responses"])[0]["partitions"][0]
        (self.fetched if asked.api == "Fetch" else self.voted_for)(asked.peer, part)
        self.tick()
        return True

    def fetched(self, leader: int, part: dict[str, Any]) -> None:
        known = part["current_leader"]
        if known["leader_id"] == OWN and "leads-when-told" not in self.bugs:
            self.end_itself()
        elif known["leader_epoch"] > self.epoch and "keeps-leader" not in self.bugs:
            self.adopt(known["leader_epoch"], known["leader_id"])
        elif known["leader_epoch"] < self.epoch:
            if "adopts-older-epochs" in self.bugs:
                self.adopt(known["leader_epoch"], known["leader_id"])
        elif part["error_code"] == Error.BROKER_NOT_AVAILABLE and "never-backs-off" not in self.bugs:
            self.fetches_at = self.now + 0.02
        elif part["error_code"] == Error.NONE:
            self.turn = 0
            if "fetch-cancels-nothing" not in self.bugs:
                self.stands_at = float("inf")
            if (diverging := part.get("diverging_epoch")) and "keeps-tail" not in self.bugs:
                if diverging["end_offset"] < self.high_watermark and "truncates-committed" not in self.bugs:
                    self.end_itself()
                    return
                self.truncate(diverging["epoch"], diverging["end_offset"])
            for one in read_batches(part["records"]):
                if one.leader_epoch > self.epoch and "later-epoch-appended" not in self.bugs:
                    break
                self.take(no_ops(len(one.records), one.base_offset, one.leader_epoch))
            self.high_watermark = max(self.high_watermark, part["high_watermark"])

    def voted_for(self, peer: int, part: dict[str, Any]) -> None:
        self.answered.add(peer)
        if part["leader_epoch"] > self.epoch:
            if "stays-candidate" not in self.bugs:
                self.adopt(part["leader_epoch"], part["leader_id"])
        elif part["vote_granted"] or ("end-deposes" in self.bugs and self.role == "prospective"):
            self.granted.add(peer)
            self.won()
        elif part["leader_id"] >= 0 and self.role == "prospective":
            self.become("follower", self.epoch, part["leader_id"])

    # --- its process and its disk

    def state(self) -> str:
        return self.status

    def started_at(self) -> str:
        return f"start {self.starts}"

    def kill(self) -> None:
        self.status = "exited"

    def terminate(self) -> None:
        self.become("unattached", self.epoch + 1)

    def start_with(self, settings: Mapping[str, str | None]) -> None:
        """Start unless quorum-state or the settings are wrong; alone, lead."""
        voters, damaged = settings.get("controller.quorum.voters", f"{OWN}@here:1"), QUORUM_STATE in self.written
        listed = [one.partition("@") for one in (voters or "").split(",")]
        known = all(id.isdigit() and ":" in place for id, _, place in listed) and "process.roles" not in settings
        known = known and str(OWN) in [id for id, _, _ in listed]
        if (damaged and "reads-a-damaged-file" not in self.bugs) or not (known or "starts-outside" in self.bugs):
            self.end_itself()
            return
        if damaged:
            self.stored = (-1, self.epoch + 7, PEERS[0])
        self.start()
        if len(listed) == 1 and "controller.quorum.voters" in settings:
            waits = "lone-voter-waits" in self.bugs
            self.become("unattached" if waits else "leader", self.epoch + 1, -1 if waits else OWN)

    def last_end(self) -> ProcessEnd | None:
        return ProcessEnd(exit_code=1) if self.status == "exited" else None

    def start(self) -> None:
        self.status, self.starts = "running", self.starts + 1
        self.writes_at = float("inf")
        self.leader, self.epoch, self.voted = self.stored
        if "forgets-its-log" in self.bugs:
            self.log = self.log[:-1]
        if "forgets-its-vote" in self.bugs:
            self.voted = -1
        led = self.leader == OWN
        self.become("resigned" if led else "unattached", self.epoch, OWN if led else -1, self.voted)
        self.write()

    def store(self) -> None:
        """Write quorum-state now, or a while later if a bug delays that."""
        if (self.leader, self.epoch, self.voted) != self.stored:
            self.writes_at = self.now + 0.1
            if "state-written-late" not in self.bugs:
                self.write()

    def write(self) -> None:
        self.stored, self.stored_at = (self.leader, self.epoch, self.voted), self.now
        self.writes_at = float("inf")

    def dated_file(self, path: str) -> DatedFile:
        if self.status == "running" and self.bugs & {"state-written-late", "log-written-late"}:
            self.pass_time(self.now + 0.15)  # An engine takes its time, too.
        if path == SEGMENT:
            return DatedFile(b"".join(encode_batch(one) for one in self.log), int(self.log_at * 1000))
        if path == "meta.properties":
            return DatedFile(f"cluster.id={CLUSTER}\ndirectory.id=AAAAAAAAAAAAAAAAAAAABw\n".encode(), 0)
        if path != QUORUM_STATE or "no-quorum-state" in self.bugs:
            raise FileNotFoundError(path)
        state = {"data_version": 0, **dict(zip(("leaderId", "leaderEpoch", "votedId"), self.stored, strict=True))}
        return DatedFile(json.dumps(state).encode(), int(self.stored_at * 1000))
