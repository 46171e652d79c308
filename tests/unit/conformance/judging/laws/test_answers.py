"""The laws of every answer: they catch what they are for, and are silent on right answers and on odd but legal ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.judging.facts.apis import API_OF, BATCHES, DUPLICATES, INTERNAL, PARTS, SEVERAL, case_of
from conformance.judging.judge import Judge
from conformance.judging.laws.answers import (
    answers_match_their_requests,
    no_internal_error_is_answered,
)
from history.events import Answer, AnyEvent, Call, Example, History
from protocol.operations import OPERATIONS
from tests.support import filled

Plain = dict[str, Any]
PAIRED, EXTERNAL = answers_match_their_requests, no_internal_error_is_answered
CURSOR = {"topic_name": "b", "partition_index": 0}
ID, OTHER_ID = "3310cd9c-e2ad-4eb0-87e6-b47a5e2dd975", "92ae2215-b094-477b-8c61-1878e98f577e"


class WireHistory:
    """Every method appends a request and its answer."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    @property
    def history(self) -> History:
        return History(example=Example(example="e", check="c", column="4.3.1"), events=self.events)

    def asked(self, op: str, request: Plain, value: Plain | None, *, malformed: str = "", **ended: Any) -> WireHistory:
        n, kind = len(self.events), OPERATIONS[op]
        value = None if value is None else filled.answered(kind, {"version": 1} | value)
        sent = filled.asked(kind, request)
        self.events.append(Call(n=n, t=n, op=op, node="broker-1", request=sent, malformed=malformed))
        self.events.append(Answer(n=n + 1, t=n + 1, call=n, value=value, **({"outcome": "ok"} | ended)))
        return self

    def commit(self, asked: list[Any], answered: list[Plain]) -> WireHistory:
        """OffsetCommit of (topic, partition), by name and id."""
        offsets = [{"topic": {"name": topic, "id": id}, "partition": index} for topic, id, index in asked]
        return self.asked("offset_commit", {"offsets": offsets}, {"partitions": answered})


def of(topic: str | None, partition: int, *, id: str | None = None, error: int = 0) -> Plain:
    """A partition in an answer."""
    return {"topic": topic, "topic_id": id, "partition": partition, "error_code": error, "top_level_error": 0}


def results(history: WireHistory, judge: Judge) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judge(history.history)]


def violated(history: WireHistory, judge: Judge) -> list[str]:
    return [case for case, result in results(history, judge) if result == "violated"]


A, B = ("a", ID, 0), ("b", OTHER_ID, 1)


# --- GEN-03: an answer is about what was asked


def test_each_item_is_answered_once_in_any_order() -> None:
    history = WireHistory().commit([A, B], [of("b", 1), of("a", 0)])
    assert results(history, PAIRED) == [("offset-commit", "held"), (SEVERAL, "held")]
    assert results(WireHistory().commit([A], [of("a", 0)]), PAIRED) == [("offset-commit", "held")]


def test_topics_that_are_answered_by_id() -> None:
    by_id = [of(None, 0, id=ID), of(None, 1, id=OTHER_ID)]
    assert violated(WireHistory().commit([A, B], by_id), PAIRED) == []
    assert violated(WireHistory().commit([A, B], [by_id[0], of(None, 1, id=ID)]), PAIRED) == ["offset-commit", SEVERAL]
    nameless = [("a", None, 0)]
    assert violated(WireHistory().commit(nameless, [of(None, 0)]), PAIRED) == ["offset-commit"]


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        ([of("a", 0)], "not answered"),
        ([], "not answered"),
        ([of("a", 0), of("b", 1), of("c", 0)], "never asked for"),
        ([of("a", 0), of("b", 0)], "never asked for"),
        ([of("a", 0), of("b", 1), of("b", 1)], "answered several times"),
    ],
)
def test_an_item_that_is_missing_unrequested_or_repeated(answered: list[Plain], why: str) -> None:
    [first, _] = PAIRED(WireHistory().commit([A, B], answered).history)
    assert (first.case, first.result, first.label) == ("offset-commit", "violated", "mispaired-answer")
    assert why in first.detail
    assert first.events == [0, 1]


@pytest.mark.parametrize("answered", [[of("b", 0)], [of("a", 1)], [of(None, 0, id=OTHER_ID)], [of(None, 0)]])
@pytest.mark.parametrize("topic", ["a", {"name": "a", "id": ID}])
def test_the_single_partition_of_another_request(topic: Any, answered: list[Plain]) -> None:
    [value] = answered
    request = {"topic": topic, "partition": 0}
    for before in ([], [of("a", 0)]):  # also after a right answer of the API
        history = WireHistory()
        for right in before:
            history.asked("fetch", request, right)
        assert violated(history.asked("fetch", request, value), PAIRED) == ["fetch"]


def test_an_answer_that_does_not_hold_just_the_one_requested_item() -> None:
    request = {"topic": "a", "partition": 0}
    ended = {"outcome": "info", "error": "the answer holds 2: ...", "kind": "UnexpectedAnswer"}
    assert violated(WireHistory().asked("list_offsets", request, None, **ended), PAIRED) == ["list-offsets"]
    for kind in ("Unanswered", "ConnectionClosed", "NotSent"):
        assert results(WireHistory().asked("list_offsets", request, None, **(ended | {"kind": kind})), PAIRED) == []
    unread = WireHistory().asked("broker_registrations", {"leader_epoch": 1}, None, **ended)
    assert results(unread, PAIRED) == []


@pytest.mark.parametrize(
    ("answered", "right"),
    [
        ([of("a", 0), of("b", 1)], True),
        ([of("a", 0), of("a", 0), of("b", 1)], True),
        ([of("b", 1, error=42)], True),
        ([], True),
        ([of("b", 1)], False),
        ([of("a", 0)], False),
        ([of("a", 0), of("a", 0), of("a", 0), of("b", 1)], False),
        ([of("a", 0), of("c", 0), of("b", 1)], False),
        ([of("a", 0, error=42), of("c", 0, error=42)], False),
    ],
)
def test_an_item_that_is_named_twice(answered: list[Plain], right: bool) -> None:
    history = WireHistory().commit([A, A, B], answered)
    assert results(history, PAIRED) == [(DUPLICATES, "held" if right else "violated")]


def test_an_error_of_the_whole_answer_leaves_items_out() -> None:
    assert results(fetched(0, [], error=15), PAIRED) == []
    top = {**of(None, 0, error=42), "top_level_error": 42}
    assert results(WireHistory().asked("vote", {"topics": ["m"], "partition": 0}, top), PAIRED) == []
    below = of(None, 0, error=42)
    assert violated(WireHistory().asked("vote", {"topics": ["m"], "partition": 0}, below), PAIRED) == ["vote"]


def fetched(session_epoch: int, answered: list[Plain], error: int = 0) -> WireHistory:
    asked = [{"topic": {"name": "a", "id": ID}, "partition": index} for index in (0, 1)]
    request = {"partitions": asked, "options": {"session_epoch": session_epoch}}
    return WireHistory().asked("fetch_many", request, {"error_code": error, "partitions": answered})


@pytest.mark.parametrize(("session_epoch", "expected"), [(1, []), (0, ["fetch", SEVERAL]), (-1, ["fetch", SEVERAL])])
def test_only_an_incremental_fetch_may_leave_partitions_out(session_epoch: int, expected: list[str]) -> None:
    assert violated(fetched(session_epoch, [of(None, 1, id=ID)]), PAIRED) == expected
    assert violated(fetched(session_epoch, [of(None, index, id=ID) for index in (0, 1)]), PAIRED) == []


@pytest.mark.parametrize(
    ("cursor", "next_cursor", "expected"),
    [(None, None, ["describe-topic-partitions", SEVERAL]), (CURSOR, None, []), (None, CURSOR, [])],
)
def test_only_a_page_may_leave_topics_out(cursor: Plain | None, next_cursor: Plain | None, expected: list[str]) -> None:
    topics = [{"name": "a", "error_code": 0, "partitions": []}]
    request, value = {"topics": ["a", "b"], "cursor": cursor}, {"topics": topics, "next_cursor": next_cursor}
    assert violated(WireHistory().asked("describe_topic_partitions", request, value), PAIRED) == expected


def metadata(asked: list[Any] | None, *names: str | None, version: int = 13) -> WireHistory:
    topics: list[Plain] = [{"name": name, "topic_id": ID, "error_code": 0, "partitions": []} for name in names]
    value = {"version": version, "error_code": 0, "topics": topics}
    return WireHistory().asked("metadata", {"topics": asked}, value)


def test_metadata_of_all_topics_may_name_any_topic() -> None:
    assert results(metadata(None, "a", "b"), PAIRED) == []
    assert results(metadata([], "a", version=0), PAIRED) == []
    assert violated(metadata([], "a"), PAIRED) == ["metadata"]
    assert violated(metadata(["a"], "a", "b"), PAIRED) == ["metadata"]
    assert violated(metadata(["a"], "b"), PAIRED) == ["metadata"]


@pytest.mark.parametrize("name", ["a", None])
def test_a_topic_that_was_asked_for_by_id_is_known_by_it(name: str | None) -> None:
    assert violated(metadata([{"name": "", "id": ID}], name), PAIRED) == []
    assert violated(metadata([{"name": "", "id": OTHER_ID}], name), PAIRED) == ["metadata"]


def test_items_of_several_transactions_and_markers_are_told_apart() -> None:
    asked = [{"transactional_id": id, "partitions": [["a", 0]]} for id in ("s", "t")]
    answered = [{**of("a", 0), "transactional_id": id} for id in ("s", "t")]
    for partitions, expected in ((answered, []), (answered[:1] * 2, ["add-partitions-to-txn", SEVERAL])):
        value = {"error_code": 0, "partitions": partitions}
        history = WireHistory().asked("add_partitions_to_txns", {"transactions": asked}, value)
        assert violated(history, PAIRED) == expected


def test_a_fetch_in_flight_is_compared_with_its_request() -> None:
    asked = {"partitions": [{"topic": "a", "partition": 0}], "options": {"session_epoch": -1}}
    answer: Plain = {"parked": {"number": 1}, "within": 1.0}
    for value, expected in ((of("a", 0), []), (of("b", 0), ["fetch"])):
        history = WireHistory().asked("park_fetch", asked, {"number": 1})
        history.asked("parked_fetch", answer, {"error_code": 0, "partitions": [value]})
        assert violated(history, PAIRED) == expected
    twice = WireHistory().asked("park_fetch", asked, {"number": 1}).asked("park_fetch", asked, {"number": 1})
    assert results(twice.asked("parked_fetch", answer, {"error_code": 0, "partitions": []}), PAIRED) == []


def test_a_request_that_expects_no_answer_has_no_items() -> None:
    request = {"topic": "a", "partition": 0, "acks": 0}
    assert results(WireHistory().asked("produce", request, of("b", 0)), PAIRED) == []
    assert results(WireHistory().asked("produce", request, of("a", 0)), EXTERNAL) == []
    assert violated(WireHistory().asked("produce", request | {"acks": 1}, of("b", 0)), PAIRED) == ["produce"]


def test_an_answer_that_tells_no_version_is_judged_all_the_same() -> None:
    history = WireHistory().asked("vote", {"topics": ["a"]}, of("b", 0, error=-1) | {"version": -1})
    assert (violated(history, PAIRED), violated(history, EXTERNAL)) == (["vote"], ["vote"])


def test_a_commit_that_a_consumer_notes_is_no_answer() -> None:
    answered: Plain = {"partitions": [{"topic": "a", "partition": 0, "error_code": 0}]}
    history = WireHistory().asked(
        "offset_commit", {"group": "g", "offsets": [{"topic": "b", "partition": 0}]}, answered
    )
    assert violated(history, PAIRED) == ["offset-commit"]
    [asked, answer] = history.events
    history.events = [asked, msgspec.structs.replace(answer, value=answered)]
    assert [*results(history, PAIRED), *results(history, EXTERNAL)] == []


def test_a_name_that_was_not_recorded_shows_nothing() -> None:
    """From clients that took the first item of an answer for their own."""
    assert results(WireHistory().asked("find_coordinator", {"key": "g"}, {"error_code": 0}), PAIRED) == []
    assert violated(WireHistory().asked("find_coordinator", {"key": "g"}, {"error_code": 0, "key": "h"}), PAIRED) == [
        "find-coordinator"
    ]


# --- GEN-12: nothing internal reaches the wire


@pytest.mark.parametrize("error", sorted(INTERNAL))
def test_an_internal_error_at_any_depth(error: int) -> None:
    partition = {"error_code": error}
    topic = {"name": "a", "error_code": 0, "partitions": [partition]}
    request: Plain = {"topics": ["a"]}
    for before in (False, True):
        history = metadata(["a"], "a") if before else WireHistory()
        history.asked("metadata", request, {"error_code": 0, "topics": [topic]})
        assert violated(history, EXTERNAL) == ["metadata"]
    assert violated(WireHistory().asked("end_txn", {}, {"error_code": error}), EXTERNAL) == ["end-txn"]
    in_all = {"error_code": 0, "topics": [topic | {"partitions": [], "error_code": error}]}
    assert violated(WireHistory().asked("create_topics", {"topics": []}, in_all), EXTERNAL) == ["create-topics"]
    top = of("a", 0) | {"top_level_error": error}
    assert violated(WireHistory().asked("fetch", {"topic": "a", "partition": 0}, top), EXTERNAL) == ["fetch"]


def test_every_other_error_is_allowed() -> None:
    for error in {*range(-1, 140)} - INTERNAL:
        history = WireHistory().asked("heartbeat", {}, {"error_code": error})
        assert results(history, EXTERNAL) == [("heartbeat", "held")]


def test_a_request_that_is_declared_malformed_is_not_judged() -> None:
    failed: Plain = {"error_code": -1}
    assert results(WireHistory().asked("heartbeat", {}, failed, malformed="a negative generation"), EXTERNAL) == []
    after = (
        WireHistory().asked("heartbeat", {}, failed, malformed="a negative generation").asked("heartbeat", {}, failed)
    )
    assert violated(after, EXTERNAL) == ["heartbeat"]


# --- both


def test_right_answers_are_observed_once_for_each_api_and_wrong_ones_each_time() -> None:
    history = WireHistory()
    for value in (of("a", 0), of("a", 0), of("b", 0), of("b", 0, error=-1), of("a", 0)):
        history.asked("fetch", {"topic": "a", "partition": 0}, value)
    assert results(history, PAIRED) == [("fetch", "held"), ("fetch", "violated"), ("fetch", "violated")]
    assert results(history, EXTERNAL) == [("fetch", "held"), ("fetch", "violated")]


def test_the_case_of_an_api() -> None:
    assert case_of("OffsetForLeaderEpoch") == "offset-for-leader-epoch"
    assert set(BATCHES) | set(PARTS) <= set(API_OF)
