"""Plans on real brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.engine import connect
from fixtures.faults.base.injector import Injected, Injector
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.process import Kill, Pause, PausePastFencing, Stop
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.faults.plans import Calm, Overlap, Plan, Quiet, Repeat, Rotate, Skipped, Step, run
from fixtures.faults.selftest import Targets
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def target() -> Iterator[FaultTarget]:
    with Run.begin() as begun:
        targets = Targets(obtain_image("4.3.1"), begun)
        yield targets.target()
        targets.close()
        assert begun.end(connect()) == []


def ran(plan: Plan, target: FaultTarget) -> list[Step]:
    steps = list(run(plan, Injector(target)))
    eventually(lambda: not target.why_unhealthy(), within=5, what="nothing is left", state=target.states)
    return steps


def test_the_same_again_is_aimed_again(target: FaultTarget) -> None:
    """A leader that froze is succeeded, and next time it is the successor that freezes."""
    first, second = ran(Repeat(fault=PausePastFencing(), times=2), target)
    assert isinstance(first, Injected)
    assert isinstance(second, Injected)
    assert first.consequence["leader"][1] == second.consequence["leader"][0]
    assert first.nodes != second.nodes


def test_in_turn_with_writes_in_between(target: FaultTarget) -> None:
    plan = Rotate(faults=(Stop(role="voter"), Pause()), turns=(1, 0, 1), quiet=Quiet(writes=10, seconds=20))
    steps = ran(plan, target)
    assert [step.fault for step in steps if isinstance(step, Injected)] == ["pause", "stop", "pause"]
    assert [step.writes for step in steps if isinstance(step, Calm)] == [10, 10]


@pytest.mark.parametrize("first_heals_first", [True, False])
def test_a_zombie_and_a_dead_controller(target: FaultTarget, first_heals_first: bool) -> None:
    plan = Overlap(
        first=CutOffFromControllers(), second=Kill(role="active controller"), first_heals_first=first_heals_first
    )
    order = ["cut-off-from-controllers", "kill"]
    healed = [step.fault for step in ran(plan, target) if isinstance(step, Injected)]
    assert healed == (order if first_heals_first else order[::-1])


def test_where_no_broker_runs_no_other_fault_can_be_aimed(target: FaultTarget) -> None:
    plan = Overlap(first=Kill(role="all brokers"), second=Kill())
    done, skipped = ran(plan, target)
    assert isinstance(done, Injected)
    assert isinstance(skipped, Skipped)
    assert (done.role, "no broker runs" in skipped.reason) == ("all brokers", True)


def test_the_last_broker_and_the_controllers_can_fail_together(target: FaultTarget) -> None:
    """The reaction of a cluster that has no controller is awaited briefly."""
    broker, controllers = ran(Overlap(first=Kill(role="all controllers"), second=Kill()), target)
    assert isinstance(controllers, Injected)
    assert isinstance(broker, Injected)
    assert not broker.met
