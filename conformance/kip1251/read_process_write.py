"""A read-process-write loop in transactions while its group rebalances (KIP-447, KIP-1251)."""

from collections.abc import Generator, Iterable, Sequence

from hypothesis.strategies import booleans, integers, lists

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.three_brokers import ROUTED_GROUP, RoutedGroup
from conformance.rigs.groups.transactions import all_answered
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from conformance.rigs.producers.outcomes import ALL, delivered_records
from conformance.rigs.producers.producer import CheckProducer
from fixtures.views.producer import DIALECTS
from protocol.codes import Error
from protocol.groups import HeartbeatAnswer, NewOffset
from protocol.log import READ_COMMITTED, FetchedPartition, FetchOptions
from protocol.records import batch
from protocol.transactions import TxnOffsetCommitAnswer
from protocol.words import say

INPUTS = 12
"""The number of records in each input partition."""
VISIBILITY_TIMEOUT = 10.0
"""The most seconds until committed records must be readable."""


class Copying:
    """The input partitions, shared by a group, and the partition to which their records are copied."""

    def __init__(self, group: RoutedGroup, dialect: str) -> None:
        self.group = group
        self.dialect = DIALECTS[dialect]
        self.began = group.bench.now().unix_ms
        self.inputs = [Partition(group.bench, PartitionData(group.topic, n)) for n in range(group.partitions)]
        self.copies = new_partition(group.bench)
        for one in self.inputs:
            one.append(batch(*self.values(one.index)))

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

    def observe_exactly_once(self) -> Claim:
        """Observe that each record was copied once, in its partition's order, and that all offsets are committed."""
        wanted = [self.values(partition) for partition in range(self.group.partitions)]
        met = self.group.bench.wait.becomes_true(
            lambda: each_once(self.read_copies()[0], wanted), "the copies", VISIBILITY_TIMEOUT
        )
        found, read = self.read_copies()
        offsets = [self.group.stable_offset(partition) for partition in range(self.group.partitions)]
        done = all(answer.shows(INPUTS) for answer in offsets)
        offsets_shown = say([answer.only_partition.offset for answer in offsets])
        detail = f"twice or never: {say(miscopied_values(found, wanted))}; offsets {offsets_shown}"
        return held_if(met.require_also(done), read, *offsets, detail=detail)


def each_once(found: Sequence[bytes], wanted: Sequence[Sequence[bytes]]) -> bool:
    """True if `found` has each list's values once and in order, and no others."""
    of = {value: n for n, values in enumerate(wanted) for value in values}
    in_order = all([value for value in found if of.get(value) == n] == [*values] for n, values in enumerate(wanted))
    return in_order and len(found) == len(of)


def miscopied_values(found: Sequence[bytes], wanted: Sequence[Sequence[bytes]]) -> dict[bytes, int]:
    """Return the number of copies of each value that was not copied exactly once."""
    counted = {value: found.count(value) for values in wanted for value in values}
    return {value: count for value, count in counted.items() if count != 1}


class Loop:
    """A member of the group and its transactional producer: one instance of the application."""

    def __init__(self, copying: Copying) -> None:
        self.copying = copying
        self.member = copying.group.member()
        bench = copying.group.bench
        self.producer = CheckProducer(bench, copying.began, bench.fresh_name("tid"), copying.dialect).start()
        self.member.join()

    def begin(self, partitions: Iterable[int], count: int = 1) -> dict[int, int]:
        """Copy these partitions' next records, if any, in a transaction; return the offsets to commit in it."""
        offsets: dict[int, int] = {}
        values: list[bytes] = []
        for partition in sorted(partitions):
            after, records = self.copying.read(partition, count)
            if records:
                offsets[partition] = after
                values += records
        if values:
            copies = self.copying.copies
            if not self.producer.dialect.bumps:
                self.producer.require(self.producer.add(copies), "producer")
            self.producer.send_accepted(copies, self.producer.records(copies, *values, timestamp=self.copying.began))
        return offsets

    def commit(self, offsets: dict[int, int], epoch: int) -> TxnOffsetCommitAnswer:
        group, producer = self.copying.group, self.producer
        if not producer.dialect.bumps:
            producer.require(producer.add_offsets(group.name), "producer")
        return producer.commit_offsets(
            group.name,
            [NewOffset(group.topic, partition, offset) for partition, offset in offsets.items()],
            coordinator=lambda: group.node,
            generation_id_or_member_epoch=epoch,
            member_id=self.member.id,
        )

    def copy_records(self, count: int = 1) -> bool:
        """Copy the next records in a whole transaction, at the member's epoch; return False if there are none."""
        offsets = self.begin(self.member.partitions, count)
        if offsets:
            self.producer.require(self.commit(offsets, self.member.epoch), "commit")
            self.producer.end(committed=True)
        return bool(offsets)

    def end_one_bump_behind(self, offsets: dict[int, int], missed: HeartbeatAnswer) -> Claims:
        """End the transaction that was open during the bump; its commit at the previous epoch must be accepted.

        Then the member receives the answer that it missed.
        """
        yield self.copying.group.premise_of_holding(self.member, missed.member_epoch, *self.member.partitions)
        answer = self.commit(offsets, self.member.epoch)
        accepted = all_answered(answer, Error.NONE)
        self.producer.end(committed=accepted)
        detail = f"it committed at epoch {self.member.epoch}, and the member is at {missed.member_epoch}"
        yield held_if(accepted, answer, detail=detail)
        self.member.receive(missed)

    def end_unaware(self, offsets: dict[int, int]) -> None:
        """End the transaction of a loop unaware that it lost partitions; abort it if its commit is refused."""
        answer = self.commit(offsets, self.member.epoch)
        self.producer.end(committed=all_answered(answer, Error.NONE))


def join(first: Loop, *, late: bool) -> Generator[Claim, None, Loop]:
    """Let another instance join. If `late`, it copies its partitions before the first one ends its open transaction."""
    group = first.copying.group
    begun = first.begin(first.member.partitions) if late else {}
    other = Loop(first.copying)
    lost = group.heartbeat_until_revoking(first.member)
    offsets = {} if late else first.begin(first.member.partitions)
    missed = group.acknowledge(first.member)
    if late:
        for partition in lost:
            group.await_assignment(other.member, partition)
        other.copy_records()
        first.end_unaware(begun)
        offsets = first.begin(first.member.partitions)
    yield from first.end_one_bump_behind(offsets, missed)
    group.heartbeat_until_settled(first.member, other.member)
    return other


def leave(first: Loop, other: Loop) -> Claims:
    """Let the other instance copy records and leave, which bumps the first one's epoch."""
    other.copy_records()
    offsets = first.begin(first.member.partitions)
    other.member.leave()
    yield from first.end_one_bump_behind(offsets, first.copying.group.acknowledge(first.member))
    first.copying.group.heartbeat_until_settled(first.member)


@probe(
    "KIP1251-TXN-06",
    rig=ROUTED_GROUP,
    cases=["legacy", "tv2"],
    examples=2,
    smoke=False,
    late=lists(booleans(), min_size=2, max_size=3),
    moved=integers(0, 2),
)
def loop_goes_on_through_rebalances(group: RoutedGroup, case: str, late: list[bool], moved: int) -> Claims:
    """An instance that is always one bump behind may commit what it kept, and each record is copied exactly once."""
    copying = Copying(group, case)
    first = Loop(copying)
    group.heartbeat_until_settled(first.member)
    for number, is_late in enumerate(late):
        other = yield from join(first, late=is_late)
        if number == moved:
            group.move_coordinator("move")
        yield from leave(first, other)
    while first.copy_records(INPUTS):
        pass
    yield copying.observe_exactly_once()
