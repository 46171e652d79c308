"""The controller: each partition's leader, epoch and ISR, and fenced brokers (ReplicationControlManager)."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from protocol.codes import Error
from tests.miniature.core.configs import TOPIC, Resource

Key = tuple[str, int]
NO_LEADER = -1

FENCED_AFTER = 12
"""Rounds without a heartbeat after which a broker is fenced (broker.session.timeout.ms)."""


@dataclasses.dataclass(frozen=True)
class TopicState:
    name: str
    id: uuid.UUID


@dataclasses.dataclass(frozen=True)
class PartitionState:
    """A partition in the metadata log. `version` is its partition epoch; `target` is set during a reassignment."""

    key: Key
    topic: uuid.UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0
    version: int = 0
    target: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()


class Controller:
    """The only voter of its quorum, which decides alone. `now` is the round."""

    def __init__(self, brokers: Sequence[int], bugs: frozenset[str], fenced_after: int) -> None:
        self.bugs = bugs
        self.fenced_after = fenced_after
        self.topics: dict[str, TopicState] = {}
        self.configs: dict[Resource, Mapping[str, str]] = {}
        self.deleted: list[str] = []
        """Names of deleted topics, once for each deletion."""
        self.partitions: dict[Key, PartitionState] = {}
        self.log: list[tuple[PartitionState, tuple[int, ...]]] = []
        """Each change of a partition, with the brokers then unfenced."""
        self.fenced: set[int] = set()
        self.version = 0
        self.now = 0
        self._heard = dict.fromkeys(brokers, 0)

    # --- brokers come and go

    def hear(self, id: int, caught_up: bool) -> None:
        """Process a heartbeat; a broker that has replayed all metadata is unfenced."""
        self._heard[id] = self.now
        if id in self.fenced and caught_up and "never-let-in" not in self.bugs:
            self.fenced.discard(id)
            self.version += 1
            self._elect_where_nobody_leads()

    def tick(self) -> None:
        for id, heard in self._heard.items():
            if id not in self.fenced and self.now - heard >= self.fenced_after:
                self.fence(id)
        for state in list(self.partitions.values()):
            self._complete(state)

    def fence(self, id: int) -> None:
        """Fence a broker, as a new registration does: a restarted leader never resumes its epoch (KAFKA-18106)."""
        self.fenced.add(id)
        self.version += 1
        for state in list(self.partitions.values()):
            if id in state.isr:
                self._leave(state, id)

    def _leave(self, state: PartitionState, id: int) -> None:
        left = tuple(one for one in state.isr if one != id)
        state = replace(state, isr=left or state.isr)
        if state.leader == id:
            next_leader = NO_LEADER if "no-next-leader" in self.bugs else self._first(state, state.isr)
            state = self._led(state, next_leader)
        self._put(state)

    # --- elections

    def _elect_where_nobody_leads(self) -> None:
        for state in list(self.partitions.values()):
            leader = self._first(state, self._electable(state))
            if state.leader == NO_LEADER and leader != NO_LEADER:
                isr = state.isr if leader in state.isr else (leader,)
                self._put(self._led(replace(state, isr=isr), leader))

    def _electable(self, state: PartitionState) -> Sequence[int]:
        """Return the replicas that can be elected cleanly."""
        if "no-next-leader" in self.bugs:
            return ()
        return state.replicas if "elected-out-of-isr" in self.bugs else state.isr

    def _first(self, state: PartitionState, among: Sequence[int]) -> int:
        able = (id for id in state.replicas if id in among and id not in self.fenced)
        return next(able, NO_LEADER)

    def _led(self, state: PartitionState, leader: int) -> PartitionState:
        """Return the state with this leader; every change of leader, even to none, bumps the epoch."""
        living = leader != NO_LEADER and state.leader != NO_LEADER
        kept = ("two-leaders-in-one-epoch" if living else "epoch-resumed") in self.bugs
        return replace(state, leader=leader, epoch=state.epoch if kept else state.epoch + 1)

    def _put(self, state: PartitionState) -> None:
        if state != self.partitions.get(state.key):
            self.version += 1
            self.partitions[state.key] = replace(state, version=state.version + 1)
            self.log.append((state, tuple(id for id in self._heard if id not in self.fenced)))

    def elect_preferred(self, key: Key) -> Error:
        state = self.partitions.get(key)
        if state is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        first = state.replicas[0]
        if state.leader == first:
            return Error.ELECTION_NOT_NEEDED
        if first not in state.isr or first in self.fenced:
            return Error.PREFERRED_LEADER_NOT_AVAILABLE
        self._put(self._led(state, first))
        return Error.NONE

    def elect_unclean(self, key: Key) -> Error:
        """Elect a replica outside an ISR without live replicas: records of the ISR alone are lost, as permitted."""
        state = self.partitions.get(key)
        if state is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if state.leader != NO_LEADER:
            return Error.ELECTION_NOT_NEEDED
        leader = self._first(state, state.isr)
        leader = leader if leader != NO_LEADER else self._first(state, state.replicas)
        if leader == NO_LEADER:
            return Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
        isr = state.isr if leader in state.isr else (leader,)
        self._put(self._led(replace(state, isr=isr), leader))
        return Error.NONE

    # --- what leaders and administrators ask for

    def create_topic(
        self, name: str, assignment: Sequence[tuple[int, ...]], configs: Mapping[str, str] | None = None
    ) -> TopicState:
        """Create a topic; one that is deleted and created again by name gets another id."""
        id = uuid.uuid5(uuid.NAMESPACE_DNS, f"{name} {self.deleted.count(name)}")
        self.topics[name] = TopicState(name, id)
        if configs:
            self.configs[TOPIC, name] = configs
        self.add_partitions(name, assignment)
        return self.topics[name]

    def add_partitions(self, name: str, assignment: Sequence[tuple[int, ...]]) -> None:
        first = len(self.partitions_of(name))
        for index, replicas in enumerate(assignment, first):
            isr = tuple(id for id in replicas if id not in self.fenced)
            leader = isr[0] if isr else NO_LEADER
            self._put(PartitionState((name, index), self.topics[name].id, replicas, isr or replicas, leader))

    def partitions_of(self, name: str) -> list[PartitionState]:
        return [state for key, state in self.partitions.items() if key[0] == name]

    def delete_topic(self, name: str) -> TopicState:
        for state in self.partitions_of(name):
            del self.partitions[state.key]
        self.configs.pop((TOPIC, name), None)
        self.deleted.append(name)
        self.version += 1
        return self.topics.pop(name)

    def set_configs(self, resource: Resource, values: Mapping[str, str]) -> None:
        """Replace all of the resource's values."""
        self.configs[resource] = values
        self.version += 1

    def alter_isr(self, state: PartitionState, sender: int, isr: tuple[int, ...]) -> PartitionState | None:
        """Process AlterPartition; return the new state, None if it is refused (KIP320-REPL-04)."""
        now = self.partitions.get(state.key)
        if now is None or now.topic != state.topic or now.leader != sender:
            return None
        if now.epoch != state.epoch or now.version != state.version:
            return None
        if "fenced-in-isr" not in self.bugs and any(id in self.fenced for id in isr):
            return None
        self._put(replace(now, isr=tuple(id for id in now.replicas if id in isr)))
        return self.partitions[state.key]

    def reassign(self, key: Key, replicas: tuple[int, ...] | None) -> Error:
        state = self.partitions.get(key)
        if state is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if replicas is None:
            return Error.NO_REASSIGNMENT_IN_PROGRESS if state.target is None else self._cancelled(state)
        if set(replicas) == set(state.replicas):
            self._put(replace(state, replicas=replicas, target=None, adding=()))
            return Error.NONE
        added = tuple(id for id in replicas if id not in state.replicas)
        self._put(replace(state, replicas=(*state.replicas, *added), target=replicas, adding=added))
        self._complete(self.partitions[key])
        return Error.NONE

    def _cancelled(self, state: PartitionState) -> Error:
        added = state.adding if "cancelled-by-half" not in self.bugs else ()
        kept = tuple(id for id in state.replicas if id not in added)
        self._put(replace(state, replicas=kept, target=None, adding=()))
        return Error.NONE

    def _complete(self, state: PartitionState) -> None:
        """Complete a reassignment once all new replicas are in sync; this bumps the epoch (KIP101-EPOCH-03)."""
        target = state.target
        isr = tuple(id for id in target or () if id in state.isr)
        waits = not set(state.adding) <= set(isr) and "reassigned-early" not in self.bugs
        if target is None or not isr or waits:
            return
        done = replace(state, replicas=target, isr=isr, target=None, adding=())
        if state.leader not in target:
            done = self._led(done, self._first(done, isr))
        elif set(target) != set(state.replicas):
            done = replace(done, epoch=done.epoch + 1)
        self._put(done)

    def changed(self, since: dict[Key, PartitionState]) -> Iterator[PartitionState]:
        """Yield the changes after the offset `since` of a broker."""
        return (state for key, state in self.partitions.items() if since.get(key) != state)
