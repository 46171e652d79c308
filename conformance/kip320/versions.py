"""The first version with each epoch field, and removed versions (KIP-320, KIP-595, KIP-896)."""

import re

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.rigs.groups.offsets import TXN_COMMITS_EPOCH_FROM, GroupOffset, commit_in, holds_commit
from conformance.rigs.log.epoch_requests import diverges_at, same_leader_and_epoch, sender_for
from conformance.rigs.log.partition import Partition, partition_at_epoch
from conformance.rigs.log.replica_log import replica_log, serves_log
from conformance.rigs.producers.transactions import FirstTransaction
from protocol.codes import Error
from protocol.groups import CommittedOffset, NewOffset
from protocol.log import LATEST, FetchPartition
from protocol.messages import Versions
from protocol.words import say
from strategies.inputs import EPOCHS_AHEAD

RANGE = re.compile(r"(\w+) (\d+)-(\d+)")

_FOUR_INTS = b"\xff\xff\xff\xff" + bytes(8) + b"\x7f\xff\xff\xff"
"""Replica id -1, MaxWaitMs 0, MinBytes 0, and the largest MaxBytes."""
_NO_TOPICS = bytes(4)
BODIES: dict[tuple[str, int], bytes] = {
    **{("Fetch", version): _FOUR_INTS[:12] + _NO_TOPICS for version in range(3)},
    ("Fetch", 3): _FOUR_INTS + _NO_TOPICS,
    ("OffsetForLeaderEpoch", 0): _NO_TOPICS,
    ("OffsetForLeaderEpoch", 1): _NO_TOPICS,
    ("ListOffsets", 0): _FOUR_INTS[:4] + _NO_TOPICS,
}
"""Valid requests without content, in the versions that 4.0 removed."""
KEPT: dict[str, tuple[int, bytes]] = {
    "Fetch": (4, _FOUR_INTS + b"\x00" + _NO_TOPICS),
    "OffsetForLeaderEpoch": (2, _NO_TOPICS),
    "ListOffsets": (1, _FOUR_INTS[:4] + _NO_TOPICS),
}
"""The same in the lowest remaining versions: these are answered, so the version is what closes a connection."""


@probe("KIP320-VER-01", rig=partition_at_epoch(3), cases=["advertised"])
def api_versions_match_the_release(partition: Partition, expected: str) -> Claims:
    """Every broker offers the lowest version listed, and at least the highest."""
    listed = {api: Versions(int(low), int(high)) for api, low, high in RANGE.findall(expected)}
    for name in partition.bench.brokers:
        answer = partition.bench.node(name).api_versions()
        offered = {api: answer.ranges.get(api) for api in listed}
        held = all(
            found is not None and found.low == listed[api].low and found.high >= listed[api].high
            for api, found in offered.items()
        )
        yield held_if(held, answer, detail="; ".join(f"{api} {say(found)}" for api, found in offered.items()))


@probe("KIP320-VER-01", rig=partition_at_epoch(3), cases=["fetch"], ahead=EPOCHS_AHEAD, which=integers(0, 2))
def fetch_checks_its_epochs(partition: Partition, ahead: int, which: int) -> Claims:
    """A newer current epoch is detected from version 9, and an ended last epoch from version 12."""
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    topic, newer, ended = partition.topic, state.leader_epoch + ahead, log.ended_epochs()[which]
    position = log.end_of(ended) + 1
    without = node.fetch(FetchPartition(topic, 0, position), version=8)
    fenced = node.fetch(FetchPartition(topic, 0, position, current_leader_epoch=newer), version=9)
    blind = node.fetch(FetchPartition(topic, 0, position, current_leader_epoch=state.leader_epoch), version=11)
    diverging = node.fetch(FetchPartition(topic, 0, position, last_fetched_epoch=ended), version=12)
    yield same_leader_and_epoch(partition, state)
    served = serves_log(without, log, position) and serves_log(blind, log, position)
    noticed = fenced.error is Error.UNKNOWN_LEADER_EPOCH and diverges_at(diverging, ended, log.end_of(ended))
    yield held_if(served and noticed, without, fenced, blind, diverging)


@probe(
    "KIP320-VER-01",
    rig=partition_at_epoch(3),
    cases=["offset-for-leader-epoch"],
    ahead=EPOCHS_AHEAD,
    which=integers(0, 2),
)
def offset_for_leader_epoch_checks_its_epochs(partition: Partition, ahead: int, which: int) -> Claims:
    """The answer has an epoch from version 1, a newer current epoch is detected from 2, and 3 has a replica id."""
    node, replica_id, state = sender_for(partition, "replica")
    log = replica_log(partition, node)
    epoch, newer = log.ended_epochs()[which], state.leader_epoch + ahead
    name, lowest = partition.name, node.api_versions().ranges["OffsetForLeaderEpoch"].low
    plain = [node.offset_for_leader_epoch(name, 0, epoch, version=version) for version in range(lowest, 3)]
    named = node.offset_for_leader_epoch(name, 0, epoch, replica_id=replica_id, version=3)
    fenced = [node.offset_for_leader_epoch(name, 0, epoch, current_leader_epoch=newer, version=v) for v in (2, 3)]
    yield same_leader_and_epoch(partition, state)
    answered = [(end.error, end.leader_epoch, end.end_offset) for end in (*plain, named)]
    expected = [(Error.NONE, epoch if end.version >= 1 else -1, log.end_of(epoch)) for end in (*plain, named)]
    noticed = all(end.error is Error.UNKNOWN_LEADER_EPOCH for end in fenced)
    yield held_if(answered == expected and noticed, *plain, named, *fenced)


@probe("KIP320-VER-01", rig=partition_at_epoch(3), cases=["list-offsets"], ahead=EPOCHS_AHEAD)
def list_offsets_checks_its_epochs(partition: Partition, ahead: int) -> Claims:
    """Version 4 adds the epoch to the answer, and detects a newer current one."""
    node, _, state = sender_for(partition, "consumer")
    before = node.list_offsets(partition.name, 0, LATEST, version=3)
    since = node.list_offsets(partition.name, 0, LATEST, version=4)
    fenced = node.list_offsets(partition.name, 0, LATEST, current_leader_epoch=state.leader_epoch + ahead, version=4)
    yield same_leader_and_epoch(partition, state)
    epochs = (before.error, before.leader_epoch, since.error, since.leader_epoch)
    unfenced = epochs == (Error.NONE, -1, Error.NONE, state.leader_epoch) and before.offset == since.offset
    yield held_if(unfenced and fenced.error is Error.UNKNOWN_LEADER_EPOCH, before, since, fenced)


@probe("KIP320-VER-01", rig=partition_at_epoch(3), cases=["metadata"])
def metadata_has_the_leader_epoch(
    partition: Partition,
) -> Claims:
    """Metadata has the leader epoch from version 7: the one by which the leader fences."""
    node, _, state = sender_for(partition, "consumer")
    before, since = (node.metadata([partition.name], version=version) for version in (6, 7))
    epochs = [answer.topic(partition.name).partition(0).leader_epoch for answer in (before, since)]
    at_fence = node.fetch(partition.fetch_from(0, current_leader_epoch=epochs[1]))
    yield same_leader_and_epoch(partition, state)
    yield held_if(epochs[0] == -1 and epochs[1] >= 0 and at_fence.error is Error.NONE, before, since, at_fence)


@probe(
    "KIP320-VER-01",
    rig=partition_at_epoch(3),
    cases=["committed-offsets"],
    epoch=integers(0, 1000),
    offset=integers(0, 1000),
)
def commits_have_their_epochs(partition: Partition, epoch: int, offset: int) -> Claims:
    """OffsetCommit 6, OffsetFetch 5 and TxnOffsetCommit 2 are the first versions with an epoch."""
    offsets = GroupOffset(partition)
    offsets.commit(offset, -1, 5)
    plain = offsets.fetch(5)
    offsets.commit(offset, epoch, 6)
    hidden, shown = offsets.fetch(4), offsets.fetch(5)
    in_transactions = [committed_in_transaction(partition, offset, version, epoch) for version in (1, 2)]
    held = holds_commit(plain, offset, -1) and holds_commit(hidden, offset, -1) and holds_commit(shown, offset, epoch)
    by_transaction = holds_commit(in_transactions[0], offset, -1) and holds_commit(in_transactions[1], offset, epoch)
    detail = f"sent without epoch {plain}, hidden {hidden}, shown {shown}, in transactions {say(in_transactions)}"
    yield held_if(held and by_transaction, plain, hidden, shown, *in_transactions, detail=detail)


def committed_in_transaction(partition: Partition, offset: int, version: int, epoch: int) -> CommittedOffset:
    """Commit an offset in a transaction, with an epoch if this version has one; return it as OffsetFetch finds it."""
    offsets, transaction = GroupOffset(partition), FirstTransaction(partition.bench)
    sent = epoch if version >= TXN_COMMITS_EPOCH_FROM else -1
    commit_in(transaction, offsets, NewOffset(partition.topic, 0, offset, sent), version)
    transaction.end(committed=True)
    return offsets.stable_offset()


@probe("KIP320-VER-01", "KIP320-VER-01-L", rig=partition_at_epoch(3), cases=["removed"])
def removed_versions_close_the_connection(
    partition: Partition,
) -> Claims:
    """A request in a removed version closes the connection; the same request in the next version is answered."""
    node = partition.leader()
    kept = [node.reception(api, version, body) for api, (version, body) in KEPT.items()]
    removed = [node.reception(api, version, body) for (api, version), body in BODIES.items()]
    yield premise(all(reception.answered for reception in kept), f"versions that were kept are answered: {say(kept)}")
    closed = not any(reception.answered for reception in removed)
    yield held_if(closed, *removed)
    yield kept_if("KIP320-VER-01-L", closed, *removed)
