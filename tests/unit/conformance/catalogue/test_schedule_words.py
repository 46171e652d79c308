"""The words of schedules: those that machines and faults have."""

from collections.abc import Iterator

import pytest

from conformance.catalogue import CatalogueError
from conformance.catalogue.schedule_words import schedule_words
from conformance.core.checks import import_checks
from conformance.core.machines import all_machines
from fixtures.faults.catalogue import FAULTS
from strategies.steps import Step

HEALING = {"disturb", "disturb-briefly", "heal", "heal-partly"}


def _steps(kind: type[Step] = Step) -> Iterator[type[Step]]:
    for one in kind.__subclasses__():
        yield one
        yield from _steps(one)


def test_they_are_those_of_the_machines_and_faults() -> None:
    import_checks()
    assert all_machines()
    tags = {str(one.__struct_config__.tag) for one in _steps() if one.__module__.startswith("strategies.")}
    assert schedule_words().steps == {tag for tag in tags if tag.islower()} - HEALING
    faults = {str(kind.__struct_config__.tag): {*kind.roles} for kind in FAULTS}
    named = {"broker", "voter"}
    known = {name: {*roles} for name, roles in schedule_words().faults.items()}
    assert {name: roles | named if "node" in roles else roles for name, roles in faults.items()} == known


def test_steps_of_every_day_are_steps() -> None:
    assert schedule_words().everyday < schedule_words().steps


@pytest.mark.parametrize("deed", ["kill leader", "kill any", "delete-topic", "produce leader", "drop voter"])
def test_a_deed_that_a_schedule_can_have(deed: str) -> None:
    schedule_words().check(deed)


@pytest.mark.parametrize("deed", ["kill", "kill leaders", "wipe-disk voter", "deletes", ""])
def test_a_deed_that_no_schedule_has(deed: str) -> None:
    with pytest.raises(CatalogueError):
        schedule_words().check(deed)


def test_a_fault_stands_until_it_is_healed_and_a_step_does_not() -> None:
    assert schedule_words().lasts("kill leader")
    assert not schedule_words().lasts("delete-topic")
    assert not schedule_words().lasts("recreate-topic all brokers")
