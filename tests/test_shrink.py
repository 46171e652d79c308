"""Delta debugging: the shortest schedule that still shows it, faults first, within its time."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from conformance.kip101.log_machine import LOG_MACHINE
from conformance.running.shrink import shrink
from strategies.log_steps import Kill, LogStep, MoveLeader, Produce, Restart


class Step(msgspec.Struct, frozen=True):
    name: int
    disturbs: bool


steps = st.builds(Step, name=st.integers(0, 9), disturbs=st.booleans())
schedules = st.lists(steps, min_size=1, max_size=16)


def always() -> bool:
    return True


def is_subsequence(short: list[Step], long: list[Step]) -> bool:
    rest = iter(long)
    return all(step in rest for step in short)


def contains(needed: list[Step]) -> Callable[[list[Step]], bool]:
    return lambda candidate: is_subsequence(needed, candidate)


@given(schedule=schedules, data=st.data())
def test_what_is_needed_is_what_is_left(schedule: list[Step], data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(0, len(schedule) - 1)))
    needed = [schedule[place] for place in sorted(places)]
    assert shrink(schedule, contains(needed), always) == needed


@given(schedule=schedules, data=st.data())
def test_no_single_step_can_go_whatever_the_failure_depends_on(schedule: list[Step], data: st.DataObject) -> None:
    """Also where one step needs another one only while it is there itself."""
    needed = contains([schedule[data.draw(st.integers(0, len(schedule) - 1))]])
    partners = data.draw(st.dictionaries(st.sampled_from(schedule), st.sampled_from(schedule), max_size=4))

    def reproduces(candidate: list[Step]) -> bool:
        return needed(candidate) and all(partners[step] in candidate for step in candidate if step in partners)

    if reproduces(schedule):
        shortest = shrink(schedule, reproduces, always)
        assert reproduces(shortest)
        assert is_subsequence(shortest, schedule)
        assert not any(reproduces(shortest[:n] + shortest[n + 1 :]) for n in range(len(shortest)))


@given(schedule=schedules)
def test_a_failure_that_does_not_come_again_leaves_the_schedule_alone(schedule: list[Step]) -> None:
    assert shrink(schedule, lambda _: False, always) == schedule


def test_faults_go_before_operations() -> None:
    schedule: list[LogStep] = [
        Produce(records=1, acks=-1), Kill(role="leader"), Restart(), MoveLeader(), Produce(records=2, acks=1)
    ]  # fmt: skip
    tried: list[list[LogStep]] = []

    def reproduces(candidate: list[LogStep]) -> bool:
        tried.append(candidate)
        return True

    assert shrink(schedule, reproduces, always) == []
    first_loss = next(n for n, candidate in enumerate(tried) if candidate.count(schedule[0]) == 0)
    assert not any(step.disturbs for step in tried[first_loss])
    assert schedule[0] in tried[first_loss - 1]


def test_the_steps_of_the_machine_know_whether_they_disturb() -> None:
    disturbing = {type(step).__name__ for step in LOG_MACHINE.opening if step.disturbs}
    assert disturbing == {"Kill", "MoveLeader"}


@given(schedule=schedules, allowed=st.integers(0, 12))
def test_the_time_is_kept(schedule: list[Step], allowed: int) -> None:
    """The clock ticks with every try; when it is over, what there is is the answer."""
    tried: list[list[Step]] = []

    def reproduces(candidate: list[Step]) -> bool:
        tried.append(candidate)
        return len(tried) % 2 == 1

    shortest = shrink(schedule, reproduces, lambda: len(tried) < allowed)
    assert len(tried) <= allowed
    assert shortest == ([schedule] + [candidate for n, candidate in enumerate(tried) if n % 2 == 0])[-1]


def test_a_hundred_steps_take_few_tries() -> None:
    schedule = [Step(n, False) for n in range(100)]
    tries = 0

    def reproduces(candidate: list[Step]) -> bool:
        nonlocal tries
        tries += 1
        return {30, 70} <= {step.name for step in candidate}

    assert [step.name for step in shrink(schedule, reproduces, always)] == [30, 70]
    assert tries < 60
