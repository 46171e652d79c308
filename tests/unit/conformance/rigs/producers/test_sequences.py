"""Answers of coordinators to producers, and the premises that checks read from them."""

from __future__ import annotations

import pytest

from conformance.rigs.producers.sequences import ends_at, gives_id, is_fenced, premise_of_epoch, premise_of_log_length
from protocol.codes import Error
from protocol.transactions import EndTxnAnswer, InitProducerIdAnswer, ProducerState

NONE, FENCED, INVALID = Error.NONE, Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH


def given(error: Error = NONE, id: int = 7, epoch: int = 1, version: int = 4) -> InitProducerIdAnswer:
    return InitProducerIdAnswer(version=version, error=error, producer_id=id, producer_epoch=epoch)


@pytest.mark.parametrize(
    ("answer", "expected"), [(given(), True), (given(id=8), False), (given(epoch=2), False), (given(FENCED), False)]
)
def test_a_producer_id_and_epoch_are_given_without_an_error(answer: InitProducerIdAnswer, expected: bool) -> None:
    assert gives_id(answer, 7, 1) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (given(FENCED, -1, -1, version=4), True),
        (given(INVALID, -1, -1, version=4), False),
        (given(INVALID, -1, -1, version=3), True),
        (given(FENCED, -1, -1, version=3), False),
        (given(FENCED, 7, -1), False),
        (given(FENCED, -1, 1), False),
        (given(NONE, -1, -1), False),
    ],
)
def test_a_fenced_producer_is_told_by_the_error_of_its_version(answer: InitProducerIdAnswer, expected: bool) -> None:
    assert is_fenced(answer) is expected


@pytest.mark.parametrize(
    ("error", "id", "epoch", "expected"),
    [(NONE, 7, 1, True), (FENCED, 7, 1, False), (NONE, 8, 1, False), (NONE, 7, 2, False)],
)
def test_a_transaction_ends_at_the_id_and_epoch_of_the_next(error: Error, id: int, epoch: int, expected: bool) -> None:
    answer = EndTxnAnswer(version=5, error=error, producer_id=id, producer_epoch=epoch)
    assert ends_at(answer, 7, 1) is expected


@pytest.mark.parametrize(
    ("known", "met"),
    [(ProducerState(producer_id=7, producer_epoch=1), True), (ProducerState(producer_id=7, producer_epoch=0), False)],
)
def test_a_partition_has_to_hold_the_epoch_that_a_producer_wrote_at(known: ProducerState, met: bool) -> None:
    assert premise_of_epoch(known, 1).met is met
    assert not premise_of_epoch(None, 1).met


@pytest.mark.parametrize(
    ("end", "met", "row"), [(3, True, "KIP360-INV-01"), (4, False, "KIP360-INV-01"), (2, False, "KIP360-INV-02")]
)
def test_a_log_with_too_much_breaks_another_row_than_one_with_too_little(end: int, met: bool, row: str) -> None:
    claim = premise_of_log_length(end, written=3)
    assert claim.met is met
    assert [promise.row for promise in claim.promises] == [row]
