"""Floors of discovery: how far the drawn schedules of every machine that draws episodes bring faults together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from conformance.core.machines import AnyMachine, all_machines
from conformance.core.rules import EpisodeRules
from conformance.running.machine.explorer import BATCH, idle_for_simplest, independent_examples
from conformance.running.machine.run import STEPS
from strategies.episodes import Meeting, Offer, Steering, steer
from strategies.meetings import count_meetings, standing_at_each, tag_of
from strategies.steps import Disturb, DisturbBriefly

pytestmark = pytest.mark.drawn

EXAMPLES = 400
CHECKS = [check for check in all_machines().values() if issubclass(check.machine, EpisodeRules)]
WITHOUT_FAULTS = 0.1
"""The share of examples that may pass without a standing fault."""
WITH_TWO = 1 / 3
"""The share of examples that have two faults at once at some time."""

Schedules = tuple[AnyMachine, list[list[Any]], Counter[Meeting]]


def batch_of(check: AnyMachine, number: int, steering: Steering) -> list[list[Any]]:
    """The schedules that Hypothesis draws in one run of it, in the quick profile."""
    schedules: list[list[Any]] = []

    def machine() -> Any:
        schedules.append([])
        return check.machine(schedules[-1].append, lambda: None, steering)

    def idle() -> Any:
        return check.machine(lambda step: None, lambda: None, steering)

    drawn: Any = seed(number)(idle_for_simplest(machine, idle))
    run_state_machine_as_test(drawn, settings=independent_examples(check, STEPS["quick"], BATCH))
    return schedules


def most_at_once(schedule: list[Any]) -> int:
    """The largest number of faults that were active at the same time."""
    return max((len(standing) + isinstance(step, Disturb) for step, standing in standing_at_each(schedule)), default=0)


@pytest.fixture(scope="module", params=CHECKS, ids=lambda check: check.machine.__name__)
def drawn(request: pytest.FixtureRequest) -> Schedules:
    """Batch by batch, each steered by what was drawn before it, as on a cluster by what was reached."""
    check: AnyMachine = request.param
    offer: Offer = check.machine.offer  # type: ignore[attr-defined]
    met: Counter[Meeting] = Counter()
    schedules: list[list[Any]] = []
    for number in range(EXAMPLES // BATCH):
        batch = batch_of(check, number, steer(offer, met, number))
        met.update(meeting for schedule in batch for meeting in count_meetings(schedule).elements())
        schedules += batch
    return check, schedules, met


def test_the_machines_that_disturb_draw_episodes() -> None:
    assert {check.machine.__name__ for check in CHECKS} == {"GroupMachine", "LogMachine", "ProducerMachine"}


def test_few_examples_pass_without_a_standing_fault(drawn: Schedules) -> None:
    _, schedules, _ = drawn
    quiet = sum(most_at_once(schedule) == 0 for schedule in schedules)
    assert quiet <= WITHOUT_FAULTS * len(schedules)


def test_many_examples_have_two_faults_at_once_and_some_have_three(drawn: Schedules) -> None:
    _, schedules, _ = drawn
    at_once = [most_at_once(schedule) for schedule in schedules]
    assert sum(most >= 2 for most in at_once) >= WITH_TWO * len(schedules)
    assert max(at_once) == 3


def test_each_pair_of_main_faults_meets_on_one_partition(drawn: Schedules) -> None:
    check, _, met = drawn
    assert [pair for pair in check.machine.offer.pairs if not met[pair]] == []  # type: ignore[attr-defined]


def test_each_kind_of_administration_is_drawn_beside_each_fault(drawn: Schedules) -> None:
    check, _, met = drawn
    assert [pair for pair in check.machine.offer.administration_pairs if not met[pair]] == []  # type: ignore[attr-defined]


def test_every_fault_on_offer_is_drawn(drawn: Schedules) -> None:
    check, schedules, _ = drawn
    found = {step.fault.name for schedule in schedules for step in schedule if isinstance(step, Disturb)}
    assert found == set(check.machine.offer.faults)  # type: ignore[attr-defined]


def test_some_faults_meet_the_reaction_to_another(drawn: Schedules) -> None:
    """The fault before them was not followed."""
    _, schedules, _ = drawn
    faults = [[step for step in schedule if isinstance(step, Disturb)] for schedule in schedules]
    assert any(not one.follow for found in faults for one in found[:-1])


DONE = {
    "GroupMachine": {"join-group", "round", "subscribe", "commit", "commit-in-transaction", "echo", "recreate-topic"},
    "LogMachine": {"produce", "produce-in-flight", "transact", "echo", "reassign-partition", "read"},
    "ProducerMachine": {"write", "write-in-flight", "commit-offset", "end-transaction", "echo", "reassign-partition"},
}
"""By machine, kinds of steps that have to meet faults."""


def test_something_is_done_while_faults_stand(drawn: Schedules) -> None:
    check, schedules, _ = drawn
    during = Counter(
        tag_of(step) for schedule in schedules for step, standing in standing_at_each(schedule) if standing
    )
    assert DONE[check.machine.__name__] <= set(during)


LOSING = {"kill", "stop", "freeze", "pause-past-fencing", "paused-zombie", "cut-off-from-controllers", "isolate"}
MOVING = {"move-leader", "move-coordinator", "preferred-election", "rolling-restart"}
UNFINISHED = {"beat-quietly", "beat-keeping", "leave-to-return", "commit-in-transaction", "lose-sync", "lose-answers"}
"""Steps after which a revocation, an absence, a transaction or a conversion is unfinished."""


def loses_a_coordinator(step: Any) -> bool:
    match step:
        case Disturb():
            return step.fault.name in LOSING and step.fault.role == "leader"
        case DisturbBriefly():
            return step.fault.name in MOVING
    return False


def is_unfinished_at_a_loss(schedule: list[Any]) -> bool:
    """True if a coordinator is lost at most three steps after one that leaves something unfinished in its group."""
    for at, step in enumerate(schedule):
        if loses_a_coordinator(step):
            before = schedule[max(0, at - 3) : at]
            if any(tag_of(one) in UNFINISHED and one.on == step.on for one in before):
                return True
    return False


def test_coordinators_of_groups_are_lost_often_and_while_something_is_unfinished(drawn: Schedules) -> None:
    check, schedules, _ = drawn
    if check.machine.__name__ != "GroupMachine":
        return
    assert sum(any(map(loses_a_coordinator, schedule)) for schedule in schedules) >= len(schedules) / 2
    assert sum(map(is_unfinished_at_a_loss, schedules)) >= len(schedules) / 4


def test_equal_counts_give_equal_schedules(drawn: Schedules) -> None:
    check, schedules, _ = drawn
    steering = steer(check.machine.offer, {}, 0)  # type: ignore[attr-defined]
    assert batch_of(check, 0, steering) == schedules[:BATCH] == batch_of(check, 0, steering)
