"""Streams groups (KIP-1071) on one topic, whose members keep the state that real clients would."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from conformance.core.checks import PremiseClaim, Rig, premise
from conformance.core.topologies import GROUPS
from conformance.rigs.groups.group import ASSIGNMENT_TIMEOUT, SESSION, Group, new_group
from protocol.codes import Error
from protocol.groups import JOIN, NewOffset, OffsetCommitAnswer
from protocol.streams import StreamsHeartbeatAnswer, Subtopology, Tasks

SUBTOPOLOGY = "0"
REBALANCE_MS = 120_000


class StreamsMember:
    """A member in the state after the answers that it received. Its tasks are identified by partition."""

    def __init__(self, group: StreamsGroup) -> None:
        self.group = group
        self.id = group.bench.fresh_name("member")
        self.epoch = JOIN
        self.active: frozenset[int] = frozenset()
        self.standby: frozenset[int] = frozenset()
        self.since: dict[int, int] = {}
        """The assignment epoch of each active task: that of the answer that first assigned it."""

    def join(self) -> None:
        self.heartbeat(
            process_id=str(uuid.uuid5(uuid.NAMESPACE_OID, self.id)),
            rebalance_timeout_ms=REBALANCE_MS,
            topology=self.group.topology,
        )

    def heartbeat(self, *, received: bool = True, **fields: Any) -> StreamsHeartbeatAnswer:
        """Report all tasks, and process the answer. Raises KitError if it is a refusal."""
        answer = self.group.node.streams_group_heartbeat(
            self.group.name,
            self.id,
            self.epoch,
            active=tasks_of_partitions(self.active),
            standby=tasks_of_partitions(self.standby),
            warmup=(),
            **fields,
        )
        self.group.bench.require(answer, "member", SESSION)
        if received:
            self._receive(answer)
        return answer

    def _receive(self, answer: StreamsHeartbeatAnswer) -> None:
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.active = partitions_of_tasks(answer.active_tasks)
            self.since = {task: self.since.get(task, self.epoch) for task in self.active}
        if answer.standby_tasks is not None:
            self.standby = partitions_of_tasks(answer.standby_tasks)


def tasks_of_partitions(partitions: Iterable[int]) -> list[Tasks]:
    found = tuple(sorted(partitions))
    return [Tasks(subtopology_id=SUBTOPOLOGY, partitions=found)] if found else []


def partitions_of_tasks(listed: Iterable[Tasks]) -> frozenset[int]:
    return frozenset(partition for one in listed for partition in one.partitions)


class StreamsHandOver(NamedTuple):
    """The state after one member had all tasks, another joined, and the first gave some up. `before` is the epoch at
    which it had all."""

    old: StreamsMember
    new: StreamsMember
    kept: int
    lost: int
    before: int


class StreamsGroup(Group):
    """A group of the streams protocol. If it is `stateful` its tasks have state, and so can have standby tasks."""

    stateful = False

    @property
    def topology(self) -> list[Subtopology]:
        changelog = f"{self.name}-store-changelog" if self.stateful else None
        return [Subtopology(SUBTOPOLOGY, self.topic.name, changelog)]

    def with_standbys(self) -> None:
        """Configure a standby on another member for each task."""
        self.stateful = True
        self.configure({"streams.num.standby.replicas": "1"})

    def await_balance(self, *members: StreamsMember) -> None:
        """Heartbeat in turn until these members share all active tasks, at one epoch, and with their standbys."""
        every = frozenset(range(self.partitions))

        def are_balanced() -> bool:
            for member in members:
                member.heartbeat()
            active = [task for member in members for task in member.active]
            standbys = all(member.standby == every - member.active for member in members) or not self.stateful
            return sorted(active) == sorted(every) and len({one.epoch for one in members}) == 1 and standbys

        self.bench.eventually(are_balanced, f"{self.name} in balance", ASSIGNMENT_TIMEOUT)

    def hand_over_tasks(self) -> StreamsHandOver:
        """Bring the group into the state of StreamsHandOver; both members know their epoch."""
        old = StreamsMember(self)
        old.join()
        self.await_balance(old)
        before, had = old.epoch, old.active
        new = StreamsMember(self)
        new.join()
        self.bench.eventually(lambda: old.heartbeat() and new.heartbeat() and new.active, f"{new.id} with tasks")
        self.await_balance(old, new)
        return StreamsHandOver(old, new, min(old.active), min(had - old.active), before)

    def commit_by(
        self, member: StreamsMember, offsets: Mapping[int, int], epoch: int, *, elsewhere: NewOffset | None = None
    ) -> OffsetCommitAnswer:
        """Commit as this member, for partitions of the group's topic and for one of another topic."""
        wanted = [NewOffset(self.topic, partition, offset) for partition, offset in offsets.items()]
        asked = wanted if elsewhere is None else [*wanted, elsewhere]
        return self.node.offset_commit(self.name, asked, member_id=member.id, epoch=epoch)

    def at_epoch(self, member: StreamsMember) -> PremiseClaim:
        """Return the premise that the coordinator has the member at its epoch, without which OffsetFetch is refused."""
        wanted = [(self.topic, 0)]
        answer = self.node.offset_fetch(self.name, wanted, member_id=member.id, epoch=member.epoch)
        return premise(answer.error is Error.NONE, f"{member.id} at epoch {member.epoch}: {answer}")


STREAMS_GROUP = Rig(GROUPS, new_group, StreamsGroup)
"""A new streams group for each example, without members."""
