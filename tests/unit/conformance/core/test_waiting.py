"""Waits that may end without what is due, live and from a stored tape."""

from __future__ import annotations

import ast
from itertools import count
from pathlib import Path

import msgspec
import pytest

from conformance.core.bench import Bench
from conformance.core.waiting import HOST_NOTE, Settled, Waiting
from fixtures.tape import LiveTape, StoredTape
from fixtures.wire.errors import UnexpectedAnswer
from history.events import End, Note
from tests.miniature.bench import COLUMN, MEMBERS, live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster


@pytest.fixture
def tape() -> LiveTape:
    return live_tape(MiniCluster())


@pytest.fixture
def bench(tape: LiveTape) -> Bench:
    return mini_bench(MiniCluster(), tape)


@pytest.fixture
def wait(bench: Bench) -> Waiting:
    return bench.wait


def stored(tape: LiveTape) -> Bench:
    return Bench(StoredTape(tape.end(End(example="miniature-1", outcome="judged"))), COLUMN, MEMBERS, None)


def test_what_comes_true_is_tried_as_often_again_from_the_tape(bench: Bench, tape: LiveTape) -> None:
    tries, again = count(), count()
    assert bench.wait.becomes_true(lambda: next(tries) == 3, "a fourth try", within=30.0).outcome
    assert stored(tape).wait.becomes_true(lambda: next(again) < 0, "a fourth try", within=30.0).outcome
    assert (next(tries), next(again)) == (4, 4)


def test_what_never_comes_true_is_no_trouble(bench: Bench, tape: LiveTape) -> None:
    assert bench.wait.becomes_true(lambda: False, "never", within=1.0).outcome is False
    assert stored(tape).wait.becomes_true(lambda: True, "never", within=1.0).outcome is False


def test_trouble_while_looking_is_raised(wait: Waiting) -> None:
    def fail() -> bool:
        raise UnexpectedAnswer("garbage")

    with pytest.raises(UnexpectedAnswer):
        wait.becomes_true(fail, "a try", within=1.0)


def test_the_error_of_a_wait_names_what_is_due_and_how_long_it_took(wait: Waiting) -> None:
    overdue = wait.overdue("leader", "no leader", 10.0)
    assert (str(overdue), overdue.due, overdue.within, overdue.late) == ("no leader within 10 s", "leader", 10.0, 0.0)


def test_how_late_the_kit_woke_is_recorded(bench: Bench, tape: LiveTape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(bench._require_cluster()), "seconds_late", lambda *_: 2.5)
    assert (bench.wait.seconds_late(10.0), bench.wait.recorded_late(10.0)) == (2.5, 2.5)
    bench = stored(tape)
    assert (bench.wait.seconds_late(10.0), bench.wait.recorded_late(10.0)) == (0.0, 2.5)


# --- a kit that starved


def unmet(late: float, within: float = 10.0) -> Settled:
    return msgspec.convert({"tries": 3, "met": False, "within": within, "late": late}, Settled)


def test_how_late_the_kit_woke_is_recorded_with_a_wait(
    bench: Bench, tape: LiveTape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bench._require_cluster()), "seconds_late", lambda *_: 2.5)
    assert bench.wait.becomes_true(lambda: False, "never", within=1.0).outcome is None
    assert stored(tape).wait.becomes_true(lambda: True, "never", within=1.0).outcome is None


@pytest.mark.parametrize(("late", "outcome"), [(2.5, None), (2.4, False)])
def test_a_quarter_of_the_bound_leaves_it_open_whether_a_wait_was_met(late: float, outcome: bool | None) -> None:
    assert unmet(late).outcome is outcome
    assert unmet(late).require_also(True).outcome is outcome
    assert unmet(late).require_also(False).outcome is outcome


def test_what_came_true_but_is_wrong_is_not_left_open() -> None:
    met = msgspec.convert({"tries": 3, "met": True}, Settled)
    assert (met.outcome, met.require_also(True).outcome, met.require_also(False).outcome) == (True, True, False)


def test_a_wait_in_vain_records_how_busy_the_host_was(bench: Bench, tape: LiveTape) -> None:
    bench.wait.becomes_true(lambda: True, "at once", within=1.0)
    bench.wait.becomes_true(lambda: False, "never", within=1.0)
    notes = [event for event in tape.history.events if isinstance(event, Note)]
    assert [(note.text, note.data) for note in notes] == [(HOST_NOTE, {"late": 0.0, "cpu pressure": -1.0})]


def test_a_wait_that_a_check_made_by_itself_is_late_if_the_kit_was(
    bench: Bench, tape: LiveTape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bench._require_cluster()), "seconds_late", lambda *_: 2.5)
    ends = [bench.wait.end_of_wait(met, 10.0).outcome for met in (True, False)]
    assert (ends, bench.wait.end_of_wait(False, 11.0).outcome) == ([True, None], False)
    assert stored(tape).wait.end_of_wait(False, 10.0).outcome is None


def test_a_wait_is_no_bool() -> None:
    with pytest.raises(TypeError, match="hand it to held_if"):
        bool(unmet(0.0))


def test_a_wait_says_in_words_how_it_ended() -> None:
    assert (str(unmet(2.4)), str(unmet(2.5))) == ("no", "not known: the kit woke 2.5 s late")


def test_no_check_judges_by_the_outcome_of_a_wait_alone() -> None:
    """`held_if` takes a wait as it is, so that no caller forgets how late the kit was."""
    calls = [
        node
        for path in Path("conformance").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("held_if", "kept_if")
    ]
    read = [one for call in calls for argument in call.args for one in ast.walk(argument)]
    assert [one.lineno for one in read if isinstance(one, ast.Attribute) and one.attr == "outcome"] == []
