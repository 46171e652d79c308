"""What the steps of the log machine do: requests by role, consumers, and faults around one of five partitions.

Whatever is refused or lost on the way is on the tape and left to the judges; the schedule goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial, singledispatchmethod

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.log.quiescence import at_rest, read_whole
from fixtures.consumers import Consumer, ConsumerTrouble
from fixtures.errors import KitError
from fixtures.faults.base.fault import Fault, Unavailable
from fixtures.faults.base.injector import Stuck, Unhealed
from fixtures.waiting import Overdue
from fixtures.wire import Error, NodeClient, WireError
from fixtures.wire.calls import Topic
from fixtures.wire.cluster import CoordinatorType, PartitionMetadata
from fixtures.wire.log import EARLIEST, LATEST, FetchedPartition
from fixtures.wire.records import NewBatch, NewRecord
from fixtures.wire.topics import NewTopic
from history.taken import LEFT_OUT_NOTE
from strategies.log_steps import (
    AskCommitted,
    AskEpoch,
    AskOffsets,
    Confront,
    Consume,
    Disturb,
    FetchAt,
    Fill,
    Heal,
    Join,
    Leave,
    LogStep,
    PartitionName,
    PollGroup,
    Produce,
    Read,
    Recall,
    ReplicaRole,
    Shake,
    Survey,
    Trim,
)

SETTINGS: dict[str, dict[str, str]] = {
    "strict": {"min.insync.replicas": "2"},
    "loose": {"min.insync.replicas": "1"},
    "compacted": {
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "1000",
    },
    "lone": {"min.insync.replicas": "1"},
}
KEYS = 3
"""So few keys has the compacted partition, that there is always something to clean."""
ACKNOWLEDGED_WITHIN_MS = 1_500
STALE_WITHIN_MS = 300
"""A stale leader never gets the acknowledgements that it waits for."""
LEADS_WITHIN = 2.0
"""Seconds until a step that needs a leader is left out; who can be elected mostly is when a fault has shown."""
GROUP = "group"
MOST_MEMBERS = 3


class Absent(KitError):
    """Nobody plays the role that the step is aimed at."""


class LogExecutor:
    """Runs log steps on fresh topics: two strict partitions, a loose and a compacted one on all three brokers, and a lone one."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.partitions = _new_partitions(bench)
        self.faults = bench.faults(self.partitions["strict-0"].topic)
        self._standing: list[Fault] = []
        self._silent: set[str] = set()
        self._leaderless: set[PartitionName] = set()
        self._written = 0
        self._led: dict[PartitionName, list[int]] = defaultdict(list)
        self._ends: dict[PartitionName, int] = defaultdict(int)
        self._pairs: dict[PartitionName, list[tuple[int, int]]] = defaultdict(list)
        self._alone: Consumer | None = None
        self._members: list[Consumer] = []
        self._joined = 0
        self._unhealed: Unhealed | None = None

    def step(self, step: LogStep) -> None:
        """A step that gets no answer has an unknown outcome (info), one that nobody can be asked for is left out.

        Where something did not heal nothing more is done: whether that is trouble of the kit or of Kafka shows at rest.
        """
        if self._unhealed is not None:
            return
        # What got no answer is on the tape under its call.
        with suppress(WireError, ConsumerTrouble):
            try:
                self._unhealed = self._heals(lambda: self.run(step))
            except (Unavailable, Stuck, Absent) as reason:
                self.bench.tape.note(LEFT_OUT_NOTE, {"reason": str(reason)})

    def _heals(self, act: Callable[[], None]) -> Unhealed | None:
        try:
            act()
        except Unhealed as unhealed:
            return unhealed
        return None

    @singledispatchmethod
    def run(self, step: LogStep) -> None:
        raise TypeError(f"{step!r} is no step of the log machine")

    # --- producers

    @run.register
    def _(self, step: Fill) -> None:
        for name in self.partitions:
            with suppress(WireError, Absent):
                self.run(Produce(on=name, records=step.records, acks=step.acks, to=step.to))

    @run.register
    def _(self, step: Produce) -> None:
        self._write(step.on, self._in_role(step.on, step.to), step.acks, step.records)

    def _write(
        self, on: PartitionName, node: NodeClient, acks: int, records: int = 1, within_ms: int = ACKNOWLEDGED_WITHIN_MS
    ) -> None:
        partition = self.partitions[on]
        answer = node.produce(
            partition.topic, partition.index, self._batch(on, records), acks=acks, timeout_ms=within_ms
        )
        if answer.error is Error.NONE:
            self._ends[on] = max(self._ends[on], answer.base_offset + records)

    def _batch(self, on: PartitionName, count: int) -> NewBatch:
        numbers = range(self._written, self._written + count)
        self._written += count
        keyed = on == "compacted-0"
        records = [NewRecord(f"value {n}".encode(), key=f"key {n % KEYS}".encode() if keyed else None) for n in numbers]
        return NewBatch(tuple(records), timestamp=self.bench.now().unix_ms)

    # --- leaders, and those that still think so

    @run.register
    def _(self, step: Confront) -> None:
        for on in self.partitions:
            with suppress(Absent, WireError):
                self._confront_leader(on)
            with suppress(Absent, WireError):
                self._confront_deposed(on)

    def _confront_leader(self, on: PartitionName) -> None:
        """Does it commit, and does its high watermark wait, with as many in the ISR as there are? Whose epochs does it serve?"""
        leader, epoch = self._in_role(on, "leader"), self._epoch(on, 0)
        for acks in (-1, 1, -1):
            self._write(on, leader, acks)
            self._state(on)
        for _ in range(3):
            self._noted(on, read_whole(self.partitions[on], leader, epoch))
        for other in (max(0, epoch - 1), epoch + 1):
            self._fetch(on, leader, self._log_start(on, leader), other)
        self._state(on)

    def _confront_deposed(self, on: PartitionName) -> None:
        """Whoever led before commits nothing, whatever it believes, and serves nobody who knows better."""
        deposed, state = self._in_role(on, "deposed"), self._state(on)
        if deposed.node == self.bench.name_of(state.leader):
            raise Absent(f"nobody that led {on} before can be asked")
        old = max(0, state.leader_epoch - 1)
        for acks in (1, -1, -1, -1):
            self._fetch(on, deposed, self._log_start(on, deposed), old)
            self._write(on, deposed, acks, within_ms=STALE_WITHIN_MS)
        for epoch in (old, state.leader_epoch):
            self._fetch(on, deposed, self._log_start(on, deposed), epoch)

    # --- raw fetchers

    @run.register
    def _(self, step: Survey) -> None:
        for name, partition in self.partitions.items():
            with suppress(Absent):
                state = self._state(name)
                for id in filter(self._speaks, state.replicas):
                    self._surveyed(name, partition, self.bench.node(id), state.leader_epoch)

    def _surveyed(self, on: PartitionName, partition: Partition, node: NodeClient, epoch: int) -> None:
        with suppress(WireError):
            self._noted(on, read_whole(partition, node, epoch))
            self._noted(on, self._fetch(on, node, self._log_start(on, node), epoch))

    @run.register
    def _(self, step: Read) -> None:
        node, epoch = self._in_role(step.on, step.role), self._epoch(step.on, step.epochs_back)
        partition = self.partitions[step.on]
        if step.whole:
            self._noted(step.on, read_whole(partition, node, epoch))
        else:
            self._noted(step.on, self._fetch(step.on, node, self._log_start(step.on, node), epoch))

    @run.register
    def _(self, step: FetchAt) -> None:
        node = self._in_role(step.on, step.role)
        offset = max(0, self._ends[step.on] - step.before_end)
        last = self._epoch(step.on, step.last_back)
        self._noted(step.on, self._fetch(step.on, node, offset, self._epoch(step.on, step.epochs_back), last))

    @run.register
    def _(self, step: Recall) -> None:
        pairs = self._pairs[step.on]
        if not pairs:
            raise Absent(f"nothing was read from {step.on} yet")
        self._recall(step.on, step.role, *pairs[-1 - step.back % len(pairs)])

    def _recall(self, on: PartitionName, role: ReplicaRole, offset: int, epoch: int) -> None:
        current = self._state(on).leader_epoch
        partition, leader = self.partitions[on], self._in_role(on, "leader")
        self._fetch(on, self._in_role(on, role), offset + 1, current, last=epoch)
        leader.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)

    def _fetch(self, on: PartitionName, node: NodeClient, offset: int, epoch: int, last: int = -1) -> FetchedPartition:
        partition = self.partitions[on]
        return node.fetch(partition.topic, partition.index, offset, current_leader_epoch=epoch, last_fetched_epoch=last)

    def _log_start(self, on: PartitionName, node: NodeClient) -> int:
        partition = self.partitions[on]
        return max(0, node.list_offsets(partition.name, partition.index, EARLIEST, replica_id=-2).offset)

    def _noted(self, on: PartitionName, answer: FetchedPartition) -> None:
        """Remember how far the log went, and records that a client may come back for."""
        self._ends[on] = max(self._ends[on], answer.high_watermark)
        pairs = [(record.offset, b.leader_epoch) for b in answer.batches if not b.control for record in b.records]
        self._pairs[on] += [pair for pair in pairs if pair[0] < answer.high_watermark]

    @run.register
    def _(self, step: AskEpoch) -> None:
        node, partition = self._in_role(step.on, step.role), self.partitions[step.on]
        asked, claimed = self._epoch(step.on, step.epochs_back), self._epoch(step.on, step.claimed_back)
        node.offset_for_leader_epoch(partition.name, partition.index, asked, current_leader_epoch=claimed)

    @run.register
    def _(self, step: AskOffsets) -> None:
        node, partition = self._in_role(step.on, step.role), self.partitions[step.on]
        claimed = self._epoch(step.on, step.claimed_back)
        for timestamp in (EARLIEST, LATEST):
            node.list_offsets(partition.name, partition.index, timestamp, current_leader_epoch=claimed)

    @run.register
    def _(self, step: Trim) -> None:
        node, partition = self._in_role(step.on, "leader"), self.partitions[step.on]
        latest = node.list_offsets(partition.name, partition.index, LATEST).offset
        node.delete_records(partition.name, partition.index, max(0, latest - step.keep), timeout_ms=2_000)

    # --- consumers

    @run.register
    def _(self, step: Consume) -> None:
        if self._alone is None:
            self._alone = self.bench.consumer("consumer-1")
            self._alone.assign([(partition.name, partition.index) for partition in self.partitions.values()])
        self._alone.poll()

    @run.register
    def _(self, step: Join) -> None:
        if len(self._members) == MOST_MEMBERS:
            raise Absent(f"the group has {MOST_MEMBERS} members")
        self._joined += 1
        member = self.bench.consumer(f"member-{self._joined}", self._group)
        self._members.append(member)
        member.subscribe(self._topics)
        self._poll_all()

    @run.register
    def _(self, step: PollGroup) -> None:
        self._poll_all()
        for member in self._members if step.commit else ():
            with suppress(ConsumerTrouble):
                member.commit()

    @run.register
    def _(self, step: Leave) -> None:
        if not self._members:
            raise Absent("the group has no member")
        self._members.pop().close()
        self._poll_all()

    def _poll_all(self) -> None:
        """All members side by side: a rebalance ends only when each of them polls."""
        self.bench.together([partial(_polled, member) for member in self._members])

    @run.register
    def _(self, step: AskCommitted) -> None:
        asked = next(self.bench.node(name) for name in self.bench.brokers if name not in self._silent)
        coordinator = asked.find_coordinator(self._group, CoordinatorType.GROUP)
        if coordinator.error is not Error.NONE or self.bench.name_of(coordinator.node_id) in self._silent:
            raise Absent(f"nobody coordinates {self._group}: {coordinator}")
        wanted = [(partition.topic, partition.index) for partition in self.partitions.values()]
        # A new coordinator shows what is above its high watermark only when asked for what is stable.
        self.bench.node(coordinator.node_id).offset_fetch(self._group, wanted, require_stable=True)

    @property
    def _topics(self) -> list[str]:
        return sorted({partition.name for partition in self.partitions.values()})

    @property
    def _group(self) -> str:
        return f"{GROUP}-{self.bench.tape.example.example}"

    # --- faults

    @run.register
    def _(self, step: Disturb) -> None:
        self._standing.append(self._inject(step.on, step.fault.fresh()))

    @run.register
    def _(self, step: Shake) -> None:
        if self._standing:
            raise Absent("another fault stands")
        self.faults.heal(self._inject(step.on, step.fault.fresh()))

    def _inject(self, on: PartitionName, fault: Fault) -> Fault:
        partition = self.partitions[on]
        for name in self.partitions:
            self._remember_leader(name)
        self.faults.inject(fault, partition.topic, partition.index)
        self._look_around()
        return fault

    def _look_around(self) -> None:
        """Who does not answer is asked by the engine's word; who leads is to be found out again."""
        self._silent = set(self.bench.silent())
        self._leaderless.clear()

    def _remember_leader(self, on: PartitionName) -> None:
        with suppress(Absent):
            self._state(on)

    @run.register
    def _(self, step: Heal) -> None:
        standing, self._standing = self._standing, []
        for fault in reversed(standing):
            self.faults.heal(fault)
        self._look_around()

    # --- rest

    def rest(self) -> None:
        """Heal, let the replicas agree, and read everything. That they never agree is for the judges to say (KIP101-INV-18)."""
        unhealed = self._unhealed or self._heals(lambda: self.run(Heal()))
        self._look_around()
        with suppress(WireError, ConsumerTrouble, Absent):
            self.run(AskCommitted())
        if unhealed is None:
            # What was written before is then under a later leader, where one came.
            self.run(Fill())
        agreed = at_rest(*self.partitions.values())
        if agreed and unhealed is not None:
            raise unhealed
        if agreed:
            self._ask_at_rest()
            # What a replica holds is certain between two readings of it.
            self.run(Survey())

    def _ask_at_rest(self) -> None:
        """What a client may know from before: the last record of each epoch that was read, and positions past an epoch's end."""
        for on, pairs in self._pairs.items():
            last = {epoch: offset for offset, epoch in sorted(pairs)}
            for epoch, offset in list(last.items())[-3:]:
                for role in ("leader", "follower"):
                    with suppress(WireError, Absent):
                        self._recall(on, role, offset, epoch)
                        self._fetch(on, self._in_role(on, role), self._ends[on], self._epoch(on, 0), last=epoch)

    # --- by role

    def _state(self, on: PartitionName) -> PartitionMetadata:
        """The partition at the newest epoch that a broker which answers knows, once somebody leads. Raises Absent."""
        state = self._newest(on)
        if state is None and on not in self._leaderless:
            state = self._elected(on)
        if state is None:
            self._leaderless.add(on)
            raise Absent(f"nobody leads {on}")
        if self._led[on][-1:] != [state.leader]:
            self._led[on].append(state.leader)
        return state

    def _elected(self, on: PartitionName) -> PartitionMetadata | None:
        """Waits once after each fault: who has no leader then gets none before the next."""
        with suppress(Overdue):
            return self.bench.eventually(lambda: self._newest(on), f"a leader of {on}", within=LEADS_WITHIN, every=0.1)
        return None

    def _newest(self, on: PartitionName) -> PartitionMetadata | None:
        partition = self.partitions[on]
        told: list[PartitionMetadata] = []
        for name in self.bench.brokers:
            if name not in self._silent:
                with suppress(WireError):
                    # Of all topics, so that each look tells the judges of all partitions.
                    answer = self.bench.node(name).metadata(self._topics)
                    told += [p for p in answer.topic(partition.name).partitions if p.partition == partition.index]
        newest = max(told, key=lambda state: state.leader_epoch, default=None)
        serves = newest is not None and newest.leader >= 0 and self.bench.name_of(newest.leader) not in self._silent
        return newest if serves else None

    def _epoch(self, on: PartitionName, back: int) -> int:
        return max(0, self._state(on).leader_epoch - back)

    def _in_role(self, on: PartitionName, role: ReplicaRole) -> NodeClient:
        state = self._state(on)
        players = {
            "leader": [state.leader],
            "follower": [id for id in state.replicas if id != state.leader and self._speaks(id)],
            "deposed": [id for id in reversed(self._led[on]) if id != state.leader and self._speaks(id)]
            or [state.leader],
        }[role]
        if not players:
            raise Absent(f"no {role} of {on} can be asked")
        return self.bench.node(players[0])

    def _speaks(self, id: int) -> bool:
        return self.bench.name_of(id) not in self._silent


def _polled(member: Consumer) -> None:
    with suppress(ConsumerTrouble):
        member.poll()


def _new_partitions(bench: Bench) -> dict[PartitionName, Partition]:
    """Fresh topics; the two strict partitions are led by different brokers."""
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    turned = (*ids[1:], ids[0])
    assignments = {"strict": (ids, turned), "loose": (turned,), "compacted": (ids,), "lone": ((ids[-1],),)}
    wanted = [NewTopic(bench.fresh(kind), assignments[kind], configs=SETTINGS[kind]) for kind in SETTINGS]
    answer = bench.node(bench.brokers[0]).create_topics(wanted)
    topics = {kind: Topic(made.name, made.topic_id) for kind, made in zip(SETTINGS, answer.topics, strict=True)}
    refused = [made for made in answer.topics if made.error is not Error.NONE]
    if refused:
        raise KitError(f"topics could not be created: {refused}")
    partitions: dict[PartitionName, Partition] = {
        "strict-0": Partition(bench, PartitionData(topics["strict"], 0)),
        "strict-1": Partition(bench, PartitionData(topics["strict"], 1)),
        "loose-0": Partition(bench, PartitionData(topics["loose"], 0)),
        "compacted-0": Partition(bench, PartitionData(topics["compacted"], 0)),
        "lone-0": Partition(bench, PartitionData(topics["lone"], 0)),
    }
    for partition in partitions.values():
        partition.whole()
    return partitions
