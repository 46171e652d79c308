"""Elections, reassignments, damaged disks and DeleteRecords on the miniature."""

from __future__ import annotations

from collections.abc import Sequence

from fixtures.faults.base.fault import Measured, Unavailable
from fixtures.faults.kinds import logs
from fixtures.faults.kinds.producers import forgotten_producers
from protocol.codes import Error
from protocol.errors import KitError
from tests.miniature.core.controller import PartitionState
from tests.miniature.core.log import EpochMap
from tests.miniature.faults.effects import Down, Effect

# --- elections


class Moved(Effect):
    def prepare(self) -> None:
        others = [id for id in self.before.replicas if id in self.before.isr and id != self.before.leader]
        if not others:
            raise Unavailable(f"{self.fault.name}: only {self.before.leader} is in the ISR")
        self._to = self.chosen(others)

    def chosen(self, others: list[int]) -> int:
        return others[int(self.fault.pick) % len(others)]

    def inject(self) -> None:
        order = (self._to, *(id for id in self.before.replicas if id != self._to))
        self.cluster.controller.reassign(self.key, order)
        self.cluster.controller.elect_preferred(self.key)

    def witness(self) -> Measured | None:
        """Return evidence that the new leader acts as such."""
        leads = self._leading()
        return self.led_by_another() if self.now.leader == self._to and leads is not None else None

    def led_by_another(self) -> Measured | None:
        return {"leader": [self.before.leader, self._to], "leader epoch": [self.before.epoch, self.now.epoch]}


class Preferred(Moved):
    def chosen(self, others: list[int]) -> int:
        first = self.before.replicas[0]
        return first if first in others else super().chosen(others)


class Unclean(Effect):
    """An unclean election: the leader, alone in sync, takes records and goes down, and a replica without them is
    elected."""

    def prepare(self) -> None:
        if self.fault.own_topic:
            raise Unavailable(f"{self.fault.name} on a topic of its own: the miniature has no witness for it")
        if self.cluster.brokers[self.id].min_isr(self.key) != 1:
            raise Unavailable("with more than one min.insync.replicas, what is lost was never acknowledged to all")
        self._last: PartitionState | None = None
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
        now, last = self.now, self._last
        if last is None or self._leading() is None:
            return None
        change: Measured = {"leader": [last.leader, now.leader], "leader epoch": [last.epoch, now.epoch]}
        return {**change, "last ISR": list(last.isr)}

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
    """A broker that is taken down, damaged, and at the healing started on what is left."""

    def inject(self) -> None:
        for id in self.ids:
            self.take_down(id)
            self._damage(id)

    def witness(self) -> Measured | None:
        """Return evidence that the broker is down and its disk has changed."""
        down = super().witness()
        return {**down, "damaged": self.names} if down is not None and all(map(self._damaged, self.ids)) else None

    def _damage(self, id: int) -> None:
        raise NotImplementedError

    def _damaged(self, id: int) -> bool:
        raise NotImplementedError


class TailLost(Damaged):
    """A tail that is lost although a clean shutdown had flushed it."""

    _gone = 0

    def prepare(self) -> None:
        held = self.replica(self.id)
        short = 0 if held is None else self.fault.lost + 1 - sum(b.last >= held.log.flushed for b in held.log.batches)
        for _ in range(max(0, short)):
            self.write(b"to be lost by one replica")

    def _damage(self, id: int) -> None:
        held = self.replica(id)
        if held is not None:
            self._gone = held.log.lose_tail(self.fault.lost, flushed_too=not self.fault.effects.abrupt)

    def _damaged(self, id: int) -> bool:
        return self._gone > 0


class MapLost(Damaged):
    def _damage(self, id: int) -> None:
        held = self.replica(id)
        if held is not None:
            held.log.epochs = EpochMap()

    def _damaged(self, id: int) -> bool:
        held = self.replica(id)
        return held is not None and not held.log.epochs.entries


class Wiped(Damaged):
    def _damage(self, id: int) -> None:
        self.cluster.brokers[id].wipe()

    def _damaged(self, id: int) -> bool:
        return not self.cluster.brokers[id].replicas


# --- the log


class Trimmed(Effect):
    def keeps(self) -> int:
        return int(self.fault.keep)

    def prepare(self) -> None:
        self._starts = self._log_starts()

    def inject(self) -> None:
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
        """Return evidence that the log start rose on every replica."""
        now = self._log_starts()
        if any(start <= self._starts.get(id, -1) for id, start in now.items()):
            return None
        return {"log start": {self.cluster.brokers[id].name: [self._starts.get(id), now[id]] for id in now}}


class AgedOut(Trimmed):
    """Retention that deletes whole segments up to the high watermark; here each batch is one."""

    def keeps(self) -> int:
        return 2 if isinstance(self.fault, logs.RetentionBySize) else 0


class Rolled(Effect):
    """Rolled segments, of which the miniature has none: the evidence is the records that would fill them."""

    def prepare(self) -> None:
        self._end = self._log_end()

    def _log_end(self) -> int:
        leader = self._leading()
        return -1 if leader is None else leader.log.end

    def inject(self) -> None:
        for _ in range(2):
            self.write(b"of the next segment")

    def witness(self) -> Measured | None:
        end = self._log_end()
        return {"log end": [self._end, end]} if end >= self._end + 2 else None


class ProducersForgotten(Effect):
    """Producers without an open transaction, forgotten by every replica of every partition."""

    def prepare(self) -> None:
        self._were = self._times()
        self._known = self._idle()
        if not (self.fault.own_producer or any(self._known.values())):
            raise Unavailable(f"no producer is idle on {self.key[0]}-{self.key[1]}, so that there is none to forget")

    def inject(self) -> None:
        if not any(self._known.values()):
            self.write(
                b"to be forgotten", producer_id=self.cluster.transactions.new_id(), producer_epoch=0, base_sequence=0
            )
            self._known = self._idle()
        for broker in self.cluster.brokers.values():
            for held in broker.replicas.values():
                held.log.producers.expire()

    def consequence(self) -> Measured | None:
        gone = forgotten_producers(self._known, self._idle())
        return {"forgotten producers": gone} if gone else None

    def _idle(self) -> dict[str, list[int]]:
        """Return the producers without an open transaction, by the broker that knows them."""
        held = {id: self.replica(id) for id in self.before.replicas}
        known = {id: one.log.producers.known for id, one in held.items() if one is not None}
        return {f"broker-{id}": [one for one, of in of_id.items() if of.open_from < 0] for id, of_id in known.items()}

    def witness(self) -> Measured | None:
        """Return evidence that each of the partition's replicas has looked for them once more."""
        now = self._times()
        return {"times": now} if all(now[id] > times for id, times in self._were.items()) else None

    def _times(self) -> dict[int, int]:
        held = {id: self.replica(id) for id in self.before.replicas}
        return {id: one.log.producers.expiries for id, one in held.items() if one is not None}
