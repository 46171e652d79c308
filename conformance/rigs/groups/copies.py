"""Records of several partitions that a group copies to one, each exactly once (KIP-98, KIP-447)."""

from collections.abc import Sequence

from conformance.core.checks import Claim, Claims, ObservationClaim, held_if, premise
from conformance.rigs.groups.three_brokers import RoutedGroup
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.producers.outcomes import ALL, delivered_records
from protocol.groups import OffsetFetchAnswer
from protocol.log import READ_COMMITTED, FetchedPartition, FetchOptions
from protocol.records import batch
from protocol.words import say

INPUTS = 12
"""The number of records in each input partition."""
VISIBILITY_TIMEOUT = 10.0
"""The most seconds until committed records must be readable."""


class Copying:
    """The input partitions, shared by a group, and the partition to which their records are copied."""

    def __init__(self, group: RoutedGroup) -> None:
        self.group = group
        self.inputs = [Partition(group.bench, PartitionData(group.topic, n)) for n in range(group.partitions)]
        self.copies = new_partition(group.bench)
        for one in self.inputs:
            one.append(batch(*self.values(one.index)))

    @property
    def ends(self) -> list[int]:
        """The end offset of each input partition."""
        return [INPUTS] * self.group.partitions

    def values(self, partition: int) -> list[bytes]:
        return [f"{partition}/{offset}".encode() for offset in range(INPUTS)]

    def read(self, partition: int, count: int) -> tuple[int, list[bytes]]:
        """Read the next records from the committed offset on; return the offset after them, and their values."""
        at = max(0, self.group.stable_offset(partition).only_partition.offset)
        found = self.inputs[partition].leader().fetch(self.inputs[partition].fetch_from(at))
        records = [one.value or b"" for found in found.batches for one in found.records if one.offset >= at][:count]
        return at + len(records), records

    def read_copies(self) -> tuple[list[bytes], FetchedPartition]:
        """Return the copies that a read_committed consumer gets, and the answer to its fetch."""
        read = self.copies.leader().fetch(
            self.copies.fetch_from(0, partition_max_bytes=ALL),
            FetchOptions(isolation_level=READ_COMMITTED),
        )
        return [value or b"" for value in delivered_records(read, 0).values()], read

    def stable_offsets(self) -> list[OffsetFetchAnswer]:
        """Return the committed offset of each input partition, once no transaction is pending on it."""
        return [self.group.stable_offset(partition) for partition in range(self.group.partitions)]

    def committed_offsets(self) -> list[int]:
        """Return the committed offset of each input partition, whatever is pending on it."""
        return [self.group.committed_offset(one.index).only_partition.offset for one in self.inputs]

    def observe_exactly_once(self) -> Claim:
        """Observe that each record was copied once, in its partition's order, and that all offsets are committed."""
        offsets = self.stable_offsets()
        return self._observe(offsets, self.ends)

    def observe_what_is_committed(self, *, each_copied: bool) -> Claims:
        """Observe that each record below the committed offsets was copied once, in its partition's order, and no other one.

        It holds only under the premises that these are all records, and that each client copied some; it is broken without them.
        """
        offsets = self.stable_offsets()
        ends = [max(0, answer.only_partition.offset) for answer in offsets]
        observed = self._observe(offsets, ends)
        if not (isinstance(observed, ObservationClaim) and observed.observation.result == "violated"):
            yield premise(each_copied, "records that each client copied")
            yield premise(ends == self.ends, f"all records copied; offsets {say(ends)}")
        yield observed

    def _observe(self, offsets: Sequence[OffsetFetchAnswer], ends: list[int]) -> Claim:
        wanted = [self.values(partition)[:end] for partition, end in enumerate(ends)]
        met = self.group.bench.wait.becomes_true(
            lambda: each_once(self.read_copies()[0], wanted), "the copies", VISIBILITY_TIMEOUT
        )
        found, read = self.read_copies()
        shown = [max(0, answer.only_partition.offset) for answer in offsets]
        detail = f"twice or never: {say(miscopied_values(found, wanted))}; offsets {say(shown)}"
        return held_if(met.require_also(shown == ends), read, *offsets, detail=detail)


def each_once(found: Sequence[bytes], wanted: Sequence[Sequence[bytes]]) -> bool:
    """True if `found` has each list's values once and in order, and no others."""
    of = {value: n for n, values in enumerate(wanted) for value in values}
    in_order = all([value for value in found if of.get(value) == n] == [*values] for n, values in enumerate(wanted))
    return in_order and len(found) == len(of)


def miscopied_values(found: Sequence[bytes], wanted: Sequence[Sequence[bytes]]) -> dict[bytes, int]:
    """Return the number of copies of each value that was not copied exactly once, or that is not wanted."""
    once = {value for values in wanted for value in values}
    counted = {value: found.count(value) for value in sorted(once | {*found})}
    return {value: count for value, count in counted.items() if count != 1 or value not in once}
