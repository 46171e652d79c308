"""Consumer groups that commit offsets within transactions."""

from collections.abc import Mapping

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import GROUPS
from conformance.rigs.groups.group import Group, GroupData, GroupMember, new_group
from conformance.rigs.producers.combined_node import LoadedBroker, Stage, StageProducer, await_coordinators
from fixtures.views.producer import LEGACY, TV2, Dialect, Producer
from fixtures.wire.transactions import TXN_OFFSETS_BY_ID_FROM
from protocol.codes import Error
from protocol.groups import NewOffset, OffsetFetchAnswer
from protocol.messages import Topic
from protocol.transactions import TxnOffsetCommitAnswer


class TxnGroup(Group):
    """A group, and producers that commit its offsets."""

    def __init__(self, bench: Bench, data: GroupData) -> None:
        super().__init__(bench, data)
        self.stage = Stage(bench, LoadedBroker(bench.brokers[0]))

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The transaction protocols that the cluster offers to clients, by its finalized transaction.version (KIP-890)."""
        tv2 = self.bench.column.ranges.get("transaction.version", 0) >= 2
        return (LEGACY, TV2) if tv2 else (LEGACY,)

    @property
    def newest(self) -> int:
        """The highest version of TxnOffsetCommit that the cluster offers to clients."""
        offered = self.bench.column.ranges["TxnOffsetCommit"]
        return offered if TV2 in self.dialects else min(offered, LEGACY.txn_offset_commit)

    def speaking(self, version: int) -> StageProducer:
        """Return a producer of the transaction protocol that uses this version of TxnOffsetCommit."""
        return self.producer(LEGACY.name if version <= LEGACY.txn_offset_commit else TV2.name)

    def dialect(self, pick: int) -> str:
        """Return the name of the drawn protocol."""
        return self.dialects[pick % len(self.dialects)].name

    def producer(self, dialect: str) -> StageProducer:
        """Return a producer with a new transactional id that may commit offsets of this group."""
        producer = self.stage.transactional(dialect)
        if not producer.dialect.bumps:
            producer.require(producer.add_offsets(self.name), "producer")
        return producer

    def await_transaction_coordinator(self) -> None:
        """Wait until the transaction coordinator has loaded, too."""
        await_coordinators(self.bench)

    def txn_commit(
        self,
        producer: Producer,
        member: GroupMember | None,
        offsets: Mapping[int, int],
        epoch: int,
        *,
        topic: Topic | None = None,
        version: int | None = None,
    ) -> TxnOffsetCommitAnswer:
        """Send TxnOffsetCommit at this epoch, with the member's id or without one; by default in the highest version
        shared by the producer's protocol and the broker."""
        most = self.newest if producer.dialect.bumps else LEGACY.txn_offset_commit
        spoken = min(self.newest, most) if version is None else version
        return producer.commit_offsets(
            self.name,
            [NewOffset(topic or self.topic, partition, offset) for partition, offset in offsets.items()],
            coordinator=lambda: self.node,
            generation_id_or_member_epoch=epoch,
            member_id=member.id if member else "",
            group_instance_id=member.instance_id if member else None,
            version=spoken,
        )

    def commit_in(
        self, producer: StageProducer, member: GroupMember, offsets: Mapping[int, int], *, first: bool
    ) -> None:
        """Commit at the member's epoch; if it is the transaction's `first` commit, add the group before. Raises
        KitError if that is refused."""
        if first and not producer.dialect.bumps:
            producer.require(producer.add_offsets(self.name), "producer")
        producer.require(self.txn_commit(producer, member, offsets, member.epoch), "commit")

    def read_by(self, member: GroupMember, partition: int) -> OffsetFetchAnswer:
        """Return the stable offset that the coordinator serves to this member at its epoch."""
        wanted = [(self.topic, partition)]
        return self.node.offset_fetch(self.name, wanted, member_id=member.id, epoch=member.epoch, require_stable=True)


def refused_epoch_error(answer: TxnOffsetCommitAnswer) -> Error:
    """Return the error that a refused epoch gets in the answer's version (KIP-1319)."""
    by_id = answer.version >= TXN_OFFSETS_BY_ID_FROM
    return Error.STALE_MEMBER_EPOCH if by_id else Error.ILLEGAL_GENERATION


def all_answered(answer: TxnOffsetCommitAnswer, error: Error) -> bool:
    """True if each partition has this error."""
    return {partition.error for partition in answer.partitions} == {error}


def fresh_txn_group(partitions: int = 4) -> Rig[GroupData, TxnGroup]:
    """Return a rig with a new group for each example, on a node whose transaction coordinator has loaded."""

    def prepare(bench: Bench) -> GroupData:
        await_coordinators(bench)
        return new_group(bench, partitions)

    return Rig(GROUPS, prepare, TxnGroup, name=f"fresh_txn_group_{partitions}")
