"""A partition's log as its producers see it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from conformance.judging.facts.log import FetchResult, ReplicaBatch
from conformance.judging.log.permitted_losses import EPOCH_BEGIN
from conformance.judging.producers.logs import (
    SEQUENCES,
    batch_identity,
    batch_sequences,
    cannot_take_markers,
    epoch_begin,
    final_read,
    leader_reads_at_own_epoch,
    moment_of_event,
    pair_with_markers,
    producer_batches,
    stable_end,
)
from conformance.judging.timeline import NEVER
from protocol.codes import Error
from protocol.records import Batch as Held
from tests.support.histories import stamped as batch
from tests.support.judging import partition_story
from tests.support.producers import ProducerHistory, marker
from tests.support.producers import written as by_producer

OPEN = by_producer(0, "a", in_transaction=True)
OTHERS = by_producer(1, "b", id=8, in_transaction=True)


def read(*batches: Held) -> FetchResult:
    return partition_story(ProducerHistory().reads(*batches)).full_reads[-1]


class TestReads:
    def test_a_full_read_counts_if_the_leader_of_the_named_epoch_answered_it(self) -> None:
        history = ProducerHistory().reads(OPEN).reads(OPEN, broker=2).fetch(1, OPEN, epoch=0, hw=1)
        assert [one.node for one in leader_reads_at_own_epoch(partition_story(history))] == ["broker-1"]

    def test_a_compacted_log_has_none(self) -> None:
        assert leader_reads_at_own_epoch(partition_story(ProducerHistory(cleanup_policy="compact").reads(OPEN))) == []

    def test_the_final_one_is_the_last_at_rest(self) -> None:
        history = ProducerHistory().reads(OPEN)
        assert final_read(partition_story(history)) is None
        history.rests().reads(OPEN).reads(OPEN, OTHERS).reads(OPEN, broker=2)
        found = final_read(partition_story(history))
        assert found is not None
        assert (found.node, len(found.batches)) == ("broker-1", 2)


def test_batches_without_a_producer_and_markers_were_not_written_by_producers() -> None:
    found = read(batch(0, 0, "plain"), by_producer(1, "a"), by_producer(2, "b", id=8), marker(3, True))
    assert [one.base for one in producer_batches(found)] == [1, 2]


@pytest.mark.parametrize(
    ("again", "same"),
    [
        (by_producer(5, "a", "b"), True),
        (by_producer(0, "a", "c"), False),
        (by_producer(0, "a"), False),
        (by_producer(0, "a", "b", id=8), False),
        (by_producer(0, "a", "b", epoch=1), False),
        (by_producer(0, "a", "b", sequence=1), False),
    ],
    ids=["another offset", "another value", "fewer values", "another id", "another epoch", "another sequence"],
)
def test_a_batch_has_the_identity_of_the_requests_that_wrote_it(again: Held, same: bool) -> None:
    history = ProducerHistory().writes("a", "b", at=0).writes("a", "b", error=Error.NOT_LEADER_OR_FOLLOWER)
    story = partition_story(history.reads(again))
    first, repeated = map(batch_identity, story.produced)
    assert first == repeated
    assert (batch_identity(story.full_reads[-1].batches[0]) == first) is same


@given(base=integers(0, SEQUENCES - 1), count=integers(1, 5))
def test_sequences_follow_one_another_and_wrap_around(base: int, count: int) -> None:
    found = [*batch_sequences(ReplicaBatch(10, 9 + count, 0, 0, True, False, (), 7, 0, base))]
    assert len(found) == count
    assert found[0] == base
    assert all(two == (one + 1) % SEQUENCES for one, two in pairwise(found))
    assert all(0 <= one < SEQUENCES for one in found)


@pytest.mark.parametrize(
    ("batches", "outcomes"),
    [
        ((OPEN,), [(0, None)]),
        ((OPEN, marker(1, True)), [(0, True)]),
        ((OPEN, marker(1, False)), [(0, False)]),
        ((OPEN, marker(1, True, id=8)), [(0, None)]),
        ((by_producer(0, "a"), marker(1, True)), []),
        ((OPEN, OTHERS, marker(2, False, id=8), marker(3, True)), [(0, True), (1, False)]),
        (
            (OPEN, marker(1, False), by_producer(2, "b", sequence=1, in_transaction=True), marker(3, True)),
            [(0, False), (2, True)],
        ),
    ],
    ids=["open", "committed", "aborted", "another's", "not in one", "two producers", "one after the other"],
)
def test_the_next_marker_of_its_producer_ends_a_transaction(
    batches: tuple[Held, ...], outcomes: list[tuple[int, bool | None]]
) -> None:
    assert [(one.batch.base, one.commits) for one in pair_with_markers(read(*batches))] == outcomes


@pytest.mark.parametrize(
    ("batches", "end"),
    [
        ((by_producer(0, "a"),), 1),
        ((OPEN, marker(1, True)), 2),
        ((by_producer(0, "a"), by_producer(1, "b", sequence=1, in_transaction=True), by_producer(2, "c", id=8)), 1),
        ((OPEN, OTHERS, marker(2, True)), 1),
    ],
    ids=["no transaction", "all ended", "open", "the first open one"],
)
def test_the_log_is_stable_up_to_the_first_open_transaction(batches: tuple[Held, ...], end: int) -> None:
    assert stable_end(read(*batches)) == end


@pytest.mark.parametrize(
    ("min_isr", "replicas", "expected"),
    [("1", (1,), False), ("2", (1, 2), False), ("2", (1,), True), ("3", (1, 2), True)],
)
def test_markers_need_as_many_replicas_as_the_minimal_isr(
    min_isr: str, replicas: tuple[int, ...], expected: bool
) -> None:
    history = ProducerHistory(min_insync_replicas=min_isr).metadata(1, 1, 0, replicas=replicas)
    assert cannot_take_markers(partition_story(history), 0, NEVER) is expected
    restored = history.metadata(1, 1, 0)
    assert not cannot_take_markers(partition_story(restored), 0, NEVER), "it counts how it was described last"


def test_a_moment_is_the_newest_epoch_named_before_an_event() -> None:
    history = ProducerHistory()
    first = len(history.events)
    story = partition_story(history.settled(2, 1).reads(OPEN))
    assert moment_of_event(story, first) == (0, first)
    assert moment_of_event(story, len(history.events)) == (1, len(history.events))
    assert epoch_begin(story.full_reads[-1].batches[0]) == (0, EPOCH_BEGIN)
