"""A Raft voter in memory with timeouts, for the rigs of the live voters: it elects, leads and resigns by itself.

It keeps the rules of KIP-595 and KIP-996 that the probes of those rigs check, except those in `bugs`.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from conformance.core.checks import Check
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.rigs.quorum.live import ELECTION_TIMEOUT, FETCH_TIMEOUT, RESIGNS_AFTER, Live
from fixtures.cluster.config import CONTROLLER_PORT
from history.readings import Received
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC
from tests.support.scripted_voter import CLUSTER, NAME, OWN, Voter
from tests.support.voter_cluster import VoterCluster, bench_on

NEVER = float("inf")
SHUTDOWN = 5.0
SPREAD = (0.1, 0.7, 0.4, 0.9, 0.25, 0.55)
"""Shares of the election timeout that are added to it, in turn."""


class LiveVoter(Voter):
    """The voter, which has a `deadline` in each role."""

    def __init__(
        self, bugs: frozenset[str], lag: float, peers: tuple[int, ...], fetch_timeout: int = FETCH_TIMEOUT
    ) -> None:
        super().__init__(bugs, lag)
        self.fetch_timeout = fetch_timeout / 1000
        self.peers = peers
        self.routes = {id: id for id in peers}
        self.deadline = NEVER
        self.elections = 0
        self.done: set[int] = set()
        """The peers that answered the request of this role."""
        self.votes: set[tuple[str, int, int]] = set()
        self.fetched_by: set[int] = set()
        self.ending = False

    # --- the passing of time

    def become(self, role: str, epoch: int, leader: int = -1, voted: int = -1) -> None:
        super().become(role, epoch, leader, voted)
        self.done, self.fetched_by = set(), set()
        self.deadline = self.now + self.patience(role)

    def patience(self, role: str) -> float:
        """Return the seconds for which the voter stays in a role in which nothing happens."""
        if role == "follower":
            return NEVER if "never-stands" in self.bugs else self.fetch_timeout
        if role == "leader":
            return NEVER if "no-check-quorum" in self.bugs else RESIGNS_AFTER * self.fetch_timeout
        if role == "resigned" and self.ending:
            return SHUTDOWN
        if role == "resigned" and "stays-resigned" in self.bugs:
            return NEVER
        self.elections += 1
        share = 0.5 if "constant-timeout" in self.bugs else SPREAD[self.elections % len(SPREAD)]
        return (1 + share) * ELECTION_TIMEOUT / 1000

    def tick(self) -> None:
        before = len(self.flight)
        self.give_up_requests()
        if self.role == "follower" and len(self.flight) < before and "fires-on-first-loss" in self.bugs:
            self.stand()
        if self.now >= self.stands_at:
            self.stand()
        if self.now >= self.deadline:
            self.pass_deadline()
        if self.role == "follower":
            self.ask_leader()
        elif self.role in ("prospective", "candidate"):
            self.ask_for_votes(self.done if "asks-all-again" not in self.bugs else self.granted)
        elif self.role == "leader":
            self.tell("BeginQuorumEpoch", {})
        elif self.role == "resigned":
            self.tell("EndQuorumEpoch", {"preferred_candidates": [{"candidate_id": one} for one in self.successors()]})
        if self.now >= self.appends_at:
            self.append(1)
            self.appends_at = self.now + 0.05

    def pass_deadline(self) -> None:
        if self.role == "leader":
            self.resign()
        elif self.role == "resigned" and "leads-again" in self.bugs:
            self.become("leader", self.epoch, OWN)
        elif self.role == "resigned":
            self.become("unattached", self.epoch + (2 if "skips-an-epoch" in self.bugs else 1))
            self.status = "exited" if self.ending else self.status
        elif self.role == "candidate" and "one-epoch" in self.bugs:
            self.deadline = NEVER
        else:
            self.become("prospective", self.epoch, -1 if self.role == "candidate" else self.leader, self.voted)

    def tell(self, api: str, more: dict[str, Any]) -> None:
        """Send a request as leader to each voter that has not answered it."""
        for peer in self.peers[:1] if "tells-one" in self.bugs else self.peers:
            if peer not in self.flight and peer not in self.done:
                leader = peer if "sent-in-another-name" in self.bugs else OWN
                place = {"leader_id": leader, "leader_epoch": self.epoch, **more}
                host = "nowhere" if "sent-from-nowhere" in self.bugs else NAME
                named = [{"host": host, "port": CONTROLLER_PORT}] if api == "BeginQuorumEpoch" else []
                own = {"cluster_id": CLUSTER, "leader_endpoints": named}
                self.send(peer, api, {**own, "voter_id": peer, "topics": [{"partitions": [place]}]})
                self.done |= {peer} if "one-shot" in self.bugs else set()

    def successors(self) -> list[int]:
        return sorted(self.peers, key=lambda peer: self.ends[peer], reverse="successors-reversed" not in self.bugs)

    def resign(self) -> None:
        ends = self.ends
        self.become("resigned", self.epoch, OWN)
        self.ends = ends
        if "resigns-in-silence" in self.bugs:
            self.done = set(self.peers)

    # --- votes

    def ask_for_votes(self, done: set[int]) -> None:
        super().ask_for_votes(done)
        if "one-shot-vote" in self.bugs:
            self.done |= {*self.flight}

    def answer(self, asked: Received, body: dict[str, Any]) -> bool:
        if asked.api not in ("BeginQuorumEpoch", "EndQuorumEpoch"):
            return super().answer(asked, body)
        self.pass_time(self.now + self.lag)
        if self.flight.get(asked.peer) is not asked:
            return False
        del self.flight[asked.peer]
        self.done.add(asked.peer)
        return True

    def voted_for(self, peer: int, part: dict[str, Any]) -> None:
        if part["leader_epoch"] > self.epoch:
            self.adopt(part["leader_epoch"], part["leader_id"])
        elif part["leader_epoch"] == self.epoch or "counts-older-epochs" in self.bugs:
            self.done.add(peer)
            if part["vote_granted"]:
                self.count(peer)
            elif "tight-loop" in self.bugs and self.role == "candidate":
                self.become("prospective", self.epoch, -1, self.voted)

    def count(self, peer: int) -> None:
        """Count a vote once, or with a bug again in each election of this kind."""
        self.granted.add(peer)
        self.votes.add((self.role, self.elections, peer))
        twice = sum(role == self.role for role, _, _ in self.votes) if "counts-a-voter-twice" in self.bugs else 0
        if max(len(self.granted), twice) >= (len(self.peers) + 1) // 2 or "leads-by-one-vote" in self.bugs:
            self.won()

    # --- fetches

    def fetched(self, leader: int, part: dict[str, Any]) -> None:
        super().fetched(leader, part)
        if self.role == "follower" and (part["error_code"] == Error.NONE or "any-answer-counts" in self.bugs):
            self.deadline = self.now + self.patience("follower")

    def handle(self, api: str, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        if api != "FetchSnapshot":
            return super().handle(api, version, fields)
        if self.role == "leader" and "snapshot-is-no-progress" not in self.bugs:
            self.progress(fields["replica_id"])
        error = Error.NONE if self.role == "leader" else Error.NOT_LEADER_OR_FOLLOWER
        piece = {"index": 0, "error_code": error, "size": 9, "position": 0, "unaligned_records": b"123"}
        return {"error_code": 0, "topics": [{"name": METADATA_TOPIC, "partitions": [piece]}]}

    def served(self, asked: dict[str, Any], replica: int, wait: int) -> dict[str, Any]:
        answer = super().served(asked, replica, wait)
        partition = answer["responses"][0]["partitions"][0]
        if asked["last_fetched_epoch"] == 0 and self.end > 3:
            partition.pop("diverging_epoch", None)
            partition["snapshot_id"] = {"epoch": self.last_epoch, "end_offset": 3}
        diverges = "diverging_epoch" in partition
        valid = replica in self.peers and not diverges and not partition["error_code"]
        if self.role == "leader" and (valid or "any-fetch-counts" in self.bugs):
            self.progress(replica)
        return answer

    def progress(self, replica: int) -> None:
        """Go on leading for as long again once a majority has fetched."""
        self.fetched_by.add(replica)
        enough = 1 if "one-voter-is-enough" in self.bugs else len(self.peers) // 2
        if "no-fetch-counts" not in self.bugs and len(self.fetched_by) >= enough:
            self.fetched_by, self.deadline = set(), self.now + self.patience("leader")

    # --- its process

    def terminate(self) -> None:
        self.ending = True
        if self.role == "leader":
            self.resign()

    def stop(self, within: float = 30.0) -> None:
        self.ending = True
        self.status = "exited"

    def start(self) -> None:
        self.ending = False
        super().start()


def on_live_voter(
    check: Check, *bugs: str, case: str = "", lag: float = 0.001, late: float = 0.0, **inputs: Any
) -> ExampleOutcome:
    """Run one example of a probe on such a voter of three or five, after its rig was prepared."""
    kind = cast(type[Live], check.rig.handle)
    cluster = VoterCluster(LiveVoter(frozenset(bugs), lag, kind.others, kind.fetch_timeout), late)
    context = msgspec.to_builtins(check.rig.prepare(bench_on(cluster, check, case)))
    return evaluate_check(check, bench_on(cluster, check, case), inputs, context)
