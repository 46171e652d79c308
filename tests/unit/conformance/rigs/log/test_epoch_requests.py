"""Answers to requests that name leader epochs: refusals, ends of epochs, divergence, records."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.rigs.log.epoch_requests import AnyAnswer, diverges_at, ends_epoch, is_refusal, out_of_range
from conformance.rigs.log.replica_log import FetchedLog, reads_nothing, serves_log
from conformance.rigs.log.truncated_readers import silently_skips
from protocol.codes import Error
from protocol.log import EpochAndOffset, EpochEnd, FetchedPartition, ListedOffset
from tests.support.histories import stamped

FENCED, NONE, OUT = Error.FENCED_LEADER_EPOCH, Error.NONE, Error.OFFSET_OUT_OF_RANGE
A, B, C = stamped(0, 0, "a", "b"), stamped(1, 2, "c"), stamped(3, 3, "d")
END = EpochAndOffset(1, 3)


def fetched(error: Error = NONE, **fields: Any) -> FetchedPartition:
    return FetchedPartition(version=12, topic="t", partition=0, error=error, **fields)


def listed(error: Error = NONE, **fields: Any) -> ListedOffset:
    return ListedOffset(version=7, topic="t", partition=0, error=error, **fields)


def epoch_end(error: Error = NONE, epoch: int = -1, offset: int = -1) -> EpochEnd:
    return EpochEnd(version=4, topic="t", partition=0, error=error, leader_epoch=epoch, end_offset=offset)


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (fetched(FENCED), True),
        (fetched(), False),
        (fetched(FENCED, batches=(A,)), False),
        (fetched(FENCED, high_watermark=3), False),
        (fetched(FENCED, log_start_offset=0), False),
        (listed(FENCED), True),
        (listed(Error.UNKNOWN_LEADER_EPOCH), False),
        (listed(FENCED, offset=3), False),
        (listed(FENCED, leader_epoch=1), False),
        (epoch_end(FENCED), True),
        (epoch_end(FENCED, epoch=1), False),
        (epoch_end(FENCED, offset=3), False),
    ],
)
def test_a_refusal_returns_the_error_and_nothing_else(answer: AnyAnswer, refused: bool) -> None:
    assert is_refusal(answer, FENCED) is refused


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (epoch_end(NONE, 1, 3), True),
        (epoch_end(NONE, 0, 3), False),
        (epoch_end(NONE, 1, 2), False),
        (epoch_end(FENCED, 1, 3), False),
    ],
)
def test_an_epoch_ends_as_it_was_answered_without_an_error(answer: EpochEnd, expected: bool) -> None:
    assert ends_epoch(answer, 1, 3) is expected


@pytest.mark.parametrize(
    ("answer", "diverging", "beyond"),
    [
        (fetched(diverging_epoch=END), True, False),
        (fetched(diverging_epoch=EpochAndOffset(1, 2)), False, False),
        (fetched(diverging_epoch=END, batches=(A,)), False, False),
        (fetched(OUT, diverging_epoch=END), False, False),
        (fetched(OUT), False, True),
        (fetched(OUT, batches=(A,)), False, False),
        (fetched(), False, False),
    ],
)
def test_a_fetch_is_answered_with_where_logs_diverge_or_that_it_is_out_of_range(
    answer: FetchedPartition, diverging: bool, beyond: bool
) -> None:
    assert (diverges_at(answer, 1, 3), out_of_range(answer)) == (diverging, beyond)


class TestAFetchedLog:
    """Epoch 0 has offsets 0 and 1, epoch 1 has 2, epoch 3 has 3."""

    log = FetchedLog(0, 4, (A, B, C))

    def test_each_epoch_with_records_begins_at_its_first_batch(self) -> None:
        assert self.log.epoch_starts == {0: 0, 1: 2, 3: 3}
        assert self.log.ended_epochs() == [0, 1]

    @pytest.mark.parametrize(("epoch", "end"), [(0, 2), (1, 3), (3, 4)])
    def test_an_epoch_ends_where_a_later_one_begins(self, epoch: int, end: int) -> None:
        assert self.log.end_of(epoch) == end

    @pytest.mark.parametrize(
        ("epoch", "answer"),
        [(0, (0, 2)), (1, (1, 3)), (2, (1, 3)), (3, (3, 4)), (4, (3, 4)), (5, (5, 4)), (6, (-1, -1))],
    )
    def test_a_leader_answers_the_largest_epoch_up_to_the_requested_one(
        self, epoch: int, answer: tuple[int, int]
    ) -> None:
        assert self.log.epoch_end(epoch, current=5) == EpochAndOffset(*answer)

    @pytest.mark.parametrize(("offset", "rest"), [(0, (A, B, C)), (1, (A, B, C)), (2, (B, C)), (3, (C,)), (4, ())])
    def test_a_fetch_is_served_whole_batches_to_the_end(self, offset: int, rest: tuple[Any, ...]) -> None:
        assert self.log.batches_from(offset) == rest
        assert serves_log(fetched(batches=rest), self.log, offset)
        assert not serves_log(fetched(FENCED, batches=rest), self.log, offset)
        assert not serves_log(fetched(batches=rest, diverging_epoch=END), self.log, offset)
        assert not serves_log(fetched(batches=(*rest, stamped(3, 9, "x"))), self.log, offset)


@pytest.mark.parametrize(
    ("answer", "nothing"),
    [
        (fetched(), True),
        (fetched(batches=(A,)), False),
        (fetched(high_watermark=0), False),
        (fetched(log_start_offset=0), False),
    ],
)
def test_an_answer_without_records_and_offsets_reads_nothing(answer: FetchedPartition, nothing: bool) -> None:
    assert reads_nothing(answer) is nothing


@pytest.mark.parametrize(
    ("answer", "skips"),
    [
        (fetched(batches=(B, C)), True),
        (fetched(batches=(A, C)), True),
        (fetched(batches=(stamped(0, 2, "c"), C)), False),
        (fetched(), False),
        (fetched(OUT, batches=(B,)), False),
        (fetched(batches=(B,), diverging_epoch=END), False),
    ],
    ids=["later epochs", "below the offset", "its own epoch", "nothing", "an error", "told of it"],
)
def test_a_reader_skips_records_silently_if_all_that_it_gets_are_of_later_epochs(
    answer: FetchedPartition, skips: bool
) -> None:
    assert silently_skips(answer, offset=2, epoch=0) is skips
