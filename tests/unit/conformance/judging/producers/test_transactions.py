"""Transactions as their clients know them: which requests belong to which, and when one began and ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.story import ProducerStory, TransactionStory
from conformance.judging.producers.transactions import IDEMPOTENT, Producers, Transaction, by_partition
from conformance.judging.reading import Reading
from conformance.judging.together import Together
from protocol.codes import Error
from tests.support.producers import ID, LEGACY, TID, TV2, ProducerHistory

Step = Callable[[ProducerHistory], ProducerHistory]
TYPES = (TransactionStory, ProducerStory, PartitionStory)


def producers(history: ProducerHistory) -> Producers:
    reading = Reading(history.example, TYPES)
    reading.feed(history.events)
    return Together(reading.timeline, {one: reading.stories(one) for one in TYPES}).derive(Producers)


def transactions(history: ProducerHistory) -> list[Transaction]:
    return producers(history).transactions


def shape(history: ProducerHistory) -> list[tuple[int, list[int], list[int], bool | None]]:
    """Each transaction with its epoch, the sequences and offsets in it, and whether it was committed; None if it is open."""
    return [
        (
            one.epoch,
            [write.result.base_sequence for write in one.writes],
            [offsets.offset for offsets in one.offsets],
            None if one.ended is None else one.ended.committed,
        )
        for one in transactions(history)
    ]


def began() -> ProducerHistory:
    return ProducerHistory().given().adds().writes("a", at=0, tid=TID)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (ProducerHistory().given(), []),
        (ProducerHistory().given().adds().ends(True), []),
        (began(), [(0, [0], [], None)]),
        (began().ends(True), [(0, [0], [], True)]),
        (began().ends(False), [(0, [0], [], False)]),
        (began().ends(True, error=Error.CONCURRENT_TRANSACTIONS), [(0, [0], [], None)]),
        (began().ends(True, lost=True), [(0, [0], [], None)]),
        (began().commits(3).ends(True), [(0, [0], [3], True)]),
        (ProducerHistory().given().adds_offsets().commits(3), [(0, [], [3], None)]),
        (began().writes("b", at=1, sequence=1, tid=TID), [(0, [0, 1], [], None)]),
        (began().ends(True).writes("b", at=2, sequence=1, tid=TID), [(0, [0], [], True), (0, [1], [], None)]),
        (
            began().ends(True).given(epoch=1, sent=(ID, 0)).writes("b", at=2, epoch=1, tid=TID),
            [(0, [0], [], True), (1, [0], [], None)],
        ),
    ],
    ids=[
        "nothing sent",
        "an empty one",
        "open",
        "committed",
        "aborted",
        "a refused end",
        "a lost end",
        "with offsets",
        "offsets alone",
        "two batches",
        "one after the other",
        "of the next epoch",
    ],
)
def test_a_transaction_goes_from_its_first_write_to_its_acknowledged_end(
    history: ProducerHistory, expected: list[tuple[int, list[int], list[int], bool | None]]
) -> None:
    assert shape(history) == expected


def test_a_repeated_batch_belongs_to_the_transaction_of_its_first_request() -> None:
    history = ProducerHistory().given().writes("a", tid=TID, lost="Unanswered").ends(True).writes("a", at=0, tid=TID)
    assert shape(history) == [(0, [0], [], True)]


def test_a_fenced_write_belongs_to_none() -> None:
    history = ProducerHistory().given().given(epoch=1).writes("a", at=0, tid=TID)
    assert shape(history) == []


def test_writes_belong_to_the_transactions_of_their_own_id() -> None:
    found = transactions(began().writes("b", at=1, id=8).writes("c", at=2, id=9, tid="other"))
    assert [(one.story.name, [write.result.producer_id for write in one.writes]) for one in found] == [
        ("other", [9]),
        (TID, [ID]),
    ]


class TestItsBounds:
    def test_it_began_with_its_first_write_or_commit_of_offsets(self) -> None:
        history = ProducerHistory().given().adds_offsets()
        at = len(history.events)
        [one] = transactions(history.commits(3).writes("a", at=0, tid=TID))
        assert one.first_asked == at

    @pytest.mark.parametrize("opened", [ProducerHistory.adds, ProducerHistory.adds_offsets])
    def test_it_may_have_been_open_since_a_partition_or_group_was_added(self, opened: Step) -> None:
        history = ProducerHistory().given()
        at = len(history.events)
        [one] = transactions(opened(history).writes("a", at=0, tid=TID))
        assert one.opened_at == at < one.first_asked

    def test_what_was_added_to_an_earlier_one_did_not_open_it(self) -> None:
        first, second = transactions(began().ends(True).writes("b", at=2, sequence=1, tid=TID))
        assert first.opened_at < first.first_asked
        assert second.opened_at == second.first_asked

    def test_what_another_epoch_added_did_not_open_it(self) -> None:
        history = ProducerHistory().given().adds().given(epoch=1, sent=(ID, 0)).writes("a", at=0, epoch=1, tid=TID)
        [one] = transactions(history)
        assert one.opened_at == one.first_asked

    def test_its_ends_are_all_that_may_have_decided_it(self) -> None:
        history = began().ends(True, lost=True).ends(True, error=Error.CONCURRENT_TRANSACTIONS).ends(True)
        [one] = transactions(history.ends(True))
        assert [end.error for end in one.end_requests] == [-1, Error.CONCURRENT_TRANSACTIONS, 0]
        assert one.last_asked == one.end_requests[-1].asked

    def test_the_last_request_of_an_open_one_is_a_write_or_commit(self) -> None:
        [one] = transactions(began().commits(3))
        assert one.last_asked == one.offsets[0].asked
        [other] = transactions(began())
        assert other.last_asked == other.writes[0].result.asked

    def test_it_is_named_by_its_id_and_epoch(self) -> None:
        [one] = transactions(began())
        assert str(one) == "the transaction of tid at epoch 0 of producer 7"


@pytest.mark.parametrize(
    ("history", "id", "case"),
    [
        (ProducerHistory().given(tid=None), ID, IDEMPOTENT),
        (began().ends(True, version=LEGACY), ID, "legacy"),
        (began().ends(True, version=TV2), ID, "tv2"),
        (began().ends(True, version=TV2, then=(9, 0)), 9, "tv2"),
        (began(), 8, ""),
        (ProducerHistory().given(error=Error.COORDINATOR_NOT_AVAILABLE), ID, ""),
    ],
)
def test_a_producer_goes_by_the_protocol_of_its_id(history: ProducerHistory, id: int, case: str) -> None:
    assert producers(history).case(id) == case


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (ProducerHistory().given(), set()),
        (ProducerHistory().given().adds(), {"topic-0"}),
        (ProducerHistory().given().writes("a", at=0, tid=TID), {"topic-0"}),
        (ProducerHistory().given().writes("a", at=0), set()),
    ],
    ids=["nothing", "added", "written", "written outside of it"],
)
def test_partitions_that_were_added_or_written_to_may_be_in_a_transaction(
    history: ProducerHistory, expected: set[str]
) -> None:
    found = producers(history)
    [story] = found.together.stories_of(TransactionStory)
    assert {one.name for one in found.written_by(story)} == expected


def test_writes_go_by_partition_in_the_order_of_their_requests() -> None:
    [one] = transactions(began().writes("b", at=1, sequence=1, tid=TID))
    first, second = one.writes
    assert by_partition([second, first]) == {first.partition: [first.result, second.result]}
