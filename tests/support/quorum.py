"""Histories of a quorum of three controllers, told event by event: what they answer, what is on their disks, and faults."""

from __future__ import annotations

import base64
import json
from typing import Any, Self

import msgspec

from conformance.judging.facts.gauges import APPLIED, RAFT
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, Fault, History, Phase
from protocol.operations import OPERATIONS
from protocol.quorum import METADATA_TOPIC
from tests.support import filled

VOTERS = (101, 102, 103)
ABOUT = {"topic": METADATA_TOPIC, "partition": 0}
DOWN = Effects(process="down", abrupt=True)


def name_of(id: int) -> str:
    return f"controller-{id}" if id > 100 else f"broker-{id}"


EMPTY = {"control": False, "records": [], "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
"""A batch without the records that no judge of a quorum reads."""


class QuorumHistory:
    """Every method adds an event, or a call and its answer; nodes are numbers, those below 100 are brokers."""

    def __init__(self, controllers: tuple[int, ...] = VOTERS, number: int = 1) -> None:
        members = [{"name": name_of(id), "id": id, "role": "controller"} for id in controllers]
        members += [{"name": name_of(id), "id": id, "role": "broker"} for id in (1, 2)]
        self.example = Example(example=f"e-{number}", check="quorum", column="4.3.1", members=members)
        self.events: list[AnyEvent] = []

    @property
    def history(self) -> History:
        return History(example=self.example, events=self.events)

    # --- answers

    def knows(self, node: int, leader: int, epoch: int) -> Self:
        """Ask the node by a Vote that it refuses as invalid."""
        return self.vote(node, 102, 0, offset=-1, error=42, leader=leader, known=epoch)

    def vote(
        self,
        node: int,
        candidate: int,
        epoch: int,
        *,
        granted: bool = False,
        offset: int = 9,
        pre_vote: bool = False,
        error: int = 0,
        leader: int = -1,
        known: int | None = None,
    ) -> Self:
        asked = {"candidate_id": candidate, "candidate_epoch": epoch, "last_offset": offset, "pre_vote": pre_vote}
        answer = {
            "error_code": error,
            "vote_granted": granted,
            "leader_id": leader,
            "leader_epoch": epoch if known is None else known,
        }
        return self.call(node, "vote", asked | {"last_offset_epoch": 1, "topics": [METADATA_TOPIC]}, ABOUT | answer)

    def begin(self, node: int, leader: int, epoch: int, error: int = 0) -> Self:
        asked = {"leader_id": leader, "leader_epoch": epoch, "topics": [METADATA_TOPIC]}
        answer = {"error_code": error, "leader_id": leader, "leader_epoch": epoch}
        return self.call(node, "begin_quorum_epoch", asked, ABOUT | answer)

    def described(
        self,
        *ends: int,
        watermark: int,
        epoch: int = 4,
        by: int = 101,
        leader: int = 101,
        voters: tuple[int, ...] = VOTERS,
        observers: tuple[int, ...] = (1, 2),
        error: int = 0,
    ) -> Self:
        """Describe where the logs of the voters end."""
        answer = {
            "error_code": error,
            "leader_id": leader,
            "leader_epoch": epoch,
            "high_watermark": watermark,
            "current_voters": [{"replica_id": id, "log_end_offset": e} for id, e in zip(voters, ends, strict=True)],
            "observers": [{"replica_id": id, "log_end_offset": 0} for id in observers],
        }
        return self.call(by, "describe_quorum", ABOUT, ABOUT | answer)

    def fetched(
        self,
        *batches: tuple[int, int, int],
        by: int = 101,
        epoch: int = 4,
        leader: int | None = None,
        offset: int = 0,
        last: int = -1,
        watermark: int = -1,
        diverging: tuple[int, int] | None = None,
        error: int = 0,
        replica: int = -1,
        lost: bool = False,
    ) -> Self:
        """Answer a Fetch of the metadata log with batches: first and last offset, and epoch; or not, if that is `lost`."""
        asked = {
            "fetch_offset": offset,
            "last_fetched_epoch": last,
            "replica_id": replica,
            "current_leader_epoch": epoch,
        }
        answer = {
            "error_code": error,
            "high_watermark": watermark,
            "log_start_offset": 0,
            "current_leader": {"leader_id": by if leader is None else leader, "leader_epoch": epoch},
            "batches": [EMPTY | {"base_offset": f, "last_offset": e, "leader_epoch": n} for f, e, n in batches],
            "diverging_epoch": diverging and {"epoch": diverging[0], "end_offset": diverging[1]},
        }
        history = self.call(by, "fetch", ABOUT | asked, ABOUT | answer)
        if lost:
            *_, call, _ = history.events
            history.events[-1] = Answer(
                n=call.n + 1, t=self._t, call=call.n, outcome="info", error="no answer", kind="Unanswered"
            )
        return history

    # --- disks and peers

    def stored(self, node: int, leader: int, epoch: int, voted: int = -1) -> Self:
        """Read the quorum-state of a node."""
        state = {"clusterId": "", "leaderId": leader, "leaderEpoch": epoch, "votedId": voted, "data_version": 0}
        return self.reads(node, "quorum-state", json.dumps(state).encode())

    def epochs(self, node: int, *starts: tuple[int, int]) -> Self:
        """Read the leader-epoch-checkpoint of a node."""
        lines = ["0", str(len(starts)), *(f"{epoch} {start}" for epoch, start in starts), ""]
        return self.reads(node, "leader-epoch-checkpoint", "\n".join(lines).encode())

    def reads(self, node: int, file: str, content: bytes | None) -> Self:
        text = None if content is None else base64.b64encode(content).decode()
        return self._asked(name_of(node), "read_file", {"path": f"{METADATA_TOPIC}-0/{file}"}, {"content": text})

    def gauges(
        self,
        node: int,
        state: str = "follower",
        *,
        leader: int = 101,
        epoch: int = 4,
        watermark: int = 9,
        end: int = 9,
    ) -> Self:
        """Read the node's metrics of the quorum."""
        found = {"current-state": state, "current-leader": leader, "current-epoch": epoch}
        return self._metric(node, RAFT, found | {"high-watermark": float(watermark), "log-end-offset": float(end)})

    def applied(self, broker: int, offset: int) -> Self:
        """Read the offset of the last record that the broker has applied."""
        return self._metric(broker, APPLIED, {"last-applied-record-offset": offset})

    def _metric(self, node: int, metric: str, attributes: dict[str, Any]) -> Self:
        return self._asked(name_of(node), "metric", {"metric": metric}, {"attributes": attributes})

    def with_scripted(self, *voters: int) -> Self:
        """Say in the head of the history which voters the kit plays."""
        self.example = msgspec.structs.replace(self.example, scripted=voters)
        return self

    def plays_peers(self, candidate: int | None = None) -> Self:
        """Look for a request to the voters that the kit plays, and find a candidate's Vote, or none."""
        partition = {"candidate_id": candidate, "candidate_epoch": 1}
        body = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}]}
        mail = {"number": 1, "peer": 2, "api": "Vote", "version": 0, "body": body, "at": 0.0}
        value = {"received": None if candidate is None else mail}
        return self._asked("peers", "receive", {"api": "", "peer": None}, value)

    # --- faults

    def fault(self, name: str, *nodes: int, effects: Effects = DOWN, heal: bool = True, **seen: Any) -> Self:
        """Inject and witness a fault and, unless `heal` is false, heal it. `seen` is its consequence."""
        hit = ",".join(map(name_of, nodes))
        phases: list[Phase] = ["inject", "witness"]
        phases += ["consequence"] if seen else []
        phases += ["heal"] if heal else []
        for phase in phases:
            self.events.append(
                Fault(
                    n=len(self.events),
                    t=self._t,
                    fault=name,
                    phase=phase,
                    role="any",
                    node=hit,
                    detail={key.replace("_", " "): value for key, value in seen.items()}
                    if phase == "consequence"
                    else {},
                    effects=effects if phase == "inject" else None,
                )
            )
        return self

    # --- events

    @property
    def _t(self) -> float:
        return len(self.events) / 100

    def call(self, node: int, op: str, asked: dict[str, Any], answer: dict[str, Any]) -> Self:
        kind = OPERATIONS[op]
        return self._asked(name_of(node), op, filled.asked(kind, asked), filled.answered(kind, answer))

    def _asked(self, node: str, op: str, asked: dict[str, Any], answer: dict[str, Any]) -> Self:
        call = len(self.events)
        self.events.append(Call(n=call, t=self._t, op=op, node=node, request=asked))
        self.events.append(Answer(n=call + 1, t=self._t, call=call, outcome="ok", value=answer))
        return self
