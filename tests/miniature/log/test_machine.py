"""The log machine on the miniature: its judges catch every planted bug, and say nothing about what is honest or legal."""

from __future__ import annotations

import pytest

from conformance.machines.log.executor import LogExecutor
from conformance.machines.log.machine import LOG_MACHINE, OPENING
from conformance.running.check_run import steps_of
from history.observations import Observation
from history.taken import STEP_NOTE, note_of, taken
from strategies.log_steps import Produce, Recall
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.log.bugs import BUGS
from tests.miniature.log.schedules import LEGAL, SCHEDULES
from tests.miniature.log.scripted import SCRIPTS
from tests.miniature.machine import MiniExample, hunt, play, shortened

HONEST_EXAMPLES = 25
DRAWN = ["rewritten-while-copied", "metadata-epoch-falls", "two-leaders-in-one-epoch", "never-unparked"]
"""Some that turn up soon. `python -m tests.miniature` looks for all of them."""


def said(example: MiniExample) -> list[tuple[str, str, str]]:
    return [(one.requirement, one.case, one.detail) for one in example.violations]


def labels(violations: list[Observation], rows: tuple[str, ...]) -> set[str]:
    return {one.label for one in violations if one.requirement in rows}


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_bug_is_caught_and_its_schedule_is_not_to_blame(name: str) -> None:
    bug = BUGS[name]
    honest, broken = play(LOG_MACHINE, SCHEDULES[name]), play(LOG_MACHINE, SCHEDULES[name], [name])
    assert (said(honest), honest.trouble) == ([], "")
    assert bug.row in {one.requirement for one in broken.violations}
    assert bug.label in labels(broken.violations, bug.rows)


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_a_bug_that_the_machine_does_not_reach_is_caught_by_a_script(name: str) -> None:
    assert SCRIPTS[name]() == []
    assert BUGS[name].row in {one.requirement for one in SCRIPTS[name](name)}


def test_each_bug_has_a_schedule_or_a_script() -> None:
    assert {*SCHEDULES, *SCRIPTS} == set(BUGS)


@pytest.mark.parametrize("name", list(LEGAL))
def test_what_is_legal_is_left_alone(name: str) -> None:
    example = play(LOG_MACHINE, LEGAL[name])
    assert (said(example), example.trouble) == ([], "")
    assert example.observations


def test_the_opening_is_honest() -> None:
    example = play(LOG_MACHINE, OPENING)
    assert (said(example), example.trouble) == ([], "")


def test_drawn_schedules_are_honest() -> None:
    found = hunt(LOG_MACHINE, examples=HONEST_EXAMPLES)
    assert found.shortest is None, said(found.shortest)
    assert found.examples >= HONEST_EXAMPLES
    assert found.troubles == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_bug_is_found_among_drawn_schedules_and_shrunk(name: str) -> None:
    found = hunt(LOG_MACHINE, [name], examples=40, shrink=False, rows=BUGS[name].rows)
    assert found.first is not None
    shortest = shortened(LOG_MACHINE, found.first, found.row, [name])
    assert found.row in {one.requirement for one in shortest.violations}
    assert len(shortest.steps) <= 6
    assert said(play(LOG_MACHINE, shortest.steps)) == []


def test_a_step_that_nobody_could_be_asked_for_is_told_as_left_out() -> None:
    """Nothing was read yet that one could come back for."""
    bench = mini_bench(MiniCluster())
    executor = LogExecutor(bench)
    for step in (Recall(on="strict-0"), Produce(on="strict-0")):
        bench.tape.note(STEP_NOTE, note_of(step))
        executor.step(step)
    history = bench.tape.history
    assert [(step.kind, step.left_out) for step in taken(history)] == [("recall", True), ("produce", False)]
    assert (steps_of(history), steps_of(history, left_out=True)) == ({"produce": 1}, {"recall": 1})
