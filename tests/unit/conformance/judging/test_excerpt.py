"""The few lines of a history: what shows the violation, and before that what has most to do with it."""

from __future__ import annotations

from conformance.judging.excerpt import MAX_SHOWN, MOST, excerpt
from history.events import Ended
from history.subjects import Subject
from protocol.codes import Error
from tests.support.histories import TOPIC, LogHistory, stamped

ABOUT = [Subject("partition", f"{TOPIC.name}-0")]


def test_what_shows_it_is_there_with_the_faults_and_changes_before() -> None:
    history = LogHistory().produce(1, "a", at=0)
    for n in range(30):
        history.latest(1, n)
    history.kill(1).metadata(2, leader=2, epoch=4).fetch(2, stamped(4, 0, "b"), epoch=4, hw=1)
    shown = history.events[-1].n
    for n in range(30):
        history.latest(2, n)
    found = excerpt(history.history, ABOUT, [shown])
    assert found.lines[-1].event.n == shown
    assert [one.event.n for one in found.lines] == sorted(one.event.n for one in found.lines)
    texts = [f"{one.request} {one.text}" for one in found.lines]
    assert "appended at 0" in texts[0]
    assert any("FAULT: kill" in text for text in texts)
    assert any("leader broker-2 at epoch 4" in text for text in texts)
    # Of the reads that say little only the newest.
    assert sum("ListOffsets" in text for text in texts) == 1
    assert found.whole > 60


def test_repeated_answers_come_once_with_their_number() -> None:
    history = LogHistory()
    for _ in range(14):
        history.refused(2, 3, Error.FENCED_LEADER_EPOCH)
    history.fetch(2, stamped(3, 0, "a"), epoch=3, hw=1)
    found = excerpt(history.history, ABOUT, [history.events[-1].n])
    assert [one.times for one in found.lines] == [14, 1]


def test_equal_answers_that_all_show_it_come_once() -> None:
    history = LogHistory().produce(1, "a", at=0)
    for _ in range(5):
        history.refused(2, 3, Error.FENCED_LEADER_EPOCH)
    shown = [event.n for event in history.events if event.n % 2 and event.n > 1]
    found = excerpt(history.history, ABOUT, shown)
    assert [(one.shown, one.times) for one in found.lines] == [(False, 1), (True, 5)]


def test_a_call_that_shows_it_is_told_with_its_answer() -> None:
    history = LogHistory().produce(1, "a", at=0).latest(1, 1)
    assert [one.shown for one in excerpt(history.history, ABOUT, [2, 3]).lines] == [False, True]
    assert [one.shown for one in excerpt(history.history, ABOUT, [2]).lines] == [False, True]


def test_there_are_never_more_than_a_few() -> None:
    history = LogHistory()
    for n in range(500):
        history.produce(1, f"v{n}", at=n)
    shown = [event.n for event in history.events if event.n % 2]
    found = excerpt(history.history, ABOUT, shown)
    assert [one.shown for one in found.lines] == [True] * MAX_SHOWN
    assert found.lines[0].event.n == shown[0]
    assert found.lines[-1].event.n == shown[-1]
    assert len(excerpt(history.history, ABOUT, shown[-1:]).lines) <= MOST


def test_a_node_that_ended_is_never_left_out() -> None:
    history = LogHistory()
    history.events.append(Ended(n=0, t=0.0, node="broker-3", exit_code=1))
    for n in range(20):
        history.produce(1, f"v{n}", at=n)
    found = excerpt(history.history, ABOUT, [history.events[-1].n])
    assert found.lines[0].text == "broker-3 ended by itself with exit code 1"


def test_without_an_event_that_shows_it_the_last_lines_are_there() -> None:
    history = LogHistory().produce(1, "a", at=0).kill(1)
    assert excerpt(history.history, [], []).lines[-1].text.startswith("FAULT: kill")
