"""Process and link faults on the miniature, and their witnesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from fixtures.cluster import NodeState
from fixtures.faults.base.fault import Measured, Unavailable
from fixtures.faults.base.injector import Unwitnessed
from fixtures.wire.records import encode_batch
from protocol.records import batch
from tests.miniature.core.cluster import CLIENTS, CONTROLLER, MiniCluster
from tests.miniature.core.controller import Key, PartitionState
from tests.miniature.core.replica import Replica

WITNESS_ROUNDS, HEAL_ROUNDS = 120, 1200
ALL = ("all brokers", "all nodes")


class Effect:
    """A fault in progress around one partition, on the brokers now in its role.

    What it does to processes, and so what it can overlap, is declared by the fault (`Fault.effects`).
    """

    def __init__(self, cluster: MiniCluster, key: Key, fault: Any) -> None:
        self.cluster, self.key, self.fault = cluster, key, fault
        self.before = cluster.state(key)
        self.ids = players(cluster, self.before, fault.role, fault.pick)
        if not self.ids:
            raise Unavailable(f"{fault.name}: no node holds the role {fault.role!r} of {key} now")

    # --- what subclasses say

    def prepare(self) -> None:
        """Prepare the fault without breaking anything. Raises Unavailable."""

    def inject(self) -> None: ...

    def witness(self) -> Measured | None:
        """Return the direct evidence of the fault; None until it shows."""
        raise NotImplementedError

    def consequence(self) -> Measured | None:
        """Return the cluster's reaction; None until it shows."""
        return {}

    def heal(self) -> None: ...

    # --- parts

    @property
    def id(self) -> int:
        return self.ids[0]

    @property
    def now(self) -> PartitionState:
        return self.cluster.state(self.key)

    @property
    def names(self) -> list[str]:
        return [self.cluster.brokers[id].name for id in self.ids]

    def in_state(self, state: NodeState) -> Measured | None:
        found = {self.cluster.brokers[id].name: self.cluster.brokers[id].status for id in self.ids}
        return {"state": found} if set(found.values()) == {state} else None

    def succeeded(self) -> Measured | None:
        """Return evidence that the cluster continues without the node in that role."""
        if self.fault.role in ALL:
            return {}
        if self.fault.role in ("leader", "broker", "group coordinator") and self.id == self.before.leader:
            return self.led_by_another()
        if self.id in self.now.isr or self.id not in self.cluster.controller.fenced:
            return None
        return {"ISR": [list(self.before.isr), list(self.now.isr)]}

    def led_by_another(self) -> Measured | None:
        now = self.now
        if now.leader in (-1, self.id) or now.epoch <= self.before.epoch:
            return None
        return {"leader": [self.before.leader, now.leader], "leader epoch": [self.before.epoch, now.epoch]}

    def replica(self, id: int) -> Replica | None:
        return self.cluster.brokers[id].replicas.get(self.key)

    def until(self, holds: Callable[[], bool], what: str, rounds: int = WITNESS_ROUNDS) -> None:
        for _ in range(rounds):
            if holds():
                return
            self.cluster.tick()
        raise Unwitnessed(f"{self.fault.name} of the {self.fault.role}: {what}: not within {rounds} rounds")

    def write(self, *values: bytes, **fields: Any) -> None:
        """Write one batch to the leader once there is one; `fields` are those of NewBatch."""
        self.until(lambda: self._leading() is not None, "a leader that knows it leads")
        leader = self._leading()
        if leader is not None:
            end = leader.append(encode_batch(batch(*values, timestamp=self.cluster.unix_ms, **fields))).last + 1
            self.until(lambda: leader.log.watermark >= end, "a write is committed")

    def _leading(self) -> Replica | None:
        leader = self.now.leader
        found = None if leader < 0 else self.replica(leader)
        return found if found is not None and found.leads and found.state.epoch == self.now.epoch else None


def players(cluster: MiniCluster, state: PartitionState, role: str, pick: int) -> list[int]:
    brokers = list(cluster.brokers)
    if role in ALL:
        return brokers
    found: dict[str, Sequence[int]] = {
        "leader": [state.leader] if state.leader >= 0 else [],
        "follower": [id for id in state.replicas if id in state.isr and id != state.leader],
        "follower out of the ISR": [id for id in state.replicas if id not in state.isr],
        "broker": brokers,
        "node": brokers,
        "group coordinator": [id for id in brokers if id not in cluster.controller.fenced][:1],
    }
    able = found.get(role, ())
    return [able[pick % len(able)]] if able else []


# --- processes


class Down(Effect):
    def inject(self) -> None:
        for id in self.ids:
            self.take_down(id)

    def take_down(self, id: int) -> None:
        (self.cluster.kill if self.fault.effects.abrupt else self.cluster.stop)(id)

    def witness(self) -> Measured | None:
        return self.in_state("exited")

    def consequence(self) -> Measured | None:
        return self.succeeded()

    def heal(self) -> None:
        for id in self.ids:
            self.cluster.start(id)


class Frozen(Effect):
    """A broker frozen for less than a session, so that it is not fenced."""

    _seen: Measured | None = None

    def inject(self) -> None:
        self.cluster.pause(self.id)
        self._seen = self.in_state("paused")
        self.cluster.tick(2)
        self.cluster.resume(self.id)

    def witness(self) -> Measured | None:
        return self._seen


class FrozenPastFencing(Effect):
    def inject(self) -> None:
        self.cluster.pause(self.id)

    def witness(self) -> Measured | None:
        return self.in_state("paused")

    def consequence(self) -> Measured | None:
        return self.succeeded()

    def heal(self) -> None:
        self.cluster.resume(self.id)


class Woken(FrozenPastFencing):
    """A zombie: a broker frozen until it is replaced, then resumed."""

    _seen: Measured | None = None
    _replaced: Measured | None = None

    def inject(self) -> None:
        """Resume the broker, even if it was not replaced in time."""
        super().inject()
        self._seen = self.in_state("paused")
        with suppress(Unwitnessed):
            self.until(lambda: self.succeeded() is not None, "its replacement")
        self._replaced = self.succeeded()
        self.cluster.resume(self.id)

    def witness(self) -> Measured | None:
        return self._seen

    def consequence(self) -> Measured | None:
        return self._replaced


class Rolling(Effect):
    """Brokers stopped and started one after the other, each once the cluster is healthy again."""

    def prepare(self) -> None:
        self._starts = self._counted()

    def _counted(self) -> dict[str, int]:
        return {self.cluster.brokers[id].name: self.cluster.brokers[id].starts for id in self.ids}

    def inject(self) -> None:
        for id in self.ids:
            self.cluster.stop(id)
            self.cluster.start(id)
            self.until(lambda: not self.cluster.lacking(), "the cluster is whole", HEAL_ROUNDS)

    def witness(self) -> Measured | None:
        now = self._counted()
        return {"started": now} if all(now[name] > before for name, before in self._starts.items()) else None


# --- links


class CutOff(Effect):
    """A broker without a link to controllers, but with links to brokers and clients."""

    _cut: Sequence[tuple[int, int]] = ()

    def links(self) -> list[tuple[int, int]]:
        return [(self.id, CONTROLLER)]

    def inject(self) -> None:
        self._cut = self.links()
        self.cluster.cut(self._cut)

    def heal(self) -> None:
        self.cluster.mend(self._cut)
        self._cut = ()

    def witness(self) -> Measured | None:
        cut = [link for link in self.links() if not self.cluster.linked(*link)]
        return {"cut": cut} if cut == self.links() else None

    def consequence(self) -> Measured | None:
        fenced = self.id in self.cluster.controller.fenced
        noticed = self.succeeded()
        return {"fenced": True, **noticed} if fenced and noticed is not None else None


class Slowed(Effect):
    """A broker whose answers to others are slow."""

    def inject(self) -> None:
        self.cluster.limit(self.id, self.fault.kbit)

    def witness(self) -> Measured | None:
        return {"limit kbit/s": self.fault.kbit} if self.cluster.rate(self.id) else None

    def heal(self) -> None:
        self.cluster.unlimit(self.id)


class Isolated(CutOff):
    def links(self) -> list[tuple[int, int]]:
        ends = [CONTROLLER, *(id for id in self.cluster.brokers if id != self.id)]
        return [(self.id, end) for end in [*ends, *([CLIENTS] if self.fault.clients_too else [])]]
