"""Waits that may end without what is due, live and from a stored tape."""

from __future__ import annotations

from itertools import count

import pytest

from conformance.core.bench import Bench
from conformance.core.waiting import Waiting
from fixtures.tape import LiveTape, StoredTape
from fixtures.wire.errors import UnexpectedAnswer
from history.events import End
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
    assert bench.wait.comes_true(lambda: next(tries) == 3, "a fourth try", within=30.0)
    assert stored(tape).wait.comes_true(lambda: next(again) < 0, "a fourth try", within=30.0)
    assert (next(tries), next(again)) == (4, 4)


def test_what_never_comes_true_is_no_trouble(bench: Bench, tape: LiveTape) -> None:
    assert not bench.wait.comes_true(lambda: False, "never", within=1.0)
    assert not stored(tape).wait.comes_true(lambda: True, "never", within=1.0)


def test_trouble_while_looking_is_raised(wait: Waiting) -> None:
    def fail() -> bool:
        raise UnexpectedAnswer("garbage")

    with pytest.raises(UnexpectedAnswer):
        wait.comes_true(fail, "a try", within=1.0)


def test_the_error_of_a_wait_names_what_is_due_and_how_long_it_took(wait: Waiting) -> None:
    overdue = wait.overdue("leader", "no leader", 10.0)
    assert (str(overdue), overdue.due, overdue.within, overdue.late) == ("no leader within 10 s", "leader", 10.0, 0.0)


def test_how_late_the_kit_woke_is_recorded(bench: Bench, tape: LiveTape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(bench._live()), "late", lambda *_: 2.5)
    assert (bench.wait.late(10.0), bench.wait.recorded_late(10.0)) == (2.5, 2.5)
    bench = stored(tape)
    assert (bench.wait.late(10.0), bench.wait.recorded_late(10.0)) == (0.0, 2.5)
