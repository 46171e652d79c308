"""The story of each partition that a history tells of: what was read, written, said and broken, in the order of the answers.

It is taken out of the history in one pass and shared by all judges of the log (KIP-101, KIP-320). Everything in it is named by
the number of the event that shows it, so `one.event < other.event` says what was known first. A story ends where a controller
lost its quorum-state: from then on two leaders of one epoch are legal.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from typing import Any

import msgspec

from history.events import Answer, AnyEvent, Call, Fault, History, Premise

NONE = 0
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
REQUEST_TIMED_OUT = 7
OFFSET_OUT_OF_RANGE = 1
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75

LATEST, EARLIEST = -1, -2
"""The timestamps by which ListOffsets is asked for the ends of a log."""
CONSUMER = -1
FUTURE_REPLICA = -3
"""The replica id whose fetches show a replica's whole log, uncommitted tail included (catalogue, tool T2)."""

COMMITS_EPOCH_FROM, SHOWS_EPOCH_FROM = 6, 5
"""The versions of OffsetCommit and OffsetFetch from which the leader epoch is on the wire."""

HEALED = "all faults are healed and nobody writes any more"
"""The premise with which the wait for agreement begins (KIP101-INV-18)."""
AT_REST = "at rest"
"""The premise that all replicas agree; what is read after it is judged as read at rest."""
CONVERGES_WITHIN = 33.0
"""Seconds from HEALED to AT_REST: 30 and the session time-out (KIP101-INV-18, KIP320-REPL-09)."""

UNCLEAN_ELECTION = 1
UNCLEAN = ("unclean-election", "unclean-election-by-config")
DISK_LOSSES = ("cut-tail-above", "cut-tail-below", "flip-bytes", "wipe-disk")
"""Faults after which a replica has lost what it once had."""
EPOCH_FILE_LOSSES = ("remove-epoch-checkpoint", "cut-epoch-checkpoint", "old-epoch-checkpoint")
CRASHES = ("kill", "cut-tail-above")
"""Faults that certainly end a process without a word to the controller."""
RESTARTS = (*CRASHES, *EPOCH_FILE_LOSSES, "stop", "rolling-restart", "cut-tail-below", "remove-index-files", "upgrade")
"""Faults after which a process certainly began anew."""
QUORUM_STATE_LOST = "lose-quorum-state"
RUNS_ON = frozenset(
    (
        "bridge",
        "compaction",
        "cut-at-request",
        "cut-off-from-controllers",
        "delay",
        "delete-records",
        "drop",
        "drop-answer",
        "fenced-producer",
        "halves",
        "hold",
        "isolate",
        "isolated-controller-leader",
        "late-consumer",
        "late-member",
        "leader-move",
        "loss",
        "move-coordinator",
        "move-leader",
        "one-link",
        "pause",
        "pause-past-fencing",
        "paused-zombie",
        "preferred-election",
        "rate-limit",
        "reassignment",
        "recreate-topic",
        "reject",
        "retention-by-size",
        "retention-by-time",
        "ring",
        "roll-by-size",
        "roll-by-time",
    )
)
"""Faults during which the processes they hit go on, or are only frozen. All others begin a new incarnation of a node."""


DOWN = frozenset(("kill", "stop", "pause-past-fencing", "remove-index-files", *DISK_LOSSES, *EPOCH_FILE_LOSSES))
"""Faults whose nodes do nothing at all, from the witness until they are taken back."""
RETURNS = frozenset(("heal", "start", "resume"))
"""Actions by which a node may come back."""
NEVER = sys.maxsize


class Held(msgspec.Struct, frozen=True, gc=False):
    """A batch as a replica holds it. Its CRC covers everything but base offset and epoch, so equal fields are equal records.

    `records` are (offset, value); a control batch has none here.
    """

    base: int
    last: int
    epoch: int
    crc: int
    valid: bool
    control: bool
    records: tuple[tuple[int, str | None], ...]

    def __str__(self) -> str:
        return f"{self.base}-{self.last} of epoch {self.epoch} (CRC {self.crc:08x})"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what one request and its answer tell: the numbers of the call and of the answer, and who answered."""

    asked: int
    event: int
    node: str


class LogRead(Told, frozen=True, kw_only=True):
    """A Fetch that was answered without an error. `cur` is its CurrentLeaderEpoch and `last` its LastFetchedEpoch, -1 for none.

    `batches` end at or above the fetch offset. `diverging` is (epoch, end offset) where the answer has one. `whole` tells that it
    shows all that the replica holds: pieced together from the fetches that led up to an empty one, the event of which it has.
    """

    cur: int
    last: int
    replica_id: int
    fetch_offset: int
    version: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    diverging: tuple[int, int] | None
    batches: tuple[Held, ...]
    whole: bool = False

    @property
    def by_consumer(self) -> bool:
        return self.replica_id == CONSUMER

    @property
    def log_end(self) -> int:
        """Of a whole read."""
        return self.batches[-1].last + 1 if self.batches else max(self.fetch_offset, self.log_start)

    def shows(self, offset: int) -> bool:
        """Would a record at this offset, if the replica holds it, be among the batches?"""
        inside = max(self.fetch_offset, self.log_start) <= offset and self.diverging is None
        return inside and (self.whole or offset < self.high_watermark)

    def at(self, offset: int) -> Held | None:
        """The batch that covers an offset."""
        place = bisect_left(self.batches, offset, key=lambda batch: batch.last)
        found = self.batches[place] if place < len(self.batches) else None
        return found if found is not None and found.base <= offset else None

    def value_at(self, offset: int) -> str | None:
        batch = self.at(offset)
        return next((value for place, value in batch.records if place == offset), None) if batch is not None else None


class Refusal(Told, frozen=True, kw_only=True):
    """A Fetch, ListOffsets or OffsetForLeaderEpoch that was answered with an error. `position` is the offset or epoch asked for.

    `hint` is the (epoch, leader) that a Fetch was told instead (KIP-951).
    """

    op: str
    cur: int
    last: int
    replica_id: int
    position: int
    error: int
    hint: tuple[int, int] | None


class Write(Told, frozen=True, kw_only=True):
    """A Produce. `error` is -1 where nobody knows what came of it, or with acks=0; `offset` is its base offset, -1 without one.

    `failed` tells that it certainly did not reach a log: it was never sent, or refused before the append.
    """

    acks: int
    values: tuple[str, ...]
    error: int
    offset: int
    failed: bool

    @property
    def committed(self) -> bool:
        """Acknowledged with acks=all."""
        return self.acks == -1 and self.error == NONE and self.offset >= 0


class Seen(msgspec.Struct, frozen=True, gc=False):
    """Leader, epoch and ISR of the partition, as one broker's Metadata had them; `unfenced` are the brokers it named alive."""

    asked: int
    event: int
    node: str
    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    unfenced: tuple[int, ...]


class End(Told, frozen=True, kw_only=True):
    """OffsetForLeaderEpoch, answered without an error: (`epoch`, `end`) for the epoch asked for, both -1 where it is unknown."""

    cur: int
    asked_epoch: int
    epoch: int
    end: int


class Listed(Told, frozen=True, kw_only=True):
    """ListOffsets, answered without an error."""

    cur: int
    timestamp: int
    replica_id: int
    isolation_level: int
    offset: int
    epoch: int


class Trim(Told, frozen=True, kw_only=True):
    """DeleteRecords. `low_watermark` is -1 where it was refused or nobody knows (`error` -1) what came of it."""

    offset: int
    error: int
    low_watermark: int


class Commit(Told, frozen=True, kw_only=True):
    """OffsetCommit of one partition; `error` is -1 where nobody knows what came of it."""

    group: str
    offset: int
    epoch: int
    error: int


class Committed(Told, frozen=True, kw_only=True):
    """What OffsetFetch showed; offset -1 for nothing. `stable`: it was asked to wait for what is not committed yet."""

    group: str
    offset: int
    epoch: int
    stable: bool


class Delivered(msgspec.Struct, frozen=True):
    """A record that a consumer handed to its user; `consumer` and `session` (from one assignment to the next) name whose."""

    event: int
    consumer: str
    session: int
    offset: int
    epoch: int
    value: str | None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What the kit's own epoch-aware reader did: `deliver` records (offset, epoch, value), `rewind` after it was `told`
    (epoch, end offset), or `restart`. `to` is its position after it.
    """

    event: int
    reader: str
    op: str
    to: int
    told: tuple[int, int] | None
    records: tuple[tuple[int, int, str | None], ...]


class OnDisk(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica held on disk. `epochs` are (epoch, start offset), None where the file was missing.

    `batches` are (base offset, last offset, epoch, digest of all bytes).
    """

    event: int
    node: str
    log_start: int
    log_end: int
    epochs: tuple[tuple[int, int], ...] | None
    batches: tuple[tuple[int, int, int, str], ...]
    torn: str


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a fault; `partition` is what it was aimed around, empty where that was not told."""

    event: int
    fault: str
    phase: str
    role: str
    nodes: tuple[str, ...]
    partition: str
    detail: dict[str, Any]


class Span(msgspec.Struct):
    """How long a fault stood, by events: injected, witnessed, about to be taken back, and healed; NEVER for what did not come."""

    fault: str
    nodes: tuple[str, ...]
    partition: str
    detail: dict[str, Any]
    began: int
    witnessed: int = NEVER
    taken_back: int = NEVER
    ended: int = NEVER

    @property
    def phases(self) -> list[int]:
        return [event for event in (self.began, self.witnessed, self.ended) if event != NEVER]


class Cluster:
    """What all partitions of a history share: names, faults, incarnations."""

    def __init__(self, history: History) -> None:
        self.names = {int(member["id"]): str(member["name"]) for member in history.example.members}
        self.ids = {name: id for id, name in self.names.items()}
        self.brokers = frozenset(int(m["id"]) for m in history.example.members if m.get("role") != "controller")
        self.broker_names = {self.names[id] for id in self.brokers}
        self.version = tuple(int(number) for number in re.findall(r"\d+", history.example.column)[:3])
        """As the column says it."""
        self.spans: list[Span] = []
        self.faults: list[Broken] = []
        self.healed = -1
        """The event of HEALED, and of AT_REST where it was met; -1 where there is none."""
        self.rest = -1
        self.disagreed = -1
        """The event of AT_REST where it was not met in time."""
        self._starts: dict[str, list[int]] = {}
        self._events = history.events

    def time(self, event: int) -> float:
        """Seconds since the example began."""
        return self._events[event].t

    def incarnation(self, node: str, event: int) -> int:
        """Which life of the node this was: it rises with every fault that may have begun a new one."""
        return bisect_left(self._starts.get(node, ()), event)

    def faults_between(self, first: int, second: int) -> list[Broken]:
        place = bisect_left(self.faults, first + 1, key=lambda fault: fault.event)
        return self.faults[place : bisect_left(self.faults, second, key=lambda fault: fault.event)]

    def fault_between(self, first: int, second: int) -> bool:
        place = bisect_left(self.faults, first + 1, key=lambda fault: fault.event)
        return place < len(self.faults) and self.faults[place].event < second

    def standing(self, first: int, second: int) -> list[Span]:
        """Faults that stood at any time between two events."""
        return [span for span in self.spans if span.began < second and first < span.ended]

    def down(self, node: str, first: int, second: int) -> bool:
        """Did the node certainly do nothing from one event to the other?"""
        downs = (span for span in self.spans if span.fault in DOWN and node in span.nodes)
        return any(span.witnessed < first and second < min(span.taken_back, span.ended) for span in downs)

    def note_return(self, call: Call) -> None:
        for span in self.spans:
            mine = call.node in span.nodes or call.request.get("fault") == span.fault
            if mine and span.taken_back == NEVER:
                span.taken_back = call.n

    def _note_span(self, fault: Broken) -> None:
        if fault.fault == "leader-move":  # nothing stands
            return
        if fault.phase == "inject":
            self.spans.append(Span(fault.fault, fault.nodes, fault.partition, fault.detail, fault.event))
            return
        mine = (s for s in self.spans if (s.fault, s.nodes) == (fault.fault, fault.nodes) and s.ended == NEVER)
        if (span := next(mine, None)) is not None:
            if fault.phase == "witness":
                span.witnessed = fault.event
            else:
                span.ended = fault.event

    def note_fault(self, fault: Broken) -> None:
        self.faults.append(fault)
        self._note_span(fault)
        if fault.fault not in RUNS_ON:
            for node in fault.nodes:
                self._starts.setdefault(node, []).append(fault.event)


class PartitionStory:
    """One partition; lists are in the order of the answers."""

    def __init__(self, name: str, cluster: Cluster, configs: dict[str, str]) -> None:
        self.name = name
        self.cluster = cluster
        self.configs = configs
        self.reads: list[LogRead] = []
        self.refusals: list[Refusal] = []
        self.writes: list[Write] = []
        self.seen: list[Seen] = []
        self.ends: list[End] = []
        self.listed: list[Listed] = []
        self.trims: list[Trim] = []
        self.commits: list[Commit] = []
        self.committed: list[Committed] = []
        self.delivered: list[Delivered] = []
        self.steps: list[Step] = []
        self.disk: list[OnDisk] = []
        self.knowledge: object = None
        """What was found out of it for several judges (`knowledge`)."""
        self.elections: list[int] = []
        """The calls by which an unclean election of it was asked for."""

    # --- preconditions

    @property
    def deletes(self) -> bool:
        """cleanup.policy=delete: replicas hold the same bytes, and offsets have no holes. Internal topics are compacted."""
        return not self.name.startswith("__") and "compact" not in self.configs.get("cleanup.policy", "delete")

    @property
    def min_insync_replicas(self) -> int:
        return int(self.configs.get("min.insync.replicas", "1"))

    @cached_property
    def losses(self) -> list[int]:
        """The events at which what was acknowledged before may have been lost by permission.

        An unclean election; disks that lost something, of as many replicas as acks=all may have waited for, or of one that led
        all the same; a lost epoch file, without which a replica may keep what the leader has not; a leader that was in nobody's
        ISR when the partition had none (a last-known-leader election of KIP-966).
        """
        files = [event for span in self._hits(EPOCH_FILE_LOSSES) for event in span.phases]
        own = [span for span in self._hits(UNCLEAN) if span.partition and not span.detail.get("own_topic", True)]
        unclean = [event for span in own for event in span.phases]
        return sorted([*self.elections, *unclean, *self._lost_disks(), *files, *self._last_known_leaders()])

    def clean_since(self, event: int) -> bool:
        """Is the history clean and the disk intact from this event on (INV-05, INV-06, INV-07)?"""
        return not self.losses or self.losses[-1] < event

    def clean_between(self, first: int, second: int) -> bool:
        """Was nothing lost by permission between two events?"""
        return bisect_left(self.losses, first) == bisect_left(self.losses, second)

    def _hits(self, kinds: tuple[str, ...]) -> list[Span]:
        """Faults of these kinds that were aimed at a replica of this partition, or at all that a broker holds."""
        mine = ("", self.name)
        return [s for s in self.cluster.spans if s.fault in kinds and (s.partition in mine or s.fault == "wipe-disk")]

    def _lost_disks(self) -> Iterator[int]:
        hits = self._hits(DISK_LOSSES)
        for span in hits:
            standing = [one for one in hits if one.began <= span.began < one.ended]
            damaged = {node: one.began for one in standing for node in one.nodes}
            if len(damaged) >= self.min_insync_replicas:
                yield sorted(damaged.values())[-self.min_insync_replicas]
            if any(self._led_alone(node, span.began) for node in span.nodes):
                yield span.began

    def _led_alone(self, node: str, event: int) -> bool:
        """May the node have been the only one in the ISR: as some broker saw it, or since it led next all the same?"""
        last = {seen.node: seen for seen in self.seen if seen.event < event}
        if any(len(seen.isr) < 2 for seen in last.values()):
            return True
        after = [epoch for epoch in self.leaders if epoch > self.newest_epoch_before(event)]
        return bool(after) and self.leaders[min(after)] == node

    def _last_known_leaders(self) -> Iterator[int]:
        leaderless: Seen | None = None
        for seen in sorted(self.seen, key=lambda one: (one.epoch, one.event)):
            if seen.leader < 0:
                leaderless = seen
            elif leaderless is not None and seen.epoch > leaderless.epoch:
                if seen.leader not in leaderless.isr:
                    yield leaderless.event
                leaderless = None

    @cached_property
    def files_lost(self) -> dict[str, int]:
        """Nodes whose epoch file or log was damaged, with the event of the first time."""
        return self._first_hits((*EPOCH_FILE_LOSSES, *DISK_LOSSES))

    def file_intact(self, node: str, event: int) -> bool:
        return self.files_lost.get(node, event + 1) > event

    @cached_property
    def maps_lost(self) -> dict[str, int]:
        """Nodes whose epoch file alone was damaged, with the event of the first time."""
        return self._first_hits(EPOCH_FILE_LOSSES)

    def maps_intact(self, event: int) -> bool:
        """Had every replica its epochs until then? One that had not may have kept a tail of its own, and handed it on."""
        return all(first > event for first in self.maps_lost.values())

    def _first_hits(self, kinds: tuple[str, ...]) -> dict[str, int]:
        found: dict[str, int] = {}
        for span in self._hits(kinds):
            for node in span.nodes:
                found.setdefault(node, span.began)
        return found

    @cached_property
    def rotten(self) -> bool:
        """Were bytes of it flipped? A batch with a wrong CRC is then none of Kafka's."""
        return bool(self._first_hits(("flip-bytes",)))

    def stays(self, node: str) -> bool:
        """Was it always a replica? One that is taken away and given back begins anew."""
        return node in self._always

    @cached_property
    def _always(self) -> set[str]:
        names = self.cluster.names
        moved = {node for span in self._hits(("reassignment",)) for node in span.nodes}
        always = set(names.values()) - moved
        for seen in self.seen:
            if seen.replicas:
                always &= {names.get(id, "") for id in seen.replicas}
        return always

    # --- who led

    @cached_property
    def leaders(self) -> dict[int, str]:
        """Epoch -> name of its leader, as first seen."""
        found: dict[int, str] = {}
        for seen in self.seen:
            if seen.leader >= 0:
                found.setdefault(seen.epoch, self.cluster.names.get(seen.leader, ""))
        return found

    def may_lead(self, epoch: int) -> bool:
        """Did the epoch have a leader, as far as anybody said?"""
        return epoch in self.leaders or epoch not in self._first_named

    def began(self, epoch: int) -> int:
        """The event that first named an epoch; -1 where none did."""
        return self._first_named.get(epoch, -1)

    @cached_property
    def _first_named(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for seen in self.seen:
            found.setdefault(seen.epoch, seen.event)
        return found

    def led(self, told: LogRead | End | Listed) -> bool:
        """Was it answered by the leader of the epoch that it named?"""
        return told.cur >= 0 and self.leaders.get(told.cur) == told.node

    def incarnation(self, told: Told | Seen) -> int:
        return self.cluster.incarnation(told.node, told.event)

    def newest_epoch_before(self, event: int) -> int:
        """The newest epoch that anybody had named before; -1 for none."""
        place = bisect_left(self._epochs_by_event, event, key=lambda pair: pair[0])
        return self._epochs_by_event[place - 1][1] if place else -1

    @cached_property
    def _epochs_by_event(self) -> list[tuple[int, int]]:
        newest = -1
        return [(seen.event, newest := max(newest, seen.epoch)) for seen in self.seen]

    # --- at rest

    def at_rest(self, told: Told | OnDisk | Seen) -> bool:
        return 0 <= self.cluster.rest < told.event

    @cached_property
    def batches(self) -> list[tuple[Held, int]]:
        """All that were ever read, each with the event of the first time."""
        found: dict[int, tuple[Held, int]] = {}
        for read in self.reads:
            for batch in read.batches:
                found.setdefault(id(batch), (batch, read.event))
        return list(found.values())

    @cached_property
    def highest_log_start(self) -> float:
        """How far the log start may have been anywhere; faults that move it do not tell."""
        if self._hits(("delete-records", "retention-by-size", "retention-by-time", "clock-shift")):
            return inf
        trims = (max(trim.offset, trim.low_watermark) if trim.offset >= 0 else inf for trim in self.trims)
        return max([0.0, *trims, *(read.log_start for read in self.reads)])

    @cached_property
    def whole_reads(self) -> list[LogRead]:
        return [read for read in self.reads if read.whole]


def stories(history: History) -> list[PartitionStory]:
    """The partitions that the history tells of, by name."""
    return list(_Reader(history).read().values())


class _Reader:
    """Reads a history once. Internal topics are partitions like others: what is known of them is told of them."""

    def __init__(self, history: History) -> None:
        self.cluster = Cluster(history)
        self.partitions: dict[str, PartitionStory] = {}
        self._configs: dict[str, dict[str, str]] = {}
        self._held: dict[tuple[int, int, int, int, bool], Held] = {}
        self._sessions: dict[str, int] = {}
        self._pieces: dict[tuple[str, str], list[LogRead]] = {}
        self._events = history.events
        self._ops: dict[str, Callable[[Call, Answer], None]] = {
            "create_topics": self._create_topics,
            "metadata": self._metadata,
            "produce": self._produce,
            "fetch": self._fetch,
            "list_offsets": self._list_offsets,
            "offset_for_leader_epoch": self._end_of_epoch,
            "delete_records": self._delete_records,
            "elect_leaders": self._elect_leaders,
            "offset_commit": self._offset_commit,
            "txn_offset_commit": self._txn_offset_commit,
            "offset_fetch": self._offset_fetch,
            "poll": self._poll,
            "assigned": self._assigned,
            "deliver": self._step,
            "rewind": self._step,
            "restart": self._step,
            "replicas": self._replicas,
        }

    def read(self) -> dict[str, PartitionStory]:
        calls: dict[int, Call] = {}
        for event in self._events:
            if isinstance(event, Call):
                calls[event.n] = event
                if event.op in RETURNS:
                    self.cluster.note_return(event)
            elif isinstance(event, Answer):
                call = calls.pop(event.call)
                if (op := self._ops.get(call.op)) is not None:
                    op(call, event)
            elif isinstance(event, Fault) and event.fault == QUORUM_STATE_LOST:
                break
            else:
                self._surroundings(event)
        return dict(sorted(self.partitions.items()))

    def _surroundings(self, event: AnyEvent) -> None:
        if isinstance(event, Fault):
            self.cluster.note_fault(_broken(event))
        elif isinstance(event, Premise) and event.what == HEALED and event.met:
            self.cluster.healed = event.n
        elif isinstance(event, Premise) and event.what == AT_REST:
            self.cluster.rest, self.cluster.disagreed = (event.n, -1) if event.met else (-1, event.n)

    def _partition(self, topic: Any, index: int) -> PartitionStory:
        name = topic if isinstance(topic, str) else topic["name"]
        key = f"{name}-{index}"
        found = self.partitions.get(key)
        if found is None:
            found = self.partitions[key] = PartitionStory(key, self.cluster, self._configs.get(name, {}))
        return found

    # --- what was asked and answered

    def _create_topics(self, call: Call, _: Answer) -> None:
        for topic in call.request["topics"]:
            self._configs[topic["name"]] = topic["configs"]

    def _metadata(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        unfenced = tuple(broker["node_id"] for broker in answer.value["brokers"])
        for topic in answer.value["topics"]:
            for p in topic["partitions"]:
                # LEADER_NOT_AVAILABLE comes with all else that is known.
                seen = Seen(
                    call.n,
                    answer.n,
                    call.node,
                    p["leader_id"],
                    p["leader_epoch"],
                    tuple(p["isr_nodes"]),
                    tuple(p["replica_nodes"]),
                    unfenced,
                )
                self._partition(topic["name"], p["partition_index"]).seen.append(seen)

    def _produce(self, call: Call, answer: Answer) -> None:
        request, value = call.request, answer.value
        records = request["records"]
        # Bytes in place of a batch, or none, have no values of ours.
        values = tuple(one["value"] for one in records["records"]) if isinstance(records, dict) else ()
        told = answer.outcome == "ok" and request["acks"] != 0
        error = value["error_code"] if told else -1
        write = Write(
            asked=call.n,
            event=answer.n,
            node=call.node,
            acks=request["acks"],
            values=values,
            error=error,
            offset=value["base_offset"] if told else -1,
            failed=answer.outcome == "fail" or error == NOT_ENOUGH_REPLICAS,
        )
        self._partition(request["topic"], request["partition"]).writes.append(write)

    def _fetch(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        request, value = call.request, answer.value
        partition = self._partition(request["topic"], request["partition"])
        if value["error_code"] != NONE:
            partition.refusals.append(_refusal(call, answer, request["fetch_offset"]))
            return
        diverging = value["diverging_epoch"]
        read = LogRead(
            asked=call.n,
            event=answer.n,
            node=call.node,
            cur=request["current_leader_epoch"],
            last=request["last_fetched_epoch"],
            replica_id=request["replica_id"],
            fetch_offset=request["fetch_offset"],
            version=value["version"],
            high_watermark=value["high_watermark"],
            last_stable_offset=value["last_stable_offset"],
            log_start=value["log_start_offset"],
            diverging=(diverging["epoch"], diverging["end_offset"]) if diverging is not None else None,
            batches=tuple(
                self._batch(partition.name, batch)
                for batch in value["batches"]
                if batch["last_offset"] >= request["fetch_offset"]
            ),
        )
        if read.replica_id == FUTURE_REPLICA:
            self._piece_together(partition, read)
        else:
            partition.reads.append(read)

    def _piece_together(self, partition: PartitionStory, read: LogRead) -> None:
        """A Fetch shows the rest of one segment: a log is whole once a fetch from the end of the last one shows nothing.

        The whole read then stands in place of its pieces, with the offsets that the last of them was answered.
        """
        key = (partition.name, read.node)
        pieces = self._pieces.pop(key, [])
        if pieces and not (pieces[0].cur == read.cur and read.fetch_offset == pieces[-1].batches[-1].last + 1):
            pieces = []
        partition.reads.append(read)
        if read.diverging is not None or not (pieces or read.fetch_offset <= read.log_start):
            return
        if read.batches:
            self._pieces[key] = [*pieces, read]
            return
        begin = pieces[0] if pieces else read
        batches = tuple(batch for piece in pieces for batch in piece.batches)
        for piece in (read, *reversed(pieces)):
            _remove_last(partition.reads, piece)
        partition.reads.append(
            msgspec.structs.replace(
                read, asked=begin.asked, fetch_offset=begin.fetch_offset, batches=batches, whole=True
            )
        )

    def _batch(self, partition: str, batch: dict[str, Any]) -> Held:
        """The same batch is read many times over; one object stands for all of these."""
        key = (batch["base_offset"], batch["last_offset"], batch["leader_epoch"], batch["crc"], batch["crc_valid"])
        found = self._held.get(key)
        if found is None:
            records = () if batch["control"] else tuple((one["offset"], one["value"]) for one in batch["records"])
            found = self._held[key] = Held(*key, batch["control"], records)
        return found

    def _list_offsets(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        request, value = call.request, answer.value
        partition = self._partition(request["topic"], request["partition"])
        if value["error_code"] != NONE:
            partition.refusals.append(_refusal(call, answer, request["timestamp"]))
            return
        partition.listed.append(
            Listed(
                asked=call.n,
                event=answer.n,
                node=call.node,
                cur=request["current_leader_epoch"],
                timestamp=request["timestamp"],
                replica_id=request["replica_id"],
                isolation_level=request["isolation_level"],
                offset=value["offset"],
                epoch=value["leader_epoch"],
            )
        )

    def _end_of_epoch(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        request, value = call.request, answer.value
        partition = self._partition(request["topic"], request["partition"])
        if value["error_code"] != NONE:
            partition.refusals.append(_refusal(call, answer, request["leader_epoch"]))
            return
        partition.ends.append(
            End(
                asked=call.n,
                event=answer.n,
                node=call.node,
                cur=request["current_leader_epoch"],
                asked_epoch=request["leader_epoch"],
                epoch=value["leader_epoch"],
                end=value["end_offset"],
            )
        )

    def _delete_records(self, call: Call, answer: Answer) -> None:
        told = answer.outcome == "ok"
        error = answer.value["error_code"] if told else -1
        trim = Trim(
            asked=call.n,
            event=answer.n,
            node=call.node,
            offset=call.request["offset"],
            error=error,
            low_watermark=answer.value["low_watermark"] if error == NONE else -1,
        )
        self._partition(call.request["topic"], call.request["partition"]).trims.append(trim)

    def _elect_leaders(self, call: Call, answer: Answer) -> None:
        if call.request["election_type"] == UNCLEAN_ELECTION and answer.outcome != "fail":
            for topic, index in call.request["partitions"] or ():
                self._partition(topic, index).elections.append(call.n)

    def _offset_commit(self, call: Call, answer: Answer) -> None:
        told = answer.value.get("version", COMMITS_EPOCH_FROM) if answer.outcome == "ok" else COMMITS_EPOCH_FROM
        for wanted in call.request["offsets"]:
            epoch = wanted["leader_epoch"] if told >= COMMITS_EPOCH_FROM else -1
            self._commit(call, answer, wanted, epoch, _error_of(answer, wanted["topic"], wanted["partition"]))

    def _txn_offset_commit(self, call: Call, answer: Answer) -> None:
        """It shows when the transaction is committed: whether and when that was is not looked up."""
        for wanted in call.request["offsets"]:
            self._commit(call, answer, wanted, wanted["leader_epoch"], -1)

    def _commit(self, call: Call, answer: Answer, wanted: dict[str, Any], epoch: int, error: int) -> None:
        commit = Commit(
            asked=call.n,
            event=answer.n,
            node=call.node,
            group=call.request.get("group") or call.request["group_id"],
            offset=wanted["offset"],
            epoch=epoch,
            error=error,
        )
        self._partition(wanted["topic"], wanted["partition"]).commits.append(commit)

    def _offset_fetch(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok" or answer.value["error_code"] != NONE:
            return
        if answer.value.get("version", SHOWS_EPOCH_FROM) < SHOWS_EPOCH_FROM:
            return
        names = {_id_of(topic): topic for topic, _ in call.request["partitions"] or ()}
        for p in answer.value["partitions"]:
            topic = p["topic"] if p["topic"] is not None else names.get(p["topic_id"])
            if p["error_code"] == NONE and topic is not None:
                committed = Committed(
                    asked=call.n,
                    event=answer.n,
                    node=call.node,
                    group=call.request["group"],
                    offset=p["committed_offset"],
                    epoch=p["committed_leader_epoch"],
                    stable=call.request["require_stable"],
                )
                self._partition(topic, p["partition"]).committed.append(committed)

    # --- consumers

    def _assigned(self, call: Call, _: Answer) -> None:
        """A consumer begins anew: it was assigned, or rebalanced."""
        self._sessions[call.node] = self._sessions.get(call.node, 0) + 1

    def _poll(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        session = self._sessions.get(call.node, 0)
        for one in answer.value["records"]:
            delivered = Delivered(answer.n, call.node, session, one["offset"], one["leader_epoch"], one["value"])
            self._partition(one["topic"], one["partition"]).delivered.append(delivered)

    def _step(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok" or "topic" not in call.request:
            return
        request, told = call.request, call.request.get("told")
        step = Step(
            event=answer.n,
            reader=call.node,
            op=call.op,
            to=answer.value["offset"],
            told=(told["epoch"], told["end_offset"]) if told is not None else None,
            records=tuple((one["offset"], one["epoch"], one["value"]) for one in request.get("records", ())),
        )
        self._partition(request["topic"], request["partition"]).steps.append(step)

    # --- disks

    def _replicas(self, _: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        for one in answer.value["replicas"]:
            topic, _dash, index = one["partition"].rpartition("-")
            epochs = one["epochs"]
            held = OnDisk(
                event=answer.n,
                node=one["node"],
                log_start=one["log_start"],
                log_end=one["log_end"],
                epochs=None if epochs is None else tuple((e["epoch"], e["start_offset"]) for e in epochs),
                batches=tuple(
                    (b["base_offset"], b["last_offset"], b["leader_epoch"], b["digest"]) for b in one["batches"]
                ),
                torn=one["torn"],
            )
            self._partition(topic, int(index)).disk.append(held)


def _remove_last(reads: list[LogRead], one: LogRead) -> None:
    del reads[next(place for place in range(len(reads) - 1, -1, -1) if reads[place] is one)]


def _refusal(call: Call, answer: Answer, position: int) -> Refusal:
    hint = answer.value.get("current_leader")
    return Refusal(
        asked=call.n,
        event=answer.n,
        node=call.node,
        op=call.op,
        cur=call.request["current_leader_epoch"],
        last=call.request.get("last_fetched_epoch", -1),
        replica_id=call.request.get("replica_id") or CONSUMER,
        position=position,
        error=answer.value["error_code"],
        hint=(hint["leader_epoch"], hint["leader_id"]) if hint is not None and hint["leader_id"] >= 0 else None,
    )


def _broken(event: Fault) -> Broken:
    return Broken(
        event=event.n,
        fault=event.fault,
        phase=event.phase,
        role=event.role,
        nodes=tuple(name for name in event.node.split(",") if name),
        partition=str(event.detail.get("partition", "")),
        detail=event.detail,
    )


def _error_of(answer: Answer, topic: Any, index: int) -> int:
    """The error of one partition of an OffsetCommit; -1 where nobody knows, -2 where it never left."""
    if answer.outcome != "ok":
        return -2 if answer.outcome == "fail" else -1
    name = topic if isinstance(topic, str) else topic["name"]
    for p in answer.value["partitions"]:
        if p["partition"] == index and p["topic"] in (name, None):
            return int(p["error_code"])
    return -1


def _id_of(topic: Any) -> Any:
    return None if isinstance(topic, str) else topic["id"]
