"""Partitions by role, for executors: which broker leads, follows or led before, as the brokers that run tell it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from conformance.core.bench import Bench
from fixtures.errors import KitError
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from fixtures.wire.cluster import PartitionMetadata

LEADS_WITHIN = 2.0
"""Seconds that a step waits for a leader. Whatever replica can be elected mostly is by the time a fault has shown."""


class Absent(KitError):
    """No node that can be reached holds the role that a step is aimed at."""


class Roles:
    """The roles of an example's partitions. `partitions` are topic name and index by the machine's own name.

    Brokers that are down or frozen are not asked: which those are is looked up by `refresh`, after each fault.
    """

    def __init__(self, bench: Bench, partitions: Mapping[str, tuple[str, int]]) -> None:
        self.down: set[str] = set()
        self._bench = bench
        self._partitions = partitions
        self._leaderless: set[str] = set()
        self._led: dict[str, list[int]] = defaultdict(list)

    # --- after and before faults

    def refresh(self) -> None:
        """Ask the engine which brokers are down, and forget which partitions had no leader."""
        self.down = set(self._bench.silent())
        self._leaderless.clear()

    def remember_leaders(self) -> None:
        """Note the leader of each partition: after a fault it may be the former one."""
        for on in self._partitions:
            with suppress(Absent):
                self.state(on)

    def running(self) -> list[str]:
        """The brokers that can be asked."""
        return [name for name in self._bench.brokers if name not in self.down]

    def is_running(self, id: int) -> bool:
        return self._bench.name_of(id) not in self.down

    # --- partitions

    def state(self, on: str) -> PartitionMetadata:
        """The partition at the newest leader epoch that a running broker knows, once it has a leader. Raises Absent."""
        state = self._newest(on)
        if state is None and on not in self._leaderless:
            state = self._elected(on)
        if state is None:
            self._leaderless.add(on)
            raise Absent(f"{on} has no leader")
        if self._led[on][-1:] != [state.leader]:
            self._led[on].append(state.leader)
        return state

    def epoch(self, on: str, back: int = 0) -> int:
        """The leader epoch `back` before the current one, 0 at least."""
        return max(0, self.state(on).leader_epoch - back)

    def node(self, on: str, role: str) -> NodeClient:
        """The `leader`, the first running `follower`, or the latest running `former-leader`: where none runs, the leader.

        Raises Absent."""
        state = self.state(on)
        holders = {
            "leader": [state.leader],
            "follower": [id for id in state.replicas if id != state.leader and self.is_running(id)],
            "former-leader": [id for id in reversed(self._led[on]) if id != state.leader and self.is_running(id)]
            or [state.leader],
        }[role]
        if not holders:
            raise Absent(f"{on} has no {role} that can be reached")
        return self._bench.node(holders[0])

    def _elected(self, on: str) -> PartitionMetadata | None:
        """Waits for an election once after each fault: a partition that is leaderless then stays so until the next."""
        with suppress(Overdue):
            return self._bench.eventually(lambda: self._newest(on), f"a leader of {on}", within=LEADS_WITHIN, every=0.1)
        return None

    def _newest(self, on: str) -> PartitionMetadata | None:
        name, index = self._partitions[on]
        known: list[PartitionMetadata] = []
        for broker in self.running():
            with suppress(WireError):
                # Of all topics, so that each answer shows the judges all partitions.
                answer = self._bench.node(broker).metadata(self._topics)
                known += [p for p in answer.topic(name).partitions if p.partition == index]
        newest = max(known, key=lambda state: state.leader_epoch, default=None)
        return newest if newest is not None and newest.leader >= 0 and self.is_running(newest.leader) else None

    @property
    def _topics(self) -> list[str]:
        return sorted({name for name, _ in self._partitions.values()})


__all__ = ["Absent", "Roles"]
