"""The coordinator of a classic group agrees with its log (GEN-13), also after loading it."""

from collections.abc import Sequence
from typing import Any

from hypothesis.strategies import booleans, fixed_dictionaries, integers, lists, none, sampled_from, text

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.coordinator_logs import described_at_rest
from conformance.rigs.groups.group import SESSION, Group, classic_member, fresh_group
from conformance.rigs.groups.group_log import GroupLog
from fixtures.views.member import ASSIGNOR
from protocol.assignments import subscription
from protocol.groups import ClassicGroups
from protocol.words import say

STEPS = lists(
    fixed_dictionaries({"do": sampled_from(["rejoin", "rejoin", "replace", "leave"]), "partitions": integers(0, 4)}),
    min_size=6,
    max_size=8,
)
INSTANCES = none() | text("abc", min_size=1, max_size=3)
Step = dict[str, str | int]


class LoneMember:
    """The only member of a classic group, which leads it and assigns itself some partitions."""

    def __init__(self, group: Group, instance_id: str | None) -> None:
        self.group = group
        self.instance_id = instance_id
        self.log = GroupLog(group)
        self.member = classic_member(group)

    def take_step(self, step: Step) -> None:
        """Join or rejoin with another assignment; leave; or leave and let another join."""
        if step["do"] in ("leave", "replace") and self.member.id:
            self.group.bench.require(self.member.leave(), "member", SESSION)
            self.member = classic_member(self.group)
        if step["do"] != "leave":
            self._join(range(int(step["partitions"])))

    def _join(self, partitions: Sequence[int]) -> None:
        granted, topic = self.group.bench.require, self.group.topic.name
        asked: dict[str, Any] = {"protocols": {ASSIGNOR: subscription([topic], {topic: partitions})}}
        if self.instance_id is not None:
            asked |= {"instance_id": self.instance_id, "version": None}
        granted(self.member.join(member_id=self.member.id, **asked), "member", SESSION)
        granted(self.member.sync({topic: partitions}, instance_id=self.instance_id), "member", SESSION)

    def describe(self) -> ClassicGroups:
        return self.group.node.describe_groups([self.group.name])


def lone_member(group: Group, instance_id: str | None) -> LoneMember:
    """Return the member, which has joined and owns one partition."""
    lone = LoneMember(group, instance_id)
    lone.take_step({"do": "rejoin", "partitions": 1})
    return lone


def each_step_as_logged(lone: LoneMember, steps: Sequence[Step], case: str) -> Claims:
    for step in steps:
        lone.take_step(step)
        yield from as_logged(lone, case)


def as_logged(lone: LoneMember, case: str) -> Claims:
    """Check that the group's description at rest matches its newest record."""
    shown, logged = yield from described_at_rest(lone.describe, lone.log.classic, _is_at_rest)
    held = logged is not None and [logged.is_described_by(one) for one in shown.groups] == [True]
    answered = not lone.member.id or (logged is not None and logged.generation == lone.member.generation)
    detail = f"the member joined at generation {lone.member.generation}; the log has {say(logged)}"
    yield held_if(held and answered, shown, case=case, detail=detail)


def _is_at_rest(shown: ClassicGroups) -> bool:
    return all(one.group_state in ("Stable", "Empty") for one in shown.groups)


@probe("GEN-13", rig=fresh_group(), cases=["classic-group"], steps=STEPS, instance_id=INSTANCES)
def classic_group_is_described_as_logged(
    group: Group, case: str, steps: Sequence[Step], instance_id: str | None
) -> Claims:
    """After each rebalance, the description agrees with the group's newest record."""
    yield from each_step_as_logged(lone_member(group, instance_id), steps, case)


@probe(
    "GEN-13",
    rig=fresh_group(),
    cases=["loaded-classic-group"],
    smoke=False,
    histories=lists(STEPS, min_size=6, max_size=7),
    instance_id=INSTANCES,
    clean=booleans(),
)
def loaded_classic_group_is_as_logged(
    group: Group, case: str, histories: Sequence[Sequence[Step]], instance_id: str | None, clean: bool
) -> Claims:
    """A coordinator that has loaded the newest records of several groups agrees with them, too, and goes on from there."""
    lonely = [lone_member(group.with_partitions(group.partitions), instance_id) for _ in histories]
    for lone, steps in zip(lonely, histories, strict=True):
        for step in steps:
            lone.take_step(step)
    group.restart_coordinator(clean=clean)
    for lone, steps in zip(lonely, histories, strict=True):
        yield from as_logged(lone, case)
        yield from each_step_as_logged(lone, steps, "classic-group")
