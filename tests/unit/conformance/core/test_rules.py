"""The shared rules: when they are enabled, and which steps they give."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from hypothesis.strategies import builds, just

from conformance.core.model import FaultModel
from conformance.core.rules import (
    AdministerRules,
    DisturbRules,
    EchoRules,
    PartialHealRules,
    ReadEverythingRules,
    TransientFaultRules,
)
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill
from strategies import steps


class AllRules(
    PartialHealRules[FaultModel],
    TransientFaultRules[FaultModel],
    AdministerRules[FaultModel],
    EchoRules[FaultModel],
    ReadEverythingRules[FaultModel],
):
    model_type = FaultModel
    standing_faults = steps.disturbances(Kill, ("subject",), role=just("leader"))
    transient_faults = steps.brief_disturbances(MoveLeader, ("subject",))
    administration = builds(steps.CreateTopic, on=just("topic"))

    def before_heal(self) -> list[steps.Step]:
        return [steps.ReadEverything()]


@pytest.fixture(scope="module")
def schedules() -> list[list[steps.Step]]:
    """Drawn as Hypothesis draws them for a machine, without a cluster."""
    found: list[list[steps.Step]] = []

    @seed(0)
    def factory() -> Any:
        found.append([])
        return AllRules(found[-1].append, lambda: None)

    run_state_machine_as_test(
        factory,  # type: ignore[arg-type]
        settings=settings(
            max_examples=100,
            stateful_step_count=20,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return found


def standing(schedule: list[steps.Step]) -> list[tuple[steps.Step, int]]:
    """Each step, with the number of faults that are active before it."""
    found, faults = [], 0
    for step in schedule:
        found.append((step, faults))
        faults += isinstance(step, steps.Disturb) - isinstance(step, steps.HealPartly)
        faults = 0 if isinstance(step, steps.Heal) else faults
    return found


def test_each_rule_gives_its_step(schedules: list[list[steps.Step]]) -> None:
    kinds = {type(step) for schedule in schedules for step in schedule}
    assert kinds == {
        steps.Disturb,
        steps.DisturbBriefly,
        steps.Heal,
        steps.HealPartly,
        steps.CreateTopic,
        steps.Echo,
        steps.ReadEverything,
    }


def test_faults_stand_only_as_far_as_the_model_allows(schedules: list[list[steps.Step]]) -> None:
    before = [faults for one in schedules for step, faults in standing(one) if isinstance(step, steps.Disturb)]
    assert set(before) == set(range(FaultModel.most_faults))


def test_there_is_something_to_heal(schedules: list[list[steps.Step]]) -> None:
    healed = {faults for one in schedules for step, faults in standing(one) if isinstance(step, steps.Heal)}
    partly = {faults for one in schedules for step, faults in standing(one) if isinstance(step, steps.HealPartly)}
    assert (min(healed), partly) == (1, {2, 3})


def test_transient_faults_need_a_healthy_cluster(schedules: list[list[steps.Step]]) -> None:
    assert {
        faults for one in schedules for step, faults in standing(one) if isinstance(step, steps.DisturbBriefly)
    } == {0}


def test_the_steps_before_healing_are_taken_while_faults_stand(schedules: list[list[steps.Step]]) -> None:
    for schedule in schedules:
        for before, step in pairwise(schedule):
            assert not isinstance(step, steps.Heal) or isinstance(before, steps.ReadEverything)


def test_a_partial_heal_never_names_more_faults_than_may_stand(schedules: list[list[steps.Step]]) -> None:
    named = {step.which for schedule in schedules for step in schedule if isinstance(step, steps.HealPartly)}
    assert named == set(range(FaultModel.most_faults))


def test_rules_that_a_machine_does_not_inherit_are_not_taken() -> None:
    class Calm(DisturbRules[FaultModel]):
        model_type = FaultModel
        standing_faults = AllRules.standing_faults

    names = {rule.function.__name__ for rule in Calm.setup_state().rules}
    assert names == {"disturb", "heal"}
