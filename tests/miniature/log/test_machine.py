"""The log machine on the miniature, beyond tests/contract: bugs that drawn schedules find."""

from __future__ import annotations

import pytest

from conformance.machines.log.executor import LogExecutor
from conformance.machines.log.machine import LOG_MACHINE
from conformance.running.check_run import steps_of
from conformance.running.machine.example import FinishedExample
from history.steps import STEP_NOTE, note_of, steps_taken
from strategies.log import Produce, RevisitPosition
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.log.bugs import BUGS
from tests.miniature.log.scripted import follower_is_elected_unseen
from tests.miniature.machine import hunt, play, shortened

pytestmark = pytest.mark.drawn

DRAWN = ["rewritten-while-copied", "epoch-ends-fall", "two-leaders-in-one-epoch", "never-unparked"]
"""Bugs that turn up soon. `./kit miniature` looks for all of them."""


def judged_as(example: FinishedExample) -> list[tuple[str, str, str]]:
    return [(one.requirement, one.case, one.detail) for one in example.violations]


@pytest.mark.parametrize("name", DRAWN)
def test_a_bug_is_found_among_drawn_schedules_and_shrunk(name: str) -> None:
    found = hunt(LOG_MACHINE, [name], examples=40, shrink=False, rows=BUGS[name].rows)
    assert found.first is not None
    shortest = shortened(LOG_MACHINE, found.first, found.row, [name])
    assert found.row in {one.requirement for one in shortest.violations}
    assert len(shortest.steps) <= 6
    assert judged_as(play(LOG_MACHINE, shortest.steps)) == []


def test_an_election_that_nobody_saw_is_in_the_metadata_log() -> None:
    assert follower_is_elected_unseen() == []
    found = {(one.requirement, one.case, one.label) for one in follower_is_elected_unseen("elected-out-of-isr")}
    assert ("GEN-09", "silent", "unclean-leader") in found


def test_a_step_that_nobody_could_be_asked_for_is_told_as_left_out() -> None:
    """Nothing was read yet that one could come back for."""
    bench = mini_bench(MiniCluster())
    executor = LogExecutor(bench)
    for step in (RevisitPosition(on="strict-0"), Produce(on="strict-0")):
        bench.tape.note(STEP_NOTE, note_of(step))
        executor.step(step)
    history = bench.tape.history
    assert [(step.kind, step.left_out) for step in steps_taken(history)] == [
        ("revisit-position", True),
        ("produce", False),
    ]
    assert (steps_of(history), steps_of(history, left_out=True)) == ({"produce": 1}, {"revisit-position": 1})
