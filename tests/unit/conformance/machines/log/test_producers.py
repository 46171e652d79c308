"""Batches of a producer with sequence numbers: sent again until their outcome is known, and given up when refused for good."""

from __future__ import annotations

import pytest

from conformance.machines.log.producers import Sequences
from fixtures.wire import Error
from fixtures.wire.records import batch

ONE, TWO = batch(b"one"), batch(b"two", b"more")


def test_the_next_batch_follows_what_was_appended() -> None:
    producer = Sequences(7, 1)
    first = producer.batch("strict-0", TWO)
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.transactional) == (7, 1, 0, False)
    producer.answered("strict-0", Error.NONE)
    assert producer.batch("strict-0", ONE).base_sequence == 2


def test_partitions_are_numbered_apart() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", TWO)
    producer.answered("strict-0", Error.NONE)
    assert producer.batch("loose-0", ONE).base_sequence == 0


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS])
def test_a_batch_of_unknown_outcome_is_sent_again(error: Error) -> None:
    producer = Sequences(7, 1)
    first = producer.batch("strict-0", ONE)
    producer.answered("strict-0", error)
    assert producer.batch("strict-0", TWO) == first
    assert not producer.broken


def test_a_batch_without_an_answer_is_sent_again() -> None:
    producer = Sequences(7, 1)
    assert producer.batch("strict-0", ONE) == producer.batch("strict-0", TWO)


def test_a_duplicate_was_appended_before() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", ONE)
    producer.answered("strict-0", Error.DUPLICATE_SEQUENCE_NUMBER)
    assert producer.batch("strict-0", TWO).base_sequence == 1


def test_after_a_refusal_for_good_another_producer_id_is_needed() -> None:
    producer = Sequences(7, 1)
    producer.batch("strict-0", ONE)
    producer.answered("strict-0", Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert producer.broken


def test_batches_of_a_transaction_say_so() -> None:
    assert Sequences(7, 1, transactional=True).batch("strict-0", ONE).transactional
