"""Transactions on a cluster of several brokers, where a leader can move between data and marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition
from fixtures.errors import KitError
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import Answer
from fixtures.wire.cluster import CoordinatorType
from fixtures.wire.log import FetchedPartition, ProducedPartition
from fixtures.wire.records import Batch, batch

A = TypeVar("A", bound=Answer)

PRODUCE, END_TXN = 11, 4
"""The last versions in which a client adds its partitions to the transaction itself (KIP-890)."""

NOT_YET = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.CONCURRENT_TRANSACTIONS,
)


def accepted(bench: Bench, ask: Callable[[], A], error: Callable[[A], Error]) -> A:
    """The answer of a coordinator once it is ready; KitError when it refuses."""

    def asked() -> A | None:
        answer = ask()
        if error(answer) in NOT_YET:
            return None
        if error(answer) is not Error.NONE:
            raise KitError(f"a coordinator refused what a check stands on: {answer}")
        return answer

    return bench.eventually(asked, "a coordinator that is ready")


def coordinator_of(bench: Bench, key: str, kind: CoordinatorType) -> NodeClient:
    broker = bench.node(bench.brokers[0])
    found = accepted(bench, lambda: broker.find_coordinator(key, kind), lambda answer: answer.error)
    return bench.node(found.node_id)


class Transaction:
    """The first transaction of a transactional id that nobody used before."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.id = bench.fresh("transaction")
        first = accepted(bench, lambda: self.coordinator().init_producer_id(self.id), lambda answer: answer.error)
        self.producer_id, self.epoch = first.producer_id, first.producer_epoch

    def coordinator(self) -> NodeClient:
        return coordinator_of(self.bench, self.id, CoordinatorType.TRANSACTION)

    def enter(self, partition: Partition) -> None:
        """Add a partition to it."""
        pair = [(partition.name, partition.index)]
        accepted(
            self.bench,
            lambda: self.coordinator().add_partitions_to_txn(self.id, self.producer_id, self.epoch, pair),
            lambda answer: answer.partitions[0].error,
        )

    def write(self, partition: Partition, *values: bytes, **fields: Any) -> ProducedPartition:
        """Its first batch to a partition that it entered; `fields` are those of NewBatch."""
        records = batch(
            *values,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=0,
            transactional=True,
            **fields,
        )
        version = min(PRODUCE, self.bench.column.ranges["Produce"])
        leader = partition.leader()
        return accepted(
            self.bench,
            lambda: leader.produce(
                partition.topic, partition.index, records, transactional_id=self.id, version=version
            ),
            lambda answer: answer.error,
        )

    def end(self, *, committed: bool) -> None:
        version = min(END_TXN, self.bench.column.ranges["EndTxn"])
        accepted(
            self.bench,
            lambda: self.coordinator().end_txn(
                self.id, self.producer_id, self.epoch, committed=committed, version=version
            ),
            lambda answer: answer.error,
        )

    def marker(self, partition: Partition, after: int) -> tuple[FetchedPartition, Batch]:
        """A fetch from the offset `after` that shows the transaction's marker, and the marker in it."""
        leader = partition.leader()

        def found() -> tuple[FetchedPartition, Batch] | None:
            read = leader.fetch(partition.topic, partition.index, after)
            markers = [one for one in read.batches if one.control and one.producer_id == self.producer_id]
            return (read, markers[0]) if markers else None

        return self.bench.eventually(found, f"the marker of {self.id} in {partition.name}")
