"""Strategies of faults and plans: everything there is gets drawn, and what was drawn survives being written down."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import msgspec
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.strategies import SearchStrategy

from conformance.cli.storm import draw_faults
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.roles import ROLES
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.plans import AnyFault, Overlap, Plan, Repeat, Rotate, Single
from strategies.faults import BOUNDS, faults, faults_of, parameter_strategies, plans

T = TypeVar("T")

KINDS = [pytest.param(kind, id=str(kind.__struct_config__.tag)) for kind in FAULTS]


def some(strategy: SearchStrategy[T], wanted: Callable[[T], bool]) -> T:
    """The first drawn value that matches. Raises NoSuchExample when it is not."""
    return find(strategy, wanted, settings=settings(phases=[Phase.generate], max_examples=2_000, database=None))


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_of_every_fault_is_drawn(kind: type[Fault]) -> None:
    assert parameter_strategies(kind).keys() == {field.name for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_declared_role_is_known_and_drawn(kind: type[Fault]) -> None:
    assert kind.roles
    assert set(kind.roles) <= ROLES.keys()
    for role in kind.roles:
        assert some(faults_of(kind), lambda fault, role=role: fault.role == role).role == role  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fault_is_by_default_could_be_drawn(kind: type[Fault]) -> None:
    """A default outside of the bounds would be a fault that is shown and never tried."""
    for field in msgspec.structs.fields(kind):
        default = kind.roles[0] if field.name == "role" else field.default
        assert some(parameter_strategies(kind)[field.name], lambda value, wanted=default: value == wanted) == default  # type: ignore[misc]


def test_bounds_are_of_fields_that_there_are() -> None:
    for kind, bounds in BOUNDS.items():
        assert kind in FAULTS
        assert bounds.keys() <= parameter_strategies(kind).keys()


def test_every_fault_is_drawn_when_any_is_asked_for() -> None:
    drawn: set[type[Fault]] = set()

    def completes(fault: Fault) -> bool:
        drawn.add(type(fault))
        return drawn == set(FAULTS)

    some(faults(), completes)
    assert drawn == set(FAULTS)


@given(fault=faults())
def test_a_fault_can_be_written_down(fault: Fault) -> None:
    again = msgspec.json.decode(msgspec.json.encode(fault), type=AnyFault)
    assert (type(again), again) == (type(fault), fault)


@given(plan=plans())
@settings(max_examples=300, deadline=None)
def test_a_plan_can_be_written_down(plan: Plan) -> None:
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@given(plan=plans())
def test_a_plan_turns_only_to_what_it_has(plan: Plan) -> None:
    if isinstance(plan, Rotate):
        assert len(plan.turns) > 1
        assert all(0 <= turn < len(plan.faults) for turn in plan.turns)
    if isinstance(plan, Repeat):
        assert plan.times > 1


@pytest.mark.parametrize("kind", [Single, Repeat, Rotate, Overlap])
def test_every_combination_is_drawn(kind: type[Plan]) -> None:
    assert isinstance(some(plans(), lambda plan: isinstance(plan, kind)), kind)


# --- storms


def of_storm(seed: int, count: int) -> list[bytes]:
    return [msgspec.json.encode(fault) for fault in itertools.islice(draw_faults(seed), count)]


def test_a_storm_is_what_its_seed_says() -> None:
    assert of_storm(7, 20) == of_storm(7, 20) != of_storm(8, 20)


def test_a_storm_has_each_kind_as_often_as_the_others() -> None:
    drawn = Counter(type(fault) for fault in itertools.islice(draw_faults(1), 3 * len(FAULTS)))
    assert drawn == dict.fromkeys(FAULTS, 3)


def test_a_fault_of_a_storm_is_used_once() -> None:
    drawn = list(itertools.islice(draw_faults(1), 3 * len(FAULTS)))
    assert len({id(fault) for fault in drawn}) == len(drawn)
