"""The reference reader on logs in memory: where it goes back to, and what it hands out where a broker lies or it does not ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from conformance.rigs.log.partition import Partition
from conformance.rigs.log.reader import Detection, Reader, common_prefix, delivered_of
from history.readings import Position
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import EpochAndOffset, EpochEnd, FetchedPartition, FetchPartition, ListedOffset
from protocol.messages import Topic
from protocol.records import Batch
from tests.support.histories import stamped

UNKNOWN = EpochAndOffset()


def log(*batches: Batch) -> FetchedPartition:
    return FetchedPartition(version=17, partition=0, batches=batches, high_watermark=batches[-1].last_offset + 1)


class FakeLeader:
    """Answers by the catalogue's model of epoch ends (section M). `lie` changes what it says of one, `mute` keeps it from
    Fetch answers.
    """

    def __init__(
        self,
        epoch: int,
        *batches: Batch,
        lie: Callable[[EpochAndOffset], EpochAndOffset] = lambda end: end,
        mute: bool = False,
    ) -> None:
        self.epoch, self.batches, self.lie, self.mute = epoch, batches, lie, mute
        self.start = batches[0].base_offset
        self.end = batches[-1].last_offset + 1
        self.entries = {batch.leader_epoch: batch.base_offset for batch in reversed(batches)} | {epoch: self.end}
        for batch in batches:
            self.entries[batch.leader_epoch] = min(self.entries[batch.leader_epoch], batch.base_offset)

    def end_of(self, epoch: int) -> EpochAndOffset:
        if epoch == -1 or epoch > max(self.entries):
            return UNKNOWN
        if epoch == max(self.entries):
            return EpochAndOffset(epoch, self.end)
        following = min(other for other in self.entries if other > epoch)
        floor = max((other for other in self.entries if other <= epoch), default=epoch)
        return EpochAndOffset(floor, self.entries[following])

    def offset_for_leader_epoch(self, _: str, __: int, epoch: int, *, current_leader_epoch: int) -> EpochEnd:
        if current_leader_epoch != self.epoch:
            return EpochEnd(version=4, partition=0, error=Error.FENCED_LEADER_EPOCH)
        end = self.lie(self.end_of(epoch))
        return EpochEnd(version=4, partition=0, leader_epoch=end.epoch, end_offset=end.end_offset)

    def fetch(self, wanted: FetchPartition) -> FetchedPartition:
        last, offset = wanted.last_fetched_epoch, wanted.fetch_offset
        if wanted.current_leader_epoch != self.epoch:
            return self._answer(error=Error.FENCED_LEADER_EPOCH)
        if last >= 0 and not self.mute:
            end = self.end_of(last)
            if end.epoch < last or end.end_offset < offset:
                return self._answer(diverging_epoch=self.lie(end))
        if not self.start <= offset <= self.end:
            return self._answer(error=Error.OFFSET_OUT_OF_RANGE)
        return self._answer(batches=tuple(batch for batch in self.batches if batch.last_offset >= offset))

    def list_offsets(self, _: str, __: int, ___: int) -> ListedOffset:
        return ListedOffset(version=10, partition=0, offset=self.start)

    def _answer(self, **fields: Any) -> FetchedPartition:
        return FetchedPartition(version=17, partition=0, **fields)


class FakePartition:
    """Bench, tape and partition in one: the leader is asked, and the reader's actions are kept."""

    name, index, topic = "topic", 0, Topic("topic")
    fetch_from = Partition.fetch_from

    def __init__(self, leader: FakeLeader) -> None:
        self.leader = leader
        self.done: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def bench(self) -> FakePartition:
        return self

    @property
    def tape(self) -> FakePartition:
        return self

    def node(self, _: int) -> FakeLeader:
        return self.leader

    def newest(self) -> PartitionMetadata:
        return PartitionMetadata(
            partition=0, leader=1, leader_epoch=self.leader.epoch, replicas=(1,), isr=(1,), error=Error.NONE
        )

    def call(self, node: str, op: str, request: dict[str, Any], answer: type[Any], do: Callable[[], Any]) -> Any:
        msgspec.json.encode(request)
        self.done.append((node, op, request))
        return do()


FIRST = (stamped(0, 0, "a", "b", "c"), stamped(0, 3, "d", "e", "f", "g"))
"""Three records that everybody has, four that only the first leader has."""
SECOND = (FIRST[0], stamped(1, 3, "p", "q", "r", "s", "t", "u"))
"""The log of the second leader, refilled past them."""


def reader_at_the_tail(by: Detection, *more: FakeLeader) -> tuple[Reader, FakePartition]:
    partition = FakePartition(FakeLeader(0, *FIRST))
    reader = Reader(cast(Partition, partition), "reader-1", by)
    assert reader.poll()
    assert reader.position == Position(7, 0)
    return reader, partition


def follow(reader: Reader, partition: FakePartition, leader: FakeLeader) -> int:
    """Read all of this leader's log; what the two shared before."""
    shared = common_prefix(reader.delivered, log(*leader.batches))
    partition.leader = leader
    for _ in range(5):
        reader.poll()
    return shared


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_a_reader_goes_back_to_the_longest_common_prefix_and_misses_nothing(by: Detection) -> None:
    reader, partition = reader_at_the_tail(by)
    shared = follow(reader, partition, FakeLeader(1, *SECOND))
    assert [(rewind.before, rewind.after) for rewind in reader.rewinds] == [(Position(7, 0), Position(3, 0))]
    assert shared == 3
    assert reader.delivered == delivered_of(log(*SECOND))
    assert [op for _, op, _ in partition.done] == ["deliver", "rewind", "deliver"]


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_before_the_refill_it_goes_back_just_as_far(by: Detection) -> None:
    reader, partition = reader_at_the_tail(by)
    follow(reader, partition, FakeLeader(1, FIRST[0]))
    assert reader.position == Position(3, 0)


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_an_older_epoch_that_went_on_elsewhere_does_not_take_it_past_the_prefix(by: Detection) -> None:
    """The first leader is back with its old tail: of epoch 1 it knows nothing, and its epoch 0 ends after the reader's."""
    reader, partition = reader_at_the_tail(by)
    follow(reader, partition, FakeLeader(1, *SECOND))
    back = (*FIRST, stamped(2, 7, "x"))
    assert follow(reader, partition, FakeLeader(2, *back)) == 3
    assert reader.rewinds[-1].answered == EpochAndOffset(0, 7)
    assert reader.rewinds[-1].after == Position(3, 0)
    assert reader.delivered == delivered_of(log(*back))


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_it_asks_again_until_the_logs_agree(by: Detection) -> None:
    reader, partition = reader_at_the_tail(by)
    reader_log = (*FIRST, stamped(2, 7, "x"))
    follow(reader, partition, FakeLeader(2, *reader_log))
    third = (*SECOND, stamped(3, 9, "y"))
    assert follow(reader, partition, FakeLeader(3, *third)) == 3
    assert [rewind.after.offset for rewind in reader.rewinds] == [7, 3]
    assert reader.delivered == delivered_of(log(*third))


def test_an_epoch_that_the_leader_does_not_know_is_given_up() -> None:
    partition = FakePartition(FakeLeader(2, FIRST[0], stamped(2, 3, "x")))
    reader = Reader(cast(Partition, partition), "reader-1")
    reader.poll()
    forgetful = FakeLeader(3, FIRST[0])
    forgetful.entries = {0: 0}
    follow(reader, partition, forgetful)
    assert [(rewind.answered, rewind.after) for rewind in reader.rewinds] == [(UNKNOWN, Position(3, 0))]


def test_a_valid_position_is_kept() -> None:
    reader, partition = reader_at_the_tail("lookup")
    follow(reader, partition, FakeLeader(1, *FIRST, stamped(1, 7, "h")))
    assert reader.rewinds == []
    assert reader.position == Position(8, 1)


def test_below_the_log_start_it_goes_on_from_there() -> None:
    reader, partition = reader_at_the_tail("lookup")
    follow(reader, partition, FakeLeader(1, stamped(1, 9, "z")))
    assert partition.done[-2][1:] == (
        "restart",
        {"topic": "topic", "partition": 0, "before": {"offset": 7, "epoch": 0}, "log_start": 9},
    )
    assert reader.position == Position(10, 1)


# --- what the oracle of CONS-01 has to tell apart


def test_without_its_diverging_epoch_the_reader_skips_what_survived() -> None:
    reader, partition = reader_at_the_tail("fetch")
    follow(reader, partition, FakeLeader(1, *SECOND, mute=True))
    assert reader.rewinds == []
    assert reader.delivered != delivered_of(log(*SECOND))


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_an_end_offset_shifted_upwards_leaves_a_record_of_the_other_history(by: Detection) -> None:
    reader, partition = reader_at_the_tail(by)
    shifted = FakeLeader(1, *SECOND, lie=lambda end: EpochAndOffset(end.epoch, end.end_offset + 1))
    assert follow(reader, partition, shifted) == 3
    assert reader.rewinds[0].after.offset == 4
    assert reader.delivered != delivered_of(log(*SECOND))


@pytest.mark.parametrize("by", ["lookup", "fetch"])
def test_an_end_offset_shifted_downwards_takes_it_further_back_than_it_must(by: Detection) -> None:
    reader, partition = reader_at_the_tail(by)
    shifted = FakeLeader(1, *SECOND, lie=lambda end: EpochAndOffset(end.epoch, end.end_offset - 1))
    assert follow(reader, partition, shifted) == 3
    assert reader.rewinds[0].after.offset == 2


class Naive(Reader):
    """Goes on where it was, as a consumer of before KIP-320."""

    def _is_checked(self, leader: Any, epoch: int) -> bool:
        return True


def test_a_reader_that_does_not_ask_is_told_apart_from_one_that_does() -> None:
    partition = FakePartition(FakeLeader(0, *FIRST))
    reader = Naive(cast(Partition, partition), "reader-1", "lookup")
    reader.poll()
    follow(reader, partition, FakeLeader(1, *SECOND))
    assert reader.rewinds == []
    assert reader.delivered != delivered_of(log(*SECOND))
