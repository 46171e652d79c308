"""Transactions on a cluster of several brokers, where the leader can change between data and marker."""

from typing import Any

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition
from fixtures.views.coordinator import Coordinator
from fixtures.views.nodes import ask_until_granted
from fixtures.views.producer import LEGACY, Dialect, Producer
from fixtures.wire import NodeClient
from protocol.cluster import CoordinatorType
from protocol.log import FetchedPartition, ProducedPartition
from protocol.records import Batch


def coordinator_of(bench: Bench, key: str, kind: CoordinatorType) -> NodeClient:
    """Return the client of the coordinator that the first broker names, as soon as it names one."""
    return Coordinator(bench, key, kind, asked=bench.brokers[:1]).node()


class FirstTransaction:
    """The first transaction of a new transactional id."""

    def __init__(self, bench: Bench, dialect: Dialect = LEGACY) -> None:
        self.bench = bench
        self.id = bench.fresh_name("transaction")
        self.producer = Producer(bench, self.id, dialect=dialect, coordinator=self.coordinator).start()

    def coordinator(self) -> NodeClient:
        return coordinator_of(self.bench, self.id, CoordinatorType.TRANSACTION)

    def enter(self, partition: Partition) -> None:
        """Add a partition to the transaction."""
        ask_until_granted(self.bench, lambda: self.producer.add(partition), f"{partition} added to the transaction")

    def write(self, partition: Partition, *values: bytes, **fields: Any) -> ProducedPartition:
        """Write the transaction's first batch to an added partition; `fields` are those of NewBatch."""
        records = self.producer.records(partition, *values, **fields)
        return ask_until_granted(
            self.bench, lambda: self.producer.send(partition, records), f"a write to {partition} acknowledged"
        )

    def end(self, *, committed: bool) -> None:
        ask_until_granted(self.bench, lambda: self.producer.finish(committed), f"the transaction of {self.id} ended")

    def marker(self, partition: Partition, after: int) -> tuple[FetchedPartition, Batch]:
        """Fetch from the offset `after` until the transaction's marker comes; return the answer and the marker."""
        leader = partition.leader()

        def marker_if_there() -> tuple[FetchedPartition, Batch] | None:
            read = leader.fetch(partition.fetch_from(after))
            markers = [one for one in read.batches if one.control and one.producer_id == self.producer.producer_id]
            return (read, markers[0]) if markers else None

        return self.bench.eventually(marker_if_there, f"the marker of {self.id} in {partition.name}")
