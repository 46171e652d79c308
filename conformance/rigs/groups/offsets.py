"""Committed offsets of a group with one partition, with their leader epochs, with and without transactions."""

from functools import partial

from conformance.rigs.log.partition import Partition
from conformance.rigs.producers.transactions import FirstTransaction, coordinator_of
from fixtures.views.nodes import ask_until_granted, ask_until_served
from fixtures.wire import NodeClient
from fixtures.wire.retriable import NOT_READY_FOR_TRANSACTION
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.groups import CommittedOffset, NewOffset, OffsetCommitAnswer
from protocol.since import since

COMMITS_EPOCH_FROM = since("OffsetCommitRequest", "CommittedLeaderEpoch")
FETCHES_EPOCH_FROM = since("OffsetFetchResponse", "CommittedLeaderEpoch")
TXN_COMMITS_EPOCH_FROM = since("TxnOffsetCommitRequest", "CommittedLeaderEpoch")


class GroupOffset:
    """The committed offset of one partition in a new group."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.group = partition.bench.fresh_name("group")

    @property
    def coordinator(self) -> NodeClient:
        return coordinator_of(self.partition.bench, self.group, CoordinatorType.GROUP)

    def commit(self, offset: int, epoch: int, version: int) -> OffsetCommitAnswer:
        """Commit as a client that is not a member; retries while the coordinator is not ready."""
        wanted = NewOffset(self.partition.topic, 0, offset, epoch)
        node = self.coordinator
        return ask_until_served(self.partition.bench, lambda: node.offset_commit(self.group, [wanted], version=version))

    def fetch(self, version: int) -> CommittedOffset:
        return self.coordinator.offset_fetch(self.group, [(self.partition.topic, 0)], version=version).only_partition

    def fetch_stable(self, version: int) -> CommittedOffset:
        """Return the committed offset as answered to a client that requires stable offsets."""
        wanted = [(self.partition.topic, 0)]
        return self.coordinator.offset_fetch(self.group, wanted, require_stable=True, version=version).only_partition

    def stable_offset(self) -> CommittedOffset:
        """Return the committed offset once no transaction is pending and the coordinator has loaded the group."""
        wanted = [(self.partition.topic, 0)]
        passing = NOT_READY_FOR_TRANSACTION | {Error.UNSTABLE_OFFSET_COMMIT}
        node = self.coordinator
        ask = partial(node.offset_fetch, self.group, wanted, require_stable=True)
        return ask_until_served(self.partition.bench, ask, passing).only_partition


def holds_commit(found: CommittedOffset, offset: int, epoch: int) -> bool:
    """True if the answer has this offset with this leader epoch (-1: none)."""
    return (found.error, found.offset, found.leader_epoch) == (Error.NONE, offset, epoch)


def commit_in(transaction: FirstTransaction, offsets: GroupOffset, wanted: NewOffset, version: int) -> None:
    """Add the group to the transaction if its protocol requires it, and commit an offset."""
    producer, bench = transaction.producer, transaction.bench
    if not producer.dialect.bumps:
        ask_until_granted(
            bench, lambda: producer.add_offsets(offsets.group), f"{offsets.group} added to the transaction"
        )
    ask_until_granted(
        bench,
        lambda: producer.commit_offsets(
            offsets.group, [wanted], coordinator=lambda: offsets.coordinator, version=version
        ),
        f"a commit of {offsets.group} in the transaction accepted",
    )
