"""TxnOffsetCommit by a member: the same rule as for plain commits, its errors, and the order of stored offsets."""

from __future__ import annotations

from collections.abc import Generator
from uuid import UUID

from hypothesis.strategies import booleans, integers, uuids

from conformance.core.checks import Claim, held_if, kept_if, probe
from conformance.rigs.groups.group import new_group
from conformance.rigs.groups.transactions import TxnGroup, all_answered, fresh_txn_group, refusal
from conformance.rigs.producers.combined_node import StageProducer
from fixtures.wire import Error
from fixtures.wire.calls import Topic
from fixtures.wire.transactions import TxnOffsetCommitAnswer
from strategies.epochs import EPOCH_BUMPS, EPOCHS_AHEAD
from strategies.offsets import OFFSETS

PICK = integers(0, 1)
"""Which of the dialects that the cluster offers."""
RISE = integers(1, 1000)
OLD = integers(3, 5)


def accepted_and_stored(
    group: TxnGroup, producer: StageProducer, answer: TxnOffsetCommitAnswer, partition: int, offset: int, case: str
) -> Generator[Claim, None, None]:
    """The commit was accepted, and its offset is visible once the transaction is committed."""
    if all_answered(answer, Error.NONE):
        producer.end(committed=True)
    after = group.decided(partition)
    yield held_if(all_answered(answer, Error.NONE) and after.shows(offset), answer, after, case=case)


def refused(
    group: TxnGroup, producer: StageProducer, answer: TxnOffsetCommitAnswer, partition: int, offset: int, case: str
) -> Generator[Claim, None, None]:
    """The commit was refused for its epoch, and the earlier offset stays even though the transaction is committed."""
    producer.end(committed=True)
    after = group.decided(partition)
    yield held_if(all_answered(answer, refusal(answer)) and after.shows(offset), answer, after, case=case)


@probe(
    "KIP1251-TXN-01", rig=fresh_txn_group(), cases=["legacy", "tv2"], bumps=EPOCH_BUMPS, v3=booleans(), offset=OFFSETS
)
def kept_partition_at_an_older_epoch(
    group: TxnGroup, case: str, bumps: int, v3: bool, offset: int
) -> Generator[Claim, None, None]:
    """A heartbeat in flight aborts no transaction: the previous epoch is still accepted for partitions that the member kept."""
    hand = group.hand_over(bumps)
    yield group.holding(hand.old, hand.now, hand.kept)
    producer = group.producer(case)
    version = 3 if v3 and case == "legacy" else None
    answer = group.txn_commit(producer, hand.old, {hand.kept: offset}, hand.before, version=version)
    yield from accepted_and_stored(group, producer, answer, hand.kept, offset, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["before-assignment"], back=integers(1, 3), pick=PICK)
def epoch_before_the_assignment(group: TxnGroup, case: str, back: int, pick: int) -> Generator[Claim, None, None]:
    """An epoch below the partition's assignment epoch is refused."""
    heir, partition, epoch = group.inherit(2, later=1)
    group.store(heir, partition, 10)
    yield group.holding(heir, heir.epoch, partition)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, heir, {partition: 11}, epoch - back)
    yield from refused(group, producer, answer, partition, 10, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["future"], ahead=EPOCHS_AHEAD, pick=PICK)
def epoch_from_the_future(group: TxnGroup, case: str, ahead: int, pick: int) -> Generator[Claim, None, None]:
    """An epoch that the member has not reached is refused."""
    member = group.alone()
    group.store(member, 0, 10)
    yield group.holding(member, member.epoch, 0)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {0: 11}, member.epoch + ahead)
    yield from refused(group, producer, answer, 0, 10, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["lost", "unowned"], bumps=EPOCH_BUMPS, pick=PICK)
def partition_of_another_member(group: TxnGroup, case: str, bumps: int, pick: int) -> Generator[Claim, None, None]:
    """For a partition with a new owner the old epoch is refused and the member epoch accepted."""
    hand = group.hand_over(bumps)
    group.given(hand.new, hand.lost)
    group.store(hand.new, hand.lost, 10)
    yield group.holding(hand.old, hand.now, hand.kept)
    yield group.holding(hand.new, hand.new.epoch, hand.lost)
    producer = group.producer(group.dialect(pick))
    epoch = hand.before if case == "lost" else hand.now
    answer = group.txn_commit(producer, hand.old, {hand.lost: 11}, epoch)
    if case == "lost":
        yield from refused(group, producer, answer, hand.lost, 10, case)
    else:
        yield from accepted_and_stored(group, producer, answer, hand.lost, 11, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["pending-revocation"], bumps=integers(1, 3), pick=PICK)
def partition_waiting_to_be_revoked(group: TxnGroup, case: str, bumps: int, pick: int) -> Generator[Claim, None, None]:
    """Until it acknowledges the revocation a member may commit from the assignment epoch on."""
    member = group.alone(bumps)
    since = dict(member.since)
    group.member().join()
    partition = min(group.revoking(member))
    yield group.waiting(member, partition)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {partition: 7}, since[partition])
    yield from accepted_and_stored(group, producer, answer, partition, 7, case)


def version_for(group: TxnGroup, case: str, drawn: int) -> int:
    """For a case of old versions the drawn one, or the cluster's newest if that is lower; otherwise the newest."""
    return min(drawn, group.newest) if case.endswith("-v5") else group.newest


def answered_by_version(case: str, answer: TxnOffsetCommitAnswer, own: Error) -> Claim:
    """ILLEGAL_GENERATION up to v5, its `own` error from v6 on; a case without a version records the error of the newest."""
    if "-" not in case:
        return kept_if("KIP1251-TXN-02-L", all_answered(answer, own), answer)
    return held_if(all_answered(answer, own if case.endswith("-v6") else Error.ILLEGAL_GENERATION), answer)


@probe(
    "KIP1251-TXN-02",
    "KIP1251-TXN-02-L",
    rig=fresh_txn_group(),
    cases=["epoch-v5", "epoch-v6", "epoch"],
    ahead=integers(1, 9),
    version=OLD,
)
def refused_epoch(group: TxnGroup, case: str, ahead: int, version: int) -> Generator[Claim, None, None]:
    """A refused epoch gets the error of the request version."""
    member = group.alone()
    yield group.holding(member, member.epoch, 0)
    spoken = version_for(group, case, version)
    answer = group.txn_commit(group.speaking(spoken), member, {0: 11}, member.epoch + ahead, version=spoken)
    yield answered_by_version(case, answer, Error.STALE_MEMBER_EPOCH)


@probe(
    "KIP1251-TXN-02",
    "KIP1251-TXN-02-L",
    rig=fresh_txn_group(),
    cases=["group-v5", "group-v6", "group"],
    epoch=integers(0, 9),
    version=OLD,
)
def unknown_group(group: TxnGroup, case: str, epoch: int, version: int) -> Generator[Claim, None, None]:
    """A member of an unknown group is refused with the error of the request version."""
    spoken = version_for(group, case, version)
    answer = group.txn_commit(group.speaking(spoken), group.member(), {0: 11}, epoch, version=spoken)
    yield answered_by_version(case, answer, Error.GROUP_ID_NOT_FOUND)


@probe(
    "KIP1251-TXN-02",
    rig=fresh_txn_group(),
    cases=["unknown-member", "unknown-member-v6"],
    distance=integers(-2, 2),
    version=OLD,
)
def unknown_member(group: TxnGroup, case: str, distance: int, version: int) -> Generator[Claim, None, None]:
    """A member id that is not in the group is unknown in every version."""
    member = group.alone(2)
    yield group.holding(member, member.epoch, 0)
    spoken = group.newest if case.endswith("-v6") else min(version, group.newest)
    epoch = member.epoch + distance
    answer = group.txn_commit(group.speaking(spoken), group.member(), {0: 11}, epoch, version=spoken)
    yield held_if(all_answered(answer, Error.UNKNOWN_MEMBER_ID), answer)


@probe("KIP1251-TXN-02", rig=fresh_txn_group(), cases=["topic-v6"], topic_id=uuids(version=4))
def unknown_topic(group: TxnGroup, case: str, topic_id: UUID) -> Generator[Claim, None, None]:
    """An unknown topic id is answered as such."""
    member = group.alone()
    yield group.holding(member, member.epoch, 0)
    nowhere = Topic("nowhere", topic_id)
    answer = group.txn_commit(
        group.speaking(group.newest), member, {0: 11}, member.epoch, topic=nowhere, version=group.newest
    )
    yield held_if(all_answered(answer, Error.UNKNOWN_TOPIC_ID), answer)


@probe("KIP1251-TXN-03", rig=fresh_txn_group(), cases=["nothing-given"], pick=PICK)
def commit_without_a_member_id(group: TxnGroup, case: str, pick: int) -> Generator[Claim, None, None]:
    """A commit without a member id is accepted although the group has members."""
    member = group.alone()
    group.store(member, 0, 10)
    yield group.holding(member, member.epoch, 0)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, None, {0: 11}, -1)
    yield from accepted_and_stored(group, producer, answer, 0, 11, case)


@probe("KIP1251-TXN-03", rig=fresh_txn_group(), cases=["member-id-given", "instance-id-given"], pick=PICK)
def commit_with_half_a_member_identity(group: TxnGroup, case: str, pick: int) -> Generator[Claim, None, None]:
    """With a member id or an instance id, epoch -1 is an epoch like any other, and refused."""
    member = group.alone(instance_id=group.bench.fresh("instance") if case == "instance-id-given" else None)
    group.store(member, 0, 10)
    yield group.holding(member, member.epoch, 0)
    if case == "instance-id-given":
        member.id = ""
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {0: 11}, -1)
    producer.end(committed=True)
    after = group.decided(0)
    none_taken = Error.NONE not in {partition.error for partition in answer.partitions}
    yield held_if(none_taken and after.shows(10), answer, after)


@probe("KIP1251-TXN-05", rig=fresh_txn_group(), cases=["legacy", "tv2"], offset=OFFSETS, rise=RISE)
def plain_commit_before_the_marker(group: TxnGroup, case: str, offset: int, rise: int) -> Generator[Claim, None, None]:
    """A plain commit after a transactional one stays when the transaction is committed."""
    late_marker(group, case, offset, rise)
    after = group.decided(0)
    yield held_if(after.shows(offset + rise), after)


def late_marker(group: TxnGroup, dialect: str, offset: int, rise: int) -> None:
    """TxnOffsetCommit, then a plain commit of the same partition, then the marker."""
    member, producer = group.alone(), group.producer(dialect)
    producer.granted(group.txn_commit(producer, member, {0: offset}, member.epoch), "commit")
    group.store(member, 0, offset + rise)
    producer.end(committed=True)


@probe(
    "KIP1251-TXN-05",
    rig=fresh_txn_group(),
    cases=["restart"],
    run_first=True,
    examples=3,
    smoke=False,
    offset=OFFSETS,
    rise=RISE,
    pick=PICK,
)
def plain_commit_before_the_marker_loaded(
    group: TxnGroup, case: str, offset: int, rise: int, pick: int
) -> Generator[Claim, None, None]:
    """It also stays for a coordinator that loads the offsets from the log."""
    late_marker(group, group.dialect(pick), offset, rise)
    other = TxnGroup(group.bench, new_group(group.bench))
    late_marker(other, other.dialect(pick + 1), offset, rise)
    group.restart_coordinator()
    for restarted in (group, other):
        after = restarted.decided(0)
        yield held_if(after.shows(offset + rise), after)
