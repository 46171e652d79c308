"""Probes of groups on the miniature: each on its own cluster, whose coordinators are looked up, and are lost by a kill."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import convert

from conformance.core.bench import Bench
from conformance.core.checks import Check, Rig
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from conformance.judging.facts.group_log import ASSIGNMENT, GROUP, OFFSET, TARGET
from conformance.rigs.groups.group import GroupData, new_topic
from conformance.rigs.groups.group_log import OFFSETS_TOPIC, GroupLog, StoredAssignment
from conformance.rigs.groups.three_brokers import RoutedGroup
from history.readings import GroupRecord
from tests.miniature.bench import live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster

PATIENT = 60
"""Rounds after which a frozen broker is fenced, as in the tests of other probes."""


class PlayedGroup(RoutedGroup):
    """A group whose coordinator may be any broker: a restart of the only node is the loss of the coordinator here."""

    def with_partitions(self, partitions: int) -> PlayedGroup:
        return PlayedGroup(self.bench, prepare(self.bench, partitions))

    def restart_coordinator(self, *, clean: bool = False) -> None:
        self.move_coordinator("move" if clean else "kill")


class PlayedLog(GroupLog):
    """The group's log, whose records the miniature serves decoded."""

    def __init__(self, group: PlayedGroup, partition: int = 0) -> None:
        self.group, self.partition = group, group.log.index
        self.start = group.node.list_offsets(OFFSETS_TOPIC, self.partition).offset

    def _own(self) -> list[GroupRecord]:
        found = self.group.bench.group_records(self.group.node.node, self.partition, self.start).records
        return [one for one in found if self.group.name in one.key.values()]

    def assignments(self, member_id: str) -> list[StoredAssignment]:
        mine = [one.value for one in self._own() if one.kind == ASSIGNMENT and one.key["member_id"] == member_id]
        return [_stored(value) for value in mine if value is not None]

    def epochs_at_assignments(self) -> list[tuple[StoredAssignment, int, int]]:
        found: list[tuple[StoredAssignment, int, int]] = []
        epochs = {GROUP: -1, TARGET: -1}
        for record in self._own():
            if record.kind in epochs and record.value is not None:
                epochs[record.kind] = record.value["epoch" if record.kind == GROUP else "assignment_epoch"]
            elif record.kind == ASSIGNMENT and record.value is not None:
                found.append((_stored(record.value), epochs[TARGET], epochs[GROUP]))
        return found

    def offsets(self, partition: int) -> list[int]:
        own = [one for one in self._own() if one.kind == OFFSET and one.key["partition"] == partition]
        return [one.value["offset"] for one in own if one.value is not None]


def _stored(value: dict[str, Any]) -> StoredAssignment:
    """Return a decoded record; the miniature names the state of a member, where Kafka has a number."""
    return convert({**value, "state": 0}, StoredAssignment)


def prepare(bench: Bench, partitions: int = 4) -> GroupData:
    data = GroupData(bench.fresh_name("group"), new_topic(bench, partitions), partitions)
    PlayedGroup(bench, data).await_coordinator()
    return data


def play(check: Check, inputs: dict[str, Any], *bugs: str, case: str = "", partitions: int = 4) -> ExampleOutcome:
    """Return one example's outcome of a probe whose rig is a group with this many partitions."""
    cluster = MiniCluster(bugs, fenced_after=PATIENT)
    tape = live_tape(cluster)
    tape.example = msgspec.structs.replace(tape.example, case=case)
    bench = mini_bench(cluster, tape, members=True)
    rig = Rig(check.rig.topology, partial(prepare, partitions=partitions), PlayedGroup, name="prepare")
    return evaluate_check(msgspec.structs.replace(check, rig=rig), bench, inputs, {})


def results(outcome: ExampleOutcome, result: str = "violated") -> set[tuple[str, str]]:
    """Return row and case of the observations with a result."""
    return {(one.requirement, one.case) for one in outcome.observations if one.result == result}


__all__ = ["PlayedGroup", "PlayedLog", "play", "results"]
