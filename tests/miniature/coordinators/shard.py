"""One partition of the offsets topic at the broker that leads it: loading, writing, and timers."""

from __future__ import annotations

from collections.abc import Iterator

from fixtures.wire.records import encode_batch
from protocol.codes import Error
from protocol.errors import KitError
from protocol.records import NewBatch, NewRecord
from tests.miniature.apis.log import committed
from tests.miniature.coordinators.state import TARGET, Group, Plain, Record, State
from tests.miniature.core.broker import Broker
from tests.miniature.core.configs import GROUP as GROUP_CONFIG
from tests.miniature.core.replica import Replica

DEFAULTS = {"consumer.session.timeout.ms": 45_000, "consumer.assignment.interval.ms": 0}
Timer = tuple[str, str]
"""A group and a member."""


class Refused(KitError):
    """A request that changes nothing, by its error."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.name)
        self.error = error


class Shard:
    """The groups of a partition as one coordinator knows them. Readers see only what is committed."""

    def __init__(self, broker: Broker, replica: Replica) -> None:
        self.broker, self.replica, self.bugs = broker, replica, broker.cluster.bugs
        self.epoch, self.starts = replica.state.epoch, broker.starts
        self.state, self.shown = State(self.bugs), State(self.bugs)
        self.sessions: dict[Timer, float] = {}
        self.rebalances: dict[Timer, float] = {}
        self.assigned_at: dict[str, float] = {}
        """The time of each group's last target assignment."""
        self.given_ids = 0
        self._queue: list[Record] = []
        self._unseen = 0

    @property
    def now(self) -> float:
        return self.broker.cluster.seconds

    @property
    def is_current(self) -> bool:
        """True while this broker takes itself for the leader in the same epoch, in the same process."""
        same = self.replica is self.broker.replicas.get(self.replica.state.key) and self.starts == self.broker.starts
        return same and self.replica.leads and self.replica.state.epoch == self.epoch

    @property
    def is_loaded(self) -> bool:
        """True once all that was in the log is committed and applied."""
        if self.state.loading and self.replica.log.watermark >= self.replica.log.end:
            self._replay(self.state, self.replica.log.end)
            self.state.loading = False
            self._replay(self.shown, self.replica.log.end)
            self.shown.loading = False
            self._begin_timers()
        return not self.state.loading

    def _replay(self, state: State, upto: int) -> None:
        for stored in self.replica.log.read(state.next, upto):
            state.replay(stored.read)

    def catch_up(self) -> None:
        """Apply what others wrote to the log: the ends of transactions."""
        self._replay(self.state, self.replica.log.end)

    def committed_state(self) -> State:
        """Return the groups as readers see them."""
        self._replay(self.shown, self.replica.log.watermark)
        return self.shown

    def _begin_timers(self) -> None:
        for group in self.state.groups.values():
            for member in group.members.values():
                self.renew_session(group.id, member.id, member.session_ms)
                if member.phase == "UNREVOKED_PARTITIONS":
                    self.rebalances[group.id, member.id] = self.now + member.rebalance_ms / 1000
        for id, classic in self.state.classic.items():
            for one in classic.members.values():
                self.renew_session(id, one.id, one.session_ms)

    def renew_session(self, group: str, member: str, session_ms: int) -> None:
        """Begin a member's session again; without a length of its own it is that of the group."""
        length = session_ms if session_ms > 0 else self.setting(group, "consumer.session.timeout.ms")
        key = ("", member) if "timers-by-member-id" in self.bugs else (group, member)
        if "session-ends-early" in self.bugs:
            length //= 4
        self.sessions[key] = self.now + length / 1000

    def end_timers(self, group: str, member: str) -> None:
        self.sessions.pop(("", member) if "timers-by-member-id" in self.bugs else (group, member), None)
        self.rebalances.pop((group, member), None)

    def setting(self, group: str, name: str) -> int:
        """Return a setting of a group in ms."""
        return int(self.broker.configs.get((GROUP_CONFIG, group), {}).get(name, DEFAULTS[name]))

    # --- writing

    def put(self, kind: str, key: Plain, value: Plain | None) -> None:
        """Change the state by a record, which is written with the others of this request."""
        record = Record(kind, key, value)
        self.state.apply(record, self.replica.log.end + len(self._queue))
        self._queue.append(record)

    def put_unseen(self, kind: str, key: Plain, value: Plain | None) -> None:
        """Write a record that changes nothing here."""
        self._append([Record(kind, key, value)])
        self.state.next = self.replica.log.end

    def flush(self) -> bool:
        """Append all records of a request. False if there are too few in-sync replicas, so that nothing has changed."""
        queue, self._queue = self._queue, []
        if not queue:
            return True
        if not self.is_writable:
            self.forget()
            return False
        if "target-logged-last" in self.bugs:
            queue = sorted(queue, key=lambda one: one.kind == TARGET)
        self._append(queue)
        self.state.next = self.replica.log.end
        return True

    @property
    def is_writable(self) -> bool:
        return len(self.replica.state.isr) >= self.broker.min_isr(self.replica.state.key)

    def forget(self) -> None:
        """Forget what was not appended."""
        self._queue = []
        before, self.state = self.state, State(self.bugs)
        self.state.loading = False
        self._replay(self.state, self.replica.log.end)
        for id, classic in before.classic.items():
            if id in self.state.classic and self.state.classic[id].generation <= classic.generation:
                self.state.classic[id] = classic

    @property
    def has_changes(self) -> bool:
        return bool(self._queue)

    def append_in_transaction(self, records: list[Record], producer: tuple[int, int]) -> None:
        """Append offsets of a producer's transaction."""
        self._append(records, *producer)
        self.catch_up()

    def _append(self, records: list[Record], id: int = -1, epoch: int = -1) -> None:
        encoded = (one.encoded() for one in records)
        batch = NewBatch(
            tuple(NewRecord(value, key=key) for value, key in encoded),
            producer_id=id,
            producer_epoch=epoch,
            transactional=id >= 0,
            timestamp=self.broker.cluster.unix_ms,
        )
        self.replica.append(encode_batch(batch))

    def await_commit(self) -> Error:
        """Wait until all that was appended is committed; return the error of a coordinator that cannot tell."""
        if "answered-before-replicated" in self.bugs:
            return Error.NONE
        error = committed(self.replica, self.replica.log.end, self.epoch)
        if error is Error.NOT_LEADER_OR_FOLLOWER:
            return Error.NOT_COORDINATOR
        return error if error is Error.NONE else Error.COORDINATOR_NOT_AVAILABLE

    # --- timers

    def expired(self) -> Iterator[tuple[Timer, bool]]:
        """Yield the members whose session, or else rebalance timeout, is over."""
        now = self.now
        for timers, is_session in ((self.sessions, True), (self.rebalances, False)):
            for key in [one for one, at in timers.items() if at <= now]:
                del timers[key]
                yield key, is_session

    def groups_with(self, member: str) -> list[Group]:
        return [group for group in self.state.groups.values() if member in group.members]


__all__ = ["Refused", "Shard"]
