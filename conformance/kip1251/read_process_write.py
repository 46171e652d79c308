"""A read-process-write loop in transactions while its group rebalances (KIP-447, KIP-1251)."""

from collections.abc import Generator, Iterable

from hypothesis.strategies import booleans, integers, lists

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.copies import INPUTS, Copying
from conformance.rigs.groups.three_brokers import ROUTED_CONSUMERS, ROUTED_GROUP, RoutedGroup
from conformance.rigs.groups.transactions import all_answered
from conformance.rigs.producers.producer import CheckProducer
from fixtures.views.producer import DIALECTS
from protocol.codes import Error
from protocol.groups import HeartbeatAnswer, NewOffset
from protocol.transactions import TxnOffsetCommitAnswer


class Loop:
    """A member of the group and its transactional producer: one instance of the application."""

    def __init__(self, copying: Copying, dialect: str) -> None:
        self.copying = copying
        self.dialect = dialect
        self.member = copying.group.member()
        bench = copying.group.bench
        self.began = bench.now().unix_ms
        self.producer = CheckProducer(bench, self.began, bench.fresh_name("tid"), DIALECTS[dialect]).start()
        self.member.join()

    def another(self) -> "Loop":
        """Start another instance."""
        return type(self)(self.copying, self.dialect)

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
            self.producer.send_accepted(copies, self.producer.records(copies, *values, timestamp=self.began))
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

    def end_during_bump(self, offsets: dict[int, int], missed: HeartbeatAnswer) -> Claims:
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


class CarefulLoop(Loop):
    """An instance that starts over from the committed offsets where its commit is refused."""

    def end_during_bump(self, offsets: dict[int, int], missed: HeartbeatAnswer) -> Claims:
        self.end_unaware(offsets)
        self.member.receive(missed)
        yield from ()


def join(first: Loop, *, late: bool) -> Generator[Claim, None, Loop]:
    """Let another instance join. If `late`, it copies its partitions before the first one ends its open transaction."""
    group = first.copying.group
    begun = first.begin(first.member.partitions) if late else {}
    other = first.another()
    lost = group.heartbeat_until_revoking(first.member)
    offsets = {} if late else first.begin(first.member.partitions)
    missed = group.acknowledge(first.member)
    if late:
        for partition in lost:
            group.await_assignment(other.member, partition)
        other.copy_records()
        first.end_unaware(begun)
        offsets = first.begin(first.member.partitions)
    yield from first.end_during_bump(offsets, missed)
    group.heartbeat_until_settled(first.member, other.member)
    return other


def leave(first: Loop, other: Loop) -> Claims:
    """Let the other instance copy records and leave, which bumps the first one's epoch."""
    other.copy_records()
    offsets = first.begin(first.member.partitions)
    other.member.leave()
    yield from first.end_during_bump(offsets, first.copying.group.acknowledge(first.member))
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
    first = Loop(Copying(group), case)
    yield from copy_through_rebalances(first, late, moved)
    yield first.copying.observe_exactly_once()


@probe(
    "KIP360-INV-14",
    rig=ROUTED_CONSUMERS,
    cases=["legacy", "tv2"],
    examples=2,
    smoke=False,
    late=lists(booleans(), min_size=2, max_size=3),
    moved=integers(0, 2),
)
def each_record_is_copied_once(group: RoutedGroup, case: str, late: list[bool], moved: int) -> Claims:
    """However often the group rebalances, each record of its partitions is copied exactly once, and its offset is committed."""
    first = CarefulLoop(Copying(group), case)
    yield from copy_through_rebalances(first, late, moved)
    yield first.copying.observe_exactly_once()


def copy_through_rebalances(first: Loop, late: list[bool], moved: int) -> Claims:
    """Let another instance join and leave, once for each of `late`, and the coordinator move meanwhile. Copy all records."""
    group = first.copying.group
    group.heartbeat_until_settled(first.member)
    for number, is_late in enumerate(late):
        other = yield from join(first, late=is_late)
        if number == moved:
            group.move_coordinator("move")
        yield from leave(first, other)
    while first.copy_records(INPUTS):
        pass
