"""Idempotent and transactional producers on one combined node, and their partitions.

The node is transaction coordinator, group coordinator and leader of everything, so no request goes to a wrong node.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.damaging import Disk
from conformance.core.topologies import COMBINED, EXPIRING, MEASURED
from conformance.core.waiting import MIN_LASTING_TIMEOUT
from conformance.rigs.log.partition import new_topic, new_topics
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.restarts import await_answer
from fixtures.views.nodes import ask_until_granted, ask_until_served, is_not_ready
from fixtures.views.producer import DIALECTS, LEGACY, Dialect, WritablePartition
from fixtures.wire import ConnectionClosed, NodeClient, NotSent, Unanswered
from history.due import COORDINATOR_TIMEOUT
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.log import (
    EARLIEST,
    LATEST,
    PARTITION_MAX_BYTES,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchPartition,
    ProducedPartition,
)
from protocol.messages import Answer, Topic
from protocol.records import Batch, ControlType, NewBatch
from protocol.transactions import AddPartitionsToTxnAnswer, DescribedTransaction, ProducerState, TxnOffsetCommitAnswer

A = TypeVar("A", bound=Answer)

LAST_EPOCH = 32766


class LoadedBroker(msgspec.Struct, frozen=True):
    """A broker whose coordinators have loaded."""

    broker: str


class LogState(msgspec.Struct, frozen=True):
    """A partition's offsets and its state of one producer. With one replica the log end is the high watermark."""

    start: int
    stable_end: int
    end: int
    producer: ProducerState | None


class Log:
    """A partition, usually the only one, of a new topic."""

    def __init__(self, stage: Stage, topic: Topic, index: int = 0) -> None:
        self.stage = stage
        self.topic = topic
        self.name = topic.name
        self.index = index
        self.here = (topic.name, index)

    def fetch_from(self, offset: int, *, partition_max_bytes: int = PARTITION_MAX_BYTES) -> FetchPartition:
        """Return the partition for a Fetch from this offset."""
        return FetchPartition(self.topic, self.index, offset, partition_max_bytes=partition_max_bytes)

    def leader(self) -> NodeClient:
        return self.stage.broker

    def await_leader(self) -> None:
        """Wait until the broker leads the partition."""

        def leads() -> bool:
            return self.stage.broker.list_offsets(self.name, self.index).error is Error.NONE

        self.stage.bench.eventually(leads, f"the broker leading {self.name}", due="leader")

    def start(self) -> int:
        return self._offset(EARLIEST, READ_UNCOMMITTED)

    def end(self) -> int:
        return self._offset(LATEST, READ_UNCOMMITTED)

    def stable_end(self) -> int:
        return self._offset(LATEST, READ_COMMITTED)

    def producer(self, producer_id: int) -> ProducerState | None:
        described = self.stage.broker.describe_producers(self.name, self.index)
        return self.stage.bench.require(described, "description", MIN_LASTING_TIMEOUT).producer(producer_id)

    def producer_state(self, producer_id: int) -> LogState:
        return LogState(self.start(), self.stable_end(), self.end(), self.producer(producer_id))

    def last_marker(self) -> ControlType | None:
        """Return the type of the marker at the end of the log; None if the last batch is not a marker."""
        last = self.batches()[-1:]
        return last[0].records[0].control_type if last else None

    def batches(self) -> tuple[Batch, ...]:
        """Return all readable batches, including control batches, by one Fetch per segment."""
        found: list[Batch] = []
        position = self.start()
        while True:
            read = self.stage.broker.fetch(self.fetch_from(position))
            found += read.batches
            before, position = position, read.batches[-1].last_offset + 1 if read.batches else read.high_watermark
            if not before < position < read.high_watermark:
                return tuple(found)

    def append(self, records: NewBatch) -> ProducedPartition:
        """Write a batch, usually of no producer."""
        return ask_until_granted(
            self.stage.bench,
            lambda: self.stage.broker.produce(self.topic, self.index, records),
            f"a write to {self.name}",
        )

    def delete_all_records(self) -> int:
        """Delete all records; return the new log start."""
        return ask_until_granted(
            self.stage.bench,
            lambda: self.stage.broker.delete_records(self.name, self.index, -1),
            f"all records of {self.name} deleted",
        ).low_watermark

    def _offset(self, timestamp: int, isolation_level: int) -> int:
        ask = partial(self.stage.broker.list_offsets, self.name, self.index, timestamp, isolation_level=isolation_level)
        return ask_until_granted(self.stage.bench, ask, f"an offset of {self.name} listed").offset


class StageProducer(CheckProducer):
    """A producer whose coordinators and leaders are one node."""

    def __init__(self, stage: Stage, dialect: Dialect, transactional_id: str = "", timeout_ms: int = 60_000) -> None:
        super().__init__(
            stage.bench, stage.began, transactional_id, dialect, timeout_ms=timeout_ms, coordinator=lambda: stage.broker
        )
        self.stage = stage

    def add(self, *partitions: WritablePartition, version: int | None = 3, **fields: Any) -> AddPartitionsToTxnAnswer:
        return super().add(*partitions, version=version, **fields)

    def commit_offset(self, group: str, log: Log, offset: int, **fields: Any) -> TxnOffsetCommitAnswer:
        """Send TxnOffsetCommit for one offset without a member id."""
        return self.commit_offsets(group, [NewOffset(log.topic, 0, offset)], coordinator=self.coordinator, **fields)


class Stage:
    """The broker, with a probe's producers and logs."""

    def __init__(self, bench: Bench, data: LoadedBroker) -> None:
        self.bench = bench
        self.began = bench.now().unix_ms
        self.while_down: list[Callable[[], object]] = []
        """Actions on the broker's disk during the next restart."""
        self._broker = data.broker

    @property
    def broker(self) -> NodeClient:
        return self.bench.node(self._broker)

    @property
    def newest_dialect(self) -> str:
        """The transaction protocol that the cluster's feature level gives to new clients."""
        return "tv2" if self.bench.column.ranges.get("transaction.version", 0) >= 2 else "legacy"

    @property
    def dialects(self) -> tuple[str, ...]:
        """The transaction protocols that the cluster's feature level allows."""
        return ("legacy", "tv2") if self.newest_dialect == "tv2" else ("legacy",)

    def at_most(self, api: str, version: int) -> int:
        """Return `version`, or the broker's highest if that is lower."""
        return min(version, self.bench.column.ranges[api])

    def answer_when_ready(self, ask: Callable[[], A]) -> A:
        """Return the first answer that is not a transient coordinator error (loading, busy)."""
        return ask_until_served(self.bench, ask)

    def restart(self, *, clean: bool) -> None:
        """Restart the broker on its data, after SIGTERM or SIGKILL; returns once its coordinators have loaded."""
        (self.bench.processes.stop if clean else self.bench.processes.kill)(self._broker, role="broker")
        while self.while_down:
            self.while_down.pop()()
        self.bench.processes.start(self._broker)
        await_answer(self.bench, self._broker)
        self.bench.eventually(
            self._coordinates, f"{self._broker} coordinating again", COORDINATOR_TIMEOUT, due="coordinator"
        )

    def _coordinates(self) -> bool:
        try:
            found = self.broker.find_coordinator("kit", CoordinatorType.TRANSACTION)
            described = self.broker.describe_transaction("kit")
        except (NotSent, ConnectionClosed, Unanswered):
            return False
        return found.error is Error.NONE and described.error is Error.TRANSACTIONAL_ID_NOT_FOUND

    def disk(self, log: Log) -> Disk:
        return self.bench.disk(self._broker, f"{log.name}-{log.index}")

    def log(self) -> Log:
        [log] = self.logs(1)
        return log

    def logs(self, count: int) -> list[Log]:
        """Create partitions, and return them once the broker leads them."""
        return self._await_leaders(*(Log(self, topic) for topic in new_topics(self.bench, [self._replicas] * count)))

    def log_with(self, **configs: str) -> Log:
        """Create a topic of one partition with these settings; return the partition once the broker leads it."""
        [topic] = new_topics(self.bench, [self._replicas], **configs)
        [log] = self._await_leaders(Log(self, topic))
        return log

    def logs_of_a_topic(self, count: int) -> list[Log]:
        """Create the partitions of one topic, and return them once the broker leads them."""
        topic = new_topic(self.bench, [self._replicas] * count)
        return self._await_leaders(*(Log(self, topic, index) for index in range(count)))

    @property
    def _replicas(self) -> tuple[int, ...]:
        return (self.bench.id_of(self._broker),)

    @staticmethod
    def _await_leaders(*logs: Log) -> list[Log]:
        for log in logs:
            log.await_leader()
        return list(logs)

    def idempotent(self, epoch: int = 0) -> StageProducer:
        """Return a producer without a transactional id at `epoch`, as if it had bumped its epoch locally."""
        producer = StageProducer(self, LEGACY).start()
        producer.continue_at(producer.producer_id, epoch)
        return producer

    def transactional(self, dialect: str = "legacy", timeout_ms: int = 60_000) -> StageProducer:
        """Return a producer with a new transactional id."""
        return StageProducer(self, DIALECTS[dialect], self.bench.fresh_name("tid"), timeout_ms).start()

    def idle_transactional(self, case: str, bumps: int = 0, committed: bool = True) -> StageProducer:
        """Return a transactional producer without an open transaction, after `bumps` epoch bumps.

        `case` names its past: "untouched", or the protocol of the one transaction that it has begun and ended.
        """
        producer = self.transactional("legacy" if case == "untouched" else case)
        producer.bump(bumps)
        if case != "untouched":
            producer.enter(self.log())
            producer.end(committed)
        return producer


def is_unchanged(before: DescribedTransaction, after: DescribedTransaction) -> bool:
    """True if the coordinator describes the same transaction before and after."""
    differing = ("version", "throttle_time_ms")
    first, second = ({k: v for k, v in asdict(t).items() if k not in differing} for t in (before, after))
    return first == second


def await_coordinators(bench: Bench) -> LoadedBroker:
    """Find both coordinators, whose topics the first look-up creates, and wait until they have loaded."""
    [broker] = bench.brokers
    stage = Stage(bench, LoadedBroker(broker))
    for kind in (CoordinatorType.TRANSACTION, CoordinatorType.GROUP):
        ask_until_granted(
            stage.bench,
            partial(stage.broker.find_coordinator, "kit", kind),
            f"a {kind.name} coordinator found",
            is_not_ready,
        )
    stage.transactional()
    return LoadedBroker(broker)


STAGE = Rig(COMBINED, await_coordinators, Stage, shared=True)
EXPIRING_STAGE = Rig(EXPIRING, await_coordinators, Stage, shared=True)
"""The same on a node that quickly forgets idle producers and transactional ids."""
MEASURED_STAGE = Rig(MEASURED, await_coordinators, Stage, shared=True)
"""The same on a node whose metrics can be read."""
