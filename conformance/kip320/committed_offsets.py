"""Committed offsets and the leader epoch that is stored with them (KIP-320, OffsetCommit, OffsetFetch, TxnOffsetCommit)."""

from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise, probe
from conformance.core.topologies import COMBINED
from conformance.rigs.groups.offsets import (
    COMMITS_EPOCH_FROM,
    FETCHES_EPOCH_FROM,
    TXN_COMMITS_EPOCH_FROM,
    GroupOffset,
    commit_in,
    holds_commit,
)
from conformance.rigs.log.epoch_requests import LARGEST_EPOCH
from conformance.rigs.log.partition import Partition, PartitionData, new_partition, partition_at_epoch
from conformance.rigs.producers.transactions import FirstTransaction
from conformance.rigs.restarts import await_answer
from conformance.rigs.versions import BACK, choose_version
from fixtures.views.producer import LEGACY, TV2
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.since import since
from strategies.inputs import EPOCHS_AHEAD

GROUPED_FROM = since("OffsetFetchRequest", "Groups")
BY_ID_FROM = since("OffsetFetchRequest", "TopicId")


# --- plain commits


@probe(
    "KIP320-OC-01",
    rig=partition_at_epoch(3),
    cases=["stored", "unvalidated", "grouped", "topic-ids"],
    which=integers(0, 3),
    ahead=EPOCHS_AHEAD,
    offset=integers(0, 10**6),
    commit_back=BACK,
    fetch_back=BACK,
)
def committed_epoch_is_returned(
    partition: Partition, case: str, which: int, ahead: int, offset: int, commit_back: int, fetch_back: int
) -> Claims:
    """The epoch of a commit is returned as it was sent, whether or not the partition ever had it."""
    bench, offsets = partition.bench, GroupOffset(partition)
    never_had = LARGEST_EPOCH if which == 0 else partition.epoch() + ahead
    epoch = never_had if case == "unvalidated" else partition.data.boundaries[which].epoch
    by_id = case == "topic-ids"
    commit = choose_version(
        bench, "OffsetCommit", commit_back, low=BY_ID_FROM if by_id else COMMITS_EPOCH_FROM, high=10 if by_id else 9
    )
    low, high = {"grouped": (GROUPED_FROM, 9), "topic-ids": (BY_ID_FROM, 10)}.get(case, (FETCHES_EPOCH_FROM, 7))
    answer = offsets.commit(offset, epoch, commit)
    found = offsets.fetch(choose_version(bench, "OffsetFetch", fetch_back, low=low, high=high))
    yield held_if(answer.errors == (Error.NONE,) and holds_commit(found, offset, epoch), answer, found)


@probe(
    "KIP320-OC-01",
    rig=partition_at_epoch(3),
    cases=["absent", "cleared"],
    which=integers(0, 3),
    offset=integers(0, 10**6),
    commit_back=BACK,
    fetch_back=BACK,
)
def absent_epoch_is_returned_as_none(
    partition: Partition, case: str, which: int, offset: int, commit_back: int, fetch_back: int
) -> Claims:
    """After a commit without an epoch none is returned, even if an earlier commit had one."""
    bench, offsets = partition.bench, GroupOffset(partition)
    if case == "cleared":
        epoch = partition.data.boundaries[which].epoch
        offsets.commit(offset, epoch, COMMITS_EPOCH_FROM)
        before = offsets.fetch(FETCHES_EPOCH_FROM)
        yield premise(holds_commit(before, offset, epoch), f"epoch {epoch} was stored before: {before}")
    # Versions 2 to 5 have no epoch; the later ones send -1.
    answer = offsets.commit(offset + 1, -1, choose_version(bench, "OffsetCommit", commit_back, low=2, high=9))
    found = offsets.fetch(choose_version(bench, "OffsetFetch", fetch_back, low=FETCHES_EPOCH_FROM, high=9))
    yield held_if(answer.errors == (Error.NONE,) and holds_commit(found, offset + 1, -1), answer, found)


# --- commits of transactions


@probe(
    "KIP320-OC-02",
    rig=partition_at_epoch(3),
    cases=["committed", "aborted", "tv2"],
    epoch=integers(0, LARGEST_EPOCH),
    offset=integers(0, 10**6),
    back=BACK,
)
def epoch_is_visible_once_its_transaction_commits(
    partition: Partition, case: str, epoch: int, offset: int, back: int
) -> Claims:
    """An offset and its epoch become visible when the transaction commits, not while it is open or after an abort."""
    bench, offsets = partition.bench, GroupOffset(partition)
    earlier = partition.data.boundaries[-1].epoch
    offsets.commit(offset, earlier, COMMITS_EPOCH_FROM)
    newest = TV2.txn_offset_commit if case == "tv2" else LEGACY.txn_offset_commit
    oldest = TXN_COMMITS_EPOCH_FROM if case != "tv2" else newest
    version = choose_version(bench, "TxnOffsetCommit", back, low=oldest, high=newest)
    transaction = FirstTransaction(bench, TV2 if case == "tv2" else LEGACY)
    commit_in(transaction, offsets, NewOffset(partition.topic, 0, offset + 1, epoch), version)
    fetch = choose_version(bench, "OffsetFetch", back, low=7)
    pending = offsets.fetch(fetch)
    unstable = offsets.fetch_stable(fetch)
    transaction.end(committed=case != "aborted")
    ended = offsets.stable_offset()
    found = offsets.fetch(fetch)
    expected = (offset, earlier) if case == "aborted" else (offset + 1, epoch)
    hidden = holds_commit(pending, offset, earlier) and unstable.error is Error.UNSTABLE_OFFSET_COMMIT
    detail = f"while epoch {epoch} was pending, OffsetFetch had {pending}, and as a stable offset {unstable}"
    yield held_if(hidden, pending, unstable, case="pending", detail=detail)
    held = holds_commit(ended, *expected) and holds_commit(found, *expected)
    yield held_if(held, ended, found, detail=f"OffsetFetch had {ended} at the end, and then {found}")


def on_one_node(bench: Bench) -> PartitionData:
    return new_partition(bench).data


@probe(
    "KIP320-OC-02",
    rig=Rig(COMBINED, on_one_node, Partition),
    cases=["coordinator-restart"],
    examples=3,
    smoke=False,
    epoch=integers(0, LARGEST_EPOCH),
    back=BACK,
)
def epoch_survives_a_restart_of_the_coordinator(partition: Partition, epoch: int, back: int) -> Claims:
    """After the coordinator was killed, OffsetFetch has the epochs of committed transactions and not those of aborted ones."""
    bench, groups = partition.bench, [GroupOffset(partition), GroupOffset(partition)]
    version = choose_version(bench, "TxnOffsetCommit", back, low=TXN_COMMITS_EPOCH_FROM, high=LEGACY.txn_offset_commit)
    for offsets, committed in zip(groups, (True, False), strict=True):
        transaction = FirstTransaction(bench)
        commit_in(transaction, offsets, NewOffset(partition.topic, 0, 7, epoch), version)
        transaction.end(committed=committed)
        offsets.stable_offset()
    [node] = bench.brokers
    with bench.processes.down(node, role="group coordinator"):
        pass
    await_answer(bench, node)
    kept, dropped = (offsets.stable_offset() for offsets in groups)
    yield held_if(holds_commit(kept, 7, epoch), kept)
    yield held_if(holds_commit(dropped, -1, -1), dropped)
