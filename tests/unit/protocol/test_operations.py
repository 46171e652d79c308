"""Requests and answers as wholes: their names, the oldest answers that fit, and what histories keep of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import inspect

from protocol.cluster import ApiVersionsAnswer, ClusterAnswer, MetadataAnswer, PartitionMetadata
from protocol.codes import Error
from protocol.configs import Config
from protocol.groups import ClassicGroup, CommittedOffset, JoinGroupAnswer, LeaveGroupAnswer, OffsetFetchAnswer
from protocol.log import EpochEnd, FetchedPartition, ListedOffset, ProducedPartition
from protocol.messages import Answer, Request
from protocol.operations import OPERATIONS
from protocol.quorum import QuorumAnswer, VoteAnswer
from protocol.topics import CreatedTopic, TopicResult
from protocol.transactions import AddPartitionsToTxnAnswer, EndTxnAnswer, InitProducerIdAnswer

FIT = {"partition": 0, "topic": "t", "version": 0}
"""The fields that the client adds to the answer for a partition."""
PARTITION = {"error_code": 0, "partition_index": 0, "leader_id": 1, "replica_nodes": [1, 2], "isr_nodes": [1]}


@pytest.mark.parametrize(("op", "kind"), OPERATIONS.items())
def test_an_operation_goes_by_its_class_and_has_an_answer(op: str, kind: type[Any]) -> None:
    assert kind.op == op
    assert op.islower()
    assert isinstance(kind.answer, type)
    assert issubclass(kind.answer, msgspec.Struct)


@pytest.mark.parametrize("kind", [kind for kind in OPERATIONS.values() if issubclass(kind, Request)])
def test_a_request_has_an_api_and_by_default_no_version(kind: type[Request[Answer]]) -> None:
    [version] = [field for field in msgspec.structs.fields(kind) if field.name == "version"]
    assert version.default is None
    assert kind.api.isalpha()


@pytest.mark.parametrize(
    ("answer", "body", "defaults"),
    [
        (PartitionMetadata, PARTITION, {"leader_epoch": -1, "offline": (), "eligible_leader_replicas": None}),
        (
            MetadataAnswer,
            {"version": 0, "brokers": [{"node_id": 1, "host": "h", "port": 9}]}
            | {"topics": [{"error_code": 3, "name": "t", "partitions": []}]},
            {"cluster_id": None, "controller_id": -1, "throttle_time_ms": 0, "error": Error.NONE},
        ),
        (
            ApiVersionsAnswer,
            {"version": 0, "error_code": 0, "ranges": {"Fetch": [0, 3]}, "supported": {}, "finalized": {}},
            {"finalized_features_epoch": -1},
        ),
        (ClusterAnswer, {"version": 0, "error_code": 0, "cluster_id": "c"}, {"controller_id": -1, "brokers": ()}),
        (ProducedPartition, {**FIT, "error_code": 0, "base_offset": 4}, {"log_start_offset": -1, "record_errors": ()}),
        (
            FetchedPartition,
            {**FIT, "error_code": 0, "high_watermark": 4},
            {"last_stable_offset": -1, "log_start_offset": -1, "diverging_epoch": None, "aborted_transactions": None},
        ),
        (ListedOffset, {**FIT, "error_code": 0, "old_style_offsets": [4, 0]}, {"offset": -1, "leader_epoch": -1}),
        (EpochEnd, {**FIT, "error_code": 0, "end_offset": 4}, {"leader_epoch": -1, "topic_id": None}),
        (
            CreatedTopic,
            {"name": "t", "error_code": 36},
            {"topic_id": None, "num_partitions": -1, "error_message": None},
        ),
        (TopicResult, {"name": "t", "error_code": 3}, {"topic_id": None, "error_message": None}),
        (Config, {"name": "k", "value": None}, {"config_source": -1, "is_sensitive": False}),
        (CommittedOffset, {**FIT, "error_code": 0, "committed_offset": 4, "metadata": ""}, {"leader_epoch": -1}),
        (OffsetFetchAnswer, {"version": 0, "partitions": []}, {"error": Error.NONE, "throttle_time_ms": 0}),
        (ClassicGroup, {"error_code": 0, "group_id": "g", "members": []}, {"error_message": None, "protocol_data": ""}),
        (JoinGroupAnswer, {"version": 0, "error_code": 0, "generation_id": 1}, {"protocol_type": None, "members": ()}),
        (LeaveGroupAnswer, {"version": 0, "error_code": 0}, {"members": ()}),
        (InitProducerIdAnswer, {"version": 0, "error_code": 51}, {"producer_id": -1, "producer_epoch": -1}),
        (AddPartitionsToTxnAnswer, {"version": 0, "partitions": []}, {"error": Error.NONE}),
        (EndTxnAnswer, {"version": 0, "error_code": 0}, {"producer_id": -1, "producer_epoch": -1}),
        (VoteAnswer, {**FIT, "vote_granted": True}, {"leader_id": -1, "leader_epoch": -1, "node_endpoints": ()}),
        (QuorumAnswer, {**FIT, "leader_id": 1}, {"error_message": None, "current_voters": (), "nodes": ()}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_the_answer_of_the_oldest_version_has_defaults_for_what_came_later(
    answer: type[msgspec.Struct], body: dict[str, Any], defaults: dict[str, Any]
) -> None:
    found = msgspec.convert(body, answer)
    assert {name: getattr(found, name) for name in defaults} == defaults


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (PartitionMetadata, PARTITION | {"leader_id": None}),
        (EndTxnAnswer, {"version": 0}),
        (MetadataAnswer, {"version": 0, "topics": []}),
        (CreatedTopic, {"name": "t", "error_code": "NONE"}),
    ],
    ids=["null", "no error", "no brokers", "a name for a number"],
)
def test_an_answer_that_lacks_what_each_version_has_is_refused(answer: type[Any], body: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, answer)


def test_an_error_that_is_not_listed_is_kept() -> None:
    found = msgspec.convert({"version": 0, "error_code": 9_999}, EndTxnAnswer)
    assert (found.error, found.error.name) == (9_999, "UNLISTED_9999")


@pytest.mark.parametrize("full", [False, True], ids=["least", "all"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_an_answer_comes_back_from_a_stored_history_as_it_was(op: str, full: bool) -> None:
    answer = OPERATIONS[op].answer
    value = filled(inspect.type_info(answer), full)
    stored = msgspec.json.encode(msgspec.to_builtins(value))
    assert msgspec.convert(msgspec.json.decode(stored), answer, strict=False) == value


def filled(kind: inspect.Type, full: bool) -> Any:
    """A value of a type: `full` with one item in each collection and no null, else with no item and null."""
    match kind:
        case inspect.StructType() | inspect.NamedTupleType():
            return kind.cls(**{field.name: filled(field.type, full) for field in kind.fields})
        case inspect.UnionType():
            without_null = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            return filled(without_null[0], full) if full or without_null == [*kind.types] else None
        case inspect.VarTupleType():
            return (filled(kind.item_type, full),) if full else ()
        case inspect.TupleType():
            return tuple([filled(one, full) for one in kind.item_types])
        case inspect.DictType():
            return {"key": filled(kind.value_type, full)} if full else {}
        case inspect.EnumType():
            return [*kind.cls][-1]
        case _:
            return PLAIN[type(kind)]


PLAIN: dict[type[inspect.Type], Any] = {
    inspect.IntType: 2**63 - 1,
    inspect.FloatType: 0.5,
    inspect.BoolType: True,
    inspect.StrType: "\N{SNOWMAN}",
    inspect.BytesType: b"\x00\xff",
    inspect.UUIDType: UUID(int=1),
}
