"""Brokers around a controller, under a logical clock: each round is one pass of everything that goes on by itself.

A round: heartbeats and fencing, metadata to those that hear it (each broker in its turn), fetches of followers (in
their turns too), and what leaders do about ISR and high watermark. There are no threads and nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from protocol.errors import KitError
from tests.miniature.core.broker import Broker
from tests.miniature.core.controller import FENCED_AFTER, Controller, Key, PartitionState
from tests.miniature.core.transactions import Transactions

CONTROLLER = 101
CLIENTS = 0
"""The end of a link that stands for all clients."""
CHECKPOINT_EVERY = 16
FIRST_BROKER = 1
BEGAN_MS = 1_790_000_000_000
ROUND_MS = 50


class Coordinators(Protocol):
    """The coordinators of groups whose members and offsets are in the offsets topic."""

    def tick(self) -> None: ...

    def answer(self, api: str, broker: Broker, asked: dict[str, Any]) -> dict[str, Any]: ...

    def partition_of(self, group: str) -> Key: ...


class MiniCluster:
    def __init__(self, bugs: Iterable[str] = (), brokers: int = 3, fenced_after: int = FENCED_AFTER) -> None:
        self.bugs = frozenset(bugs)
        ids = range(FIRST_BROKER, FIRST_BROKER + brokers)
        self.controller = Controller(list(ids), self.bugs, fenced_after)
        self.brokers = {id: Broker(id, self) for id in ids}
        self.offsets: dict[tuple[str, str, int], tuple[int, int, str | None]] = {}
        self.groups: dict[str, list[str]] = {}
        self.coordinators: Coordinators | None = None
        """The coordinators of groups with members; without them any broker in the role knows `offsets` and `groups`."""
        self.transactions = Transactions(self)
        self.round = 0
        self._cuts: list[tuple[int, int]] = []
        self._rates: dict[int, float] = {}

    # --- the clock

    def tick(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            self.round += 1
            self._heartbeats()
            self._propagate()
            self._replicate()
            self.transactions.tick()
            if self.coordinators is not None:
                self.coordinators.tick()
            for broker in self.running():
                if (self.round + 5 * broker.id) % CHECKPOINT_EVERY == 0:
                    broker.checkpoint()

    @property
    def seconds(self) -> float:
        return self.round * ROUND_MS / 1000

    @property
    def unix_ms(self) -> int:
        return BEGAN_MS + self.round * ROUND_MS

    def _heartbeats(self) -> None:
        self.controller.now = self.round
        for broker in self.running():
            if self.linked(broker.id, CONTROLLER):
                self.controller.hear(broker.id, broker.metadata_version == self.controller.version)
        self.controller.tick()

    def _propagate(self) -> None:
        for broker in self.running():
            if self.linked(broker.id, CONTROLLER):
                broker.listen(self.controller)

    def _replicate(self) -> None:
        for broker in self.running():
            broker.fetch_from_leaders()
        for broker in self.running():
            broker.lead_on()

    # --- who is there, who sees whom

    def running(self) -> list[Broker]:
        return [broker for broker in self.brokers.values() if broker.status == "running"]

    @property
    def coordinator(self) -> int | None:
        """The coordinator of all groups and transactions: the first unfenced broker, with all of its predecessors'
        state."""
        return next((id for id in self.brokers if id not in self.controller.fenced), None)

    def broker(self, name: str) -> Broker:
        for broker in self.brokers.values():
            if broker.name == name:
                return broker
        raise KitError(f"the miniature has no broker {name}")

    def linked(self, one: int, other: int) -> bool:
        return (one, other) not in self._cuts and (other, one) not in self._cuts

    def cut(self, links: Sequence[tuple[int, int]]) -> None:
        self._cuts += links

    def mend(self, links: Sequence[tuple[int, int]]) -> None:
        for link in links:
            self._cuts.remove(link)

    def limit(self, id: int, kbit: int) -> None:
        """Limit this broker's answers to others to this many kbit/s."""
        self._rates[id] = kbit * ROUND_MS / 8

    def unlimit(self, id: int) -> None:
        self._rates.pop(id, None)

    def rate(self, id: int) -> float:
        """Return the bytes per round of this broker's answers; 0 without a limit."""
        return self._rates.get(id, 0.0)

    @property
    def cuts(self) -> list[tuple[int, int]]:
        return list(self._cuts)

    # --- nodes

    def kill(self, id: int) -> None:
        self.brokers[id].stop(cleanly=False)

    def stop(self, id: int) -> None:
        """Shut down in a controlled way: leadership moves before the process ends."""
        if self.linked(id, CONTROLLER):
            self.controller.fence(id)
            self.tick(3)
        self.brokers[id].stop(cleanly=True)

    def pause(self, id: int) -> None:
        self.brokers[id].status = "paused"

    def resume(self, id: int) -> None:
        if self.brokers[id].status == "paused":
            self.brokers[id].status = "running"

    def start(self, id: int) -> None:
        if self.brokers[id].status == "exited":
            self.brokers[id].start()
            if id not in self.controller.fenced:
                self.controller.fence(id)

    def delete(self, topic: str) -> None:
        """Delete a topic and its committed offsets."""
        self.controller.delete_topic(topic)
        self.offsets = {key: value for key, value in self.offsets.items() if key[1] != topic}

    # --- the truth, as the controller has it

    def state(self, key: Key) -> PartitionState:
        """Return the partition's state. Raises KitError for a deleted partition."""
        if key not in self.controller.partitions:
            raise KitError(f"the miniature has no partition {key[0]}-{key[1]}")
        return self.controller.partitions[key]

    def lacking(self) -> list[str]:
        """Return the reasons why the cluster is not healthy."""
        down = [f"{broker.name} {broker.status}" for broker in self.brokers.values() if broker.status != "running"]
        fenced = [f"broker {id} fenced" for id in sorted(self.controller.fenced)]
        cut = [f"{one} cut off from {other}" for one, other in self._cuts]
        states = self.controller.partitions.values()
        partial = [f"ISR {state.isr} of {state.key}" for state in states if set(state.isr) != set(state.replicas)]
        return down + fenced + cut + partial


__all__ = ["CLIENTS", "CONTROLLER", "MiniCluster"]
