"""The coordinator of all transactional ids, which loses nothing: any broker in the role acts on the same state."""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING

from fixtures.wire.records import encode_batch
from protocol.codes import Error
from protocol.records import ControlType, NewBatch, NewRecord
from tests.miniature.core.controller import Key

if TYPE_CHECKING:
    from tests.miniature.core.cluster import MiniCluster
    from tests.miniature.core.replica import Replica

FIRST_ID = 1_000
OPEN, ENDED = ("Ongoing",), ("Empty", "CompleteCommit", "CompleteAbort")
LAST_EPOCH = 32_766
"""The highest epoch of a client, followed by another producer id."""

OffsetKey = tuple[str, str, int]
"""A group, topic and partition."""
OffsetFields = tuple[int, int, str | None]


@dataclasses.dataclass
class Transaction:
    """One transactional id's state; `offsets` are pending commits, each with its place among all."""

    id: int
    epoch: int
    timeout_ms: int
    state: str = "Empty"
    partitions: set[Key] = dataclasses.field(default_factory=set)
    groups: set[str] = dataclasses.field(default_factory=set)
    offsets: dict[OffsetKey, tuple[int, OffsetFields]] = dataclasses.field(default_factory=dict)
    unmarked: dict[Key, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Partitions without a committed marker; the leader epoch and log end of the last marker appended there."""
    began_ms: int = -1
    ended_as: tuple[int, int] = (-1, -1)
    """The producer id and epoch of the last end, which may be repeated."""
    retried: tuple[int, int] = (-1, -1)
    """The producer id and epoch with which its producer requested the current ones, and may retry (KIP-360)."""
    next_id: int = -1
    """The next producer id, granted by the end at the last epoch and used once the markers are written."""
    busy: bool = True

    @property
    def known_as(self) -> tuple[int, int]:
        """The producer id and epoch known to the client."""
        return (self.id, self.epoch) if self.next_id < 0 else (self.next_id, 0)


class Transactions:
    def __init__(self, cluster: MiniCluster) -> None:
        self.cluster = cluster
        self.by_name: dict[str, Transaction] = {}
        self._next_id = FIRST_ID
        self._commits = 0
        self._kept: dict[OffsetKey, int] = {}
        self._role: int | None = None
        """The last broker that coordinated."""

    def new_id(self) -> int:
        if "ids-given-twice" not in self.cluster.bugs or self._next_id % 2:
            self._next_id += 1
        return self._next_id

    # --- requests

    def init(self, name: str, timeout_ms: int, id: int, epoch: int) -> tuple[Error, Transaction | None]:
        """Start a new instance, or bump the current one's epoch."""
        one = self.by_name.get(name)
        if one is None:
            one = self.by_name[name] = Transaction(self.new_id(), 0, timeout_ms)
            return Error.NONE, one
        asked, again = (id, epoch), epoch >= 0 and (id, epoch) == one.retried
        rotates = one.next_id >= 0 and asked == one.ended_as
        if epoch >= 0 and not (again or rotates or asked in ((one.id, one.epoch), one.known_as)):
            return Error.PRODUCER_FENCED, None
        if one.state in OPEN and again:
            return Error.NONE, one
        if one.state in OPEN:  # also without partitions: the abort is complete only after the answer
            self._abort(one, asked)
            return Error.CONCURRENT_TRANSACTIONS, None
        if one.state.startswith("Prepare") or (one.epoch >= 2 and "third-instance-never-given" in self.cluster.bugs):
            return Error.CONCURRENT_TRANSACTIONS, None
        if not again or one.epoch > LAST_EPOCH or (id != one.id and "rotated-again" in self.cluster.bugs):
            self._raise(one, asked)
        one.state, one.timeout_ms, one.busy = "Empty", timeout_ms, True
        return Error.NONE, one

    def _raise(self, one: Transaction, asked: tuple[int, int]) -> None:
        one.retried, one.ended_as = asked, (-1, -1)
        if (one.epoch >= LAST_EPOCH and not self._passes_last) or asked[0] not in (-1, one.id):
            one.id, one.epoch = self.new_id(), 0
        elif "epoch-not-raised" not in self.cluster.bugs:
            one.epoch += 2 if "epoch-skipped" in self.cluster.bugs else 1

    @property
    def _passes_last(self) -> bool:
        return "last-epoch-passed" in self.cluster.bugs

    def _abort(self, one: Transaction, retried: tuple[int, int] = (-1, -1)) -> None:
        """Abort the transaction at the next epoch."""
        one.retried, one.ended_as, one.epoch = retried, (one.id, one.epoch), one.epoch + 1
        self._end(one, committed=False)

    def entered(self, name: str, id: int, epoch: int) -> tuple[Error, Transaction | None]:
        """Return the transaction to which a request at this epoch may add."""
        one = self.by_name.get(name)
        if one is None or one.known_as[0] != id:
            return Error.INVALID_PRODUCER_ID_MAPPING, None
        if epoch != one.known_as[1] and "fenced-request-granted" not in self.cluster.bugs:
            return Error.PRODUCER_FENCED, None
        busy, one.busy = one.busy and "busy-at-rest" in self.cluster.bugs, False
        if one.unmarked or busy:
            return Error.CONCURRENT_TRANSACTIONS, None
        return Error.NONE, one

    def begin(self, one: Transaction) -> None:
        if one.state not in OPEN:
            one.state, one.partitions, one.groups, one.offsets = "Ongoing", set(), set(), {}
            one.began_ms = self.cluster.unix_ms
            one.retried = one.retried if one.retried[0] == one.id else (-1, -1)

    def verify(self, name: str, id: int, epoch: int, key: Key, *, adds: bool, abortable: bool) -> Error:
        """Check that a write belongs to an open transaction; with transaction version 2 it begins one (KIP-890)."""
        error, one = self.entered(name, id, epoch)
        if error is Error.PRODUCER_FENCED and "fenced-write-as-producer-fenced" not in self.cluster.bugs:
            return Error.INVALID_PRODUCER_EPOCH
        if error is Error.CONCURRENT_TRANSACTIONS and not adds:
            return Error.NOT_ENOUGH_REPLICAS
        if one is None or error is not Error.NONE:
            return error
        if adds:
            self.begin(one)
            one.partitions.add(key)
        refused = Error.TRANSACTION_ABORTABLE if abortable else Error.INVALID_TXN_STATE
        return Error.NONE if one.state in OPEN and key in one.partitions else refused

    def end(self, name: str, id: int, epoch: int, *, committed: bool, bumps: bool) -> tuple[Error, Transaction | None]:
        error, one = self.entered(name, id, epoch)
        known, bugs = self.by_name.get(name), self.cluster.bugs
        repeats = known is not None and known.state not in ("Empty", *OPEN)
        if known is not None and repeats and bumps and known.ended_as == (id, epoch):
            return self._ended_again(known, committed)
        if error is Error.PRODUCER_FENCED and "fenced-end-as-invalid-state" in bugs:
            return Error.INVALID_TXN_STATE, None
        if known is not None and error is Error.CONCURRENT_TRANSACTIONS and known.unmarked:
            return (Error.PRODUCER_FENCED, None) if bumps else self._ended_again(known, committed)
        if one is None or error is not Error.NONE:
            return error, None
        if one.state in OPEN or (bumps and not committed):
            if bumps:
                one.next_id = self.new_id() if one.epoch >= LAST_EPOCH and not self._passes_last else -1
                one.retried, one.ended_as, one.epoch = (-1, -1), (one.id, one.epoch), one.epoch + 1
            self._end(one, committed)
            return Error.NONE, one
        if bumps or one.state == "Empty":
            granted = "end-of-nothing-granted" in bugs
            return (Error.NONE if granted else Error.INVALID_TXN_STATE), one
        return self._ended_again(one, committed)

    def _ended_again(self, one: Transaction, committed: bool) -> tuple[Error, Transaction | None]:
        same = one.state.endswith("Commit" if committed else "Abort")
        if not same and "late-commit-granted" not in self.cluster.bugs:
            return Error.INVALID_TXN_STATE, None
        return (Error.CONCURRENT_TRANSACTIONS, None) if one.unmarked else (Error.NONE, one)

    # --- markers

    def _end(self, one: Transaction, committed: bool) -> None:
        is_open = one.state in OPEN
        one.state = "PrepareCommit" if committed else "PrepareAbort"
        one.unmarked = dict.fromkeys(sorted(one.partitions if is_open else ()), (-1, -1))
        if "last-partition-unmarked" in self.cluster.bugs and len(one.unmarked) > 1:
            one.unmarked.popitem()
        self._complete(one)

    def tick(self) -> None:
        """Send markers to available leaders until they are committed."""
        self._pass_on()
        for one in self.by_name.values():
            if one.state in OPEN and self.cluster.unix_ms > one.began_ms + one.timeout_ms:
                self._abort(one)
            for key in list(one.unmarked):
                if self._marked(one, key):
                    del one.unmarked[key]
            if one.state.startswith("Prepare"):
                self._complete(one)

    def _pass_on(self) -> None:
        """Move the role to another broker, with all state."""
        before, self._role = self._role, self.cluster.coordinator
        if before not in (None, self._role) and "prepared-reopened" in self.cluster.bugs:
            for one in self.by_name.values():
                if one.state == "PrepareCommit":
                    one.state, one.unmarked, one.began_ms = "Ongoing", {}, self.cluster.unix_ms

    def _marked(self, one: Transaction, key: Key) -> bool:
        """True if the partition has its marker; a deleted one needs none."""
        state = self.cluster.controller.partitions.get(key)
        if state is None:
            return True
        leader = self.cluster.brokers.get(state.leader)
        replica = leader.replicas.get(key) if leader is not None and leader.status == "running" else None
        if replica is None or not replica.leads or replica.state.epoch != state.epoch:
            return False
        epoch, end = one.unmarked[key]
        if epoch == state.epoch:
            return replica.log.watermark >= end
        if len(replica.state.isr) >= replica.broker.min_isr(key):
            one.unmarked[key] = (state.epoch, self._mark(one, replica))
        return False

    def _mark(self, one: Transaction, replica: Replica) -> int:
        """Append the marker; return the log end offset."""
        committed = one.state == "PrepareCommit"
        if "every-third-commit-aborted" in self.cluster.bugs and replica.log.end % 3 == 0:
            committed = False
        return replica.append(marker(one, committed, self.cluster.unix_ms)).last + 1

    def _complete(self, one: Transaction) -> None:
        if one.unmarked or (len(one.partitions) > 1 and "spread-transaction-stays-prepared" in self.cluster.bugs):
            return
        if one.state == "PrepareCommit" or "aborted-offsets-kept" in self.cluster.bugs:
            for key, (place, fields) in one.offsets.items():
                self._keep(key, place, fields)
        one.offsets = {}
        one.state = one.state.replace("Prepare", "Complete")
        (one.id, one.epoch), one.next_id = one.known_as, -1

    def commit(self, one: Transaction, key: OffsetKey, fields: OffsetFields) -> None:
        self._commits += 1
        one.offsets[key] = (self._commits, fields)

    def _keep(self, key: OffsetKey, place: int, fields: OffsetFields) -> None:
        """Keep the offset written last, whatever the order of the markers."""
        if place > self._kept.get(key, -1):
            self._kept[key] = place
            self.cluster.offsets[key] = fields


def marker(one: Transaction, committed: bool, timestamp: int) -> bytes:
    """Return the control batch that ends a transaction in a log."""
    type = ControlType.COMMIT if committed else ControlType.ABORT
    record = NewRecord(struct.pack(">hi", 0, 0), key=struct.pack(">hh", 0, type))
    return encode_batch(
        NewBatch(
            (record,),
            producer_id=one.id,
            producer_epoch=one.epoch,
            transactional=True,
            control=True,
            timestamp=timestamp,
        )
    )


__all__ = ["Transaction", "Transactions", "marker"]
