"""The log machine's stateful producers: idempotent ones, a transactional one, and requests in flight."""

from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.rigs.log.partition import Partition
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.log import FetchOptions, FetchPartition, ProducePartition
from protocol.messages import PendingRequest
from protocol.records import NewBatch
from protocol.transactions import InitProducerIdAnswer

ANSWERED_WITHIN_MS = 1_500
TRANSACTION_TIMEOUT_MS = 20_000
LEGACY = {"Produce": 11, "EndTxn": 4}
"""The highest versions of a producer that adds its partitions by separate requests (before KIP-890, part 2)."""
READY_WITHIN = 3.0
"""Seconds that a step waits for a coordinator, or for a producer id."""
SETTLED_WITHIN = 30.0
"""Seconds in which a healed cluster must end a transaction: more than a coordinator needs to move and load."""
LOADING = frozenset(
    (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE, Error.CONCURRENT_TRANSACTIONS)
)
IN_FLIGHT_MS = 8_000
COLLECTED_WITHIN = 2.0
"""Seconds to wait for a late answer; after them the outcome of the request stays unknown."""

APPENDED = frozenset((Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER))
MAY_BE_APPENDED = frozenset(
    (
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.KAFKA_STORAGE_ERROR,
    )
)
"""Errors after which a producer retries the same batch, which may have been appended, here or by another leader."""

Ending: TypeAlias = Literal["commit", "abort", "open"]


class Sequences:
    """The batches of one producer id, numbered by partition, each retried until its outcome is known."""

    def __init__(self, producer_id: int, epoch: int, *, transactional: bool = False) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.broken = False
        """True once a batch was refused for good, so that the next ones need another producer id or epoch."""
        self._transactional = transactional
        self._next: dict[str, int] = defaultdict(int)
        self._pending: dict[str, NewBatch] = {}

    def batch(self, on: str, fresh: NewBatch) -> NewBatch:
        """Return the batch with an unknown outcome, or else the fresh one with the next sequence number."""
        if on not in self._pending:
            self._pending[on] = msgspec.structs.replace(
                fresh,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                base_sequence=self._next[on],
                transactional=self._transactional,
            )
        return self._pending[on]

    def note_answer(self, on: str, error: Error) -> None:
        """Note the outcome: appended, to be retried, or refused for good."""
        if error in APPENDED:
            self._next[on] += len(self._pending.pop(on).records)
        elif error not in MAY_BE_APPENDED:
            self.broken = True


class IdempotentProducers:
    """Idempotent producers by number, each with a producer id that it replaces if brokers refuse its batches."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._by_number: dict[int, Sequences] = {}

    def write(self, number: int, on: str, partition: Partition, leader: NodeClient, fresh: NewBatch) -> None:
        """Send the producer's next batch, or retry the one with an unknown outcome."""
        producer = self._by_number.get(number)
        if producer is None or producer.broken:
            given = _producer_id(self._bench, leader.init_producer_id)
            producer = self._by_number[number] = Sequences(given.producer_id, given.producer_epoch)
        batch = producer.batch(on, fresh)
        answer = leader.produce(partition.topic, partition.index, batch, timeout_ms=ANSWERED_WITHIN_MS)
        producer.note_answer(on, answer.error)


class TransactionalProducer:
    """One transactional id, whose transactions have one batch on each of their partitions."""

    def __init__(self, bench: Bench, roles: Roles, transactional_id: str) -> None:
        self.is_open = False
        self._bench = bench
        self._roles = roles
        self._id = transactional_id
        self._producer: Sequences | None = None
        self._written_to: set[str] = set()

    def write(self, on: str, partition: Partition, leader: NodeClient, fresh: NewBatch) -> None:
        """Add the partition and produce to it. Raises Absent without a coordinator, or if it grants no producer id."""
        coordinator = self._coordinator()
        producer = self._open_transaction(coordinator)
        added = coordinator.add_partitions_to_txn(
            self._id, producer.producer_id, producer.epoch, [(partition.name, partition.index)]
        )
        if added.error is not Error.NONE or any(one.error is not Error.NONE for one in added.partitions):
            producer.broken = True
            return
        self.is_open = True
        self._written_to.add(on)
        answer = leader.produce(
            partition.topic,
            partition.index,
            producer.batch(on, fresh),
            transactional_id=self._id,
            timeout_ms=ANSWERED_WITHIN_MS,
            version=self._bench.at_most(leader, "Produce", LEGACY["Produce"]),
        )
        producer.note_answer(on, answer.error)

    def end(self, *, committed: bool) -> None:
        """End the open transaction. Unless EndTxn succeeds, the next transaction has another epoch."""
        if self._producer is None or not self.is_open:
            return
        coordinator, producer = self._coordinator(), self._producer
        self.is_open = False
        broken, producer.broken = producer.broken, True  # and stays so where the request is not answered
        ended = coordinator.end_txn(
            self._id,
            producer.producer_id,
            producer.epoch,
            committed=committed and not broken,
            version=self._bench.at_most(coordinator, "EndTxn", LEGACY["EndTxn"]),
        )
        producer.broken = broken or ended.error is not Error.NONE

    def settle(self, refusing: Collection[str]) -> None:
        """Abort what may still be open, and wait for its markers, before which the coordinator grants no producer id
        (KIP-360).

        After an EndTxn without success a transaction may stay open until its timeout, whose marker would change a log
        at rest. A partition that is `refusing` writes, by the machine's name, gets no marker: then there is no wait.
        """
        if self._producer is None:
            return
        self._producer.broken = True
        within = 0.0 if self._written_to.intersection(refusing) else SETTLED_WITHIN
        with suppress(Overdue):
            self._bench.eventually(
                self._is_settled, f"no open transaction of {self._id}", within=within, every=0.5, due=None
            )

    def _is_settled(self) -> bool:
        with suppress(WireError, Absent):
            self._open_transaction(self._coordinator())
            return True
        return False

    def _open_transaction(self, coordinator: NodeClient) -> Sequences:
        """Return the producer id and epoch of the open transaction, or of a new one."""
        if self._producer is None or self._producer.broken:
            self.is_open = False
            ask = partial(coordinator.init_producer_id, self._id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS)
            given = _producer_id(self._bench, ask)
            self._producer = Sequences(given.producer_id, given.producer_epoch, transactional=True)
        return self._producer

    def _coordinator(self) -> NodeClient:
        """Return the coordinator, once there is one: the very first look-up creates its topic. Raises Absent."""

        def find() -> NodeClient | None:
            with suppress(Absent):
                return self._roles.coordinator(self._id, CoordinatorType.TRANSACTION)
            return None

        with suppress(Overdue):
            return self._bench.eventually(
                find, f"a coordinator of {self._id}", within=READY_WITHIN, every=0.1, due=None
            )
        return self._roles.coordinator(self._id, CoordinatorType.TRANSACTION)


def _producer_id(bench: Bench, ask: Callable[[], InitProducerIdAnswer]) -> InitProducerIdAnswer:
    """Return a producer id from a broker or coordinator that may still be loading. Raises Absent if it grants none."""
    answers: list[InitProducerIdAnswer] = []

    def is_answered() -> bool:
        answers.append(ask())
        return answers[-1].error not in LOADING

    with suppress(Overdue):
        bench.eventually(is_answered, "a producer id", within=READY_WITHIN, every=0.1, due=None)
    if answers[-1].error is not Error.NONE:
        raise Absent(f"no producer id is given: {answers[-1].error.name}")
    return answers[-1]


class _Sent(NamedTuple):
    node: NodeClient
    request: PendingRequest
    produces: bool


class RequestsInFlight:
    """Requests in flight, until their answers are collected."""

    def __init__(self) -> None:
        self._sent: list[_Sent] = []

    def produce(self, partition: Partition, node: NodeClient, batch: NewBatch) -> None:
        wanted = [ProducePartition(partition.topic, partition.index, batch)]
        self._sent.append(_Sent(node, node.park_produce(wanted, timeout_ms=IN_FLIGHT_MS), True))

    def fetch(self, partition: Partition, node: NodeClient, offset: int, epoch: int) -> None:
        wanted = FetchPartition(
            topic=partition.topic, partition=partition.index, fetch_offset=offset, current_leader_epoch=epoch
        )
        options = FetchOptions(max_wait_ms=IN_FLIGHT_MS, min_bytes=1)
        self._sent.append(_Sent(node, node.park_fetch([wanted], options), False))

    def collect(self) -> None:
        """Collect all answers; those that do not come have an unknown outcome."""
        sent, self._sent = self._sent, []
        for one in sent:
            with suppress(WireError):
                if one.produces:
                    one.node.parked_produce(one.request, within=COLLECTED_WITHIN)
                else:
                    one.node.parked_fetch(one.request, within=COLLECTED_WITHIN)
