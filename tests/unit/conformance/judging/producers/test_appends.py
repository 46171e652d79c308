"""The answers of a partition's leader by the batches of a producer before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.appends import append_of, is_leading, why_forgotten
from conformance.judging.producers.logs import SEQUENCES
from protocol.codes import Error
from tests.support.histories import TOPIC
from tests.support.producers import ProducerHistory, stories

GAP = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def story(history: ProducerHistory) -> PartitionStory:
    [found] = [one for one in stories(history).stories_of(PartitionStory) if one.name == f"{TOPIC.name}-0"]
    return found


def kind(history: ProducerHistory) -> tuple[str, set[int]]:
    """The kind of the last Produce, and the errors that it may be answered with."""
    partition = story(history)
    found = append_of(partition, partition.produced[-1])
    return found.kind, {*found.errors}


def two(epoch: int = 0) -> ProducerHistory:
    return ProducerHistory().writes("a", "b", at=0, epoch=epoch)


def test_the_first_batch_of_an_epoch() -> None:
    assert kind(ProducerHistory().writes("a", at=0)) == ("granted", {0})
    assert kind(ProducerHistory().writes("a", at=0, sequence=5))[0] == "unknown", "KIP360-SEQ-01"
    assert kind(two().writes("c", epoch=1)) == ("granted", {0})
    assert kind(two().writes("c", epoch=1, sequence=1)) == ("out-of-order", {GAP})


def test_the_next_sequence_and_others() -> None:
    assert kind(two().writes("c", sequence=2)) == ("granted", {0})
    assert kind(two().writes("c", sequence=3)) == ("out-of-order", {GAP})
    assert kind(two().writes("c", sequence=1)) == ("out-of-order", {GAP})
    assert kind(two(epoch=1).writes("c", sequence=2)) == ("fenced-seen", {Error.INVALID_PRODUCER_EPOCH})


@pytest.mark.parametrize(("sequence", "wanted"), [(0, "granted"), (1, "out-of-order"), (SEQUENCES - 3, "repeated")])
def test_the_last_sequence_is_followed_by_the_first(sequence: int, wanted: str) -> None:
    end = (
        ProducerHistory().writes("a", at=0, sequence=SEQUENCES - 4).writes("b", "c", "d", at=1, sequence=SEQUENCES - 3)
    )
    again = ("b", "c", "d") if wanted == "repeated" else ("e",)
    assert kind(end.writes(*again, sequence=sequence))[0] == wanted


def test_a_batch_of_unknown_outcome_may_be_there() -> None:
    lost = two().writes("c", sequence=2, lost="Unanswered")
    assert kind(lost.writes("d", sequence=3))[0] == "unknown"
    assert kind(two().writes("c", sequence=2, lost="Unanswered").writes("d", sequence=4)) == ("out-of-order", {GAP})
    refused = two().writes("c", sequence=2, error=Error.NOT_ENOUGH_REPLICAS)
    assert kind(refused.writes("d", sequence=3)) == ("out-of-order", {GAP}), "it was refused"


@pytest.mark.parametrize(("later", "wanted"), [(0, "repeated"), (4, "repeated"), (5, "out-of-order")])
def test_the_last_five_batches_are_recognised(later: int, wanted: str) -> None:
    history = two().settled(1, 0)
    for n in range(later):
        history.writes(f"v{n}", at=2 + n, sequence=2 + n)
    assert kind(history.writes("a", "b", at=0)) == (wanted, {GAP} if wanted == "out-of-order" else {0})


def test_another_leader_may_recognise_the_last_batch_only() -> None:
    moved = two().writes("c", at=2, sequence=2).settled(2, 1)
    assert kind(moved.writes("a", "b", at=0)) == ("repeated", {0, GAP})
    assert kind(two().settled(2, 1).writes("a", "b", at=0)) == ("repeated", {0})


def test_the_leader_is_named_before_and_after() -> None:
    led, other = (
        story(two().writes("c", sequence=2).settled(1, 0)),
        story(two().writes("c", sequence=2).settled(2, 1)),
    )
    assert is_leading(led, led.produced[-1])
    assert not is_leading(other, other.produced[-1])


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (lambda: two(), True),
        (lambda: two().settled(1, 0), True),
        (lambda: two().settled(2, 1), False),
        (lambda: two().settled(1, 0).hit("rate-limit", 1), False),
        (lambda: two().settled(1, 0).reassigned(2, 3), False),
    ],
    ids=["never named", "named before", "another named before", "a fault", "a reassignment"],
)
def test_a_leader_that_nobody_names_afterwards_leads_unless_it_may_be_deposed(
    before: Callable[[], ProducerHistory], expected: bool
) -> None:
    found = story(before().writes("c", sequence=2))
    assert is_leading(found, found.produced[-1]) is expected


def test_what_was_deleted_may_be_forgotten() -> None:
    kept, deleted = (
        story(two().writes("c", sequence=2)),
        story(two().trim(1, 2).writes("c", sequence=2)),
    )
    assert why_forgotten(kept, kept.produced[-1]) is None
    assert why_forgotten(deleted, deleted.produced[-1]) is not None
