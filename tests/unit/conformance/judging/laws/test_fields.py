"""Fields of one answer (GEN-06): each contradiction is found, and a legal answer that comes close is not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from conformance.judging.excuses import RISEN
from conformance.judging.judge import judge_all
from conformance.judging.laws import fields
from conformance.judging.log import fields as fields_of_partitions
from history.events import Answer, AnyEvent, Call, Example, History
from protocol.operations import OPERATIONS
from tests.support import filled
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")


def answered(op: str, request: dict[str, Any], value: dict[str, Any]) -> list[tuple[str, str]]:
    """The cases and results in a history of one answer."""
    events: list[AnyEvent] = [
        Call(n=0, t=0, op=op, node="broker-1", request=filled.asked(OPERATIONS[op], request)),
        Answer(n=1, t=0, call=0, outcome="ok", value=filled.answered(OPERATIONS[op], value)),
    ]
    history = History(example=Example(example="e", check="c", column="4.3.1"), events=events)
    return [(o.case, o.result) for o in judge_all([fields.descriptions_agree], history)]


def group(state: str, *members: int, epoch: int = 3, assignment: int = 3) -> list[tuple[str, str]]:
    described = [{"member_epoch": member} for member in members]
    value = {"group_state": state, "group_epoch": epoch, "assignment_epoch": assignment, "members": described}
    return answered("consumer_group_describe", {"group": "g"}, {"error_code": 0} | value)


@pytest.mark.parametrize(
    ("state", "members", "assignment"),
    [
        ("Empty", (), 3),
        ("Assigning", (2,), 2),
        ("Reconciling", (2, 3), 3),
        ("Stable", (3, 3), 3),
        ("stable", (3, 3), 3),
        ("Dead", (), 0),
    ],
)
def test_a_group_that_fits_its_state(state: str, members: tuple[int, ...], assignment: int) -> None:
    assert group(state, *members, assignment=assignment) == [("group", "held")]


@pytest.mark.parametrize(
    ("state", "members", "assignment"),
    [
        ("Empty", (3,), 3),
        ("Stable", (), 3),
        ("Stable", (2, 3), 3),
        ("Stable", (3,), 2),
        ("Reconciling", (3,), 2),
        ("Assigning", (2,), 3),
        ("Reconciling", (4,), 3),
        ("stable", (2, 3), 3),
        ("empty", (3,), 3),
        ("Dead", (3,), 3),
    ],
)
def test_a_group_that_contradicts_its_state(state: str, members: tuple[int, ...], assignment: int) -> None:
    assert group(state, *members, assignment=assignment) == [("group", "violated")]


@pytest.mark.parametrize(
    ("state", "target", "result"), [("Stable", 0, "held"), ("Stable", 1, "violated"), ("Reconciling", 1, "held")]
)
def test_members_of_a_stable_group_have_what_they_should(state: str, target: int, result: str) -> None:
    has, wanted = ({"topic_partitions": [{"topic_id": str(UUID(int=7)), "partitions": [one]}]} for one in (0, target))
    member = {"member_epoch": 3, "member_id": "m", "assignment": has, "target_assignment": wanted}
    value = {"group_state": state, "group_epoch": 3, "assignment_epoch": 3, "members": [member], "error_code": 0}
    assert answered("consumer_group_describe", {"group": "g"}, value) == [("group", result)]


@pytest.mark.parametrize(
    ("state", "partitions", "result"),
    [
        ("Ongoing", [], "violated"),
        ("Ongoing", [["t", 0]], "held"),
        ("Empty", [], "held"),
        ("CompleteCommit", [], "held"),
    ],
)
def test_a_transaction_and_its_partitions(state: str, partitions: list[Any], result: str) -> None:
    ids = {"producer_id": 1, "producer_epoch": 0, "timeout_ms": 1, "start_time_ms": 1}
    value = {"error_code": 0, "state": state, "partitions": partitions} | ids
    assert answered("describe_transaction", {"transactional_id": "id"}, value) == [("transaction", result)]


@pytest.mark.parametrize(
    ("leader", "observers", "result"),
    [
        (101, [], "held"),
        (-1, [], "held"),
        (1, [], "violated"),
        (101, [(101, "b")], "held"),
        (101, [(101, "a")], "violated"),
    ],
    ids=["a voter", "none", "no voter", "a voter's id with another directory", "a voter that observes"],
)
def test_the_quorum(leader: int, observers: list[tuple[int, str]], result: str) -> None:
    def replica(id: int, directory: str) -> dict[str, Any]:
        times = {"last_fetch_timestamp": 1, "last_caught_up_timestamp": 1}
        return {"replica_id": id, "replica_directory_id": str(UUID(int=ord(directory))), "log_end_offset": 5} | times

    value = {
        "error_code": 0,
        "leader_id": leader,
        "leader_epoch": 1,
        "high_watermark": 5,
        "current_voters": [replica(101, "a")],
        "observers": [replica(*one) for one in observers],
    }
    assert answered("describe_quorum", {}, value) == [("quorum", result)]


@pytest.mark.parametrize(
    ("leader", "isr", "eligible", "result"),
    [
        (1, [1, 2], [3], "held"),
        (-1, [], [1], "held"),
        (1, [1, 2], [2], "violated"),
        (3, [1, 2], [], "violated"),
        (1, [1, 4], [], "violated"),
    ],
)
def test_a_described_partition(leader: int, isr: list[int], eligible: list[int], result: str) -> None:
    one = {"partition_index": 0, "leader_id": leader, "isr_nodes": isr, "replica_nodes": [1, 2, 3]}
    value = {"topics": [{"name": "t", "partitions": [one | {"eligible_leader_replicas": eligible}]}]}
    assert answered("describe_topic_partitions", {}, value) == [("partition", result)]


def test_a_leader_that_is_no_replica() -> None:
    history = LogHistory().metadata(1, 4, 0, isr=(1, 4), replicas=(1, 2))
    assert broken(fields_of_partitions.states_of_a_partition_agree, history) == ["partition"]


class TestOffsets:
    judge = fields_of_partitions.offsets_of_a_fetch_agree

    def test_a_stable_offset_below_the_log_start(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, B, epoch=0, hw=2, lso=0, start=1)
        assert broken(self.judge, history.fetch(1, B, epoch=0, hw=2, start=1)) == ["offsets"]

    def test_a_high_watermark_that_stays_below_the_log_start(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, epoch=0, hw=1, lso=1, start=2)
        assert broken(self.judge, history.fetch(1, epoch=0, hw=1, lso=1, start=2, offset=2)) == ["offsets"]

    def test_one_that_rose_while_the_answer_was_made(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, epoch=0, hw=1, lso=1, start=2)
        assert broken(self.judge, history) == []
        assert broken(self.judge, history.fetch(1, epoch=0, hw=3, start=2)) == []
        assert excused(self.judge, history) == [("offsets", RISEN)]
