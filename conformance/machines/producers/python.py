"""The machine's kafka-python producers: started at their first step, and again after a fatal error."""

from collections.abc import Sequence
from contextlib import suppress

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.rigs.log.partition import Partition
from fixtures.producers import KafkaPythonProducer, ProducerTrouble
from protocol.groups import NewOffset
from protocol.messages import Topic
from strategies.producers import PYTHON_TRANSACTIONAL, PythonProducerName

FLUSHED_WITHIN = 3.0
"""Seconds that a step waits for records' outcomes; they are still sent after that."""
SETTLED_WITHIN = 10.0
"""Seconds to flush at the end of an example: longer than a record is retried."""


class PythonProducers:
    """One producer without a transactional id, and one with the given id."""

    def __init__(self, bench: Bench, roles: Roles, transactional_id: str, began: int) -> None:
        self._bench, self._roles, self._began = bench, roles, began
        self._transactional_id = transactional_id
        self._current: dict[PythonProducerName, KafkaPythonProducer] = {}
        self._instances = 0

    def has_begun(self, name: PythonProducerName) -> bool:
        return name in self._current

    def write(self, name: PythonProducerName, partition: Partition, values: Sequence[bytes]) -> None:
        self._ready(name).write(partition.name, partition.index, values, self._began)

    def flush(self, name: PythonProducerName) -> None:
        self._current_one(name).flush(FLUSHED_WITHIN)

    def commit_offset(self, group: str, offset: NewOffset) -> None:
        self._ready(PYTHON_TRANSACTIONAL).commit_offset(
            group, Topic.of(offset.topic).name, offset.partition, offset.offset
        )

    def end(self, *, commit: bool) -> None:
        """End the open transaction. Raises Absent if there is none."""
        producer = self._current_one(PYTHON_TRANSACTIONAL)
        if not producer.is_open:
            raise Absent("kafka-python's producer has no open transaction")
        producer.end(commit=commit)

    def reopen(self, name: PythonProducerName) -> None:
        """Close the producer, even in the middle of a transaction, and start another in its place."""
        self._current_one(name).close()
        self._begin(name)

    def settle(self) -> None:
        """Send the remaining records, abort an open transaction, and close."""
        for producer in self._current.values():
            with suppress(ProducerTrouble):
                producer.flush(SETTLED_WITHIN)
                if producer.is_open:
                    producer.end(commit=False)
            producer.close()

    def _current_one(self, name: PythonProducerName) -> KafkaPythonProducer:
        """Return the producer of this name. Raises Absent if it has not started."""
        if name not in self._current:
            raise Absent(f"{name} has not begun")
        return self._current[name]

    def _ready(self, name: PythonProducerName) -> KafkaPythonProducer:
        """Return a usable instance, if need be a new one. Raises Absent if no broker runs."""
        if name in self._current and not self._current[name].is_broken:
            return self._current[name]
        if name in self._current:
            self._current[name].close()
        return self._begin(name)

    def _begin(self, name: PythonProducerName) -> KafkaPythonProducer:
        running = self._roles.running_brokers()
        if not running:
            raise Absent("no broker runs")
        self._instances += 1
        transactional_id = self._transactional_id if name == PYTHON_TRANSACTIONAL else None
        self._current[name] = self._bench.producer(f"{name}-{self._instances}", transactional_id, running)
        return self._current[name]
