"""One of the machine's producers, as an honest client: it retries unknown outcomes, and starts over after a final
refusal.

Its requests go to the current holder of a role; none waits for longer than a step may take.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple, TypeVar

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.judging.producers.outcomes import ENDED
from conformance.machines.producers.many_epochs import on_one_replica
from conformance.rigs.log.partition import Partition
from fixtures.views.producer import Dialect, Producer
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from fixtures.wire.retriable import error_of
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.log import ProducedPartition, ProducePartition
from protocol.messages import Answer, PendingRequest
from protocol.records import NewBatch
from protocol.since import since

A = TypeVar("A", bound=Answer)

ANSWERED_WITHIN_MS = 1_500
IN_FLIGHT_MS = 8_000
COLLECTED_WITHIN = 2.0
"""Seconds to wait for a late answer; then its outcome stays unknown."""
READY_WITHIN = 3.0
"""Seconds that a step waits for a coordinator to be found, to load, or to end the previous transaction."""
MANY = 1_000
"""The epoch from which on it pays to move the coordinator's partition to one replica while the epoch is raised."""
LAST_EPOCH_OF_ITS_OWN = 32_767
"""The highest epoch to which an idempotent producer raises its own; then it requests another producer id."""
VERIFIED_FROM = since("AddPartitionsToTxnRequest", "Transactions")
"""The version of AddPartitionsToTxn with which brokers verify writes at the coordinator."""
SHORT_MS = 5_000
"""The longest transaction timeout in ms for which a step waits, and the time after it in which the transaction must
end."""
PASSING = frozenset(
    (
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.CONCURRENT_TRANSACTIONS,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
"""Errors of a coordinator after which a client retries."""
APPENDED = frozenset((Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER))
MAY_BE_APPENDED = PASSING | frozenset(
    (
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.KAFKA_STORAGE_ERROR,
    )
)
"""Errors after which a producer retries the same batch, which may have been appended, here or by another leader."""


class PartitionAt:
    """A partition whose requests go to the current holder of a role."""

    def __init__(self, partition: Partition, node: NodeClient) -> None:
        self.topic, self.index = partition.topic, partition.index
        self._node = node

    def leader(self) -> NodeClient:
        return self._node


class UnansweredProduce(NamedTuple):
    """A Produce whose answer has not been collected yet."""

    client: Client
    on: str
    batch: NewBatch
    node: NodeClient
    request: PendingRequest


class Batches:
    """The batches of one producer id and epoch on one partition, by whether their outcome is known."""

    def __init__(self) -> None:
        self.next_sequence = 0
        self.pending: list[NewBatch] = []
        """Batches with unknown outcomes, in order."""
        self.sent: list[NewBatch] = []
        """Acknowledged batches."""

    def number(self, producer: Producer, partition: Partition, values: Sequence[bytes], began: int) -> NewBatch:
        """Return the next batch, with its sequence; it is pending from now on."""
        to = PartitionAt(partition, partition.bench.node(partition.bench.brokers[0]))
        batch = producer.records(to, *values, base_sequence=self.next_sequence, timestamp=began)
        self.next_sequence += len(values)
        self.pending.append(batch)
        return batch

    def acknowledge(self, batch: NewBatch) -> None:
        self.pending.remove(batch)
        self.sent.append(batch)


class Client:
    """One of the machine's producers: its current instance, and the fenced one before it."""

    def __init__(self, bench: Bench, roles: Roles, transactional_id: str, dialect: Dialect, began: int) -> None:
        self.producer = Producer(
            bench,
            transactional_id,
            dialect,
            coordinator=self.coordinator,
            patient=False,
        )
        self._bench, self._roles, self._began = bench, roles, began
        self._former: Fenced | None = None
        self._batches: dict[str, Batches] = defaultdict(Batches)
        self._added: set[str] = set()
        self._is_open = False
        self._ending: bool | None = None
        """The commit (True) or abort (False) of an EndTxn with an unknown outcome; None without one."""
        self._broken = True
        self.closed = False
        """True once its last instance has begun, after which it sends nothing."""

    @property
    def transactional(self) -> bool:
        return bool(self.producer.transactional_id)

    def coordinator(self) -> NodeClient:
        """Return the transactional id's coordinator, or any running broker for a producer without one. Raises
        Absent."""
        if self.transactional:
            return self._roles.coordinator(self.producer.transactional_id, CoordinatorType.TRANSACTION)
        running = self._roles.running_brokers()
        if not running:
            raise Absent("no broker runs")
        return self._bench.node(running[0])

    # --- producer id and epoch

    def init(self, timeout_ms: int | None = None) -> None:
        """Begin as a new instance, by default with the former transaction timeout. Raises Absent if no producer id is
        granted."""
        if timeout_ms is not None:
            self.producer.timeout_ms = timeout_ms
        given = self._require(self.producer.init_once, "a producer id")
        # A new instance without a transactional id has another producer id, and fences none.
        known = self.transactional and self.producer.producer_id >= 0
        self._former = Fenced(copy.copy(self.producer), self._batches) if known else None
        self._begin_at(given.producer_id, given.producer_epoch)

    def bump(self) -> None:
        """Bump the epoch by naming the current one; a producer without a transactional id does so locally (KIP-360)."""
        self._ready()
        id, epoch = self.producer.producer_id, self.producer.epoch + 1
        if self.transactional:
            given = self._require(lambda: self.producer.init_once(id, epoch - 1), "the next epoch")
            self._begin_at(given.producer_id, given.producer_epoch)
        elif epoch > LAST_EPOCH_OF_ITS_OWN:
            self.init()
        else:
            self._raise_to(epoch)

    def raise_epoch(self, to: int) -> None:
        """Bump the epoch up to `to`, with one InitProducerId per step. Raises Absent if it is already there or a
        transaction is open."""
        self._ready()
        if self._is_open or self.producer.epoch >= to:
            raise Absent(f"the producer is at epoch {self.producer.epoch}, or has an open transaction")
        if not self.transactional:
            self._raise_to(to)
            return
        with on_one_replica(self._bench, self.producer.transactional_id) if to > MANY else nullcontext():
            self.bump()  # once it is given, so will the others be
            if (times := to - self.producer.epoch) > 0:
                self._bump_often(times)

    def _bump_often(self, times: int) -> None:
        """Bump the epoch `times` times by pipelined requests; after a refusal on the way the producer has to start
        over."""
        self._broken = True  # and stays so where it gets no further
        id, epoch = self.producer.producer_id, self.producer.epoch
        answer = self.coordinator().bump_epochs(
            self.producer.transactional_id, id, epoch, times, transaction_timeout_ms=self.producer.timeout_ms
        )
        if (answer.error, answer.producer_epoch) == (Error.NONE, epoch + times):
            self._begin_at(answer.producer_id, answer.producer_epoch)

    def _raise_to(self, epoch: int) -> None:
        """Raise an idempotent producer's epoch without a request (KIP-360)."""
        self._former = Fenced(copy.copy(self.producer), self._batches)
        self._begin_at(self.producer.producer_id, epoch)

    def _begin_at(self, producer_id: int, epoch: int) -> None:
        self.producer.continue_at(producer_id, epoch)
        self._batches = defaultdict(Batches)
        self._next_transaction()
        self._broken = False

    def _next_transaction(self) -> None:
        self._added.clear()
        self._is_open, self._ending = False, None

    def _ready(self) -> None:
        """Begin a new instance or end the last transaction first, if necessary. Raises Absent."""
        if self._broken:
            self.init()
        elif self._ending is not None:
            self._end(self._ending)

    def fenced_instance(self) -> Fenced:
        """Return the instance, or epoch, before the current one; without one, a new instance begins first. Raises
        Absent."""
        while self._former is None:
            (self.init if self.transactional else self.bump)()
        return self._former

    # --- writing

    def write(self, on: str, partition: Partition, node: NodeClient, values: Sequence[bytes]) -> None:
        """Send the next batch, or retry the first one with an unknown outcome."""
        self._begin_on(on, partition)
        batches = self._batches[on]
        batch = batches.pending[0] if batches.pending else self._number_batch(on, partition, values)
        to = PartitionAt(partition, node)
        self._note_answer(on, batch, self._ask(lambda: self.producer.send(to, batch, timeout_ms=ANSWERED_WITHIN_MS)))

    def write_to_several(self, partitions: Mapping[str, Partition], node: NodeClient, value: bytes) -> None:
        """Send one Produce with a batch for each partition without an unknown outcome."""
        idle = {on: partition for on, partition in partitions.items() if not self._batches[on].pending}
        if not idle:
            raise Absent("each partition has a batch of unknown outcome")
        for on, partition in idle.items():
            self._begin_on(on, partition)
        batches = {on: self._number_batch(on, partition, [value]) for on, partition in idle.items()}
        wanted = [ProducePartition(one.topic, one.index, batches[on]) for on, one in idle.items()]
        answer = node.produce_many(wanted, timeout_ms=ANSWERED_WITHIN_MS, **self._produce_options(node))
        for on, partition in idle.items():
            for one in answer.partitions:
                # Answers name the topic by its name, or by its id.
                named = ({one.topic, one.topic_id} - {None}) & {partition.name, partition.topic.id}
                if named and one.partition == partition.index:
                    self._note_answer(on, batches[on], one)

    def write_in_flight(
        self, on: str, partition: Partition, node: NodeClient, values: Sequence[bytes]
    ) -> Iterator[UnansweredProduce]:
        """Send a batch of each value, yielding each without waiting for an answer. Raises Absent after a batch with an
        unknown outcome."""
        self._begin_on(on, partition)
        if self._batches[on].pending:
            raise Absent(f"a batch for {on} has an unknown outcome")
        for batch in [self._number_batch(on, partition, [value]) for value in values]:
            wanted = [ProducePartition(partition.topic, partition.index, batch)]
            request = node.park_produce(wanted, timeout_ms=IN_FLIGHT_MS, **self._produce_options(node))
            yield UnansweredProduce(self, on, batch, node, request)

    def collect(self, sent: UnansweredProduce) -> None:
        """Collect the answer to a request in flight; it counts only while the current instance has the batch
        pending."""
        answer = sent.node.parked_produce(sent.request, within=COLLECTED_WITHIN)
        for one in answer.partitions:
            if sent.batch in self._batches[sent.on].pending:
                self._note_answer(sent.on, sent.batch, one)

    def skip(self, on: str, partition: Partition, node: NodeClient, gap: int, value: bytes) -> None:
        """Send a batch whose sequence is too high. If it may have been appended nevertheless, a new instance must
        begin."""
        self._begin_on(on, partition)
        sequence = self._batches[on].next_sequence + gap
        batch = self.producer.records(
            PartitionAt(partition, node), value, base_sequence=sequence, timestamp=self._began
        )
        broken, self._broken = self._broken, True
        answer = self.producer.send(PartitionAt(partition, node), batch, timeout_ms=ANSWERED_WITHIN_MS)
        self._broken = broken or answer.error in MAY_BE_APPENDED | APPENDED

    def repeat(self, on: str, partition: Partition, node: NodeClient, back: int) -> None:
        """Send an acknowledged batch once more. Raises Absent if there is none."""
        sent = self._batches[on].sent
        if not sent:
            raise Absent(f"nothing was acknowledged on {on}")
        self.producer.send(PartitionAt(partition, node), sent[-1 - back % len(sent)], timeout_ms=ANSWERED_WITHIN_MS)

    def _begin_on(self, on: str, partition: Partition) -> None:
        """Prepare to write to the partition: in the first protocol, add it to the transaction. Raises Absent."""
        self._ready()
        if not self.transactional:
            return
        if not self.producer.dialect.bumps and on not in self._added:
            self._require(lambda: self.producer.add(partition), f"adding {on} to the transaction")
            self._added.add(on)
        self._is_open = True

    def _number_batch(self, on: str, partition: Partition, values: Sequence[bytes]) -> NewBatch:
        return self._batches[on].number(self.producer, partition, values, self._began)

    def _produce_options(self, node: NodeClient) -> dict[str, Any]:
        version = self._bench.at_most(node, "Produce", self.producer.dialect.produce)
        return {"transactional_id": self.producer.transactional_id or None, "version": version}

    def _note_answer(self, on: str, batch: NewBatch, answer: ProducedPartition) -> None:
        batches = self._batches[on]
        if answer.error in APPENDED:
            batches.acknowledge(batch)
        elif answer.error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER or batches.pending[0] is batch:
            # After an error that does not pass the producer begins again as a new instance.
            self._broken = self._broken or answer.error not in MAY_BE_APPENDED

    # --- transactions

    def commit_offset(self, group: str, coordinator: NodeClient, offset: NewOffset) -> None:
        """Commit an offset of the group in the transaction, after AddOffsetsToTxn in the first protocol."""
        self._ready()
        if not self.producer.dialect.bumps:
            self._require(lambda: self.producer.add_offsets(group), "adding the group to the transaction")
        self._is_open = True
        self._ask(lambda: self.producer.commit_offsets(group, [offset], coordinator=lambda: coordinator))

    def commit_offset_of_unadded_group(self, group: str, coordinator: NodeClient, offset: NewOffset) -> None:
        """Commit an offset without AddOffsetsToTxn. Raises Absent if the request itself adds the group, or if brokers
        do not verify it: the offset would stay pending (KIP-890)."""
        if self.producer.dialect.bumps or self._bench.column.ranges["AddPartitionsToTxn"] < VERIFIED_FROM:
            raise Absent("TxnOffsetCommit needs no AddOffsetsToTxn here")
        self._ready()
        self.producer.commit_offsets(group, [offset], coordinator=lambda: coordinator)

    def end(self, partitions: Mapping[str, Partition], *, commit: bool) -> None:
        """Send EndTxn once each batch's outcome is known; a batch with an unknown outcome makes it an abort."""
        if self._broken or not self._is_open:
            raise Absent("the producer has no open transaction")
        if self._ending is None:
            self._flush(partitions)
            commit = commit and not self._broken and not any(one.pending for one in self._batches.values())
        self._end(commit if self._ending is None else self._ending)

    def end_without_transaction(self, *, commit: bool) -> None:
        """Send EndTxn without an open transaction; after an unknown outcome a new instance takes over. Raises Absent if
        a transaction is open."""
        self._ready()
        if self._is_open:
            raise Absent("the producer has an open transaction")
        self._broken = True
        answer = self._ask(lambda: self.producer.finish(commit))
        if answer.error is Error.NONE and self.producer.dialect.bumps:
            self._begin_at(answer.producer_id, answer.producer_epoch)
        self._broken = answer.error in PASSING

    def outlast_timeout(self) -> None:
        """Wait until the coordinator describes the transaction as ended. Raises Absent unless one with a short timeout
        is open."""
        timeout_ms, named = self.producer.timeout_ms, self.producer.transactional_id
        if self._broken or not self._is_open or timeout_ms > SHORT_MS:
            raise Absent("the producer has no open transaction with a short timeout")

        def has_ended() -> bool:
            return self.coordinator().describe_transaction(named).state in ENDED

        with suppress(Overdue):
            within = (timeout_ms + SHORT_MS) / 1_000
            self._bench.eventually(has_ended, "the timeout of the transaction", within=within, every=0.2, due=None)

    def _flush(self, partitions: Mapping[str, Partition]) -> None:
        """Retry each batch with an unknown outcome once."""
        for on, batches in self._batches.items():
            for batch in [*batches.pending]:
                with suppress(WireError, Absent):
                    at = PartitionAt(partitions[on], self._roles.node(on, "leader"))
                    self._note_answer(on, batch, self.producer.send(at, batch, timeout_ms=ANSWERED_WITHIN_MS))

    def _end(self, commit: bool) -> None:
        """Send EndTxn until its outcome is known. Raises Absent if it stays unknown."""
        self._ending = commit
        answer = self._require(lambda: self.producer.finish(commit), "the end of the transaction")
        if self.producer.dialect.bumps:
            self._begin_at(answer.producer_id, answer.producer_epoch)
        else:
            # Batches that are still pending were not committed: others come in their place only at another epoch.
            self._broken = any(one.pending for one in self._batches.values())
            self._next_transaction()

    def _require(self, ask: Callable[[], A], what: str) -> A:
        """Return the answer, retrying on transient errors. Raises Absent if it is refused."""
        answer = self._ask(ask)
        if (error := error_of(answer)) is not Error.NONE:
            self._broken = self._broken or error not in PASSING
            raise Absent(f"{what} is refused: {error.name}")
        return answer

    def _ask(self, ask: Callable[[], A]) -> A:
        """Return the first answer without a transient error, or the last one."""
        answers: list[A] = []

        def is_answered() -> bool:
            answers.append(ask())
            return error_of(answers[-1]) not in PASSING

        with suppress(Overdue):
            self._bench.eventually(
                is_answered, "an answer of the coordinator", within=READY_WITHIN, every=0.1, due=None
            )
        return answers[-1]


class Fenced:
    """The instance before the current one, unaware that it is fenced."""

    def __init__(self, producer: Producer, batches: Mapping[str, Batches]) -> None:
        self.producer = producer
        self._sequences = {on: one.next_sequence for on, one in batches.items()}
        self._pending: dict[str, NewBatch] = {}

    def write(self, on: str, partition: Partition, node: NodeClient, value: bytes, began: int) -> None:
        """Send the next batch, or the previous one again until it is acknowledged."""
        to, sequence = PartitionAt(partition, node), self._sequences.get(on, 0)
        if on not in self._pending:
            self._pending[on] = self.producer.records(to, value, base_sequence=sequence, timestamp=began)
        if self.producer.send(to, self._pending[on], timeout_ms=ANSWERED_WITHIN_MS).error in APPENDED:
            del self._pending[on]
            self._sequences[on] = sequence + 1

    def bump(self) -> None:
        self.producer.init_once(self.producer.producer_id, self.producer.epoch)
