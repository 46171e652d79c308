"""Transactions in words: requests, answers, markers."""

from __future__ import annotations

from conformance.judging.narration import Narration
from tests.support.producers import ID, TID, TV2, ProducerHistory, marker, written


def lines(history: ProducerHistory) -> list[str]:
    return [one.split(" s  ")[1] for one in Narration(history.history).lines()][4:]


def test_a_transaction_reads_from_its_begin_to_its_end() -> None:
    history = ProducerHistory().given().adds().writes("a", at=0, tid=TID).ends(True, version=TV2, then=(ID, 1))
    history.describes("CompleteCommit", 1).knows(1, (ID, 0, 0, 0)).given(epoch=2, sent=(ID, 1))
    assert lines(history) == [
        "broker-2  InitProducerId of tid as a new instance -> producer 7, epoch 0",
        "broker-2  AddPartitionsToTxn of tid by producer 7, epoch 0: topic-0 -> no error",
        "broker-1  Produce topic-0 acks -1 by producer 7, epoch 0, from sequence 0, in a transaction: 'a' -> appended at 0",
        "broker-2  EndTxn of tid by producer 7, epoch 0: commit -> done, next producer 7, epoch 1",
        "broker-2  DescribeTransactions of tid -> CompleteCommit, producer 7, epoch 1",
        "broker-1  DescribeProducers of topic-0 -> producer 7, epoch 0, last sequence 0, coordinator epoch 0, a transaction "
        "open from offset 0 on",
        "broker-2  InitProducerId of tid for the epoch after producer 7, epoch 1 -> producer 7, epoch 2",
    ]


def test_a_marker_says_how_the_transaction_ended() -> None:
    [_, line, *_] = lines(ProducerHistory().given().reads(written(0, "a", in_transaction=True), marker(1, False)))
    assert "[0-0 of epoch 0 by producer 7, epoch 0, from sequence 0, in a transaction: 'a']" in line
    assert "[1-1 of epoch 0 by producer 7, epoch 0: abort marker of coordinator epoch 0]" in line


def test_epochs_that_were_raised_in_a_row_read_as_one_request() -> None:
    [_, line, *_] = lines(ProducerHistory().given().raises_epoch(0, 32_760))
    assert line == "broker-2  InitProducerId of tid, 32760 times from producer 7, epoch 0 on -> producer 7, epoch 32760"
