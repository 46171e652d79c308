"""Steps that are due, and processes that end."""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.judging.excuses import (
    ELECTION_DISTURBED,
    ENDED_BY_FAULT,
    EXPENDED,
    FAULT_STOOD,
    NO_REPLICA_MAY_LEAD,
    NOT_READ,
    ONLY_NODE_ENDED,
    OUT_OF_MEMORY,
    PREFERRED_OUT_OF_SYNC,
    QUORUM_STATE_LOST,
    STARVED,
)
from history.due import Due
from history.effects import Effects, Loss
from history.events import Call, Ended, Fault, History, Overdue
from protocol.codes import Error
from protocol.topics import ElectionType, PartitionResult, PartitionResults
from tests.contract.forgiven.entry import Forgiven
from tests.support.histories import TOPIC, LogHistory, stamped

NO_LOG_DIRECTORY = "[..] ERROR Shutdown broker because all log dirs in /data have failed (kafka.log.LogManager)"
NULL_POINTER = "[..] ERROR Encountered fatal fault: NullPointerException"
MAY_END = Effects(process="may-end", abrupt=True, disk=("log-dir", "quorum-state"), every_partition=True)
DISK_FAILS = Effects(process="restarts", abrupt=True, fails_writes=True)


class Waited(LogHistory):
    """The same with waits that end in vain, and processes that end."""

    def waited(self, due: Due = "leader", within: float = 30.0, late: float = 0.0, topic: str = TOPIC.name) -> Waited:
        """Ask for a topic, and wait in vain."""
        began = len(self.events)
        self.events.append(Call(**self._now(), op="ask", node="broker-3", request={"topics": [topic]}))
        self.later(within)
        return self.overdue(due, within, late=late, began=began, over=len(self.events))

    def overdue(self, due: Due, within: float, **known: Any) -> Waited:
        self.events.append(Overdue(**self._now(), due=due, what=f"{due} within {within:g} s", within=within, **known))
        return self

    def process_ended(self, broker: int, log: str = "", *, out_of_memory: bool = False) -> Waited:
        end = Ended(**self._now(), node=f"broker-{broker}", exit_code=1, out_of_memory=out_of_memory, log=log)
        self.events.append(end)
        return self

    def refused_election(self, error: Error = Error.PREFERRED_LEADER_NOT_AVAILABLE) -> Waited:
        call = self._asked(1, "elect_leaders", [(TOPIC.name, 0)], ElectionType.PREFERRED)
        result = PartitionResult(version=2, topic=TOPIC.name, partition=0, error=error)
        return self._answered(call, PartitionResults(version=2, partitions=(result,)))

    def without_leader(self, isr: int = 1, *alive: int) -> Waited:
        return self.metadata(2, -1, 1, isr=(isr,), unfenced=alive or (2, 3))


# --- elections


def _lost_1() -> History:
    return Waited().kill(1).without_leader().waited().history


def _near_election(**differs: Any) -> History:
    """Broker 1, the only ISR member, was killed; `differs` is what the wait is about."""
    return Waited().kill(1).without_leader().waited(**differs).history


def _stays_fenced() -> History:
    """Broker 1 is started, and 61 s later no broker lists it as alive."""
    history = Waited().kill(1).start(1)
    for _ in range(3):
        history.later(10).without_leader()
    return history.waited().history


def _preferred(history: Waited, topic: str = TOPIC.name) -> History:
    return history.metadata(2, 2, 1, isr=(2, 3)).waited("step", topic=topic).history


# --- processes


def _out_of_memory(broker: int = 1) -> Waited:
    return Waited().settled(1, 0).process_ended(broker, out_of_memory=True)


def _alone(history: Waited) -> History:
    """Return the history as that of a cluster whose only node is broker 1."""
    example = msgspec.structs.replace(history.example, members=history.example.members[:1])
    return msgspec.structs.replace(history.history, example=example)


def _disk_failed(broker: int = 1) -> Waited:
    return Waited().settled(1, 0).hit("failed-disk", broker, effects=DISK_FAILS)


def _lost_answer(broker: int) -> History:
    """A Fetch to broker 1 got no answer while that was frozen, or another broker."""
    history = Waited().settled(1, 0).hit("freeze", broker).fetch_lost(1, 0)
    assert isinstance(history, Waited)
    return history.heal("freeze", broker).overdue("answer", 10.0).history


def _before_the_request() -> History:
    history = Waited().settled(1, 0).hit("freeze", 1).heal("freeze", 1).later(30).fetch_lost(1, 0)
    assert isinstance(history, Waited)
    return history.overdue("answer", 10.0).history


def _after_the_request() -> History:
    history = Waited().settled(1, 0).fetch_lost(1, 0).hit("freeze", 1).heal("freeze", 1)
    return history.overdue("answer", 10.0).history


def _leaderless(fault: str = "rate-limit", broker: int = 1, *, when: str = "meanwhile") -> History:
    """Broker 2 names no leader for 40 s, though broker 1 may lead; a fault hits a broker meanwhile, before that, or after."""
    history = Waited().settled(1, 0)
    if when == "before":
        history.hit(fault, broker).heal(fault, broker)
    history.without_leader(1, 1, 2)
    if when == "meanwhile":
        history.hit(fault, broker)
    history.later(40).without_leader(1, 1, 2)
    return (history.hit(fault, broker) if when == "after" else history).history


# --- reactions


CONTROLLERS = [{"name": f"controller-{id}", "id": id, "role": "controller"} for id in (101, 102, 103)]


def _no_successor(seconds: float = 31.0, **detail: Any) -> History:
    """No other controller leads so long after the active one was lost."""
    members = [*LogHistory().example.members, *CONTROLLERS]
    example = msgspec.structs.replace(LogHistory().example, members=members)
    lost = Fault(n=0, t=seconds, fault="kill", phase="consequence", role="active controller", node="controller-101")
    detail = {"met": False, "seconds": seconds, **detail}
    return History(example=example, events=[msgspec.structs.replace(lost, detail=detail)])


def _quorum_state(disk: Loss = "quorum-state", *, after: bool = True) -> History:
    """A controller's disk loses something before a batch is read, or after that."""
    history, lost = Waited().created().settled(1, 0).produce(1, "a", at=0), Effects(process="down", disk=(disk,))
    read = stamped(0, 0, "a")
    if after:
        return history.hit("lost", effects=lost).fetch(1, read, epoch=0, hw=1).history
    return history.fetch(1, read, epoch=0, hw=1).hit("lost", effects=lost).history


EACH_WAIT = "each wait has a figure of its own, which begins and ends with it"

ENTRIES = (
    Forgiven(
        STARVED,
        row="GEN-08",
        covered=lambda: Waited().waited(late=7.6).history,
        near={"too little": lambda: Waited().waited(late=7.4).history},
        applies={"another subject": EACH_WAIT, "before it began": EACH_WAIT, "after it ended": EACH_WAIT},
    ),
    Forgiven(
        OUT_OF_MEMORY,
        row="GEN-08",
        covered=lambda: _out_of_memory().waited().history,
        near={
            "another node": lambda: _out_of_memory(2).waited().history,
            "another subject": lambda: _out_of_memory().waited(topic="other").history,
            "before it began": lambda: (
                Waited().settled(1, 0).waited().metadata(1, 1, 0).process_ended(1, out_of_memory=True).history
            ),
            "after it ended": lambda: _out_of_memory().start(1).waited().history,
        },
    ),
    Forgiven(
        ONLY_NODE_ENDED,
        row="GEN-08",
        covered=lambda: _alone(Waited().settled(1, 0).waited().process_ended(1)),
        near={
            "another node": lambda: Waited().settled(1, 0).waited().process_ended(1).history,
            "before it began": lambda: _alone(Waited().waited().metadata(1, 1, 0).process_ended(1)),
            "after it ended": lambda: _alone(Waited().settled(1, 0).process_ended(1).start(1).waited()),
        },
        applies={"another subject": "all steps are the only node's"},
    ),
    Forgiven(
        NO_REPLICA_MAY_LEAD,
        row="GEN-08",
        covered=_lost_1,
        near={
            "another node": lambda: Waited().kill(2).without_leader().waited().history,
            "another subject": lambda: _near_election(topic="other"),
            "before it began": lambda: Waited().kill(1).waited().without_leader().history,
            "after it ended": _stays_fenced,
            "described otherwise": lambda: (
                Waited().kill(1).without_leader().metadata(2, 2, 2, isr=(2, 3)).waited().history
            ),
        },
    ),
    Forgiven(
        ELECTION_DISTURBED,
        row="GEN-08",
        covered=_leaderless,
        near={
            "another node": lambda: _leaderless(broker=3),
            "before it began": lambda: _leaderless(when="after"),
            "after it ended": lambda: _leaderless(when="before"),
            "described otherwise": lambda: _leaderless("roll-by-size"),
        },
    ),
    Forgiven(
        PREFERRED_OUT_OF_SYNC,
        row="GEN-21",
        covered=lambda: _preferred(Waited().refused_election()),
        near={
            "another subject": lambda: _preferred(Waited().refused_election(), topic="other"),
            "before it began": lambda: _preferred(Waited()),
            "after it ended": lambda: _preferred(Waited().refused_election().restart(1)),
            "described otherwise": lambda: Waited().refused_election().metadata(2, 2, 1).waited("step").history,
            "refused": lambda: _preferred(Waited().refused_election(Error.POLICY_VIOLATION)),
        },
    ),
    Forgiven(
        ENDED_BY_FAULT,
        row="GEN-10",
        covered=lambda: _disk_failed().process_ended(1, NO_LOG_DIRECTORY).history,
        near={
            "another node": lambda: _disk_failed(2).process_ended(1, NO_LOG_DIRECTORY).history,
            "before it began": lambda: Waited().process_ended(1, NO_LOG_DIRECTORY).hit("failed-disk", 1).history,
            "after it ended": lambda: (
                _disk_failed().heal("failed-disk", 1).metadata(1, 1, 0).process_ended(1, NO_LOG_DIRECTORY).history
            ),
            "described otherwise": lambda: _disk_failed().process_ended(1, NULL_POINTER).history,
        },
    ),
    Forgiven(
        EXPENDED,
        row="GEN-10",
        covered=lambda: Waited().hit("expend", 1, effects=MAY_END).process_ended(1, NULL_POINTER).history,
        near={
            "another node": lambda: Waited().hit("expend", 2, effects=MAY_END).process_ended(1, NULL_POINTER).history,
            "before it began": lambda: (
                Waited().process_ended(1, NULL_POINTER).hit("expend", 1, effects=MAY_END).history
            ),
            "after it ended": lambda: (
                Waited().hit("expend", 1, effects=MAY_END).heal("expend", 1).process_ended(1, NULL_POINTER).history
            ),
            "described otherwise": lambda: Waited().hit("kill", 1).process_ended(1, NULL_POINTER).history,
        },
    ),
    Forgiven(
        FAULT_STOOD,
        row="GEN-21",
        covered=lambda: _lost_answer(1),
        near={
            "another node": lambda: _lost_answer(2),
            "before it began": _after_the_request,
            "after it ended": _before_the_request,
        },
    ),
    Forgiven(
        NOT_READ,
        row="KIP595-LIVE-01",
        covered=lambda: _no_successor(trouble="no controller answers"),
        near={"described otherwise": _no_successor},
        applies={
            "another subject": "each reaction has its own last request",
            "before it began": "each reaction has its own last request",
            "after it ended": "each reaction has its own last request",
        },
    ),
    Forgiven(
        QUORUM_STATE_LOST,
        row="GEN-16",
        covered=_quorum_state,
        near={
            "before it began": lambda: _quorum_state(after=False),
            "described otherwise": lambda: _quorum_state("clean-shutdown"),
        },
        applies={
            "another subject": "every partition depends on the quorum",
            "after it ended": "two leaders of one epoch may show at any later time",
        },
    ),
)
