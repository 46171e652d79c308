"""Coordinators that refuse what they owe: the row that promises it is red, and it is no trouble of the kit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, Rig, held_if
from conformance.core.cluster import LiveCluster
from conformance.core.evaluate import ExampleOutcome, evaluate_check, judge_on_column
from conformance.judging.due import PROMISES, hindrance
from conformance.rigs.groups.group import Group, GroupData
from conformance.rigs.groups.group_log import GroupLog
from conformance.rigs.producers.combined_node import LoadedBroker, Stage
from conformance.rigs.producers.sequences import premise_of_bump, premise_of_open_transaction
from fixtures.tape import LiveTape
from fixtures.wire import Tap
from fixtures.wire.calls import Reply
from history.events import Example
from history.shards import Column
from history.store import HistoryWriter
from protocol.codes import Error
from protocol.messages import Topic
from tests.support.declared import facts_of
from tests.support.fake_cluster import TOPOLOGY, FakeClient, FakeCluster

ROW = "KIP360-INIT-04"
FACTS = facts_of("4.3.1")
COLUMN = Column(label="4.3.1", version="4.3.1", image="kafka", image_id="sha256:1", ranges=FACTS.ranges)
Handler = Callable[[dict[str, Any]], dict[str, Any]]


class Node(FakeClient):
    """A coordinator that answers by one function for each API."""

    handlers: dict[str, Handler]

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        return Reply(version or 5, self.handlers[api](fields))


class Coordinators(FakeCluster):
    def __init__(self, **handlers: Handler) -> None:
        super().__init__()
        self.handlers = handlers

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> Node:
        client = Node(self, name, tap)
        client.handlers = self.handlers
        return client


class Seen(msgspec.Struct):
    outcome: ExampleOutcome
    hindered: str
    violated: list[tuple[str, str]]


def stage(bench: Bench, _: LoadedBroker) -> Stage:
    return Stage(bench, LoadedBroker("broker-1"))


def group(bench: Bench, _: LoadedBroker) -> Group:
    return Group(bench, GroupData("group-1", Topic("topic-1", None), 1))


def nothing(bench: Bench) -> LoadedBroker:
    return LoadedBroker("broker-1")


def played(tmp_path: Path, body: Any, handle: Any, **handlers: Handler) -> Seen:
    check = Check(own_rows=(ROW,), rig=Rig(TOPOLOGY, nothing, handle), cases=("untouched",), examples=1, body=body)
    cluster = Coordinators(**handlers)
    members = msgspec.to_builtins(cluster.members())
    writer = HistoryWriter(tmp_path / "gw0.jsonl.zst")
    example = Example(example="e-1", check=check.id, column="4.3.1", case="untouched", members=members)
    tape = LiveTape(writer, example)
    bench = Bench(tape, COLUMN, cluster.members(), LiveCluster(cluster))  # type: ignore[arg-type]  # a fake
    outcome = evaluate_check(check, bench, {}, {})
    found = [*outcome.observations, *judge_on_column(FACTS, PROMISES, tape.history).observations]
    writer.close()
    violated = [(one.requirement, one.case) for one in found if one.result == "violated"]
    return Seen(outcome, hindrance(tape.history), violated)


def given(producer_id: int = 7, epochs: Iterator[int] | None = None, error: Error = Error.NONE) -> Handler:
    epochs = epochs or iter(range(100))

    def init(_: dict[str, Any]) -> dict[str, Any]:
        return {"error_code": int(error), "producer_id": producer_id, "producer_epoch": next(epochs)}

    return init


def refused(error: Error) -> Handler:
    return given(-1, iter([-1] * 100), error)


# --- producers


def begins(stage: Stage) -> Claims:
    """A producer begins, and something about it is observed."""
    stage.transactional()
    yield held_if(True)


def begins_with_a_short_time_out(stage: Stage) -> Claims:
    """The coordinator may abort the transaction before the kit goes on."""
    stage.transactional(timeout_ms=300)
    yield held_if(True)


def bumps(stage: Stage) -> Claims:
    """A producer asks for its next epochs."""
    stage.transactional().bump(2)
    yield held_if(True)


def first_then(error: Error) -> Handler:
    answers = [given(), refused(error)]
    return lambda fields: answers[fields["producer_epoch"] >= 0](fields)


def test_a_refused_new_instance_turns_its_row_red(tmp_path: Path) -> None:
    seen = played(tmp_path, begins, stage, InitProducerId=refused(Error.INVALID_PRODUCER_ID_MAPPING))
    assert seen.violated == [("KIP360-INIT-02", "untouched")]
    assert (seen.outcome.end, seen.hindered[:14]) == ("premise lost", "KIP360-INIT-02")


def test_a_refused_bump_turns_its_row_red(tmp_path: Path) -> None:
    seen = played(tmp_path, bumps, stage, InitProducerId=first_then(Error.PRODUCER_FENCED))
    assert seen.violated == [("KIP360-INIT-03", "untouched")]
    assert seen.outcome.end == "premise lost"


def test_accepted_requests_break_nothing(tmp_path: Path) -> None:
    seen = played(tmp_path, bumps, stage, InitProducerId=given())
    assert (seen.violated, seen.outcome.end) == ([], "judged")


def test_a_short_time_out_that_may_have_passed_is_up_to_the_kit(tmp_path: Path) -> None:
    seen = played(tmp_path, begins_with_a_short_time_out, stage, InitProducerId=refused(Error.PRODUCER_FENCED))
    assert (seen.violated, seen.outcome.end) == ([], "error")


def repeats_a_bump(stage: Stage) -> Claims:
    """The answer to a bump, on which a check depends."""
    producer = stage.transactional()
    yield premise_of_bump(producer.init(producer.producer_id, producer.epoch), producer)
    yield held_if(True)


@pytest.mark.parametrize(("epochs", "violated"), [((0, 2), [("KIP360-INIT-03", "untouched")]), ((0, 1), [])])
def test_a_bump_by_more_than_one_is_more_than_a_lost_premise(
    tmp_path: Path, epochs: tuple[int, ...], violated: list[Any]
) -> None:
    seen = played(tmp_path, repeats_a_bump, stage, InitProducerId=given(epochs=iter(epochs)))
    assert seen.violated == violated


def is_described(stage: Stage) -> Claims:
    """A transaction that the coordinator has acknowledged."""
    producer = stage.transactional()
    yield premise_of_open_transaction(producer.describe(), producer)
    yield held_if(True)


def described(state: str, epoch: int) -> Handler:
    def answered(fields: dict[str, Any]) -> dict[str, Any]:
        [name] = fields["transactional_ids"]
        shown = {"transactional_id": name, "transaction_state": state, "producer_id": 7, "producer_epoch": epoch}
        topics = [{"topic": "topic-1", "partitions": [0]}] if state == "Ongoing" else []
        rest = {"error_code": 0, "transaction_timeout_ms": 60_000, "transaction_start_time_ms": 1, "topics": topics}
        return {"throttle_time_ms": 0, "transaction_states": [shown | rest]}

    return answered


@pytest.mark.parametrize(
    ("state", "epoch", "violated"),
    [("Ongoing", 0, []), ("Ongoing", 1, [("KIP360-TXN-06", "legacy")]), ("Empty", 0, [("KIP360-TXN-06", "legacy")])],
)
def test_a_wrong_description_turns_its_row_red(tmp_path: Path, state: str, epoch: int, violated: list[Any]) -> None:
    handlers = {"InitProducerId": given(), "DescribeTransactions": described(state, epoch)}
    assert played(tmp_path, is_described, stage, **handlers).violated == violated


# --- members of groups


def keeps_up(group: Group) -> Claims:
    """A member joins and sends its next heartbeat."""
    member = group.member()
    member.join()
    member.keep_up()
    yield held_if(True)


def heartbeats(error: Error) -> Handler:
    """Accept joining members, and answer later heartbeats with the error."""

    def answered(fields: dict[str, Any]) -> dict[str, Any]:
        joins = fields["member_epoch"] == 0
        found = {"member_id": fields["member_id"], "member_epoch": 1, "heartbeat_interval_ms": 5000}
        return {"error_code": 0 if joins else int(error), "error_message": None, "assignment": None, **found}

    return answered


@pytest.mark.parametrize(
    ("error", "violated", "end"),
    [
        (Error.NONE, [], "judged"),
        (Error.FENCED_MEMBER_EPOCH, [("KIP1251-INV-13", "honest")], "premise lost"),
    ],
)
def test_a_member_refused_at_its_own_epoch_turns_its_row_red(
    tmp_path: Path, error: Error, violated: list[Any], end: str
) -> None:
    seen = played(tmp_path, keeps_up, group, ConsumerGroupHeartbeat=heartbeats(error))
    assert (seen.violated, seen.outcome.end) == (violated, end)


def reads_its_record(group: Group) -> Claims:
    """The record of a member's assignment."""
    log = GroupLog(group)
    log.current_assignment(group.member())
    yield held_if(True)


def at_zero(fields: dict[str, Any]) -> dict[str, Any]:
    [topic] = fields["topics"]
    found = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": 0, "leader_epoch": 0}
    return {"topics": [{"name": topic["name"], "partitions": [found]}]}


def test_an_unwritten_assignment_turns_its_row_red(tmp_path: Path) -> None:
    seen = played(tmp_path, reads_its_record, group, ListOffsets=at_zero)
    assert (seen.violated, seen.outcome.end) == ([("KIP1251-AE-04", "assigned")], "premise lost")


def is_held(group: Group) -> Claims:
    """A member at its answered epoch."""
    member = group.member()
    member.join()
    yield group.premise_of_holding(member, member.epoch)
    yield held_if(True)


STATES = {None: "Empty", 0: "Reconciling", 1: "Stable"}


def shown_at(epoch: int | None) -> Handler:
    """A group that shows its member at this epoch; None for a group without it."""

    def answered(fields: dict[str, Any]) -> dict[str, Any]:
        [name] = fields["group_ids"]
        nothing: dict[str, Any] = {"topic_partitions": []}
        member = {
            "member_id": "member-e-1-1",
            "member_epoch": epoch,
            "assignment": nothing,
            "target_assignment": nothing,
        }
        members = [] if epoch is None else [member]
        state = {"group_state": STATES[epoch], "group_epoch": 1, "assignment_epoch": 1, "assignor_name": "uniform"}
        return {"groups": [{"error_code": 0, "error_message": None, "group_id": name, "members": members} | state]}

    return answered


@pytest.mark.parametrize(
    ("epoch", "violated", "end"),
    [
        (1, [], "judged"),
        (0, [("KIP1251-BASE-08", "one-coordinator")], "premise lost"),
        (None, [], "premise lost"),
    ],
)
def test_a_withdrawn_epoch_is_red_and_a_removed_member_may_have_been_slow(
    tmp_path: Path, epoch: int | None, violated: list[Any], end: str
) -> None:
    handlers = {"ConsumerGroupHeartbeat": heartbeats(Error.NONE), "ConsumerGroupDescribe": shown_at(epoch)}
    seen = played(tmp_path, is_held, group, **handlers)
    assert (seen.violated, seen.outcome.end) == (violated, end), seen.outcome.detail
