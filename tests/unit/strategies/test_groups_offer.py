"""The offer of the group machine: its steps suit the groups and members that they are drawn for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy, just, lists
from msgspec.structs import replace

from strategies import groups as do
from strategies.episodes import episodes, steer, swarms
from strategies.groups_offer import MAIN, OFFER
from strategies.groups_scenes import SCENES
from strategies.meetings import standing_at_each
from strategies.steps import Disturb, DisturbBriefly, Heal


def values_of(strategy: SearchStrategy[Any], count: int = 25) -> list[Any]:
    """Values of a strategy, the same in each run."""
    values: list[Any] = []

    @settings(phases=[Phase.generate], max_examples=count, database=None, derandomize=True)
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    collect()
    return values


@pytest.mark.parametrize("name", OFFER.work)
@pytest.mark.parametrize("on", do.GROUPS)
def test_work_is_about_its_group(name: str, on: do.GroupName) -> None:
    assert {step.on for step in values_of(OFFER.work[name](on)) if hasattr(step, "on")} <= {on}


@pytest.mark.parametrize("name", OFFER.administration)
def test_administration_is_of_topics_that_members_read(name: str) -> None:
    assert {step.on for step in values_of(OFFER.administration[name]("group-1"))} <= set(do.TOPICS)


def test_an_example_begins_with_members_that_share_partitions() -> None:
    for steps in values_of(OFFER.begin):
        joined = [step for step in steps if isinstance(step, do.JoinGroup) and step.on == "group-1"]
        assert len(joined) >= 2
        assert do.Settle() in steps


def test_main_faults_are_on_offer_for_each_group() -> None:
    assert {group for name in MAIN for group in OFFER.faults[name].subjects} == set(do.GROUPS)


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_about_its_group_and_leaves_no_fault(name: str) -> None:
    for steps in values_of(SCENES[name]("group-2")):
        groups = {step.on for step in steps if isinstance(step, do.OfGroup | Disturb | DisturbBriefly)}
        assert groups == {"group-2"}
        [*_, (last, standing)] = standing_at_each(steps)
        assert not standing or isinstance(last, Heal)


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_loses_the_coordinator(name: str) -> None:
    for steps in values_of(SCENES[name]("group-2")):
        lost = [step for step in steps if isinstance(step, Disturb | DisturbBriefly)]
        assert lost
        assert all(step.fault.role in ("leader", "group coordinator") for step in lost)


def test_up_to_five_scenes_follow_each_other() -> None:
    rounds = {name: lambda on: just([do.Round(on=on)]) for name in SCENES}
    offer = replace(OFFER, scenes=rounds, is_scene=(True,))
    drawn = swarms(offer, steer(offer, {})).flatmap(lambda swarm: episodes(offer, swarm, 0, 3))
    counts = {sum(isinstance(step, do.Round) for step in steps) for steps in values_of(drawn, 100)}
    assert counts == {1, 2, 3, 4, 5}


def test_all_kinds_of_members_are_drawn() -> None:
    found = {
        step.member for step in values_of(lists(OFFER.work["join-group"]("group-1"), min_size=5), 50) for step in step
    }
    assert found == {*do.CONSUMERS, *do.CLASSIC}
