"""The fault lab's faults on the miniature, by kind: with the interface, roles, refusals and records of a live
cluster."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from conformance.core.faulting import Faults
from fixtures.faults.base.fault import Fault, Measured, Unavailable
from fixtures.faults.base.injector import Injected, Unhealed, Unhealthy, Unwitnessed
from fixtures.faults.base.overlaps import clash
from fixtures.faults.kinds import (
    batches,
    disk,
    elections,
    files,
    logs,
    network,
    process,
    producers,
    shapes,
    unclean,
    upgrade,
    zombies,
)
from fixtures.tape import Tape
from fixtures.waiting import Overdue
from history.due import Due
from history.events import Phase
from protocol.errors import KitError
from protocol.messages import Topic
from tests.miniature.core.cluster import ROUND_MS, MiniCluster
from tests.miniature.core.controller import Key
from tests.miniature.faults.effects import (
    HEAL_ROUNDS,
    CutOff,
    Down,
    Effect,
    Frozen,
    FrozenPastFencing,
    Isolated,
    Rolling,
    Slowed,
    Woken,
)
from tests.miniature.faults.log_effects import (
    AgedOut,
    MapLost,
    Moved,
    Preferred,
    ProducersForgotten,
    Reassigned,
    Rolled,
    TailLost,
    Trimmed,
    Unclean,
    Wiped,
)

PLAYED_BY: dict[type[Fault], type[Effect]] = {
    process.Kill: Down,
    process.Stop: Down,
    process.Pause: Frozen,
    process.PausePastFencing: FrozenPastFencing,
    process.RollingRestart: Rolling,
    upgrade.Upgrade: Rolling,
    zombies.CutOffFromControllers: CutOff,
    zombies.PausedZombie: Woken,
    network.RateLimit: Slowed,
    shapes.Isolate: Isolated,
    elections.MoveLeader: Moved,
    elections.PreferredElection: Preferred,
    elections.Reassign: Reassigned,
    unclean.UncleanElection: Unclean,
    unclean.UncleanElectionByConfig: Unclean,
    batches.CutTailAbove: TailLost,
    batches.CutTailBelow: TailLost,
    files.RemoveEpochCheckpoint: MapLost,
    disk.WipeDisk: Wiped,
    logs.DeleteOldRecords: Trimmed,
    logs.RollBySize: Rolled,
    logs.RetentionBySize: AgedOut,
    logs.RetentionByTime: AgedOut,
    producers.ForgetProducers: ProducersForgotten,
}
"""The miniature's implementations of faults; tests/contract checks them against the declared effects."""


class MiniInjector:
    """The miniature's `fixtures.faults.base.injector.Injector`, shared by all faults of one cluster."""

    def __init__(self, cluster: MiniCluster) -> None:
        self.cluster = cluster
        self.open: list[tuple[Fault, Effect, Injected]] = []

    def inject(self, fault: Fault, key: Key, log: Tape, *, follow: bool = True) -> Injected:
        effect = self._aimed(fault, key)
        record(log, effect, "inject", {**msgspec.to_builtins(fault), "partition": f"{key[0]}-{key[1]}"})
        try:
            effect.inject()
            witness = self._awaited(effect, effect.witness, "no witness")
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
        if follow:
            self._follow(effect, injected, log)
        return injected

    def _aimed(self, fault: Fault, key: Key) -> Effect:
        kind = PLAYED_BY.get(type(fault))
        if kind is None:
            raise Unavailable(f"{fault.name} is not available here: the miniature does not know it")
        if fault.role not in fault.roles:
            raise Unavailable(f"{fault.name} cannot be aimed at {fault.role!r}")
        effect = kind(self.cluster, key, fault)
        for other, standing, _ in self.open:
            reason = clash(type(other), type(fault)) or ("a node has both" if {*standing.ids} & {*effect.ids} else "")
            if reason:
                raise Unavailable(f"{fault.name} of the {fault.role} cannot stand beside {other.name}: {reason}")
        self._prepare(effect)
        return effect

    def _prepare(self, effect: Effect) -> None:
        """Prepare the effect. Other faults may prevent the commit of a write that it needs."""
        try:
            effect.prepare()
        except Unwitnessed as trouble:
            if not self.open:
                raise
            others = ", ".join(other.name for other, _, _ in self.open)
            raise Unavailable(f"{trouble}, beside {others}") from trouble

    def _follow(self, effect: Effect, injected: Injected, log: Tape) -> None:
        """Record the cluster's reaction or its absence in time, which is no error."""
        try:
            injected.consequence = self._awaited(effect, effect.consequence, "no consequence")
        except Unwitnessed:
            injected.met = False
        if injected.consequence or not injected.met:
            record(log, effect, "consequence", {"met": injected.met, **injected.consequence})

    def _awaited(self, effect: Effect, look: Callable[[], Measured | None], what: str) -> Measured:
        seen: list[Measured] = []

        def shows() -> bool:
            found = look()
            seen.extend([found] if found is not None else [])
            return bool(seen)

        effect.until(shows, what)
        return seen[0]

    def heal(self, fault: Fault, log: Tape) -> Injected:
        """Heal the fault, and verify all healed ones once none is active. Raises Unhealed."""
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
            text = f"{fault.name} of the {fault.role} healed: {'; '.join(lacks)}"
            due: Due = (
                "leader" if any(one.leader < 0 for one in self.cluster.controller.partitions.values()) else "node"
            )
            raise Unhealthy(text) from Overdue(text, due=due, within=HEAL_ROUNDS * ROUND_MS / 1000)
        record(log, effect, "heal", {"rounds": self.cluster.round - began})
        return injected

    def heal_all(self, log: Tape) -> None:
        failed: list[KitError] = []
        for fault, _, _ in reversed(list(self.open)):
            try:
                self.heal(fault, log)
            except KitError as error:
                failed.append(error)
        if failed:
            raise Unhealed("; ".join(map(str, failed))) from failed[0]


def record(log: Tape, effect: Effect, phase: Phase, detail: Measured) -> None:
    log.fault(effect.fault.recorded_phase(phase, ",".join(effect.names), detail))


class MiniFaults(Faults):
    """A bench's faults on the miniature."""

    def __init__(self, tape: Tape, injector: MiniInjector, topic: Topic, index: int = 0) -> None:
        super().__init__(tape, None)
        self._mini = injector
        self._key: Key = (topic.name, index)

    def inject(self, fault: Fault, topic: Topic | None = None, index: int = 0, *, follow: bool = True) -> Injected:
        key = self._key if topic is None else (topic.name, index)
        return self._record("inject", fault, lambda: self._mini.inject(fault, key, self._tape, follow=follow))

    def heal(self, fault: Fault) -> Injected:
        return self._record("heal", fault, lambda: self._mini.heal(fault, self._tape))

    def heal_all(self) -> None:
        self._mini.heal_all(self._tape)

    @property
    def any_standing(self) -> bool:
        return bool(self._mini.open)

    def blocking_rules(self) -> list[str]:
        return [f"{one} cut off from {other}" for one, other in self._mini.cluster.cuts]


__all__ = ["PLAYED_BY", "MiniFaults", "MiniInjector"]
