"""A broker's replica: as leader it maintains high watermark and ISR, as follower it copies and truncates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fixtures.wire.records import encode_batch, read_batches
from history.readings import EpochEntry
from protocol.codes import Error
from protocol.records import NewBatch, NewRecord
from tests.miniature.core.controller import PartitionState
from tests.miniature.core.log import UNDEFINED, Log, Stored

if TYPE_CHECKING:
    from tests.miniature.core.broker import Broker

LAG_ROUNDS = 600
"""Rounds without catching up after which a follower leaves the ISR (replica.lag.time.max.ms)."""
CONSUMER, DEBUGGER, FUTURE = -1, -2, -3
FETCH_WAIT = 30
"""Rounds for which a leader delays a fetch at its log end; until then the follower learns of no higher watermark
(replica.fetch.wait.max.ms)."""
FETCH_BYTES = 4_096
"""Bytes of one answer to a follower, so that a long log takes several."""
SLOW_BYTES = 1 << 20
"""The same over a slow link, where short answers gain nothing."""


@dataclasses.dataclass
class Follower:
    """A follower's state at its leader, from its fetches; `leader_end` was the leader's log end at the last one."""

    end: int = -1
    start: int = -1
    caught_up: int = 0
    fetched: int = 0
    leader_end: int = 0


@dataclasses.dataclass(frozen=True)
class Served:
    """The result of a fetch."""

    error: Error = Error.NONE
    diverging: EpochEntry | None = None
    batches: tuple[Stored, ...] = ()


@dataclasses.dataclass(frozen=True)
class UnderWay:
    """An answer in flight to a follower. Over a slow link its first batch is sent at once; the others are read from the
    file later."""

    file: Log
    batches: tuple[Stored, ...]
    watermark: int
    start: int
    due: int

    def arrived(self) -> tuple[Stored, ...] | None:
        """Return the batches as they arrive; None if the connection broke because the file ended before or within
        one."""
        if not self.batches:
            return ()
        first, *rest = self.batches
        now = self.file.read(rest[0].base, rest[-1].last + 1) if rest else []
        places = [[(one.base, one.last) for one in batches] for batches in (rest, now)]
        return (first, *now) if places[0] == places[1] else None


class Replica:
    def __init__(self, broker: Broker, state: PartitionState) -> None:
        self.broker = broker
        self.bugs = broker.cluster.bugs
        self.state = state
        self.log = Log(self.bugs)
        self.followers: dict[int, Follower] = {}
        self.epoch_start = 0
        self.led_since = -1
        self.first_reign = -1
        self._acts: tuple[int, int] | None = None
        self._parked = -1
        self._blind = False
        self._answered = 0
        self._held_until = 0
        self._encoded_again = False
        self._awaited: UnderWay | None = None

    @property
    def leads(self) -> bool:
        return self.state.leader == self.broker.id

    @property
    def round(self) -> int:
        return self.broker.cluster.round

    @property
    def stable(self) -> int:
        """The last stable offset: below open transactions, and not below the log start."""
        first = None if "open-transactions-shown" in self.bugs else self.log.producers.first_open
        return self.log.watermark if first is None else max(self.log.start, min(first, self.log.watermark))

    # --- roles

    def act_on(self, state: PartitionState) -> None:
        """Apply the current metadata; a change of leader or epoch changes the role."""
        before, self.state = self._acts, state
        self._acts = (state.leader, state.epoch)
        if self._acts != before and self.leads:
            self._lead(fresh=before is None or before[0] != state.leader)
        elif self._acts != before and state.leader >= 0:
            self._follow()
        self.advance()

    def _lead(self, fresh: bool) -> None:
        self._awaited = None
        self.followers = {id: Follower(caught_up=self.round) for id in self.state.replicas if id != self.broker.id}
        self.epoch_start = self.log.end
        if fresh:
            self.led_since = self.round
            self._cut_wrongly()
        if self.first_reign < 0:
            self.first_reign = self.state.epoch
        self.log.epochs.assign(self.state.epoch, self.log.end)

    def _follow(self) -> None:
        """Become a follower. With epochs in the cache nothing is truncated yet: the leader tells where the logs diverge
        (KIP-101)."""
        self.followers = {}
        self._awaited = None
        self._blind = False
        if "never-unparked" not in self.bugs:
            self._parked = -1
        if not self.log.epochs.entries:
            self.log.truncate(self.log.watermark)
        self._cut_wrongly()

    def _cut_wrongly(self) -> None:
        """Truncate wrongly at a change of roles, as before KIP-101 or worse."""
        if "truncated-to-watermark" in self.bugs:
            self.log.truncate(self.log.watermark)
        if "phantom-truncation" in self.bugs and self.log.batches:
            self.log.truncate(self.log.batches[-1].base)

    def start(self) -> None:
        """Load the log of a starting broker, which has no role until it gets metadata."""
        self.log.load()
        self._acts = None
        self.led_since = self._parked = self.first_reign = -1
        self.followers = {}
        self._awaited = None
        self._encoded_again = "rewritten-while-copied" in self.bugs

    # --- leading

    def append(self, data: bytes) -> Stored:
        stamp = self.state.epoch
        if "future-stamps" in self.bugs:
            stamp += 1
        if "stamp-of-first-reign" in self.bugs:
            stamp = self.first_reign
        stored = self.log.append_as_leader(data, stamp)
        self.advance()
        return stored

    def serve(self, offset: int, last: int, upto: int, max_bytes: int = 1 << 30) -> Served:
        """Serve a fetch. Divergence is checked before the range: a truncated position gets a diverging epoch
        (KIP320-FETCH-07)."""
        if last >= 0:
            known = self.log.epochs.end_of(last, self.log.end)
            if known == UNDEFINED or offset < self.log.start:
                return Served(Error.OFFSET_OUT_OF_RANGE)
            if known.epoch < last or known.start_offset < offset:
                return Served(diverging=known)
        if not self.log.start <= offset <= self.log.end:
            return Served(Error.OFFSET_OUT_OF_RANGE)
        return Served(batches=tuple(self.log.read(offset, upto, max_bytes)))

    def refusal(self, cur: int) -> Error:
        """Return the error for the epoch, else for the leadership (KIP320-FETCH-05)."""
        if cur >= 0 and cur != self.state.epoch:
            return Error.FENCED_LEADER_EPOCH if cur < self.state.epoch else Error.UNKNOWN_LEADER_EPOCH
        return Error.NONE if self.leads else Error.NOT_LEADER_OR_FOLLOWER

    def fetched_by(self, id: int, offset: int, start: int) -> None:
        """Process a follower's fetch at an offset: it has everything below."""
        known = self.followers.setdefault(id, Follower())
        known.end, known.start = offset, start
        if offset >= self.log.end:
            known.caught_up = self.round
        elif offset >= known.leader_end:
            known.caught_up = max(known.caught_up, known.fetched)
        known.fetched, known.leader_end = self.round, self.log.end
        self._let_in(id, known)
        self.advance()

    def _let_in(self, id: int, known: Follower) -> None:
        """Add a follower to the ISR that has reached the high watermark and the start of this epoch (KAFKA-7128)."""
        reached = known.end >= max(self.log.watermark, self.epoch_start)
        able = id not in self.broker.fenced_ids or "fenced-in-isr" in self.bugs
        if id in self.state.replicas and id not in self.state.isr and reached and able:
            self._alter((*self.state.isr, id))
            self._fall_back()

    def _fall_back(self) -> None:
        if "watermark-falls" in self.bugs:
            self.log.watermark = max(self.log.start, self.log.watermark - 1)
            self._held_until = self.round + 2 * FETCH_WAIT
        if "log-start-falls" in self.bugs and self.log.batches:
            self.log.start = min(self.log.start, self.log.batches[0].base)

    def _alter(self, isr: tuple[int, ...]) -> None:
        altered = self.broker.alter_isr(self.state, isr)
        if altered is not None:
            self.state = self.broker.views[self.state.key] = altered
            self.advance()

    def advance(self) -> None:
        """Advance the high watermark to what the whole ISR has, unless the ISR is too small (KAFKA-15583)."""
        if not self.leads or self.round < self._held_until:
            return
        enough = len(self.state.isr) >= self.broker.min_isr(self.state.key)
        if not enough and "success-below-min-isr" not in self.bugs:
            return
        ends = [self.followers[id].end if id in self.followers else -1 for id in self.state.isr if id != self.broker.id]
        if "stranger-in-progress-table" in self.bugs:
            ends += [known.end for id, known in self.followers.items() if id not in self.state.replicas]
        mark = min([self.log.end, *ends])
        self.log.watermark = max(mark, self.log.watermark)

    def lead_on(self) -> None:
        """Check from time to time which followers lag."""
        late = {id for id, known in self.followers.items() if self.round - known.caught_up > LAG_ROUNDS}
        if late & set(self.state.isr):
            self._alter(tuple(id for id in self.state.isr if id not in late))
        if "stale-leader-commits" in self.bugs and not self.broker.is_heard:
            self.log.watermark = self.log.end

    # --- following

    def follow_once(self, leader: Replica | None) -> None:
        """Fetch once as this follower and take the answer, or take the answer still in flight."""
        if self._awaited is not None:
            self._receive(self._awaited)
            return
        cur = self.state.epoch
        if leader is None or self._parked == cur or (self._parked >= 0 and "never-unparked" in self.bugs):
            return
        if self._has_all_of(leader):
            leader.followers[self.broker.id].caught_up = self.round
            return
        refused = leader.refusal(cur)
        if refused is Error.FENCED_LEADER_EPOCH:
            self._parked = cur
        if refused is not Error.NONE:
            return
        last, rate = -1 if self._blind else self.log.epochs.latest, self.broker.cluster.rate(leader.broker.id)
        served = leader.serve(self.log.end, last, leader.log.end, SLOW_BYTES if rate else FETCH_BYTES)
        if served.error is not Error.NONE:
            self._start_over(leader)
        elif served.diverging is not None:
            self._diverge(served.diverging)
        else:
            late = int(sum(len(stored.data) for stored in served.batches) / rate) if rate else 0
            answer = UnderWay(leader.log, served.batches, leader.log.watermark, leader.log.start, self.round + late)
            leader.fetched_by(self.broker.id, self.log.end, self.log.start)
            self._receive(answer)

    def _receive(self, answer: UnderWay) -> None:
        """Take an answer that is due, or wait for it; a change of role or epoch voids it."""
        self._awaited = answer if self.round < answer.due else None
        if self._awaited is None and (batches := answer.arrived()) is not None:
            self._append(batches, answer)

    def _has_all_of(self, leader: Replica) -> bool:
        """True if a fetch would change nothing, as for most fetches."""
        known, mine, its = leader.followers.get(self.broker.id), self.log, leader.log
        waits = mine.watermark == its.watermark or self.round - self._answered < FETCH_WAIT
        same = mine.end == its.end and mine.start == its.start and waits
        current = known is not None and (known.end, known.start) == (mine.end, mine.start)
        return same and current and leader.state == self.state and self.broker.id in leader.state.isr

    def _append(self, batches: tuple[Stored, ...], answer: UnderWay) -> None:
        self._copy(batches)
        if batches or answer.start > self.log.start or self.round - self._answered >= FETCH_WAIT:
            self._answered = self.round
            self.log.watermark = min(answer.watermark, self.log.end)
            self.log.trim(min(answer.start, self.log.end))

    def _copy(self, fetched: tuple[Stored, ...]) -> None:
        """Append only batches whose leader epoch is not above that of the request (KAFKA-18723)."""
        unlimited = not self.bugs.isdisjoint(("future-stamps", "later-epoch-appended"))
        taken = [stored for stored in fetched if stored.epoch <= self.state.epoch or unlimited]
        if "restamping-follower" in self.bugs:
            taken = [Stored.appended(stored.data, stored.base, self.state.epoch) for stored in taken]
        if self._encoded_again:
            taken = [self._encoded(stored) for stored in taken]
        self.log.append_as_follower(taken)

    def _encoded(self, stored: Stored) -> Stored:
        """Return the same records with another timestamp, as a broker that re-encodes them would write them."""
        [read] = read_batches(stored.data)
        records = tuple(NewRecord(record.value, record.key, record.headers) for record in read.records)
        encoded = NewBatch(records, timestamp=self.broker.cluster.unix_ms)
        return Stored.appended(encode_batch(encoded), stored.base, stored.epoch)

    def _start_over(self, leader: Replica) -> None:
        """Handle a position outside the leader's range: truncate to its end, or restart at its start
        (KIP101-TRUNC-06)."""
        if self.log.end < leader.log.start:
            self.log.restart_at(leader.log.start)
        elif self.log.end > leader.log.end and not self._blind:
            self.log.truncate(leader.log.end)

    def _diverge(self, diverging: EpochEntry) -> None:
        """Truncate to the end of the last common epoch; if this log ends that elsewhere, ask again (KIP-279)."""
        if "divergent-tail-kept" in self.bugs:
            self._blind = True
            return
        mine = self.log.epochs.end_of(diverging.epoch, self.log.end)
        if mine == UNDEFINED:
            to = diverging.start_offset
        elif mine.epoch != diverging.epoch:
            to = mine.start_offset
        else:
            to = min(mine.start_offset, diverging.start_offset)
        self.log.truncate(min(to, self.log.end))


__all__ = ["CONSUMER", "DEBUGGER", "FUTURE", "Follower", "Replica", "Served"]
