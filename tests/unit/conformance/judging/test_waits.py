"""The nodes and subjects of a wait that ended in vain."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.waits import FailedWait
from history.due import Due
from history.events import Call, Ended, Overdue
from protocol.coordinators import partition_for
from tests.support.histories import LogHistory


class WithRequests(LogHistory):
    """The same with any request."""

    def asked(self, op: str, node: str = "broker-1", **request: Any) -> WithRequests:
        self.events.append(Call(**self._now(), op=op, node=node, request=request))
        return self

    def ran_out_of_memory(self, broker: int) -> WithRequests:
        end = Ended(**self._now(), node=f"broker-{broker}", exit_code=137, out_of_memory=True)
        self.events.append(end)
        return self


def wait(history: LogHistory, due: Due = "step", began: int = 0) -> FailedWait:
    """A wait of 30 s that began with an event, by default the first one, and ended after the last."""
    events = history.events
    over = Overdue(n=len(events), t=events[-1].t + 30.0, due=due, what="it", within=30.0, began=began, over=len(events))
    events.append(over)
    return FailedWait(history.history, over)


@pytest.mark.parametrize(
    ("request_", "concerned"),
    [
        ({"topics": ["topic"]}, ["topic-0", "topic-1"]),
        ({"topic": "topic", "partition": 0}, ["topic-0"]),
        ({"topic": "other", "partition": 0}, ["other-0"]),
        ({"topics": ["topic"], "topic": "topic", "partition": 1}, ["topic-1"]),
        ({}, ["topic-0", "topic-1", "other-0"]),
    ],
)
def test_a_step_concerns_the_partitions_that_its_requests_name(request_: dict[str, Any], concerned: list[str]) -> None:
    found = wait(WithRequests().asked("ask", **request_))
    named = [("topic", 0), ("topic", 1), ("other", 0)]
    assert [f"{topic}-{index}" for topic, index in named if found.concerns(topic, index, 2)] == concerned


@pytest.mark.parametrize(
    ("request_", "log"),
    [({"group": "g"}, "__consumer_offsets"), ({"key": "t", "key_type": 1}, "__transaction_state")],
)
def test_a_step_of_a_coordinator_concerns_the_partition_that_holds_it(request_: dict[str, Any], log: str) -> None:
    found, key = wait(WithRequests().asked("ask", **request_)), str(request_.get("group", "t"))
    assert [index for index in range(5) if found.concerns(log, index, 5)] == [partition_for(key, 5)]
    assert not found.concerns("topic", 0, 1)


def test_requests_before_the_wait_say_nothing_of_it() -> None:
    history = WithRequests().asked("ask", topics=["other"]).asked("ask", topics=["topic"])
    assert not wait(history, began=1).concerns("other", 0, 1)


def test_every_partition_counts_where_the_requests_are_not_known() -> None:
    assert wait(WithRequests().asked("ask", topics=["topic"]), began=-1).concerns("other", 0, 1)


def test_an_answer_is_due_for_the_request_that_was_lost() -> None:
    history = LogHistory().fetch_lost(2, 0)
    found = wait(history, "answer", began=-1)
    assert found.lost is not None
    assert (found.lost[0].n, found.concerns("topic", 0, 1), found.concerns("other", 0, 1)) == (0, True, False)


class TestMemory:
    def test_the_leader_of_the_partition_ran_out_of_it(self) -> None:
        history = WithRequests().metadata(1, 2, 0).ran_out_of_memory(2)
        assert wait(history.asked("ask", topics=["topic"]), began=3).ran_out_of_memory

    def test_another_broker_ran_out_of_it(self) -> None:
        history = WithRequests().metadata(1, 2, 0).ran_out_of_memory(3)
        assert not wait(history.asked("ask", topics=["topic"]), began=3).ran_out_of_memory
        assert wait(history, "replica", began=3).ran_out_of_memory

    def test_the_node_that_was_asked_ran_out_of_it(self) -> None:
        history = WithRequests().ran_out_of_memory(2).asked("ask", node="broker-2")
        assert wait(history, "node", began=1).ran_out_of_memory

    def test_it_was_noticed_later(self) -> None:
        history = WithRequests().metadata(1, 2, 0)
        found = wait(history.asked("ask", topics=["topic"]), began=2)
        history.ran_out_of_memory(2)
        assert found.ran_out_of_memory

    def test_it_answered_after_the_wait(self) -> None:
        history = WithRequests().metadata(1, 2, 0)
        found = wait(history.asked("ask", topics=["topic"]), began=2)
        history.metadata(2, 2, 0)
        history.ran_out_of_memory(2)
        assert not found.ran_out_of_memory

    def test_it_had_been_started_again(self) -> None:
        history = WithRequests().metadata(1, 2, 0).ran_out_of_memory(2).start(2)
        assert not wait(history.asked("ask", topics=["topic"]), began=4).ran_out_of_memory
