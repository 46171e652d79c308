"""A broker: its process, its metadata, which may be stale, and its replicas."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fixtures.cluster import NodeState
from history.events import ProcessEnd
from tests.miniature.core.configs import TOPIC, Configs, Resource, in_force
from tests.miniature.core.controller import FENCED_AFTER, Controller, Key, PartitionState, TopicState
from tests.miniature.core.replica import Replica
from tests.miniature.core.sessions import Sessions

if TYPE_CHECKING:
    from tests.miniature.core.cluster import MiniCluster

CONTROLLER = 101
LEARNS_EVERY = 3
LOOKS_EVERY = 4
FORGETS_NOTHING = 2
"""The broker with the bug `deleted-topic-described`."""
TAKES_TURNS = 3
"""The interval of a follower's fetches in rounds. Each broker fetches in another one, and not in the one where it gets
metadata, so that leaders may know more by then."""


class Broker:
    def __init__(self, id: int, cluster: MiniCluster) -> None:
        self.id = id
        self.name = f"broker-{id}"
        self.cluster = cluster
        self.status: NodeState = "running"
        self.starts = 1
        self.ended: ProcessEnd | None = None
        """The way in which the process ended by itself."""
        self.topics: dict[str, TopicState] = {}
        self.configs: Configs = {}
        self.first_configs: dict[Resource, Mapping[str, str]] = {}
        """The first configuration that it got for each resource."""
        self.views: dict[Key, PartitionState] = {}
        self.former: dict[Key, PartitionState] = {}
        self.told: Counter[Key] = Counter()
        self.replicas: dict[Key, Replica] = {}
        self.sessions = Sessions()
        self.fenced_ids: frozenset[int] = frozenset()
        self.metadata_version = 0
        self.let_in = -FENCED_AFTER
        self.listened = 0
        self._heard = 0

    # --- the process

    def stop(self, *, cleanly: bool) -> None:
        self.status = "exited"
        for replica in self.replicas.values():
            if cleanly:
                replica.log.flush()

    def start(self) -> None:
        """Start a new incarnation, which replays all metadata before it knows anything."""
        self.status = "running"
        self.ended = None
        self.starts += 1
        self.sessions = Sessions()
        self.views, self.former, self.metadata_version = {}, {}, -1
        self._heard = self.cluster.round
        for replica in self.replicas.values():
            replica.start()

    def wipe(self) -> None:
        self.replicas = {}

    def checkpoint(self) -> None:
        for key, replica in self.replicas.items():
            replica.log.checkpoint()
            if "compact" in self.config(key[0], "cleanup.policy") and self._cleans(key[0]):
                replica.log.clean(by_record=key[0].startswith("__"))

    def _cleans(self, topic: str) -> bool:
        """True unless the topic is an internal one, whose few records are never dirty enough by default."""
        return not topic.startswith("__") or float(self.config(topic, "min.cleanable.dirty.ratio")) < 0.5

    # --- metadata

    def listen(self, controller: Controller) -> None:
        """Note that there is new metadata from the controller; brokers apply it in turn."""
        now = self.cluster.round
        if now - self.listened >= FENCED_AFTER:
            self.let_in = now
        self.listened = now
        if self.metadata_version < controller.version and (now + self.id) % LEARNS_EVERY == 0:
            self.learn(controller)

    def learn(self, controller: Controller) -> None:
        """Apply all new metadata at once."""
        self._heard = self.cluster.round
        self.fenced_ids = frozenset(controller.fenced)
        self.metadata_version = controller.version
        self._forget(controller)
        self.topics |= controller.topics
        self.configs = dict(controller.configs)
        for name in controller.topics:
            self.first_configs.setdefault((TOPIC, name), self.configs.get((TOPIC, name), {}))
        for state in list(controller.changed(self.views)):
            before = self.views.get(state.key)
            if before is not None and before.epoch != state.epoch:
                self.former[state.key] = before
            self.views[state.key] = state
            self._act_on(state)

    def _forget(self, controller: Controller) -> None:
        """Remove a deleted topic and its replicas, even if another topic now has its name."""
        for name, topic in list(self.topics.items()):
            now = controller.topics.get(name)
            if now is None and "deleted-topic-described" in self.cluster.bugs and self.id == FORGETS_NOTHING:
                self.replicas = {key: replica for key, replica in self.replicas.items() if key[0] != name}
            elif now is None or now.id != topic.id:
                self._drop(name)

    def _drop(self, name: str) -> None:
        del self.topics[name]
        self.first_configs.pop((TOPIC, name), None)
        tables: tuple[dict[Key, Any], ...] = (self.views, self.former, self.replicas)
        for table in tables:
            for key in [key for key in table if key[0] == name]:
                del table[key]

    def config(self, topic: str, name: str) -> str:
        """Return the value in force at this broker."""
        return in_force(self.configs, self.id, topic, name)

    def min_isr(self, key: Key) -> int:
        """Return min.insync.replicas, at most the number of replicas that the broker knows."""
        view, asked = self.views.get(key), int(self.config(key[0], "min.insync.replicas"))
        return asked if view is None else min(asked, len(view.replicas))

    def topic_of(self, id: uuid.UUID) -> TopicState | None:
        return next((topic for topic in self.topics.values() if topic.id == id), None)

    def _act_on(self, state: PartitionState) -> None:
        if self.id not in state.replicas:
            self.replicas.pop(state.key, None)
            return
        if state.key not in self.replicas:
            self.replicas[state.key] = Replica(self, state)
        self.replicas[state.key].act_on(state)
        if "ends-when-elected" in self.cluster.bugs and state.leader == self.id and state.epoch and self.starts == 1:
            self.status, self.ended = "exited", ProcessEnd(exit_code=1, log="java.lang.IllegalStateException")

    def in_metadata(self, key: Key) -> PartitionState | None:
        """Return the partition's state in Metadata."""
        fresh = self.cluster.round - self.let_in < 2 * FENCED_AFTER
        if "metadata-epoch-falls" in self.cluster.bugs and fresh and key in self.former:
            self.told[key] += 1
            return self.former[key] if self.told[key] % 2 == 0 else self.views.get(key)
        return self.views.get(key)

    @property
    def is_heard(self) -> bool:
        """True if the broker believes that the controller receives its heartbeats."""
        if self.cluster.linked(self.id, CONTROLLER):
            self._heard = self.cluster.round
        return self.cluster.round - self._heard < FENCED_AFTER

    def alter_isr(self, state: PartitionState, isr: tuple[int, ...]) -> PartitionState | None:
        if not self.cluster.linked(self.id, CONTROLLER):
            return None
        return self.cluster.controller.alter_isr(state, self.id, isr)

    # --- replication

    def fetch_from_leaders(self) -> None:
        if (self.cluster.round + self.id + 1) % TAKES_TURNS:
            return
        for replica in self.replicas.values():
            leader = replica.state.leader
            if leader not in (-1, self.id):
                replica.follow_once(self._reach(leader, replica.state))

    def _reach(self, id: int, state: PartitionState) -> Replica | None:
        leader = self.cluster.brokers.get(id)
        if leader is None or leader.status != "running" or not self.cluster.linked(self.id, id):
            return None
        replica = leader.replicas.get(state.key)
        return replica if replica is not None and replica.state.topic == state.topic else None

    def lead_on(self) -> None:
        if (self.cluster.round + self.id) % LOOKS_EVERY:
            return
        for replica in self.replicas.values():
            if replica.leads:
                replica.lead_on()
