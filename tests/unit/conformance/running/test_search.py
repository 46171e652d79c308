"""The search for the rarest cases: the checks that run in the time that is left, in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, held_if
from conformance.running.probe.run import ProbeRun
from conformance.running.search import MIN_SECONDS, Search
from fixtures.runs import Run
from history.shards import ExampleLine, read_shards
from tests.support.fake_checks import RIG
from tests.support.fake_lab import FakeLab

ROW, OTHER = "KIP320-OFLE-02", "KIP320-OFLE-04"
"""Rows of one case each."""
CASES = {ROW: "older", OTHER: "trimmed"}
LABEL = "4.3.1"
SECONDS = 20.0
"""Seconds that an example takes."""


class Clock:
    now = 0.0


def often(bench: Bench) -> Claims:
    """The observed one: it runs before the search."""
    Clock.now += SECONDS
    yield held_if(True, bench.node("broker-1").list_offsets("topic", 0))


def never(bench: Bench) -> Claims:
    """A check that has not run yet."""
    Clock.now += SECONDS
    yield held_if(True, bench.node("broker-1").list_offsets("topic", 0))


def broken(bench: Bench) -> Claims:
    Clock.now += SECONDS
    yield held_if(False, bench.node("broker-1").list_offsets("topic", 0))


def check_of(row: str, body: Callable[[Bench], Claims]) -> Check:
    return Check(own_rows=(row,), rig=RIG, cases=(CASES[row],), examples=1, body=body)


OFTEN, NEVER, BROKEN = check_of(ROW, often), check_of(OTHER, never), check_of(OTHER, broken)


@pytest.fixture
def lab(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLab]:
    monkeypatch.setattr(time, "monotonic", lambda: Clock.now)
    with Run.begin() as run:
        lab = FakeLab(tmp_path, run, [[]], "smoke")
        yield lab
        lab.close()


def ran(lab: FakeLab) -> list[str]:
    """The checks of all examples, in their order."""
    shards = read_shards(lab.settings.out_dir / "shards", lab.run.id)
    return [line.check for shard in shards for line in shard.lines if isinstance(line, ExampleLine)]


def observed(lab: FakeLab) -> int:
    """Run OFTEN to its floor; the number of its examples."""
    ProbeRun(OFTEN, lab, LABEL).run()
    return len(ran(lab))


def test_the_rarest_case_comes_first_and_then_the_check_that_was_tried_least(lab: FakeLab) -> None:
    before = observed(lab)
    Search(lab, LABEL, [OFTEN, NEVER], part=1).run(MIN_SECONDS + 3 * SECONDS)
    assert ran(lab)[before:] == [NEVER.id, OFTEN.id, NEVER.id]


def test_workers_begin_with_different_checks(lab: FakeLab) -> None:
    before = observed(lab)
    Search(lab, LABEL, [OFTEN, NEVER], part=2).run(MIN_SECONDS + SECONDS)
    assert ran(lab)[before:] == [OFTEN.id]


def test_a_rest_of_time_that_is_too_short_is_not_used(lab: FakeLab) -> None:
    before = observed(lab)
    Search(lab, LABEL, [OFTEN, NEVER], part=1).run(MIN_SECONDS)
    assert ran(lab)[before:] == []


def test_without_a_shard_of_the_column_nothing_is_known_to_be_rare(lab: FakeLab) -> None:
    Search(lab, LABEL, [OFTEN, NEVER], part=1).run(10 * MIN_SECONDS)
    assert ran(lab) == []


def test_violations_that_it_finds_count(lab: FakeLab) -> None:
    observed(lab)
    search = Search(lab, LABEL, [OFTEN, BROKEN], part=1)
    search.run(MIN_SECONDS + SECONDS)
    assert [(one.requirement, one.case) for one in search.violations] == [(OTHER, CASES[OTHER])]
    assert search.trouble == []
