"""The miniature's consumers: they track epochs, alone or in a group, and their results pass through the tape."""

from __future__ import annotations

from typing import Any

import msgspec

from fixtures.consumers import (
    Assignment,
    CommittedPartition,
    Consumer,
    ConsumerCommit,
    ConsumerTrouble,
    PartitionPosition,
)
from fixtures.wire import Tap
from fixtures.wire.records import read_batches
from history.readings import Assigned, DeliveredRecord, Polled
from protocol.codes import Error
from tests.miniature.apis.handlers import HANDLERS
from tests.miniature.apis.log import EARLIEST
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import CLIENTS, MiniCluster
from tests.miniature.core.controller import Key

Plain = dict[str, Any]


class MiniConsumer(Consumer):
    """A consumer that sends its epochs, rewinds to a divergence, and restarts below the log start."""

    def __init__(self, name: str, cluster: MiniCluster, tap: Tap, group: str | None = None) -> None:
        self.name = name
        self.group = group
        self._cluster = cluster
        self._tap = tap
        self._topics: list[str] = []
        self._assigned = ()
        self._positions: dict[Key, tuple[int, int]] = {}

    # --- what a check calls

    def assign(self, partitions: Assignment) -> None:
        self._take(tuple(sorted(partitions)))

    def subscribe(self, topics: Any) -> None:
        self._topics = list(topics)
        self._cluster.groups.setdefault(str(self.group), []).append(self.name)

    def poll(self, within_ms: int = 500) -> Polled:
        def polled() -> Polled:
            self._cluster.tick()
            self._rebalance()
            return Polled(tuple(record for key in self._assigned for record in self._fetched(key)))

        return self._tap.call(self.name, "poll", {"within_ms": within_ms}, Polled, polled)

    def commit(self) -> ConsumerCommit:
        known = [PartitionPosition(*key, *self._positions[key]) for key in self._assigned]
        request = {"group": self.group, "offsets": msgspec.to_builtins(known)}
        return self._tap.call(self.name, "offset_commit", request, ConsumerCommit, lambda: self._committed(known))

    def close(self) -> None:
        members = self._cluster.groups.get(str(self.group), [])
        if self.name in members:
            members.remove(self.name)

    # --- the group

    def _rebalance(self) -> None:
        share = self._share() if self._topics else self._assigned
        if share != self._assigned:
            self._take(share)

    def _share(self) -> tuple[Key, ...]:
        """Return the partitions assigned to this member; none while there is no coordinator."""
        if self._coordinator() is None:
            return self._assigned
        members = self._cluster.groups[str(self.group)]
        keys = sorted(key for key in self._cluster.controller.partitions if key[0] in self._topics)
        return tuple(key for number, key in enumerate(keys) if members[number % len(members)] == self.name)

    def _take(self, share: tuple[Key, ...]) -> None:
        self._assigned = share
        self._positions = {key: self._begin(key) for key in share}
        self._tap.call(self.name, "assigned", {"group": self.group}, Assigned, lambda: Assigned(share))

    def _begin(self, key: Key) -> tuple[int, int]:
        offset, epoch, _ = self._cluster.offsets.get((str(self.group), *key), (-1, -1, ""))
        return (offset, epoch) if offset >= 0 else (-1, -1)

    def _coordinator(self) -> Broker | None:
        id = self._cluster.coordinator
        return None if id is None else self._reached(self._cluster.brokers[id])

    def _reached(self, broker: Broker) -> Broker | None:
        return broker if broker.status == "running" and self._cluster.linked(broker.id, CLIENTS) else None

    def _committed(self, known: list[PartitionPosition]) -> ConsumerCommit:
        self._cluster.tick()
        if self._coordinator() is None or self._share() != self._assigned:
            raise ConsumerTrouble(f"{self.name} could not commit: no coordinator, or another generation")
        sound = [one for one in known if one.offset >= 0]
        for one in sound:
            self._cluster.offsets[str(self.group), one.topic, one.partition] = (one.offset, one.leader_epoch, "")
        return ConsumerCommit(tuple(CommittedPartition(one.topic, one.partition) for one in sound))

    # --- reading

    def _leader(self, key: Key) -> tuple[Broker, int] | None:
        """Return the leader according to the newest metadata of a reachable broker."""
        reached = [broker for broker in self._cluster.running() if self._reached(broker) and key in broker.views]
        newest = max((broker.views[key] for broker in reached), key=lambda state: state.epoch, default=None)
        leader = None if newest is None or newest.leader < 0 else self._reached(self._cluster.brokers[newest.leader])
        return None if leader is None or newest is None else (leader, newest.epoch)

    def _fetched(self, key: Key) -> list[DeliveredRecord]:
        found = self._leader(key)
        if found is None:
            return []
        leader, epoch = found
        offset, last = self._positions[key]
        if offset < 0:
            offset = self._earliest(leader, key)
        answer = self._ask(
            leader, key, {"fetch_offset": offset, "current_leader_epoch": epoch, "last_fetched_epoch": last}
        )
        if answer["error_code"] == Error.OFFSET_OUT_OF_RANGE:
            self._positions[key] = (-1, -1)
        if answer["error_code"] != Error.NONE:
            return []
        if (diverging := answer.get("diverging_epoch")) is not None:
            self._positions[key] = (diverging["end_offset"], diverging["epoch"])
            return []
        return self._delivered(key, offset, answer["records"])

    def _ask(self, leader: Broker, key: Key, wanted: Plain) -> Plain:
        asked = {"topics": [{"topic": key[0], "partitions": [{"partition": key[1], **wanted}]}], "version": 12}
        answer: Plain = HANDLERS["Fetch"](leader, asked)["responses"][0]["partitions"][0]
        return answer

    def _earliest(self, leader: Broker, key: Key) -> int:
        wanted = {"partition_index": key[1], "timestamp": EARLIEST}
        asked = {"topics": [{"name": key[0], "partitions": [wanted]}], "replica_id": -1}
        return max(0, int(HANDLERS["ListOffsets"](leader, asked)["topics"][0]["partitions"][0]["offset"]))

    def _delivered(self, key: Key, offset: int, data: bytes) -> list[DeliveredRecord]:
        found = [(one, record) for one in read_batches(data) for record in one.records if record.offset >= offset]
        if found:
            self._positions[key] = (found[-1][1].offset + 1, found[-1][0].leader_epoch)
        return [DeliveredRecord(*key, record.offset, one.leader_epoch, record.value) for one, record in found]


__all__ = ["MiniConsumer"]
