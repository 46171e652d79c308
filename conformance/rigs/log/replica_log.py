"""One replica's log in its own answers: the reference for offsets and epochs in other answers."""

import msgspec

from conformance.judging.log.offsets import epoch_end
from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import DEBUGGER, EARLIEST, LATEST, EpochAndOffset, FetchedPartition
from protocol.records import Batch


class FetchedLog(msgspec.Struct, frozen=True):
    """All batches from log start to log end, with leader epochs."""

    start: int
    end: int
    batches: tuple[Batch, ...]

    @property
    def epoch_starts(self) -> dict[int, int]:
        """The batches' leader epochs, each with the base offset of its first batch."""
        first: dict[int, int] = {}
        for batch in self.batches:
            first.setdefault(batch.leader_epoch, batch.base_offset)
        return first

    def end_of(self, epoch: int) -> int:
        """Return the end offset of an epoch with records: the start of the next epoch's first batch, else the log end."""
        return min((start for stamp, start in self.epoch_starts.items() if stamp > epoch), default=self.end)

    def epoch_end(self, epoch: int, current: int) -> EpochAndOffset:
        """Return what a leader at epoch `current` with this log must answer to OffsetForLeaderEpoch (catalogue, section
        M)."""
        entries = sorted({current: self.end, **self.epoch_starts}.items())
        return EpochAndOffset(*epoch_end(epoch, entries, self.end))

    def ended_epochs(self) -> list[int]:
        """Return the epochs with records before the last epoch with records, oldest first."""
        return sorted(self.epoch_starts)[:-1]

    def batches_from(self, offset: int) -> tuple[Batch, ...]:
        """Return the complete batches that a fetch at `offset` must return; the first of them contains `offset`."""
        return tuple(batch for batch in self.batches if batch.last_offset >= offset)


def replica_log(partition: Partition, node: NodeClient) -> FetchedLog:
    """Return the replica's log once its high watermark has reached its log end, so that all of it is readable."""

    def read() -> FetchedLog | None:
        end = node.list_offsets(partition.name, partition.index, LATEST, replica_id=DEBUGGER).offset
        start = node.list_offsets(partition.name, partition.index, EARLIEST, replica_id=DEBUGGER).offset
        found = node.fetch(partition.fetch_from(start))
        committed = found.error is Error.NONE and found.high_watermark == end
        return FetchedLog(start, end, found.batches) if committed else None

    return partition.bench.eventually(read, f"{node.node} reading {partition.name} up to its log end")


def serves_log(answer: FetchedPartition, log: FetchedLog, offset: int) -> bool:
    """True if a fetch at `offset` returns the rest of this log without an error."""
    return answer.error is Error.NONE and answer.diverging_epoch is None and answer.batches == log.batches_from(offset)


def reads_nothing(answer: FetchedPartition) -> bool:
    """True if the answer has neither records nor log offsets, like an error response."""
    return not answer.batches and answer.high_watermark == -1 and answer.log_start_offset == -1
