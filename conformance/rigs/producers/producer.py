"""A check's producer: record values name their origin, and an unexplained refusal is overdue."""

from collections.abc import Callable
from typing import TypeVar

from conformance.core.bench import Bench
from fixtures.views.producer import LEGACY, SEQUENCES, Dialect, Producer, WritablePartition
from fixtures.wire import NodeClient
from history.due import Due
from protocol.log import ProducedPartition
from protocol.messages import Answer
from protocol.records import NewBatch

A = TypeVar("A", bound=Answer)


class CheckProducer(Producer):
    """An idempotent or transactional producer on a bench. Equal batches have equal bytes, so one can be repeated."""

    def __init__(
        self,
        bench: Bench,
        began: int,
        transactional_id: str = "",
        dialect: Dialect = LEGACY,
        *,
        timeout_ms: int = 60_000,
        coordinator: Callable[[], NodeClient] | None = None,
    ) -> None:
        """Create the producer. `began` is the timestamp of its records, in ms since 1970."""
        super().__init__(bench, transactional_id, dialect, timeout_ms=timeout_ms, coordinator=coordinator)
        self.bench = bench
        self._began = began

    def batch(
        self, to: WritablePartition, count: int = 1, *, sequence: int | None = None, epoch: int | None = None
    ) -> NewBatch:
        """Return the next batch for a partition, or one with a given sequence or epoch."""
        first = self.sequences.get((to.topic.name, to.index), 0) if sequence is None else sequence
        at = self.epoch if epoch is None else epoch
        values = (f"{self.producer_id}/{at} {(first + n) % SEQUENCES}".encode() for n in range(count))
        return self.records(to, *values, producer_epoch=at, base_sequence=first, timestamp=self._began)

    def write(self, to: WritablePartition, count: int = 1) -> ProducedPartition:
        """Write the next batch and advance the sequence. Raises KitError if it is refused."""
        return self.send_accepted(to, self.batch(to, count))

    def enter(self, to: WritablePartition, count: int = 1) -> ProducedPartition:
        """Write to a partition for the first time in the transaction, adding it first if the protocol requires it."""
        if not self.dialect.bumps:
            self.require(self.add(to), "producer")
        return self.write(to, count)

    def require(self, answer: A, due: Due) -> A:
        return self.bench.require(answer, due, self.timeout_ms / 1000)
