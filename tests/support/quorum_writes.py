"""Histories of a quorum under a writer of metadata: writes to single nodes, what brokers show, and rest."""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

from msgspec.structs import replace

from conformance.judging.timeline import AT_REST, HEALED
from history.effects import Effects
from history.events import Answer, Call, Fault, Note, Premise
from protocol.operations import OPERATIONS
from tests.support import filled
from tests.support.quorum import VOTERS, QuorumHistory, name_of

CUT = Effects(cut_off=True)
FROZEN = Effects(process="frozen")
BROKERS = (1, 2)


class WrittenHistory(QuorumHistory):
    """Topics are named by letters, and have ids by number."""

    def __init__(self) -> None:
        super().__init__()
        self._passed = 0.0

    @property
    def _t(self) -> float:
        return self._passed + len(self.events) / 100

    def passes(self, seconds: float) -> Self:
        """Let time pass, with a note each half second."""
        for _ in range(int(2 * seconds)):
            self._passed += 0.5
            self.events.append(Note(n=len(self.events), t=self._t, text="the kit looks on"))
        return self

    def creates(self, topic: str, node: int, *, error: int | None = 0, id: int = 1) -> Self:
        """Ask the node to create a topic; there is no answer if `error` is None."""
        asked = {"topics": [{"name": topic, "num_partitions": 1, "assignment": [], "configs": {}}]}
        result = {"name": topic, "error_code": error, "topic_id": str(UUID(int=id))}
        return self._written(node, "create_topics", asked, {"topics": [result]}, error)

    def deletes(self, topic: str, node: int, *, error: int | None = 0) -> Self:
        result = {"name": topic, "error_code": error}
        return self._written(node, "delete_topics", {"topics": [topic]}, {"topics": [result]}, error)

    def shows(self, broker: int, **topics: int) -> Self:
        """Answer Metadata with topics and their ids: 0 for no such topic, -1 for one in a version without ids."""
        there = {
            "error_code": 0,
            "partitions": [{"leader_id": 1, "leader_epoch": 0, "isr_nodes": [1], "replica_nodes": [1]}],
        }
        gone = {"error_code": 3, "partitions": []}
        found = [
            {"name": name, "topic_id": str(UUID(int=id)) if id >= 0 else None, **(there if id else gone)}
            for name, id in topics.items()
        ]
        return self.call(broker, "metadata", {}, {"topics": found})

    def answers_late(self, broker: int, first: dict[str, int], second: dict[str, int]) -> Self:
        """Ask a broker for Metadata twice; the first answer comes after the second one."""
        *before, call, answer, other, earlier = self.shows(broker, **first).shows(broker, **second).events
        assert isinstance(answer, Answer)
        assert isinstance(earlier, Answer)
        n = len(before)
        moved = (replace(other, n=n + 1), replace(earlier, n=n + 2, call=n + 1), replace(answer, n=n + 3))
        self.events = [*before, call, *moved]
        return self

    def _written(self, node: int, op: str, asked: dict[str, Any], answer: dict[str, Any], error: int | None) -> Self:
        if error is not None:
            return self.call(node, op, asked, answer)
        n = len(self.events)
        request = filled.asked(OPERATIONS[op], asked)
        self.events.append(Call(n=n, t=self._t, op=op, node=name_of(node), request=request))
        self.events.append(Answer(n=n + 1, t=self._t, call=n, outcome="info", error="no answer", kind="Unanswered"))
        return self

    def heals(self, fault: str, *nodes: int) -> Self:
        hit = ",".join(map(name_of, nodes))
        self.events.append(
            Fault(n=len(self.events), t=self._t, fault=fault, phase="heal", role="any", node=hit, detail={})
        )
        return self

    def rests(self, *shown: dict[str, int], leader: int = 102, epoch: int = 5) -> Self:
        """Come to rest in an epoch, and show at each broker the topics of that broker, or of the last one given."""
        for what in (HEALED, AT_REST):
            self.events.append(Premise(n=len(self.events), t=self._t, what=what, met=True))
        for number, broker in enumerate(BROKERS):
            self.shows(broker, **shown[min(number, len(shown) - 1)])
        for voter in VOTERS:
            self.knows(voter, leader, epoch)
        return self


def cut_off(fault: str = "cut", node: int = 101, effects: Effects = CUT) -> WrittenHistory:
    """Let 101 lead epoch 4, and cut it off."""
    return WrittenHistory().knows(101, 101, 4).knows(102, 101, 4).fault(fault, node, effects=effects, heal=False)


def lost_majority(writes_after: float, *, error: int = 0) -> WrittenHistory:
    """Freeze two of three; some seconds later 101 answers a write."""
    history = WrittenHistory().knows(101, 101, 4)
    for node in (102, 103):
        history.fault(f"freeze-{node}", node, effects=FROZEN, heal=False)
    history.passes(writes_after).creates("a", 101, error=error)
    for node in (102, 103):
        history.heals(f"freeze-{node}", node)
    return history.rests({"a": 1}, leader=101, epoch=4)


def acknowledged_alone(shown: int) -> WrittenHistory:
    """Acknowledge a topic while cut off; at rest it is there or not."""
    return cut_off().creates("a", 101).heals("cut", 101).rests({"a": shown})


def isolated(led: int, last: int) -> WrittenHistory:
    """Cut off 101 in epoch 4, which it led or not, and read its epoch then and later."""
    return cut_off().stored(101, led, 4).stored(101, -1, last).heals("cut", 101)


def order_of_creation(b: int) -> WrittenHistory:
    """Acknowledge two topics one after the other; a broker shows the second, or none."""
    return WrittenHistory().creates("a", 1, id=1).creates("b", 1, id=2).shows(1, a=0, b=b).knows(101, 101, 4)


PAIRS = {
    "acknowledged_metadata_is_kept": lambda: (
        cut_off().creates("a", 1).heals("cut", 101).rests({"a": 1}, {"a": 0}),
        cut_off().creates("a", 1).heals("cut", 101).rests({"a": 1}),
    ),
    "acknowledged_metadata_survives_a_minority": lambda: (
        cut_off().creates("a", 1).heals("cut", 101).rests({"a": 0}),
        cut_off().creates("a", 1).deletes("a", 1).heals("cut", 101).rests({"a": 0}),
    ),
    "controller_that_is_cut_off_acknowledges_nothing_of_its_own": lambda: (
        acknowledged_alone(0),
        acknowledged_alone(1),
    ),
    "nothing_is_committed_without_a_majority": lambda: (lost_majority(6.0), lost_majority(2.0)),
    "isolated_voter_keeps_its_epoch": lambda: (isolated(led=-1, last=5), isolated(led=101, last=5)),
    "brokers_show_metadata_in_committed_order": lambda: (order_of_creation(2), order_of_creation(0)),
}
