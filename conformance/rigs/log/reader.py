"""A reference consumer that tracks leader epochs and detects exactly what KIP-320 lets a reader detect.

It remembers the start of each epoch in its delivered records, as a replica does. That is more than the last (offset,
epoch): after several unclean elections a broker may answer with an older epoch that continued there, and only the
reader's own end of that epoch shows how long the common prefix is.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from conformance.core.waiting import Settled
from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient, WireError
from history.readings import Position, ReaderDelivery, ReaderRestart, ReaderRewind, ReadRecord
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import EARLIEST, EpochAndOffset, FetchedPartition
from protocol.messages import Operation
from protocol.records import Batch

Detection = Literal["lookup", "fetch"]
"""How a reader detects truncation: it looks up its epoch by OffsetForLeaderEpoch after each leader change, as the Java
client does, or sends LastFetchedEpoch with each Fetch and gets DivergingEpoch."""


class Rewind(msgspec.Struct, frozen=True):
    """A rewind of the reader. `answered` is the leader's epoch for the reader's last one, and its end offset."""

    before: Position
    answered: EpochAndOffset
    after: Position


class Reader:
    """A client that reads one partition from offset 0, including uncommitted transactions.

    On the tape it is its own node, with its actions as requests: `deliver` (records), `rewind` (before, told) and
    `restart` (before, log_start: the position was out of range). Each is answered with the position after it.
    """

    def __init__(
        self,
        partition: Partition,
        name: str,
        by: Detection = "lookup",
        find: Callable[[], PartitionMetadata | None] | None = None,
    ) -> None:
        """Begin at offset 0. `find` returns the partition with its leader, by default from any broker; while one is
        frozen, it must ask only the others."""
        self.partition = partition
        self.name = name
        self.by = by
        self.position = Position(0)
        self.delivered: list[ReadRecord] = []
        self.rewinds: list[Rewind] = []
        self._find = find or partition.newest
        self._starts: dict[int, int] = {}
        self._checked = -1

    # --- reading

    def poll(self) -> bool:
        """Fetch once from the leader; return True if that made progress.

        It makes none if there is no leader, or the leader did not answer or has just changed.
        """
        state = self._find()
        if state is None or state.leader < 0:
            return False
        leader = self.partition.bench.node(state.leader)
        try:
            return self._is_checked(leader, state.leader_epoch) and self._take(
                self._fetch(leader, state.leader_epoch), leader
            )
        except WireError:
            return False

    def read_to(self, offset: int) -> None:
        """Poll until the position reaches `offset`. Raises Overdue."""
        what = f"{self.name} reading {self.partition.name} up to {offset}"
        self.partition.bench.eventually(lambda: self.poll() and self.position.offset >= offset, what)

    def reaches(self, offset: int, within: float = 10.0) -> Settled:
        """Poll up to the offset; return whether that was reached in time. Unlike `read_to`, it leaves the judgement of a
        failure, which may be a broker's, to the check."""
        what = f"{self.name} at {offset}"
        return self.partition.bench.wait.becomes_true(
            lambda: self.poll() and self.position.offset >= offset, what, within
        )

    def _fetch(self, leader: NodeClient, epoch: int) -> FetchedPartition:
        return leader.fetch(
            self.partition.fetch_from(
                self.position.offset,
                current_leader_epoch=epoch,
                last_fetched_epoch=self.position.epoch if self.by == "fetch" else -1,
            )
        )

    def _take(self, answer: FetchedPartition, leader: NodeClient) -> bool:
        if answer.error is Error.OFFSET_OUT_OF_RANGE:
            self._restart(leader)
        elif answer.error is not Error.NONE:
            return False
        elif answer.diverging_epoch is not None:
            self._rewind(answer.diverging_epoch)
        else:
            self._deliver([batch for batch in answer.batches if batch.last_offset >= self.position.offset])
        return True

    def _deliver(self, batches: list[Batch]) -> None:
        if not batches:
            return
        for batch in batches:
            if batch.leader_epoch > max(self._starts, default=-1):
                self._starts[batch.leader_epoch] = max(batch.base_offset, self.position.offset)
        new = [
            ReadRecord(record.offset, batch.leader_epoch, record.key, record.value)
            for batch in batches
            for record in batch.records
            if not batch.control and record.offset >= self.position.offset
        ]
        self.delivered += new
        self._move(
            ReaderDelivery(*self._topic_and_index, new), Position(batches[-1].last_offset + 1, self._last_epoch())
        )

    # --- truncation

    def _is_checked(self, leader: NodeClient, epoch: int) -> bool:
        """True if the leader confirms the position, possibly after rewinds; False if it refuses."""
        if self.by == "fetch":
            return True
        while epoch != self._checked:
            answered = self._lookup(leader, epoch)
            if answered is None:
                return False
            if self._shared_end(answered) >= self.position.offset:
                self._checked = epoch
            else:
                self._rewind(answered)
        return True

    def _lookup(self, leader: NodeClient, epoch: int) -> EpochAndOffset | None:
        """Return the answer of the leader of `epoch` for the position's epoch; None if it refuses."""
        if self.position.epoch < 0:
            return EpochAndOffset(-1, self.position.offset)
        name, index = self.partition.name, self.partition.index
        end = leader.offset_for_leader_epoch(name, index, self.position.epoch, current_leader_epoch=epoch)
        return EpochAndOffset(end.leader_epoch, end.end_offset) if end.error is Error.NONE else None

    def _shared_end(self, answered: EpochAndOffset) -> int:
        """Return the end of the prefix that the delivered log certainly shares with the leader's."""
        if answered.end_offset < 0:  # the leader has no such epoch
            return self._own_end(self.position.epoch - 1)
        return min(answered.end_offset, self._own_end(answered.epoch))

    def _own_end(self, epoch: int) -> int:
        """Return the end, among the delivered records, of the largest epoch not above this one."""
        return min((start for other, start in self._starts.items() if other > epoch), default=self.position.offset)

    def _rewind(self, answered: EpochAndOffset) -> None:
        before, shared = self.position, self._shared_end(answered)
        self._starts = {epoch: start for epoch, start in self._starts.items() if start < shared}
        self.delivered = [record for record in self.delivered if record.offset < shared]
        after = self._move(ReaderRewind(*self._topic_and_index, before, answered), Position(shared, self._last_epoch()))
        self.rewinds.append(Rewind(before, answered, after))

    def _restart(self, leader: NodeClient) -> None:
        """Continue from the log start offset after OFFSET_OUT_OF_RANGE, keeping delivered records that the log has
        lost."""
        start = leader.list_offsets(self.partition.name, self.partition.index, EARLIEST).offset
        if start >= 0:
            self._starts, before = {}, self.position
            self._move(ReaderRestart(*self._topic_and_index, before, start), Position(start))

    def _last_epoch(self) -> int:
        return max(self._starts, default=-1)

    @property
    def _topic_and_index(self) -> tuple[str, int]:
        return self.partition.name, self.partition.index

    def _move(self, done: Operation[Position], to: Position) -> Position:
        """Record an action; the position that the tape returns becomes the current one."""
        request = msgspec.to_builtins(done)
        self.position = self.partition.bench.tape.call(self.name, done.op, request, Position, lambda: to)
        return self.position


def common_prefix(delivered: list[ReadRecord], log: FetchedPartition) -> int:
    """Return the offset up to which the delivered records and a full-log read agree, including leader epochs."""
    theirs = {record.offset: record for record in delivered_of(log)}
    return next((mine.offset for mine in delivered if theirs.get(mine.offset) != mine), _end_of_delivered(delivered))


def delivered_of(log: FetchedPartition) -> list[ReadRecord]:
    """Return the records of a full-log read as a reader would have delivered them."""
    return [
        ReadRecord(record.offset, batch.leader_epoch, record.key, record.value)
        for batch in log.batches
        if not batch.control
        for record in batch.records
    ]


def _end_of_delivered(delivered: list[ReadRecord]) -> int:
    return delivered[-1].offset + 1 if delivered else 0
