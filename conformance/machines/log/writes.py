"""Produce requests by role: plain ones, and batches of the stateful producers."""

from contextlib import suppress

from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.machines.log.partitions import Partitions
from conformance.machines.log.positions import Positions
from conformance.machines.log.producers import IdempotentProducers, RequestsInFlight, TransactionalProducer
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.records import Codec, NewBatch, NewRecord
from strategies import log as do
from strategies.log_offer import EVERY_PARTITION

KEYS = 3
"""The number of keys of the compacted partition: few, so that there is always something to clean."""
ACKNOWLEDGED_WITHIN_MS = 1_500


class Writes:
    """An example's producers. All its records have different values."""

    def __init__(self, bench: Bench, roles: Roles, partitions: Partitions, positions: Positions) -> None:
        self.transactional = TransactionalProducer(bench, roles, f"transactions-{bench.tape.example.example}")
        self.in_flight = RequestsInFlight()
        self.refusing: set[str] = set()
        """Partitions whose last acks=all write found fewer in-sync replicas than min.insync.replicas."""
        self._bench = bench
        self._roles = roles
        self._partitions = partitions
        self._positions = positions
        self._idempotent = IdempotentProducers(bench)
        self._written = 0

    # --- steps

    def produce(self, step: do.Produce) -> None:
        batch = self.batch(step.on, step.records, step.size, Codec[step.codec.upper()])
        self.write(step.on, self._roles.node(step.on, step.to), step.acks, batch)

    def produce_to_all(self, step: do.ProduceToAll) -> None:
        with self._roles.shared_metadata():
            for on in filter(self._partitions.__contains__, EVERY_PARTITION):
                with suppress(*UNANSWERED, Absent):
                    self.produce(do.Produce(on=on, records=step.records, acks=step.acks, to=step.to))

    def produce_idempotently(self, step: do.ProduceIdempotently) -> None:
        leader, batch = self._roles.node(step.on, step.to), self.batch(step.on, step.records)
        self._idempotent.write(step.producer, step.on, self._partitions[step.on], leader, batch)

    def transact(self, step: do.Transact) -> None:
        leader, batch = self._roles.node(step.on, "leader"), self.batch(step.on, step.records)
        self.transactional.write(step.on, self._partitions[step.on], leader, batch)
        if step.end != "open":
            self.transactional.end(committed=step.end == "commit")

    def produce_in_flight(self, step: do.ProduceInFlight) -> None:
        node, batch = self._roles.node(step.on, step.to), self.batch(step.on, step.records)
        self.in_flight.produce(self._partitions[step.on], node, batch)

    # --- parts of several steps

    def write(
        self, on: str, node: NodeClient, acks: int, batch: NewBatch, within_ms: int = ACKNOWLEDGED_WITHIN_MS
    ) -> None:
        """Produce a batch, and note the log end that it shows and whether the ISR is too small."""
        partition = self._partitions[on]
        answer = node.produce(partition.topic, partition.index, batch, acks=acks, timeout_ms=within_ms)
        if answer.error is Error.NONE:
            self._positions.note_end(on, answer.base_offset + len(batch.records))
        if acks == -1:
            (self.refusing.add if answer.error is Error.NOT_ENOUGH_REPLICAS else self.refusing.discard)(on)

    def batch(self, on: str, count: int = 1, size: int = 0, codec: Codec = Codec.NONE) -> NewBatch:
        """Return a batch of numbered values, each padded to `size` bytes."""
        numbers = range(self._written, self._written + count)
        self._written += count
        keyed = on == "compacted-0"
        records = [
            NewRecord(f"value {n}".encode().ljust(size, b"."), key=f"key {n % KEYS}".encode() if keyed else None)
            for n in numbers
        ]
        return NewBatch(tuple(records), timestamp=self._bench.now().unix_ms, codec=codec)
