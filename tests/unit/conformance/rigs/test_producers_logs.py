"""A producer's state by the batches of a log, and answers for several partitions: broken ones do not pass for right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.kip360.broker_restarts import LoggedProducerState, written_by
from conformance.kip360.several_partitions import PartitionBatch, errors, is_answered
from conformance.rigs.producers.combined_node import Log, LogState
from protocol.codes import Error
from protocol.log import ProduceAnswer, ProducedPartition
from protocol.messages import Topic
from protocol.records import batch
from protocol.transactions import AddPartitionsToTxnAnswer, TxnPartition

P: Any = SimpleNamespace(producer_id=7)


def one(offset: int, epoch: int, sequence: int, *, control: bool = False, transactional: bool = False) -> Any:
    return SimpleNamespace(
        producer_id=7,
        producer_epoch=epoch,
        base_offset=offset,
        base_sequence=sequence,
        control=control,
        transactional=transactional or control,
        records=(None, None),
    )


DATA = [one(0, 3, 0, transactional=True), one(2, 3, 2, transactional=True)]


class TestWrittenBy:
    def test_the_last_batch_counts(self) -> None:
        assert written_by([one(0, 3, 0), one(2, 4, 0)], P) == LoggedProducerState(4, 1, -1)

    def test_a_transaction_is_open_from_its_first_batch_on(self) -> None:
        assert written_by(DATA, P) == LoggedProducerState(3, 3, 0)

    def test_a_legacy_marker_ends_it_and_keeps_the_sequence(self) -> None:
        assert written_by([*DATA, one(4, 3, -1, control=True)], P) == LoggedProducerState(3, 3, -1)

    def test_a_marker_of_the_next_epoch_begins_that_epoch(self) -> None:
        assert written_by([*DATA, one(4, 4, -1, control=True)], P) == LoggedProducerState(4, -1, -1)

    def test_batches_of_others_do_not_count(self) -> None:
        assert written_by(DATA, SimpleNamespace(producer_id=8)) is None  # type: ignore[arg-type]


LOG = Log(None, Topic("topic"), 1)  # type: ignore[arg-type]
BEFORE, GROWN = LogState(0, 3, 3, None), LogState(0, 5, 5, None)
NEXT = PartitionBatch(batch(b"1", b"2"), Error.NONE, 3, 2)
REFUSED = PartitionBatch(batch(b"1", b"2"), Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
DUPLICATE = PartitionBatch(batch(b"1", b"2"), Error.NONE, 0)


def answer(*partitions: tuple[int, Error, int]) -> ProduceAnswer:
    return ProduceAnswer(
        version=9,
        throttle_time_ms=0,
        partitions=tuple(
            ProducedPartition(version=9, topic="topic", partition=index, error=error, base_offset=at)
            for index, error, at in partitions
        ),
    )


GAP = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("item", "after", "given", "right"),
    [
        (NEXT, GROWN, [(1, Error.NONE, 3)], True),
        (NEXT, GROWN, [(1, Error.NONE, 2)], False),
        (NEXT, BEFORE, [(1, Error.NONE, 3)], False),
        (NEXT, GROWN, [(0, Error.NONE, 3)], False),
        (NEXT, GROWN, [(1, Error.NONE, 3), (1, Error.NONE, 3)], False),
        (REFUSED, BEFORE, [(0, Error.NONE, 3), (1, GAP, -1)], True),
        (REFUSED, GROWN, [(1, GAP, -1)], False),
        (REFUSED, BEFORE, [(1, Error.NONE, 3)], False),
        (DUPLICATE, BEFORE, [(1, Error.NONE, 0)], True),
        (DUPLICATE, GROWN, [(1, Error.NONE, 0)], False),
    ],
)
def test_a_partition_is_answered_for_itself(
    item: PartitionBatch, after: LogState, given: list[tuple[int, Error, int]], right: bool
) -> None:
    assert is_answered(item, BEFORE, after, LOG, answer(*given)) == right


def test_a_partition_that_is_answered_twice_is_answered_wrong() -> None:
    twice = [
        TxnPartition(version=3, topic="topic", partition=index, transactional_id=id)
        for id, index in (("a", 0), ("a", 1), ("a", 1), ("b", 1))
    ]
    given = AddPartitionsToTxnAnswer(version=3, throttle_time_ms=0, partitions=tuple(twice))
    assert errors(given, "a") == {("topic", 0): Error.NONE, ("topic", 1): Error.INCONSISTENT_TOPIC_ID}
    assert errors(given, "b") == {("topic", 1): Error.NONE}
