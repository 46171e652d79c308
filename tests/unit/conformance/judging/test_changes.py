"""The faults from which a change of an observation's subject followed."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.changes import CausedChanges
from conformance.judging.reading import Reading
from history.events import Answer, Call
from history.subjects import Subject
from tests.support.histories import LogHistory

GROUP, ID = Subject("group", "g"), Subject("transactional-id", "t")


class Served(LogHistory):
    """The same with requests to coordinators and controllers."""

    def served(self, broker: int, op: str = "heartbeat", error: int = 0, **request: Any) -> Served:
        node, request = f"broker-{broker}", request or {"group": "g"}
        self.events.append(Call(**self._now(), op=op, node=node, request=request))
        call = len(self.events) - 1
        self.events.append(Answer(**self._now(), call=call, outcome="ok", value={"error_code": error}))
        return self


def lived(history: LogHistory, subject: Subject = GROUP) -> list[str]:
    reading = Reading(history.example, [])
    reading.feed(history.events)
    faults = {"a-0": "kill", "a-1": "stop", "b-0": "pause"}
    changed = {Subject("partition", name): [(fault, 1)] for name, fault in faults.items()}
    return CausedChanges(history.history, reading.timeline, changed).faults_behind(
        {subject}, (len(history.events) - 1,)
    )


def test_another_coordinator_after_a_fault_on_the_former_one_is_a_change() -> None:
    assert lived(Served().served(1).kill(1).served(2)) == ["kill"]
    assert lived(Served().served(1).kill(3).served(2)) == []
    assert lived(Served().served(1).kill(1)) == []


def test_a_new_process_of_the_coordinator_is_a_change() -> None:
    assert lived(Served().served(1).kill(1).start(1).served(1)) == ["kill"]
    assert lived(Served().served(1).hit("rate-limit", 1).served(1)) == []


@pytest.mark.parametrize(
    ("subject", "op", "request_"),
    [
        (GROUP, "find_coordinator", {"key": "g", "key_type": 0}),
        (GROUP, "add_offsets_to_txn", {"group": "g", "transactional_id": "t"}),
        (ID, "produce", {"transactional_id": "t"}),
        (ID, "txn_offset_commit", {"group": "g", "transactional_id": "t"}),
        (GROUP, "heartbeat", {"group": "another"}),
    ],
)
def test_a_request_that_other_brokers_serve_shows_no_change(
    subject: Subject, op: str, request_: dict[str, Any]
) -> None:
    own: dict[str, Any] = {"group": "g"} if subject is GROUP else {"transactional_id": "t"}
    history = Served().served(1, **own).kill(1).served(2, op, **request_)
    assert lived(history, subject) == []


def test_a_broker_that_refuses_serves_nothing() -> None:
    assert lived(Served().served(1).kill(1).served(2, error=16)) == []


def test_partitions_know_of_their_changes() -> None:
    history = Served().settled(1, 0)
    assert lived(history, Subject("partition", "a-0")) == ["kill"]
    assert lived(history, Subject("topic", "a")) == ["kill", "stop"]
    assert lived(history, Subject("member", "m")) == []
