"""Batches of a producer with sequence numbers: sent again until their outcome is known, and given up when refused for good."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.machines.log.producers import Sequences, TransactionalProducer
from fixtures.waiting import Overdue
from protocol.codes import Error
from protocol.records import batch
from protocol.transactions import InitProducerIdAnswer

ONE, TWO = batch(b"one"), batch(b"two", b"more")


def test_the_next_batch_follows_what_was_appended() -> None:
    producer = Sequences(7, 1)
    first = producer.batch("strict-0", TWO)
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.transactional) == (7, 1, 0, False)
    producer.note_answer("strict-0", Error.NONE)
    assert producer.batch("strict-0", ONE).base_sequence == 2


def test_partitions_are_numbered_apart() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", TWO)
    producer.note_answer("strict-0", Error.NONE)
    assert producer.batch("loose-0", ONE).base_sequence == 0


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS])
def test_a_batch_of_unknown_outcome_is_sent_again(error: Error) -> None:
    producer = Sequences(7, 1)
    first = producer.batch("strict-0", ONE)
    producer.note_answer("strict-0", error)
    assert producer.batch("strict-0", TWO) == first
    assert not producer.broken


def test_a_batch_without_an_answer_is_sent_again() -> None:
    producer = Sequences(7, 1)
    assert producer.batch("strict-0", ONE) == producer.batch("strict-0", TWO)


def test_a_duplicate_was_appended_before() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", ONE)
    producer.note_answer("strict-0", Error.DUPLICATE_SEQUENCE_NUMBER)
    assert producer.batch("strict-0", TWO).base_sequence == 1


def test_after_a_refusal_for_good_another_producer_id_is_needed() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", ONE)
    producer.note_answer("strict-0", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert producer.broken


def test_batches_of_a_transaction_say_so() -> None:
    assert Sequences(7, 1, transactional=True).batch("strict-0", ONE).transactional


# --- transactions


class Coordinator:
    """Refuses to end a transaction, and gives a producer id as often and as late as a test says."""

    def __init__(self, *answers: Error) -> None:
        self.answers = [Error.NONE, *answers]
        self.node = "broker-1"

    def init_producer_id(self, *_: Any, **__: Any) -> InitProducerIdAnswer:
        error = self.answers.pop(0)
        return InitProducerIdAnswer(version=4, error=error, producer_id=7, producer_epoch=0)

    def add_partitions_to_txn(self, *_: Any) -> Any:
        return SimpleNamespace(error=Error.NONE, partitions=())

    def produce(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(error=Error.NONE)

    def end_txn(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(error=Error.COORDINATOR_NOT_AVAILABLE)


class Patience:
    """A bench that asks up to four times, and never waits."""

    def at_most(self, node: Any, api: str, version: int) -> int:
        return version

    def eventually(self, probe: Callable[[], Any], what: str, **_: Any) -> Any:
        for _attempt in range(4):
            if found := probe():
                return found
        raise Overdue(what)


def producer_of(coordinator: Coordinator) -> TransactionalProducer:
    roles = SimpleNamespace(coordinator=lambda *_: coordinator)
    return TransactionalProducer(Patience(), roles, "transactions")  # type: ignore[arg-type]


def transacted(coordinator: Coordinator) -> TransactionalProducer:
    producer, partition = producer_of(coordinator), SimpleNamespace(name="strict", index=0, topic="strict")
    producer.write("strict-0", partition, coordinator, ONE)  # type: ignore[arg-type]
    return producer


def test_a_transaction_that_was_not_ended_is_settled_by_the_next_producer_id() -> None:
    coordinator = Coordinator(Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_NOT_AVAILABLE, Error.NONE)
    producer = transacted(coordinator)
    producer.end(committed=False)
    assert len(coordinator.answers) == 3
    producer.settle([])
    assert coordinator.answers == []


def test_a_coordinator_that_settles_nothing_is_not_waited_for_forever() -> None:
    coordinator = Coordinator(*[Error.CONCURRENT_TRANSACTIONS] * 99)
    transacted(coordinator).settle([])
    assert coordinator.answers


def test_without_a_transaction_nothing_is_settled() -> None:
    coordinator = Coordinator()
    producer_of(coordinator).settle([])
    assert len(coordinator.answers) == 1


def test_no_marker_is_waited_for_where_a_partition_takes_no_writes() -> None:
    waits: list[float] = []

    class Timed(Patience):
        def eventually(self, probe: Callable[[], Any], what: str, **bounds: Any) -> Any:
            waits.extend([bounds["within"]] if "no open transaction" in what else [])
            return super().eventually(probe, what)

    for refusing in (["other-0"], ["strict-0"]):
        coordinator = Coordinator(*[Error.CONCURRENT_TRANSACTIONS] * 99)
        producer = transacted(coordinator)
        producer._bench = Timed()  # type: ignore[assignment]
        producer.settle(refusing)
    assert waits == [30.0, 0.0]
