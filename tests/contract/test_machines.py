"""The contract of every machine, including future ones: each is picked up from the registry automatically."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from conformance.cli.rejudge import rejudge
from conformance.core.machines import AnyMachine, all_machines
from conformance.judging.judges import JUDGES
from conformance.running.machine.example import FinishedExample
from conformance.running.machine.explorer import BATCH, idle_for_simplest, independent_examples
from history.steps import note_of
from strategies.episodes import Offer, Steering, steer
from tests.miniature.machine import hunt, play
from tests.miniature.planted import Planted, planted_for

pytestmark = pytest.mark.drawn

CHECKS = list(all_machines().values())
DRAWN = 60
"""Examples within which each rule is reached, and of which a share disturbs."""
STEPS = 30
HONEST = 25


def named(check: AnyMachine) -> str:
    return check.machine.__name__


def judged_as(example: FinishedExample) -> list[tuple[str, str, str]]:
    return [(one.requirement, one.case, one.detail) for one in example.violations]


every_machine = pytest.mark.parametrize("check", CHECKS, ids=named)
every_bug = pytest.mark.parametrize(
    ("check", "bug"),
    [pytest.param(check, bug, id=f"{named(check)}-{bug}") for check in CHECKS for bug in planted_for(check).bugs],
)
every_legal = pytest.mark.parametrize(
    ("check", "name"),
    [pytest.param(check, one, id=f"{named(check)}-{one}") for check in CHECKS for one in planted_for(check).legal],
)


class Drawn:
    """Schedules as Hypothesis draws them, without a cluster: the rules that were taken and the steps that they gave."""

    def __init__(self, check: AnyMachine, examples: int = DRAWN) -> None:
        self.rules: Counter[str] = Counter()
        self.schedules: list[list[Any]] = []
        self._codes = {rule.function.__code__ for rule in _rules(check)}
        offer: Offer | None = getattr(check.machine, "offer", None)
        batches = 1 if offer is None else examples // BATCH
        for number in range(batches):
            steering = None if offer is None else steer(offer, {}, number)
            self._draw(check, examples // batches, number, steering)

    def _draw(self, check: AnyMachine, examples: int, number: int, steering: Steering | None) -> None:
        def machine() -> Any:
            self.schedules.append([])
            return check.machine(self._step, lambda: None, steering)

        drawn = idle_for_simplest(machine, lambda: check.machine(lambda step: None, lambda: None, steering))
        run_state_machine_as_test(seed(number)(drawn), settings=independent_examples(check, STEPS, examples))  # type: ignore[arg-type]

    def _step(self, step: Any) -> None:
        self.schedules[-1].append(step)
        frame = sys._getframe(1)
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back  # type: ignore[assignment]
        self.rules[frame.f_code.co_name] += 1

    @property
    def steps(self) -> list[Any]:
        return [step for schedule in self.schedules for step in schedule]


def _rules(check: AnyMachine) -> list[Any]:
    found = check.machine.setup_state()
    return [*found.rules, *found.initializers]


@pytest.fixture(scope="module", params=CHECKS, ids=named)
def drawn(request: pytest.FixtureRequest) -> tuple[AnyMachine, Drawn]:
    return request.param, Drawn(request.param)


# --- the machine itself


def test_there_are_machines() -> None:
    assert "LogMachine" in {named(check) for check in CHECKS}


@every_machine
def test_it_aims_at_rows_of_judges(check: AnyMachine) -> None:
    assert check.rows
    assert set(check.rows) <= {judge.row for judge in JUDGES}


def test_each_rule_is_reached_by_drawn_examples(drawn: tuple[AnyMachine, Drawn]) -> None:
    check, found = drawn
    assert set(found.rules) == {rule.function.__name__ for rule in _rules(check)}


def test_each_kind_of_step_is_drawn(drawn: tuple[AnyMachine, Drawn]) -> None:
    check, found = drawn
    assert {tag(step) for step in found.steps} == set(check.kinds)


def test_steps_round_trip_through_json(drawn: tuple[AnyMachine, Drawn]) -> None:
    """A drawn schedule, its history and its replay are the same steps."""
    check, found = drawn
    for step in [*found.steps, *check.opening]:
        [again] = check.steps([json.loads(json.dumps(note_of(step)["step"]))])
        assert again == step
        assert note_of(again) == note_of(step)


@every_machine
def test_what_is_no_step_is_refused(check: AnyMachine) -> None:
    with pytest.raises(msgspec.ValidationError):
        check.steps([{"do": "nothing that any machine does"}])


def test_a_simpler_step_is_a_step_and_gets_no_simpler_for_ever(drawn: tuple[AnyMachine, Drawn]) -> None:
    check, found = drawn
    for step in found.steps:
        simplest, rounds = step, 0
        while candidates := check.simpler(simplest):
            assert check.steps([note_of(one)["step"] for one in candidates]) == candidates
            simplest, rounds = candidates[0], rounds + 1
            assert rounds < 20, f"{step} gets simpler forever"


@every_machine
def test_its_opening_takes_each_kind_of_step(check: AnyMachine) -> None:
    assert {tag(step) for step in check.opening} == set(check.kinds)


# --- on the miniature


@every_machine
def test_its_opening_is_honest(check: AnyMachine) -> None:
    example = play(check, check.opening)
    assert (judged_as(example), example.trouble) == ([], "")
    assert example.observations, "judges that saw nothing say nothing"


@every_machine
def test_drawn_schedules_are_honest(check: AnyMachine) -> None:
    found = hunt(check, examples=HONEST)
    assert found.shortest is None, judged_as(found.shortest)
    assert found.examples >= HONEST
    assert found.troubles == []
    reached = {row for row, _ in found.observations}
    assert len(reached) >= len(check.rows) / 2, f"only {sorted(reached)} were reached"


@every_machine
def test_the_same_schedule_is_the_same_history(check: AnyMachine) -> None:
    first, second = (msgspec.json.encode(play(check, check.opening).history.events) for _ in range(2))
    assert first == second


@every_machine
def test_its_history_is_judged_alike_when_it_is_read_again(check: AnyMachine) -> None:
    example = play(check, check.opening)
    again = msgspec.convert(json.loads(msgspec.json.encode(example.history)), type(example.history))
    judged = rejudge(again, example.standing.column)
    assert msgspec.to_builtins(judged.observations) == msgspec.to_builtins(example.observations)
    assert msgspec.to_builtins(judged.excuses) == msgspec.to_builtins(example.excuses)


# --- bugs


@every_machine
def test_each_bug_has_a_schedule_or_a_script(check: AnyMachine) -> None:
    planted = planted_for(check)
    assert {*planted.schedules, *planted.scripts} == set(planted.bugs)


@every_bug
def test_a_bug_is_caught_and_what_meets_it_is_not_to_blame(check: AnyMachine, bug: str) -> None:
    planted = planted_for(check)
    honest, broken = violations(check, planted, bug), violations(check, planted, bug, [bug])
    assert honest == set()
    wanted = planted.bugs[bug]
    assert (wanted.row, wanted.label) in broken or (
        wanted.row in {row for row, _ in broken}
        and wanted.label in {label for row, label in broken if row in wanted.rows}
    )


@every_legal
def test_what_is_legal_is_left_alone(check: AnyMachine, name: str) -> None:
    example = play(check, planted_for(check).legal[name])
    assert (judged_as(example), example.trouble) == ([], "")
    assert example.observations


def violations(check: AnyMachine, planted: Planted, bug: str, on: Iterable[str] = ()) -> set[tuple[str, str]]:
    """Row and label of each."""
    if bug in planted.scripts:
        found = planted.scripts[bug](*on)
    else:
        example = play(check, planted.schedules[bug], on)
        assert on or example.trouble == ""
        found = example.violations
    return {(one.requirement, one.label) for one in found}


def tag(step: Any) -> str:
    return str(step.__struct_config__.tag)
