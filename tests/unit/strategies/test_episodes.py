"""The parts of an offer that a swarm and its episodes may use, and how the rarest meetings come first."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import DataObject, data, integers, just

from fixtures.faults.kinds.process import Kill, RollingRestart, Stop
from fixtures.faults.kinds.shapes import Isolate
from strategies.episodes import RAREST, FaultKind, Offer, Swarm, episodes, fault_kind, steer, swarms
from strategies.steps import CreateTopic, DeleteTopic, Disturb, Heal, HealPartly, ReadEverything

ACKNOWLEDGED = CreateTopic(on="acknowledged")
STALE = CreateTopic(on="stale")
FAULTS = [
    FaultKind(Kill, just(Kill()), ("a-0", "b-0")),
    FaultKind(Stop, just(Stop()), ("a-0", "b-0")),
    FaultKind(Isolate, just(Isolate()), ("b-0",)),
    FaultKind(RollingRestart, just(RollingRestart()), ("a-0",)),
]
OFFER = Offer(
    subjects=("a-0", "b-0"),
    begin=just([]),
    faults={one.name: one for one in FAULTS},
    main=("kill", "stop", "rolling-restart"),
    behind=("isolate",),
    losing=("kill",),
    damaging=("stop",),
    cutting=("isolate",),
    work={"read": lambda on: just(ReadEverything()), "create-topic": lambda on: just(CreateTopic(on=on))},
    writes=("create-topic",),
    acknowledged=lambda on: just(ACKNOWLEDGED),
    stale=lambda on: just(STALE),
    administration={"delete-topic": lambda on: just(DeleteTopic(on=on))},
    looks=lambda on: just(ReadEverything()),
)
STEERING = steer(OFFER, {})


def test_pairs_are_of_main_faults_that_can_overlap() -> None:
    assert OFFER.pairs == [("kill", "kill"), ("kill", "stop"), ("stop", "kill"), ("stop", "stop")]


def test_administration_is_to_meet_each_fault_that_others_can_overlap() -> None:
    assert OFFER.administration_pairs == [
        ("delete-topic", "kill"),
        ("delete-topic", "stop"),
        ("delete-topic", "isolate"),
    ]


def test_the_rarest_come_first_and_equals_take_turns() -> None:
    met = {("kill", "kill"): 3, ("kill", "stop"): 1, ("stop", "stop"): 2}
    assert steer(OFFER, met).pairs[:4] == (("stop", "kill"), ("kill", "stop"), ("stop", "stop"), ("kill", "kill"))
    assert steer(OFFER, {}, 1).administration_pairs[0] != steer(OFFER, {}, 0).administration_pairs[0]


def test_there_are_always_as_many_to_choose_from() -> None:
    """A strategy of another size would draw other schedules from the same choices."""
    for met in ({}, {("kill", "kill"): 5}):
        assert len(steer(OFFER, met).pairs) == len(steer(OFFER, met).administration_pairs) == RAREST


@given(data=data())
@settings(max_examples=200, deadline=None)
def test_an_episode_uses_its_swarm_and_never_has_too_many_faults(data: DataObject) -> None:
    swarm = data.draw(swarms(OFFER, STEERING))
    standing = data.draw(integers(0, 3))
    steps = data.draw(episodes(OFFER, swarm, standing, 3))
    for step in steps:
        if isinstance(step, Disturb):
            standing += 1
            assert standing <= 3
            assert step.fault.name in swarm.faults
            assert step.on in OFFER.faults[step.fault.name].subjects
        standing = 0 if isinstance(step, Heal) else max(0, standing - isinstance(step, HealPartly))
    kinds = {step.__struct_config__.tag for step in steps if step not in (ACKNOWLEDGED, STALE)} - {
        "disturb",
        "heal",
        "heal-partly",
        "read-everything",
    }
    assert kinds <= {*swarm.work, *swarm.administration}


def test_an_offer_with_scenes_has_some_of_them_where_no_fault_stands() -> None:
    scene = [CreateTopic(on="a-0"), Heal(), CreateTopic(on="b-0")]
    offer = msgspec.structs.replace(OFFER, scenes={"one": lambda on: just(scene)})
    swarm = find(swarms(offer, STEERING), lambda swarm: True)
    found = find(episodes(offer, swarm, 0, 3), lambda steps: steps[:3] == scene)
    assert found == [*scene, ReadEverything()]
    with pytest.raises(NoSuchExample):
        find(episodes(offer, swarm, 1, 3), lambda steps: steps[:3] == scene)


@given(data=data())
@settings(max_examples=50, deadline=None)
def test_a_swarm_can_bring_about_the_meetings_that_it_was_drawn_for(data: DataObject) -> None:
    swarm = data.draw(swarms(OFFER, STEERING))
    assert {*swarm.pair, swarm.administration_pair[1]} <= set(swarm.faults)
    assert swarm.administration_pair[0] in swarm.administration


def _hits(steps: list[Any]) -> list[tuple[str, str]]:
    """Each fault and its role, if right before each comes a write to acknowledge."""
    found = [(step.fault.name, step.fault.role) for step in steps if isinstance(step, Disturb)]
    right_after = [one == ACKNOWLEDGED for one, step in pairwise(steps) if isinstance(step, Disturb)]
    return found if all(right_after) else []


SWARM = Swarm(
    pair=("stop", "kill"),
    administration_pair=("delete-topic", "isolate"),
    first="rolling-restart",
    behind="isolate",
    losing="kill",
    damaging="stop",
    cutting="isolate",
    writes=("create-topic",),
    faults=("stop", "kill", "isolate", "rolling-restart"),
    work=("read", "create-topic"),
    administration=("delete-topic",),
)
GENERATED = settings(phases=[Phase.generate], max_examples=1_000, derandomize=True)


def test_a_follower_falls_behind_then_the_leader_is_lost_and_then_its_successor() -> None:
    """Each right after a write that is acknowledged; the fault on the leader comes twice."""
    in_turn = [("isolate", "follower"), ("kill", "leader"), ("kill", "leader")]
    find(episodes(OFFER, SWARM, 0, 3), lambda steps: _hits(steps) == in_turn, settings=GENERATED)


def test_a_successor_is_cut_off_before_it_commits_anything_and_then_appends_alone() -> None:
    """Nothing comes between the two faults; the second one needs a subject that it can be injected around."""

    def cut_short(steps: list[Any]) -> bool:
        at = [n for n, step in enumerate(steps) if isinstance(step, Disturb)]
        return any(
            steps[n - 1] == ACKNOWLEDGED
            and steps[n].fault.role == "leader"
            and isinstance(steps[n + 1], Disturb)
            and (steps[n + 1].fault.name, steps[n + 1].fault.role) == ("isolate", "leader")
            and steps[n + 2] == STALE
            for n in at[:-1]
        )

    find(episodes(OFFER, SWARM, 0, 3), cut_short, settings=GENERATED)


def test_a_fault_on_offer_goes_by_its_own_name() -> None:
    made = fault_kind(Kill, ["a-0"], role=just("leader"))
    assert (made.name, made.kind, made.subjects) == ("kill", Kill, ("a-0",))
    assert find(made.drawn, lambda fault: True) == Kill(role="leader")
