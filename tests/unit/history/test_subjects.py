"""Subjects of events, by the fields of requests and answers."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from history.events import Answer, AnyEvent, Call, Example, Fault, History, Note, Premise
from history.steps import REST_NOTE, STEP_NOTE, SWEEP_NOTE, SWEPT_NOTE, note_of, steps_about, steps_taken, sweep_at_rest
from history.subjects import QUORUM, Kind, Subject, names_of_kind, subjects, subjects_of
from protocol.operations import OPERATIONS

EXAMPLE = Example(example="e", check="c", column="4.3.1")
SUBJECT_KINDS: dict[str, set[Kind]] = {
    "add_offsets_to_txn": {"transactional-id", "producer", "group"},
    "add_partitions_to_txn": {"transactional-id", "producer", "partition"},
    "add_partitions_to_txns": {"transactional-id", "producer", "partition"},
    "alter_partition": {"partition"},
    "alter_partition_reassignments": {"partition"},
    "begin_quorum_epoch": {"quorum"},
    "consumer_group_describe": {"group"},
    "consumer_group_describe_many": {"group"},
    "consumer_group_heartbeat": {"group", "member"},
    "create_partitions": {"topic"},
    "create_topics": {"topic"},
    "delete_records": {"partition"},
    "delete_topics": {"topic"},
    "describe_configs": {"topic"},
    "describe_configs_many": {"topic"},
    "describe_groups": {"group"},
    "describe_log_dirs": {"partition"},
    "describe_producers": {"partition"},
    "describe_producers_many": {"partition"},
    "describe_quorum": {"partition", "quorum"},
    "describe_topic_partitions": {"topic"},
    "describe_transaction": {"transactional-id"},
    "describe_transactions": {"transactional-id"},
    "elect_leaders": {"partition"},
    "end_quorum_epoch": {"quorum"},
    "end_txn": {"transactional-id", "producer"},
    "fetch": {"partition"},
    "fetch_many": {"partition"},
    "fetch_snapshot": {"partition", "quorum"},
    "find_coordinator": {"group"},
    "find_coordinator_many": {"group"},
    "heartbeat": {"group", "member"},
    "incremental_alter_configs": {"topic"},
    "bump_epochs": {"transactional-id", "producer"},
    "init_producer_id": {"transactional-id"},
    "join_group": {"group"},
    "leave_group": {"group", "member"},
    "list_offsets": {"partition"},
    "list_offsets_many": {"partition"},
    "list_transactions": {"producer"},
    "metadata": {"topic"},
    "offset_commit": {"group", "partition"},
    "offset_fetch": {"group", "partition"},
    "offset_for_leader_epoch": {"partition"},
    "offset_for_leader_epoch_many": {"partition"},
    "park_fetch": {"partition"},
    "park_produce": {"partition", "transactional-id"},
    "produce": {"partition"},
    "produce_many": {"partition"},
    "streams_group_heartbeat": {"group", "member"},
    "sync_group": {"group", "member"},
    "txn_offset_commit": {"transactional-id", "producer", "group", "partition"},
    "vote": {"quorum"},
    "write_txn_markers": {"producer", "partition"},
}
ABOUT_NONE = {
    "api_versions",
    "broker_registrations",
    "describe_cluster",
    "list_partition_reassignments",
    "parked_fetch",
    "parked_produce",
    "reception",
    "take_producer_ids",
}
"""Calls about the cluster as a whole, and those that carry on or only send what another call named."""
PARTITION = {"topic": "a", "partition": 1}
ARGUMENTS: dict[str, Any] = {
    "change": {**PARTITION, "topic": {"name": "a", "id": None}},
    "group": "g",
    "group_id": "g",
    "key": "g",
    "key_type": 0,
    "markers": [{"producer_id": 7, "partitions": [["a", 1]]}],
    "member_id": "m",
    "offsets": [{**PARTITION, "topic": {"name": "a", "id": None}}],
    "partition": 1,
    "partitions": [["a", 1]],
    "producer_id": 7,
    "producer_ids": [7],
    "queries": [PARTITION],
    "reassignments": [PARTITION],
    "resource_name": "a",
    "resource_type": 2,
    "transactional_id": "t",
    "groups": ["g"],
    "keys": ["g"],
    "resources": [{"resource_type": 2, "resource_name": "a"}],
    "transactional_ids": ["t"],
    "transactions": [{"transactional_id": "t", "producer_id": 7, "partitions": [["a", 1]]}],
}
"""A placeholder for a required parameter of that name, as it is recorded."""


def request(op: str) -> dict[str, Any]:
    return {one.encode_name: _argument(op, one) for one in msgspec.structs.fields(OPERATIONS[op])}


def _argument(op: str, one: msgspec.structs.FieldInfo) -> Any:
    if one.name in ("topic", "topics"):
        given = one.default not in (msgspec.NODEFAULT, None)
        return msgspec.to_builtins(one.default) if given else "a" if one.name == "topic" else [{"name": "a"}]
    optional = one.name in ("member_id", "producer_id") or (op.startswith("produce") and one.name == "transactional_id")
    return one.default if optional and not one.required else ARGUMENTS.get(one.name, one.default)


def call(n: int, **request: Any) -> Call:
    return Call(n=n, t=0.0, op="any", node="broker-1", request=request)


def answer(n: int, of: int, **value: Any) -> Answer:
    return Answer(n=n, t=0.0, call=of, outcome="ok", value=value)


def history(*events: AnyEvent) -> History:
    return History(example=EXAMPLE, events=[*events])


def test_every_call_of_the_wire_client_is_listed_here() -> None:
    assert OPERATIONS.keys() == SUBJECT_KINDS.keys() | ABOUT_NONE


@pytest.mark.parametrize("op", sorted(SUBJECT_KINDS))
def test_a_request_names_its_subjects_by_its_parameters(op: str) -> None:
    assert {subject.kind for subject in subjects_of(call(0, **request(op)))} == SUBJECT_KINDS[op]


def test_partitions_are_found_wherever_they_are_named() -> None:
    assert names_of_kind(subjects_of(call(0, topic={"name": "a", "id": None}, partition=1)), "partition") == ["a-1"]
    assert names_of_kind(subjects_of(call(0, partitions=[["a", 1], ["b", 0]])), "partition") == ["a-1", "b-0"]
    assert names_of_kind(subjects_of(call(0, partitions=[[{"name": "a", "id": None}, 1]])), "partition") == ["a-1"]
    assert names_of_kind(subjects_of(call(0, partition="a-1", offset=3)), "partition") == ["a-1"]


def test_an_answer_adds_the_kinds_that_its_request_does_not_name() -> None:
    polled = history(call(0, within_ms=5), answer(1, 0, records=[{"topic": "c", "partition": 2, "offset": 0}]))
    assert subjects(polled, [1]) == {Subject("partition", "c-2")}
    given = history(call(0, transactional_id="t", producer_id=-1), answer(1, 0, producer_id=7, transactional_id="u"))
    assert subjects(given, [1]) == {Subject("transactional-id", "t"), Subject("producer", "7")}


def test_a_coordinator_is_looked_up_for_a_group_or_a_transactional_id() -> None:
    assert subjects_of(call(0, key="k", key_type=0)) == {Subject("group", "k")}
    assert subjects_of(call(0, key="k", key_type=1)) == {Subject("transactional-id", "k")}
    assert subjects_of(call(0, keys=["k", "l"], key_type=0)) == {Subject("group", "k"), Subject("group", "l")}


def test_described_groups_are_named_by_their_ids() -> None:
    described = answer(1, 0, groups=[{"group_id": "g", "members": []}, {"group_id": "h", "members": []}])
    assert subjects_of(described) == {Subject("group", "g"), Subject("group", "h")}


def test_the_batches_that_were_read_are_no_subjects() -> None:
    read = answer(1, 0, batches=[{"producer_id": 7, "records": []}])
    assert subjects_of(read) == set()


def test_a_fault_is_about_its_partition_and_a_note_or_premise_about_nothing() -> None:
    detail = {"partition": "a-1", "log start": {"broker-1": ["a", 3]}}
    fault = Fault(n=0, t=0.0, fault="kill", phase="inject", role="leader", node="broker-1", detail=detail)
    assert subjects_of(fault) == {Subject("partition", "a-1")}
    assert subjects_of(Premise(n=0, t=0.0, what="w", met=True)) == set()


def test_the_quorum_is_named_by_its_topic() -> None:
    assert QUORUM in subjects_of(call(0, topics=["__cluster_metadata"], partition=0, candidate_id=1))


# --- steps


class Write(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="write"):
    """A step of a machine for producers."""

    on: str | None = None
    subject: ClassVar[Kind] = "producer"


def test_steps_on_a_producer_are_found_by_the_producer_id_that_their_events_name() -> None:
    names = ("producer-1", "producer-2", None, "producer-2")
    events: list[AnyEvent] = []
    for name in names:
        n, id = len(events), 8 if name == "producer-2" else 7
        note = Note(n=n, t=0.0, text=STEP_NOTE, data=note_of(Write(on=name)))
        asked = call(n + 1, topic="a", partition=0, records={"producer_id": id, "records": []})
        events += [note, asked, answer(n + 2, n + 1, error_code=0)]
    recorded = history(*events)
    assert steps_about(recorded, steps_taken(recorded), [5]) == {1, 2, 3}
    assert steps_about(recorded, steps_taken(recorded), [2]) == {0, 2}


def test_a_sweep_at_rest_is_told_from_one_that_is_a_step() -> None:
    step, rest = Note(n=0, t=0.0, text=STEP_NOTE, data={"kind": "sweep", "step": {}}), Note(n=4, t=0.0, text=REST_NOTE)
    first, last = (Note(n=n, t=0.0, text=SWEEP_NOTE, data={"turn": n}) for n in (1, 5))
    done, over = (Note(n=n, t=0.0, text=SWEPT_NOTE) for n in (3, 7))
    recorded = history(step, first, call(2), done, rest, last, call(6), over, call(8))
    assert [sweep_at_rest(recorded, [n]) for n in (2, 6, 8)] == [None, 5, None]


class OfTopic(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="of-topic"):
    """A step of an administrator."""

    on: str
    subject: ClassVar[Kind] = "topic"


class OnPartition(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="on-partition"):
    on: str


def test_administration_of_a_topic_is_about_its_partitions() -> None:
    """The machine calls `drawn` what the cluster calls `x`."""
    steps: list[OfTopic | OnPartition] = [OfTopic(on="drawn"), OfTopic(on="other"), OnPartition(on="drawn-1")]
    asked: list[dict[str, Any]] = [
        {"topics": [{"name": "x", "num_partitions": 2}]},
        {"topics": [{"name": "y", "num_partitions": 2}]},
        {"topic": "x", "partition": 1},
    ]
    events: list[AnyEvent] = []
    for step, fields in zip(steps, asked, strict=True):
        n = len(events)
        events += [Note(n=n, t=0.0, text=STEP_NOTE, data=note_of(step)), call(n + 1, **fields), answer(n + 2, n + 1)]
    recorded = history(*events)
    assert steps_about(recorded, steps_taken(recorded), [8]) == {0, 2}
