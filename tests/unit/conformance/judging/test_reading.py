"""Reading a history in which an event is not as its struct has it."""

from __future__ import annotations

from typing import Any

from conformance.judging.judge import Judging, JudgingResult, judge_tolerantly
from conformance.judging.judges import JUDGES
from history.events import Answer, AnyEvent, Call, Example, History
from protocol.codes import Error

ASKED = {"topic": "t", "partition": 0, "timestamp": -1}
ANSWER: dict[str, Any] = {"version": 7, "topic": "t", "partition": 0, "error_code": 0, "offset": 3, "leader_epoch": 0}
INTERNAL = ANSWER | {"error_code": int(Error.UNKNOWN_SERVER_ERROR)}
EXAMPLE = Example(example="e", check="c", column="4.3.1")


def listed(*answers: dict[str, Any], asked: dict[str, Any] = ASKED, op: str = "list_offsets") -> list[AnyEvent]:
    events: list[AnyEvent] = []
    for value in answers:
        n = len(events)
        events.append(Call(n=n, t=float(n), op=op, node="broker-1", request=asked))
        events.append(Answer(n=n + 1, t=n + 0.5, call=n, outcome="ok", value=value))
    return events


def judged(*answers: dict[str, Any], **how: Any) -> JudgingResult:
    return judge_tolerantly(JUDGES, History(example=EXAMPLE, events=listed(*answers, **how)))


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ANSWER.items() if key != name}


def violated(found: JudgingResult) -> list[tuple[str, list[int]]]:
    return [(one.requirement, one.events) for one in found.observations if one.result == "violated"]


def test_an_event_that_lacks_a_field_is_trouble_and_the_rest_is_judged() -> None:
    found = judged(ANSWER, without("partition"), INTERNAL)
    [raised] = found.raised
    assert raised.row == ""
    assert str(raised.error) == ("event 3, ListOffsets v7 of broker-1: Object missing required field `partition`")
    assert violated(found) == [("GEN-12", [4, 5])]


def test_what_is_wrong_in_many_events_is_told_once() -> None:
    assert len(judged(*[without("version")] * 3, without("partition")).raised) == 2


def test_a_request_that_does_not_fit_is_trouble_too() -> None:
    [raised] = judged(ANSWER, asked={"topic": "t", "partition": "0"}).raised
    assert str(raised.error) == "event 1, ListOffsets v7 of broker-1: Expected `int`, got `str` - at `$.partition`"


def test_a_deletion_that_does_not_fit_is_trouble_though_only_the_timeline_takes_it() -> None:
    [first, *_] = judged({"version": 6, "topics": []}, asked={"names": ["t"]}, op="delete_topics").raised
    assert str(first.error) == "event 0, DeleteTopics vNone of broker-1: Object missing required field `topics`"


def test_trouble_stays_while_a_running_example_is_read_on() -> None:
    judging = Judging(JUDGES, EXAMPLE)
    events = listed(without("partition"), INTERNAL)
    judging.feed(events[:2])
    assert len(judging.results().raised) == 1
    judging.feed(events[2:])
    assert [one.requirement for one in judging.violations()] == ["GEN-12"]
    assert len(judging.results().raised) == 1
