"""The fault lab's faults, by kind, done to the miniature: the same surface, roles, refusals and records as on a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from conformance.faulting import Faults
from fixtures.errors import KitError
from fixtures.faults import disk, elections, logs, process, shapes, unclean, zombies
from fixtures.faults.fault import Fault, Measured, Unavailable
from fixtures.faults.injector import Injected, Unhealed, Unwitnessed
from fixtures.tape import Tape
from fixtures.wire import Error
from fixtures.wire.calls import Topic
from fixtures.wire.records import batch
from history.events import Phase
from tests.miniature.cluster import CLIENTS, CONTROLLER, MiniCluster
from tests.miniature.controller import Key, PartitionState
from tests.miniature.log import EpochMap
from tests.miniature.replica import Replica

WITNESS_ROUNDS, HEAL_ROUNDS = 120, 600
ALL = ("all brokers", "all nodes")


class Effect:
    """A fault on its way: around one partition, on the brokers that play its role now."""

    alone = False

    def __init__(self, cluster: MiniCluster, key: Key, fault: Any) -> None:
        self.cluster, self.key, self.fault = cluster, key, fault
        self.before = cluster.state(key)
        self.ids = players(cluster, self.before, fault.role, fault.pick)
        if not self.ids:
            raise Unavailable(f"{fault.name}: nobody plays the {fault.role!r} of {key} now")

    # --- what subclasses say

    def prepare(self) -> None:
        """Raises Unavailable; breaks nothing."""

    def inject(self) -> None: ...

    def witness(self) -> Measured | None:
        return self.succeeded()

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

    def succeeded(self) -> Measured | None:
        """That the cluster went on without whoever played the role."""
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

    def write(self, *values: bytes) -> None:
        """One batch, by whoever leads, once it leads."""
        self.until(lambda: self._leading() is not None, "a leader that knows it leads")
        leader = self._leading()
        if leader is not None:
            end = leader.append(batch(*values, timestamp=self.cluster.unix_ms).encoded()).last + 1
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
            self.cluster.kill(id)

    def heal(self) -> None:
        for id in self.ids:
            self.cluster.start(id)


class Stopped(Down):
    def inject(self) -> None:
        for id in self.ids:
            self.cluster.stop(id)


class Frozen(Effect):
    """For less than a session, so that nobody is fenced."""

    def inject(self) -> None:
        self.cluster.pause(self.id)
        self.cluster.tick(2)
        self.cluster.resume(self.id)

    def witness(self) -> Measured | None:
        return {"answers again": Error.NONE.name}


class FrozenPastFencing(Effect):
    def inject(self) -> None:
        self.cluster.pause(self.id)

    def heal(self) -> None:
        self.cluster.resume(self.id)


class Woken(FrozenPastFencing):
    """A zombie: frozen until it is replaced, then let go."""

    def inject(self) -> None:
        super().inject()
        self.until(lambda: self.succeeded() is not None, "its replacement")
        self._seen = self.succeeded()
        self.cluster.resume(self.id)

    def witness(self) -> Measured | None:
        return self._seen


class Rolling(Effect):
    """One broker after the other is stopped and started, the next when the cluster is whole again."""

    alone = True

    def inject(self) -> None:
        for id in self.ids:
            self.cluster.stop(id)
            self.cluster.start(id)
            self.until(lambda: not self.cluster.lacking(), "the cluster is whole", HEAL_ROUNDS)

    def witness(self) -> Measured | None:
        return {"started": {self.cluster.brokers[id].name: self.cluster.brokers[id].starts for id in self.ids}}


# --- links


class CutOff(Effect):
    """No controller hears it, while brokers and clients do."""

    def links(self) -> list[tuple[int, int]]:
        return [(self.id, CONTROLLER)]

    def inject(self) -> None:
        self._cut = self.links()
        self.cluster.cut(self._cut)

    def heal(self) -> None:
        self.cluster.mend(getattr(self, "_cut", []))
        self._cut = []

    def witness(self) -> Measured | None:
        noticed = self.succeeded()
        return (
            {"fenced": True, **noticed} if noticed is not None and self.id in self.cluster.controller.fenced else None
        )


class Isolated(CutOff):
    def links(self) -> list[tuple[int, int]]:
        ends = [CONTROLLER, *(id for id in self.cluster.brokers if id != self.id)]
        return [(self.id, end) for end in [*ends, *([CLIENTS] if self.fault.clients_too else [])]]


# --- elections


class Moved(Effect):
    def prepare(self) -> None:
        others = [id for id in self.before.replicas if id in self.before.isr and id != self.before.leader]
        if not others:
            raise Unavailable(f"{self.fault.name}: nobody but {self.before.leader} is in the ISR")
        self._to = self.chosen(others)

    def chosen(self, others: list[int]) -> int:
        return others[int(self.fault.pick) % len(others)]

    def inject(self) -> None:
        order = (self._to, *(id for id in self.before.replicas if id != self._to))
        self.cluster.controller.reassign(self.key, order)
        self.cluster.controller.elect_preferred(self.key)

    def witness(self) -> Measured | None:
        """It leads and acts on it."""
        leads = self._leading()
        return self.led_by_another() if self.now.leader == self._to and leads is not None else None

    def led_by_another(self) -> Measured | None:
        return {"leader": [self.before.leader, self._to], "leader epoch": [self.before.epoch, self.now.epoch]}


class Preferred(Moved):
    def chosen(self, others: list[int]) -> int:
        first = self.before.replicas[0]
        return first if first in others else super().chosen(others)


class Unclean(Effect):
    """Only the leader is in sync and takes records; it goes, and a replica without them is elected."""

    alone = True

    def prepare(self) -> None:
        if self.fault.own_topic:
            raise Unavailable(f"{self.fault.name} on a topic of its own: the miniature has nobody who looks at it")
        if self.cluster.min_isr(self.key) != 1:
            raise Unavailable("with more than one min.insync.replicas, what is lost was never acknowledged to all")
        self._others = [id for id in self.before.replicas if id != self.id]
        self._laggard = self._others[self.fault.pick % len(self._others)]

    def inject(self) -> None:
        self.write(b"everybody has this")
        self._take_down(self._others)
        self.until(lambda: self.now.isr == (self.id,), "the leader alone in the ISR")
        self.write(*[b"only the leader has this"] * self.fault.records)
        self._last = self.now
        self._take_down([self.id])
        self.until(lambda: self.now.leader == -1, "no leader")
        self._bring_back([self._laggard])
        self.until(lambda: self.cluster.controller.elect_unclean(self.key) is Error.NONE, "the unclean election")

    def _take_down(self, ids: Sequence[int]) -> None:
        for id in ids:
            (self.cluster.pause if self.fault.by == "pause" else self.cluster.kill)(id)

    def _bring_back(self, ids: Sequence[int]) -> None:
        for id in ids:
            self.cluster.resume(id)
            self.cluster.start(id)

    def witness(self) -> Measured | None:
        if self._leading() is None:
            return None
        now, last = self.now, self._last
        told: Measured = {"leader": [last.leader, now.leader], "leader epoch": [last.epoch, now.epoch]}
        return {**told, "last ISR": list(last.isr)}

    def heal(self) -> None:
        self._bring_back([self.id, *self._others])


class Reassigned(Effect):
    def inject(self) -> None:
        left = tuple(id for id in self.before.replicas if id != self.id)
        self.cluster.controller.reassign(self.key, left)

    def witness(self) -> Measured | None:
        gone = self.id not in self.now.replicas and self.replica(self.id) is None
        return {"replicas": [list(self.before.replicas), list(self.now.replicas)]} if gone and self._leading() else None

    def heal(self) -> None:
        self.cluster.controller.reassign(self.key, self.before.replicas)


# --- disks


class Damaged(Down):
    """Taken down, damaged, and started on what is left."""

    def clean(self) -> bool:
        return bool(getattr(self.fault, "clean", False))

    def inject(self) -> None:
        for id in self.ids:
            (self.cluster.stop if self.clean() else self.cluster.kill)(id)
            self._damage(id)

    def _damage(self, id: int) -> None:
        raise NotImplementedError


class TailLost(Damaged):
    def prepare(self) -> None:
        held = self.replica(self.id)
        short = 0 if held is None else self.fault.lost + 1 - sum(b.last >= held.log.flushed for b in held.log.batches)
        for _ in range(max(0, short)):
            self.write(b"to be lost by one replica")

    def _damage(self, id: int) -> None:
        held = self.replica(id)
        if held is not None:
            held.log.lose_tail(self.fault.lost)


class FlushedTailLost(TailLost):
    """After a clean shutdown, which had flushed it."""

    def clean(self) -> bool:
        return True

    def _damage(self, id: int) -> None:
        held = self.replica(id)
        if held is not None:
            held.log.lose_tail(self.fault.lost, flushed_too=True)


class MapLost(Damaged):
    def _damage(self, id: int) -> None:
        held = self.replica(id)
        if held is not None:
            held.log.epochs = EpochMap()


class Wiped(Damaged):
    def _damage(self, id: int) -> None:
        self.cluster.brokers[id].wipe()


# --- the log


class Trimmed(Effect):
    alone = True

    def keeps(self) -> int:
        return int(self.fault.keep)

    def inject(self) -> None:
        self._starts = self._log_starts()
        for _ in range(self.keeps() + 1):
            self.write(b"to be deleted, or next to it")
        leader = self._leading()
        if leader is None:
            raise KitError(f"{self.fault.name}: no leader of {self.key}")
        leader.log.trim(leader.log.watermark - self.keeps())

    def _log_starts(self) -> dict[int, int]:
        found = {id: self.replica(id) for id in self.now.replicas}
        return {id: replica.log.start for id, replica in found.items() if replica is not None}

    def witness(self) -> Measured | None:
        """The log start rose on every replica."""
        now = self._log_starts()
        if any(start <= self._starts.get(id, -1) for id, start in now.items()):
            return None
        return {"log start": {self.cluster.brokers[id].name: [self._starts.get(id), now[id]] for id in now}}


class AgedOut(Trimmed):
    """Retention deletes whole segments, up to the high watermark; here each batch is one."""

    def keeps(self) -> int:
        return 2 if isinstance(self.fault, logs.RetentionBySize) else 0


class Rolled(Effect):
    """Segments are nothing that the miniature has; what shows is the records that fill them."""

    alone = True

    def inject(self) -> None:
        for _ in range(2):
            self.write(b"of the next segment")

    def witness(self) -> Measured | None:
        return {}


EFFECTS: dict[type[Fault], type[Effect]] = {
    process.Kill: Down,
    process.Stop: Stopped,
    process.Pause: Frozen,
    process.PausePastFencing: FrozenPastFencing,
    process.RollingRestart: Rolling,
    zombies.CutOffFromControllers: CutOff,
    zombies.PausedZombie: Woken,
    shapes.Isolate: Isolated,
    elections.MoveLeader: Moved,
    elections.PreferredElection: Preferred,
    elections.Reassignment: Reassigned,
    unclean.UncleanElection: Unclean,
    unclean.UncleanElectionByConfig: Unclean,
    disk.CutTailAbove: TailLost,
    disk.CutTailBelow: FlushedTailLost,
    disk.RemoveEpochCheckpoint: MapLost,
    disk.WipeDisk: Wiped,
    logs.DeleteRecords: Trimmed,
    logs.RollBySize: Rolled,
    logs.RetentionBySize: AgedOut,
    logs.RetentionByTime: AgedOut,
}


class MiniInjector:
    """As `fixtures.faults.injector.Injector`, which all faults of one cluster share."""

    def __init__(self, cluster: MiniCluster) -> None:
        self.cluster = cluster
        self.open: list[tuple[Fault, Effect, Injected]] = []

    def inject(self, fault: Fault, key: Key, log: Tape) -> Injected:
        effect = self._aimed(fault, key)
        record(log, effect, "inject", {**msgspec.to_builtins(fault), "partition": f"{key[0]}-{key[1]}"})
        try:
            effect.inject()
            witness = self._witnessed(effect)
        except BaseException:
            effect.heal()
            raise
        record(log, effect, "witness", witness)
        injected = Injected(
            fault=fault.name,
            role=fault.role,
            nodes=effect.names,
            witness=witness,
            inject_seconds=0.0,
            witness_seconds=0.0,
        )
        self.open.append((fault, effect, injected))
        return injected

    def _aimed(self, fault: Fault, key: Key) -> Effect:
        kind = EFFECTS.get(type(fault))
        if kind is None:
            raise Unavailable(f"{fault.name} cannot be had here: the miniature does not know it")
        if fault.role not in fault.roles:
            raise Unavailable(f"{fault.name} cannot be aimed at {fault.role!r}")
        effect = kind(self.cluster, key, fault)
        standing = [other for _, other, _ in self.open]
        if any(other.alone or fault.alone or set(other.ids) & set(effect.ids) for other in standing):
            raise Unavailable(f"{fault.name} of the {fault.role} cannot be had beside what stands")
        effect.prepare()
        return effect

    def _witnessed(self, effect: Effect) -> Measured:
        seen: list[Measured] = []

        def shows() -> bool:
            found = effect.witness()
            seen.extend([found] if found is not None else [])
            return bool(seen)

        effect.until(shows, "no witness")
        return seen[0]

    def heal(self, fault: Fault, log: Tape) -> Injected:
        """Verified when nothing stands any more. Raises Unhealed."""
        found = next((one for one in self.open if one[0] is fault), None)
        if found is None:
            raise KitError(f"{fault.name} of the {fault.role} does not stand")
        self.open.remove(found)
        _, effect, injected = found
        began = self.cluster.round
        effect.heal()
        for _ in range(HEAL_ROUNDS if not self.open else 0):
            if not self.cluster.lacking():
                break
            self.cluster.tick()
        if not self.open and (lacks := self.cluster.lacking()):
            raise Unhealed(f"{fault.name} of the {fault.role} healed: {'; '.join(lacks)}")
        record(log, effect, "heal", {"rounds": self.cluster.round - began})
        return injected

    def heal_all(self, log: Tape) -> None:
        failed: list[str] = []
        for fault, _, _ in reversed(list(self.open)):
            try:
                self.heal(fault, log)
            except KitError as error:
                failed.append(str(error))
        if failed:
            raise Unhealed("; ".join(failed))


def record(log: Tape, effect: Effect, phase: Phase, detail: Measured) -> None:
    log.fault(effect.fault.name, phase, role=effect.fault.role, node=",".join(effect.names), detail=detail)


class MiniFaults(Faults):
    """What a bench gives a check, on the miniature."""

    def __init__(self, tape: Tape, injector: MiniInjector, topic: Topic, index: int = 0) -> None:
        super().__init__(tape, None)
        self._mini = injector
        self._key: Key = (topic.name, index)

    def inject(self, fault: Fault, topic: Topic | None = None, index: int = 0) -> Injected:
        key = self._key if topic is None else (topic.name, index)
        return self._told("inject", fault, lambda: self._mini.inject(fault, key, self._tape))

    def heal(self, fault: Fault) -> Injected:
        return self._told("heal", fault, lambda: self._mini.heal(fault, self._tape))

    def heal_all(self) -> None:
        self._mini.heal_all(self._tape)

    def lacking(self) -> list[str]:
        return [f"{one} cut off from {other}" for one, other in self._mini.cluster.cuts]


__all__ = ["EFFECTS", "MiniFaults", "MiniInjector"]
