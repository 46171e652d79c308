"""Readers of a log that an unclean election truncates: the election, and the records that readers get afterwards."""

from conformance.rigs.log.reader import Reader
from conformance.rigs.log.unclean_elections import UncleanPartition
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import FetchedPartition


def record_values(count: int, what: str) -> list[bytes]:
    """Return record values: ``what 0``, ``what 1`` and so on."""
    return [f"{what} {n}".encode() for n in range(count)]


def take_over(couple: UncleanPartition, heir: str) -> PartitionMetadata:
    """Kill the only in-sync leader; then start and elect the other replica, which lacks the latest records."""
    [leader] = {couple.first, couple.second} - {heir}
    couple.lose_leader(leader)
    couple.start_lagging(heir)
    return couple.elect(heir)


def silently_skips(answer: FetchedPartition, offset: int, epoch: int) -> bool:
    """True if a reader of `epoch` at `offset` silently gets records of another history."""
    if answer.error is not Error.NONE or answer.diverging_epoch is not None:
        return False
    handed = [b for b in answer.batches if b.last_offset >= offset]
    return bool(handed) and all(batch.leader_epoch > epoch for batch in handed)


def epoch_of_last_shared(reader: Reader, cut: int) -> int:
    """Return the leader epoch of the last record below `cut` that the reader got, which a log truncated to `cut`
    keeps."""
    return next(record.epoch for record in reversed(reader.delivered) if record.offset < cut)
