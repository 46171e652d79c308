"""The tape: what was answered while it was recorded is answered again, word for word."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from fixtures.errors import KitError
from fixtures.tape import LiveTape, OffTheRecord, StoredTape
from fixtures.waiting import Overdue
from fixtures.wire import ConnectionClosed, Error, NotSent, Unanswered, WireError
from fixtures.wire.client import NotOffered
from fixtures.wire.errors import UnexpectedAnswer
from fixtures.wire.log import FetchedPartition
from fixtures.wire.records import batch
from fixtures.wire.schemas import SchemaError
from history.events import Answer, AnyEvent, Call, End, Example, Fault, History, Note, Premise
from history.store import HistoryWriter, read_histories

EXAMPLE = Example(example="e-1", check="kip.check", column="4.3.1")
DONE = End(example="e-1", outcome="judged")


class Told(msgspec.Struct, frozen=True):
    number: int
    data: bytes = b""
    id: UUID | None = None


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveTape]:
    with HistoryWriter(tmp_path / "gw0.jsonl.zst") as writer:
        yield LiveTape(writer, EXAMPLE)


def stored(tape: LiveTape) -> StoredTape:
    """The tape as read back from its file."""
    tape.end(DONE)
    [history] = read_histories(tape._writer.path)
    return StoredTape(history)


def tell(number: int, data: bytes = b"") -> Callable[[], Told]:
    return lambda: Told(number, data)


def never() -> Any:
    raise AssertionError("a stored tape asks nobody")


def raising(error: Exception) -> Callable[[], Told]:
    def do() -> Told:
        raise error

    return do


def test_answers_come_back_in_their_order(live: LiveTape) -> None:
    asked = [
        ("broker-1", "fetch", {"offset": 0}),
        ("broker-1", "fetch", {"offset": 1}),
        ("broker-2", "fetch", {"offset": 0}),
    ]
    for number in range(9):
        live.call(*asked[number % 3], Told, tell(number))
    tape = stored(live)
    assert [tape.call(*asked[2], Told, never).number for _ in range(3)] == [2, 5, 8]
    assert [tape.call(*asked[0], Told, never).number for _ in range(3)] == [0, 3, 6]
    assert [tape.call(*asked[1], Told, never).number for _ in range(3)] == [1, 4, 7]


def test_an_answer_comes_back_as_it_was(live: LiveTape) -> None:
    told = Told(7, b"\x00\xff", UUID(int=1))
    fetched = FetchedPartition(version=12, partition=0, error=Error.FENCED_LEADER_EPOCH)
    unlisted = FetchedPartition(version=12, partition=0, error=Error(999))
    live.call("broker-1", "ask", {"n": 0}, Told, lambda: told)
    live.call("broker-1", "ask", {"n": 1}, FetchedPartition, lambda: fetched)
    live.call("broker-1", "ask", {"n": 2}, FetchedPartition, lambda: unlisted)
    tape = stored(live)
    assert tape.call("broker-1", "ask", {"n": 0}, Told, never) == told
    again = tape.call("broker-1", "ask", {"n": 1}, FetchedPartition, never)
    assert again == fetched
    assert again.error is Error.FENCED_LEADER_EPOCH
    assert tape.call("broker-1", "ask", {"n": 2}, FetchedPartition, never).error == 999


def test_a_request_is_known_again_however_it_was_built(live: LiveTape) -> None:
    """Live it holds tuples and what msgspec makes of structs, stored it is JSON."""
    request = {"pairs": (("a", 0),), "records": msgspec.to_builtins(batch(b"v", timestamp=1)), "id": None, "wait": 0.5}
    live.call("broker-1", "produce", request, Told, tell(1))
    turned = dict(reversed(list(request.items())))
    assert stored(live).call("broker-1", "produce", turned, Told, never).number == 1


def test_a_changed_question_is_off_the_record(live: LiveTape) -> None:
    live.call("broker-1", "fetch", {"offset": 0}, Told, tell(1))
    tape = stored(live)
    for node, op, request in (
        ("broker-2", "fetch", {"offset": 0}),
        ("broker-1", "list_offsets", {"offset": 0}),
        ("broker-1", "fetch", {"offset": 1}),
    ):
        with pytest.raises(OffTheRecord, match=rf"e-1: {op} .* to {node} is not in the history; run the check again"):
            tape.call(node, op, request, Told, never)
    tape.call("broker-1", "fetch", {"offset": 0}, Told, never)
    with pytest.raises(OffTheRecord):
        tape.call("broker-1", "fetch", {"offset": 0}, Told, never)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NotSent("no connection"), "fail"),
        (NotOffered("no such API"), "fail"),
        (Unanswered("no answer in 3 s"), "info"),
        (ConnectionClosed("closed"), "info"),
        (UnexpectedAnswer("two partitions"), "info"),
        (SchemaError("no such field"), "info"),
        (WireError("other"), "info"),
        (Overdue("not within 3 s"), "info"),
        (KitError("other"), "info"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_was_raised_is_raised_again(live: LiveTape, error: KitError, outcome: str) -> None:
    with pytest.raises(type(error)):
        live.call("broker-1", "ask", {}, Told, raising(error))
    assert [(event.outcome, event.error) for event in live.events if isinstance(event, Answer)] == [
        (outcome, str(error))
    ]
    with pytest.raises(KitError) as again:
        stored(live).call("broker-1", "ask", {}, Told, never)
    assert (type(again.value), str(again.value)) == (type(error), str(error))


def test_an_error_that_the_kit_has_no_more_is_off_the_record(live: LiveTape) -> None:
    lost: list[AnyEvent] = [
        Call(n=0, t=0.0, op="ask", node="broker-1", request={}),
        Answer(n=1, t=0.0, call=0, outcome="info", kind="Gone"),
    ]
    with pytest.raises(OffTheRecord, match="no error 'Gone' any more"):
        StoredTape(History(example=EXAMPLE, events=lost, end=DONE)).call("broker-1", "ask", {}, Told, never)


def test_a_bug_in_a_call_leaves_a_question_without_an_answer(live: LiveTape) -> None:
    with pytest.raises(ZeroDivisionError):
        live.call("broker-1", "ask", {}, Told, raising(ZeroDivisionError()))
    with pytest.raises(OffTheRecord):
        stored(live).call("broker-1", "ask", {}, Told, never)


def test_an_answer_knows_its_event(live: LiveTape) -> None:
    answers = [live.call("broker-1", "ask", {"n": n}, Told, tell(1)) for n in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert [live.event_of(answer) for answer in answers] == [1, 3, 5]
    assert live.event_of(Told(1)) == -1
    tape = stored(live)
    again = [tape.call("broker-1", "ask", {"n": n}, Told, never) for n in (2, 0, 1)]
    assert [tape.event_of(answer) for answer in again] == [5, 1, 3]
    assert tape.event_of(answers[0]) == -1


def test_an_identity_is_not_passed_on_to_a_later_answer(live: LiveTape) -> None:
    """Python gives the id of a collected object to a new one; the tape keeps answers alive."""
    for number in range(50):
        live.call("broker-1", "ask", {}, Told, tell(number))
    assert all(live.event_of(Told(number)) == -1 for number in range(50))


def test_everything_is_recorded_in_order(live: LiveTape) -> None:
    live.premise("the epoch rose", True)
    live.fault("kill", "inject", role="leader", node="broker-1")
    live.call("broker-2", "ask", {}, Told, tell(1))
    live.fault("kill", "heal", role="leader", node="broker-1", detail={"state": "running"})
    live.note("schedule", {"steps": []})
    history = live.end(DONE)
    assert [type(event) for event in history.events] == [Premise, Fault, Call, Answer, Fault, Note]
    assert [event.n for event in history.events] == list(range(6))
    assert [event.t for event in history.events] == sorted(event.t for event in history.events)
    [again] = read_histories(live._writer.path)
    assert again == history == History(example=EXAMPLE, events=history.events, end=DONE)


def test_threads_share_a_tape(live: LiveTape) -> None:
    together = threading.Barrier(4)

    def act(name: str) -> None:
        live.acting_as(name)
        together.wait()
        for number in range(50):
            live.call(name, "ask", {"n": number}, Told, tell(number))

    threads = [threading.Thread(target=act, args=(f"process-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.premise("all have ended", True)
    assert [event.n for event in live.events] == list(range(401))
    assert live.events[-1].process == "client"
    calls = {event.n: event for event in live.events if isinstance(event, Call)}
    answers = [event for event in live.events if isinstance(event, Answer)]
    assert {event.process for event in calls.values()} == {f"process-{n}" for n in range(4)}
    assert all(calls[answer.call].process == answer.process == calls[answer.call].node for answer in answers)
    assert all(calls[answer.call].request["n"] == answer.value["number"] for answer in answers)
    live.end(DONE)
    [again] = read_histories(live._writer.path)
    assert again.events == live.events


def test_premises_and_faults_of_a_stored_tape_are_on_it_already(live: LiveTape) -> None:
    tape: Any = stored(live)
    tape.premise("the epoch rose", True)
    tape.fault("kill", "inject", role="leader", node="broker-1")
    assert tape.example == EXAMPLE
