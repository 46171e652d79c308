"""Idempotent and transactional producers on one combined node, and the partitions they write to.

The node is transaction coordinator, group coordinator and leader of everything, so no request can miss its addressee.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
from msgspec.structs import asdict

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.damaging import Disk
from conformance.core.topologies import COMBINED
from conformance.rigs.groups.group import answering_again
from conformance.rigs.log.partition import new_topics
from fixtures.errors import KitError
from fixtures.wire import ConnectionClosed, Error, NodeClient, NotSent, Unanswered
from fixtures.wire.calls import Answer, Topic
from fixtures.wire.cluster import CoordinatorType
from fixtures.wire.groups import NewOffset
from fixtures.wire.log import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, ProducedPartition
from fixtures.wire.records import Batch, ControlType, NewBatch, batch
from fixtures.wire.transactions import (
    ADD_PARTITIONS_BATCHED_FROM,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    DescribedTransaction,
    EndTxnAnswer,
    InitProducerIdAnswer,
    ProducerState,
    TxnOffsetCommitAnswer,
    TxnPartitions,
)

A = TypeVar("A", bound=Answer)

SEQUENCES = 2**31
"""Sequence numbers wrap here."""
LAST_EPOCH = 32766
COMPLETE = ("CompleteCommit", "CompleteAbort")
NOT_YET = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.CONCURRENT_TRANSACTIONS,
        # How Produce says that the coordinator could not verify the transaction yet: one replica is always enough here.
        Error.NOT_ENOUGH_REPLICAS,
    }
)


class Dialect(msgspec.Struct, frozen=True):
    """The highest versions in which a client speaks about its transactions."""

    name: str
    produce: int
    end_txn: int
    txn_offset_commit: int

    @property
    def bumps(self) -> bool:
        """Does the end of a transaction raise the epoch (KIP-890)?"""
        return self.end_txn >= 5


LEGACY = Dialect("legacy", 11, 4, 4)
TV2 = Dialect("tv2", 13, 5, 5)
DIALECTS = {dialect.name: dialect for dialect in (LEGACY, TV2)}


class Ready(msgspec.Struct, frozen=True):
    """The broker whose coordinators have loaded."""

    broker: str


class LogState(msgspec.Struct, frozen=True):
    """What a partition shows of itself and of one producer; with one replica its end is the high watermark."""

    start: int
    stable_end: int
    end: int
    producer: ProducerState | None


class Log:
    """The one partition of a fresh topic."""

    def __init__(self, stage: Stage, topic: Topic) -> None:
        self.stage = stage
        self.topic = topic
        self.name = topic.name
        self.here = (topic.name, 0)

    def led(self) -> None:
        """Return once the broker leads the partition."""

        def leads() -> bool:
            return self.stage.broker.list_offsets(self.name, 0).error is Error.NONE

        self.stage.bench.eventually(leads, f"the broker leading {self.name}")

    def start(self) -> int:
        return self._offset(EARLIEST, READ_UNCOMMITTED)

    def end(self) -> int:
        return self._offset(LATEST, READ_UNCOMMITTED)

    def stable_end(self) -> int:
        return self._offset(LATEST, READ_COMMITTED)

    def producer(self, producer_id: int) -> ProducerState | None:
        described = self.stage.broker.describe_producers(self.name, 0)
        if described.error is not Error.NONE:
            raise KitError(f"the producers of {self.name} could not be described: {described}")
        return described.producer(producer_id)

    def state(self, producer_id: int) -> LogState:
        return LogState(self.start(), self.stable_end(), self.end(), self.producer(producer_id))

    def last_marker(self) -> ControlType | None:
        """How the transaction ended whose marker comes last in the log; None where something else does."""
        return self.batches()[-1].records[0].control_type

    def batches(self) -> tuple[Batch, ...]:
        """All that can be read, control batches included."""
        return self.stage.broker.fetch(self.topic, 0, self.start()).batches

    def empty(self) -> int:
        """Delete every record; returns the new log start."""
        deleted = self.stage.broker.delete_records(self.name, 0, -1)
        if deleted.error is not Error.NONE:
            raise KitError(f"the records of {self.name} could not be deleted: {deleted}")
        return deleted.low_watermark

    def _offset(self, timestamp: int, isolation_level: int) -> int:
        listed = self.stage.broker.list_offsets(self.name, 0, timestamp, isolation_level=isolation_level)
        if listed.error is not Error.NONE:
            raise KitError(f"the offsets of {self.name} could not be listed: {listed}")
        return listed.offset


class Producer:
    """A producer as a client keeps it: id, epoch, the next sequence of each partition, and a dialect.

    `init`, `send`, `add`, `finish` and the like return any answer. `bump`, `write`, `enter` and `end` are for set-up: they
    raise KitError when they are refused, and move epoch and sequences on.
    """

    def __init__(
        self,
        stage: Stage,
        dialect: Dialect,
        producer_id: int,
        epoch: int,
        transactional_id: str = "",
        timeout_ms: int = 0,
    ) -> None:
        self.stage = stage
        self.dialect = dialect
        self.producer_id = producer_id
        self.epoch = epoch
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.sequences: dict[str, int] = {}

    # --- the producer id and epoch

    def init(
        self, producer_id: int = -1, producer_epoch: int = -1, *, version: int | None = None
    ) -> InitProducerIdAnswer:
        """InitProducerId for this transactional id, by default as a new instance; waits while it says "not yet"."""
        return self.stage.settled(lambda: self.init_once(producer_id, producer_epoch, version=version))

    def init_once(
        self, producer_id: int = -1, producer_epoch: int = -1, *, version: int | None = None
    ) -> InitProducerIdAnswer:
        return self.stage.broker.init_producer_id(
            self.transactional_id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            version=version,
        )

    def bump(self, times: int = 1) -> None:
        """Ask for the next epoch by the current pair."""
        for _ in range(times):
            answer = accepted(self.init(self.producer_id, self.epoch))
            self.go_on_at(answer.producer_id, answer.producer_epoch)

    def successor(self) -> Producer:
        """A new instance with the same transactional id, which fences this one."""
        new = accepted(self.init())
        return Producer(
            self.stage, self.dialect, new.producer_id, new.producer_epoch, self.transactional_id, self.timeout_ms
        )

    def go_on_at(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self.sequences.clear()

    def described(self) -> DescribedTransaction:
        return self.stage.settled(lambda: self.stage.broker.describe_transaction(self.transactional_id))

    # --- writing

    def batch(self, log: Log, count: int = 1, *, sequence: int | None = None, epoch: int | None = None) -> NewBatch:
        """The next batch for a partition, or one with a sequence or epoch of the caller's."""
        first = self.sequences.get(log.name, 0) if sequence is None else sequence
        at = self.epoch if epoch is None else epoch
        return batch(
            *(f"{self.producer_id}/{at} {(first + n) % SEQUENCES}".encode() for n in range(count)),
            producer_id=self.producer_id,
            producer_epoch=at,
            base_sequence=first,
            transactional=bool(self.transactional_id),
            timestamp=self.stage.began,
        )

    def send(self, log: Log, records: NewBatch, *, version: int | None = None) -> ProducedPartition:
        """Produce, as it stands; waits while the coordinator says "not yet"."""
        version = self.stage.at_most("Produce", self.dialect.produce) if version is None else version
        tid = self.transactional_id or None
        return self.stage.settled(
            lambda: self.stage.broker.produce(log.topic, 0, records, transactional_id=tid, version=version)
        )

    def write(self, log: Log, count: int = 1) -> ProducedPartition:
        records = self.batch(log, count)
        answer = accepted(self.send(log, records))
        self.sequences[log.name] = (records.base_sequence + count) % SEQUENCES
        return answer

    # --- transactions

    def add(self, *logs: Log, version: int = 3) -> AddPartitionsToTxnAnswer:
        """AddPartitionsToTxn, from version 4 on in the brokers' form."""
        partitions = tuple(log.here for log in logs)
        tid, id, epoch = self.transactional_id, self.producer_id, self.epoch
        named = TxnPartitions(transactional_id=tid, producer_id=id, producer_epoch=epoch, partitions=partitions)
        broker = self.stage.broker
        if version >= ADD_PARTITIONS_BATCHED_FROM:
            return self.stage.settled(lambda: broker.add_partitions_to_txns([named], version=version))
        return self.stage.settled(lambda: broker.add_partitions_to_txn(tid, id, epoch, partitions, version=version))

    def add_offsets(self, group: str, *, version: int | None = None) -> AddOffsetsToTxnAnswer:
        return self.stage.settled(
            lambda: self.stage.broker.add_offsets_to_txn(
                self.transactional_id, self.producer_id, self.epoch, group, version=version
            )
        )

    def commit_offset(self, group: str, log: Log, offset: int, *, version: int | None = None) -> TxnOffsetCommitAnswer:
        """TxnOffsetCommit of one offset, as no member in particular."""
        spoken = self.stage.at_most("TxnOffsetCommit", self.dialect.txn_offset_commit) if version is None else version
        return self.stage.settled(
            lambda: self.stage.broker.txn_offset_commit(
                self.transactional_id,
                group,
                self.producer_id,
                self.epoch,
                [NewOffset(log.topic, 0, offset)],
                version=spoken,
            )
        )

    def enter(self, log: Log, count: int = 1) -> ProducedPartition:
        """The first write of the transaction to a partition, in the producer's dialect."""
        if not self.dialect.bumps:
            accepted(self.add(log))
        return self.write(log, count)

    def finish(self, committed: bool, *, version: int | None = None) -> EndTxnAnswer:
        version = self.stage.at_most("EndTxn", self.dialect.end_txn) if version is None else version
        return self.stage.settled(
            lambda: self.stage.broker.end_txn(
                self.transactional_id, self.producer_id, self.epoch, committed=committed, version=version
            )
        )

    def end(self, committed: bool) -> EndTxnAnswer:
        """End the transaction, wait until the coordinator is done with it, and go on at the answered epoch."""
        answer = accepted(self.finish(committed))
        if self.dialect.bumps:
            self.go_on_at(answer.producer_id, answer.producer_epoch)
        self.completed()
        return answer

    def completed(self) -> DescribedTransaction:
        """What the coordinator shows once no marker of the transaction is outstanding."""

        def complete() -> DescribedTransaction | None:
            described = self.described()
            return described if described.state in COMPLETE else None

        return self.stage.bench.eventually(complete, f"the end of the transaction of {self.transactional_id}")


class Stage:
    """The broker, and what a probe puts on it."""

    def __init__(self, bench: Bench, data: Ready) -> None:
        self.bench = bench
        self.began = bench.now().unix_ms
        self.while_down: list[Callable[[], object]] = []
        """What the next restart does to the disk of the broker."""
        self._broker = data.broker

    @property
    def broker(self) -> NodeClient:
        return self.bench.node(self._broker)

    @property
    def newest_dialect(self) -> str:
        """The one that the cluster's feature level gives to new clients."""
        return "tv2" if self.bench.column.ranges.get("transaction.version", 0) >= 2 else "legacy"

    def at_most(self, api: str, version: int) -> int:
        """`version`, or the broker's highest where that is lower."""
        return min(version, self.bench.column.ranges[api])

    def settled(self, ask: Callable[[], A]) -> A:
        """The first answer that is more than "not yet"."""

        def answer() -> A | None:
            given = ask()
            return None if error_of(given) in NOT_YET else given

        return self.bench.eventually(answer, "an answer of a coordinator that has loaded and is not busy")

    def restart(self, *, clean: bool) -> None:
        """The broker as a new process on its data, after SIGTERM or SIGKILL; its coordinators have loaded again."""
        fault = "stop" if clean else "kill"
        (self.bench.stop if clean else self.bench.kill)(self._broker, role="broker")
        while self.while_down:
            self.while_down.pop()()
        self.bench.start(self._broker, fault)
        answering_again(self.bench, self._broker)
        self.bench.eventually(self._coordinates, f"{self._broker} coordinating again")

    def _coordinates(self) -> bool:
        try:
            found = self.broker.find_coordinator("kit", CoordinatorType.TRANSACTION)
            described = self.broker.describe_transaction("kit")
        except (NotSent, ConnectionClosed, Unanswered):
            return False
        return found.error is Error.NONE and described.error is Error.TRANSACTIONAL_ID_NOT_FOUND

    def disk(self, log: Log) -> Disk:
        return self.bench.disk(self._broker, f"{log.name}-0")

    def log(self) -> Log:
        [log] = self.logs(1)
        return log

    def logs(self, count: int) -> list[Log]:
        """Fresh partitions that take requests."""
        logs = [Log(self, topic) for topic in new_topics(self.bench, [(self.bench.id_of(self._broker),)] * count)]
        for log in logs:
            log.led()
        return logs

    def idempotent(self, epoch: int = 0) -> Producer:
        """A producer without transactional id; `epoch` as if it had bumped it by itself."""
        given = accepted(self.settled(lambda: self.broker.init_producer_id(None)))
        return Producer(self, LEGACY, given.producer_id, epoch)

    def transactional(self, dialect: str = "legacy", timeout_ms: int = 60_000) -> Producer:
        """The first instance of a fresh transactional id."""
        producer = Producer(self, DIALECTS[dialect], -1, -1, self.bench.fresh("tid"), timeout_ms)
        given = accepted(producer.init())
        producer.go_on_at(given.producer_id, given.producer_epoch)
        return producer

    def resting(self, case: str, bumps: int = 0, committed: bool = True) -> Producer:
        """A transactional producer with no open transaction, after `bumps` of its own.

        `case` is "untouched", or the dialect in which it has ended a transaction.
        """
        producer = self.transactional("legacy" if case == "untouched" else case)
        producer.bump(bumps)
        if case != "untouched":
            producer.enter(self.log())
            producer.end(committed)
        return producer


def error_of(answer: Answer) -> Error:
    """An answer's error, or that of its first refused partition."""
    own: Error = getattr(answer, "error", Error.NONE)
    of_partitions = (partition.error for partition in getattr(answer, "partitions", ()) if hasattr(partition, "error"))
    return next((error for error in (own, *of_partitions) if error is not Error.NONE), Error.NONE)


def accepted(answer: A) -> A:
    """The answer, which must be without error: for set-up only."""
    if error_of(answer) is not Error.NONE:
        raise KitError(f"a step of the set-up was refused: {answer}")
    return answer


def unchanged(before: DescribedTransaction, after: DescribedTransaction) -> bool:
    """Does the coordinator show the same transaction?"""
    differing = ("version", "throttle_time_ms")
    first, second = ({k: v for k, v in asdict(t).items() if k not in differing} for t in (before, after))
    return first == second


def ready(bench: Bench) -> Ready:
    """Both coordinators found and loaded: their topics are created by the first look-up."""
    [broker] = bench.brokers
    stage = Stage(bench, Ready(broker))
    for kind in (CoordinatorType.TRANSACTION, CoordinatorType.GROUP):
        accepted(stage.settled(partial(stage.broker.find_coordinator, "kit", kind)))
    stage.transactional()
    return Ready(broker)


STAGE = Rig(COMBINED, ready, Stage, shared=True)
