"""TxnOffsetCommit by a member: the rule of plain commits, its errors, and the order of stored offsets."""

from collections.abc import Generator
from uuid import UUID

from hypothesis.strategies import booleans, integers, lists, sampled_from, tuples, uuids

from conformance.core.checks import Claim, Claims, held_if, kept_if, premise, probe
from conformance.rigs.groups.group import SESSION, GroupMember, new_group
from conformance.rigs.groups.members import loses_all_for_a_while
from conformance.rigs.groups.transactions import TxnGroup, all_answered, fresh_txn_group, refused_epoch_error
from conformance.rigs.producers.combined_node import StageProducer
from protocol.codes import Error
from protocol.messages import Topic
from protocol.transactions import TxnOffsetCommitAnswer
from strategies.inputs import EPOCH_BUMPS, EPOCHS_AHEAD, OFFSETS

PICK = integers(0, 1)
"""The index of one of the cluster's transaction protocols."""
STEPS = integers(-1000, 1000).filter(bool)
PLAINS = integers(1, 3)
BASE = 5000
"""The offset from which commits go forward or back; it is far enough above 0."""
PRODUCERS = 2
MOVES = lists(
    tuples(sampled_from(["txn", "plain", "commit", "abort"]), integers(0, PRODUCERS - 1)), min_size=8, max_size=14
)
"""Commits in transactions and outside them, and ends of transactions; a commit begins a transaction if none is open."""
OLD = (3, 4, 5)
"""The versions of TxnOffsetCommit that have a member id and no topic id."""


def check_accepted_and_stored(
    group: TxnGroup, producer: StageProducer, answer: TxnOffsetCommitAnswer, partition: int, offset: int, case: str
) -> Claims:
    """Check that the commit was accepted, and that its offset is visible once the transaction is committed."""
    if all_answered(answer, Error.NONE):
        producer.end(committed=True)
    after = group.stable_offset(partition)
    yield held_if(all_answered(answer, Error.NONE) and after.shows(offset), answer, after, case=case)


def commit_is_refused(
    group: TxnGroup, producer: StageProducer, answer: TxnOffsetCommitAnswer, partition: int, offset: int, case: str
) -> Claims:
    """Check that the commit was refused for its epoch, and that committing the transaction leaves the earlier
    offset."""
    producer.end(committed=True)
    after = group.stable_offset(partition)
    yield held_if(all_answered(answer, refused_epoch_error(answer)) and after.shows(offset), answer, after, case=case)


@probe(
    "KIP1251-TXN-01", rig=fresh_txn_group(), cases=["legacy", "tv2"], bumps=EPOCH_BUMPS, v3=booleans(), offset=OFFSETS
)
def kept_partition_at_an_older_epoch(group: TxnGroup, case: str, bumps: int, v3: bool, offset: int) -> Claims:
    """A heartbeat in flight need not abort a transaction: the previous epoch is still accepted for partitions that the
    member kept."""
    hand = group.hand_over(bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    producer = group.producer(case)
    version = 3 if v3 and case == "legacy" else None
    answer = group.txn_commit(producer, hand.old, {hand.kept: offset}, hand.before, version=version)
    yield from check_accepted_and_stored(group, producer, answer, hand.kept, offset, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["before-assignment"], back=integers(1, 3), pick=PICK)
def epoch_before_the_assignment(group: TxnGroup, case: str, back: int, pick: int) -> Claims:
    """An epoch below the partition's assignment epoch is refused."""
    heir, partition, epoch = group.inherit(2, later=1)
    group.store(heir, partition, 10)
    yield group.premise_of_holding(heir, heir.epoch, partition)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, heir, {partition: 11}, epoch - back)
    yield from commit_is_refused(group, producer, answer, partition, 10, case)


@probe(
    "KIP1251-TXN-01", rig=fresh_txn_group(), cases=["current"], bumps=EPOCH_BUMPS, pick=PICK, partition=integers(0, 3)
)
def current_epoch(group: TxnGroup, case: str, bumps: int, pick: int, partition: int) -> Claims:
    """The member epoch is accepted for a partition that the member owns."""
    member = group.sole_member(bumps)
    yield group.premise_of_holding(member, member.epoch, partition)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {partition: 11}, member.epoch)
    yield from check_accepted_and_stored(group, producer, answer, partition, 11, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["future", "future-unowned"], ahead=EPOCHS_AHEAD, pick=PICK)
def epoch_from_the_future(group: TxnGroup, case: str, ahead: int, pick: int) -> Claims:
    """An epoch that the member has not reached is refused, also for a partition of another member."""
    hand = group.hand_over()
    group.await_assignment(hand.new, hand.lost)
    partition, owner = (hand.kept, hand.old) if case == "future" else (hand.lost, hand.new)
    group.bench.require(group.commit(owner, {partition: 10}, hand.moved_epoch), "commit", SESSION)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, hand.old, {partition: 11}, hand.moved_epoch + ahead)
    yield from commit_is_refused(group, producer, answer, partition, 10, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["lost", "unowned"], bumps=EPOCH_BUMPS, pick=PICK)
def partition_of_another_member(group: TxnGroup, case: str, bumps: int, pick: int) -> Claims:
    """For a partition with a new owner, the old epoch is refused and the member epoch accepted."""
    hand = group.hand_over_with_commit(10, bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    producer = group.producer(group.dialect(pick))
    epoch = hand.before if case == "lost" else hand.moved_epoch
    answer = group.txn_commit(producer, hand.old, {hand.lost: 11}, epoch)
    if case == "lost":
        yield from commit_is_refused(group, producer, answer, hand.lost, 10, case)
    else:
        yield from check_accepted_and_stored(group, producer, answer, hand.lost, 11, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["lost-free", "unowned-free"], bumps=EPOCH_BUMPS, pick=PICK)
def partition_of_no_member(group: TxnGroup, case: str, bumps: int, pick: int) -> Claims:
    """While a revoked partition has no owner, its former owner's old epoch is refused and the member epoch accepted."""
    hand = group.hand_over(bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.unassigned(hand.lost)
    producer = group.producer(group.dialect(pick))
    epoch = hand.before if case == "lost-free" else hand.moved_epoch
    answer = group.txn_commit(producer, hand.old, {hand.lost: 11}, epoch)
    if case == "lost-free":
        yield from commit_is_refused(group, producer, answer, hand.lost, -1, case)
    else:
        yield from check_accepted_and_stored(group, producer, answer, hand.lost, 11, case)


@probe(
    "KIP1251-TXN-01", rig=fresh_txn_group(), cases=["came-back"], bumps=integers(1, 3), back=integers(0, 2), pick=PICK
)
def partition_that_came_back(group: TxnGroup, case: str, bumps: int, back: int, pick: int) -> Claims:
    """An epoch of an ownership that ended is refused, although the member owns the partition again."""
    member = group.sole_member(bumps)
    former = max(member.since[0], member.epoch - back)
    loses_all_for_a_while(group, member)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    again = member.since[0]
    yield premise(again > former, f"given back at epoch {again}", promised=("KIP1251-BASE-03", "membership"))
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {0: 11}, former)
    yield from commit_is_refused(group, producer, answer, 0, 10, case)


@probe(
    "KIP1251-TXN-01",
    rig=fresh_txn_group(),
    cases=["pending-below", "pending-acknowledged"],
    bumps=integers(1, 3),
    back=integers(1, 3),
    pick=PICK,
)
def partition_not_pending_at_that_epoch(group: TxnGroup, case: str, bumps: int, back: int, pick: int) -> Claims:
    """A commit is refused below the assignment epoch of a partition to be revoked, and after the revocation is
    acknowledged."""
    member = group.sole_member(bumps, aged=3)
    since = dict(member.since)
    group.member().join()
    partition = min(group.heartbeat_until_revoking(member))
    yield group.premise_of_waiting(member, partition)
    epoch = since[partition] - back
    if case == "pending-acknowledged":
        group.acknowledge(member)
        yield group.unassigned(partition)
        epoch = min(since[partition] + back - 1, member.epoch)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {partition: 7}, epoch)
    yield from commit_is_refused(group, producer, answer, partition, -1, case)


@probe("KIP1251-TXN-01", rig=fresh_txn_group(), cases=["pending-revocation"], bumps=integers(1, 3), pick=PICK)
def partition_waiting_to_be_revoked(group: TxnGroup, case: str, bumps: int, pick: int) -> Claims:
    """A member may commit at the assignment epoch and above until it acknowledges the revocation."""
    member = group.sole_member(bumps)
    since = dict(member.since)
    group.member().join()
    partition = min(group.heartbeat_until_revoking(member))
    yield group.premise_of_waiting(member, partition)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {partition: 7}, since[partition])
    yield from check_accepted_and_stored(group, producer, answer, partition, 7, case)


def versions_of(group: TxnGroup, case: str) -> list[int]:
    """Return a case's request versions: for `-v5` all old ones that the cluster offers, else the newest."""
    return [version for version in OLD if version <= group.newest] if case.endswith("-v5") else [group.newest]


def check_refusal_by_version(
    group: TxnGroup, member: GroupMember, partition: int, epoch: int, before: int, case: str, own: Error
) -> Claims:
    """Check that the commit gets ILLEGAL_GENERATION up to v5 and its `own` error from v6 on, and that committing the
    transaction does not store it.

    A case without a version records the error of the newest one.
    """
    for version in versions_of(group, case):
        producer = group.speaking(version)
        answer = group.txn_commit(producer, member, {partition: 11}, epoch, version=version)
        if "-" not in case:
            yield kept_if("KIP1251-TXN-02-L", all_answered(answer, own), answer)
            return
        producer.end(committed=True)
        after = group.stable_offset(partition)
        error = own if case.endswith("-v6") else Error.ILLEGAL_GENERATION
        yield held_if(all_answered(answer, error) and after.shows(before), answer, after)


@probe(
    "KIP1251-TXN-02",
    "KIP1251-TXN-02-L",
    rig=fresh_txn_group(),
    cases=["epoch-v5", "epoch-v6", "epoch"],
    ahead=integers(1, 9),
)
def refused_epoch(group: TxnGroup, case: str, ahead: int) -> Claims:
    """An epoch above the member's gets the error of the request version."""
    member = group.sole_member()
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    yield from check_refusal_by_version(group, member, 0, member.epoch + ahead, 10, case, Error.STALE_MEMBER_EPOCH)


@probe(
    "KIP1251-TXN-02",
    rig=fresh_txn_group(),
    cases=["older-epoch-v5", "older-epoch-v6"],
    back=integers(1, 3),
    later=integers(0, 2),
)
def epoch_that_is_over(group: TxnGroup, case: str, back: int, later: int) -> Claims:
    """An epoch from before the partition's assignment gets the error of the request version."""
    heir, partition, epoch = group.inherit(2, later=later)
    group.store(heir, partition, 10)
    yield group.premise_of_holding(heir, heir.epoch, partition)
    yield from check_refusal_by_version(group, heir, partition, epoch - back, 10, case, Error.STALE_MEMBER_EPOCH)


@probe(
    "KIP1251-TXN-02",
    "KIP1251-TXN-02-L",
    rig=fresh_txn_group(),
    cases=["group-v5", "group-v6", "group"],
    epoch=integers(0, 9),
)
def unknown_group(group: TxnGroup, case: str, epoch: int) -> Claims:
    """A member of an unknown group is refused with the error of the request version."""
    yield from check_refusal_by_version(group, group.member(), 0, epoch, -1, case, Error.GROUP_ID_NOT_FOUND)


@probe("KIP1251-TXN-02", rig=fresh_txn_group(), cases=["unknown-member", "unknown-member-v6"], distance=integers(-2, 2))
def unknown_member(group: TxnGroup, case: str, distance: int) -> Claims:
    """A member id that is not in the group is unknown in every version."""
    member = group.sole_member(2)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    for version in versions_of(group, case if case.endswith("-v6") else f"{case}-v5"):
        producer = group.speaking(version)
        answer = group.txn_commit(producer, group.member(), {0: 11}, member.epoch + distance, version=version)
        producer.end(committed=True)
        after = group.stable_offset(0)
        yield held_if(all_answered(answer, Error.UNKNOWN_MEMBER_ID) and after.shows(10), answer, after)


@probe("KIP1251-TXN-02", rig=fresh_txn_group(), cases=["topic-v6"], topic_id=uuids(version=4))
def unknown_topic(group: TxnGroup, case: str, topic_id: UUID) -> Claims:
    """An unknown topic id gets its own error."""
    member = group.sole_member()
    yield group.premise_of_holding(member, member.epoch, 0)
    nowhere = Topic("nowhere", topic_id)
    answer = group.txn_commit(
        group.speaking(group.newest), member, {0: 11}, member.epoch, topic=nowhere, version=group.newest
    )
    yield held_if(all_answered(answer, Error.UNKNOWN_TOPIC_ID), answer)


@probe("KIP1251-TXN-03", rig=fresh_txn_group(), cases=["nothing-given"], pick=PICK)
def commit_without_a_member_id(group: TxnGroup, case: str, pick: int) -> Claims:
    """A commit without a member id is accepted although the group has members."""
    member = group.sole_member()
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, None, {0: 11}, -1)
    yield from check_accepted_and_stored(group, producer, answer, 0, 11, case)


@probe(
    "KIP1251-TXN-03", rig=fresh_txn_group(), cases=["member-id-given", "instance-id-given", "epoch-given"], pick=PICK
)
def commit_with_half_a_member_identity(group: TxnGroup, case: str, pick: int) -> Claims:
    """A commit with a member id and epoch -1 is refused for its epoch, one with only an epoch or instance id as an
    unknown member's."""
    member = group.sole_member(instance_id=group.bench.fresh_name("instance") if case == "instance-id-given" else None)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    sender = member if case == "member-id-given" else GroupMember(group, "", member.instance_id)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, sender, {0: 11}, member.epoch if case == "epoch-given" else -1)
    producer.end(committed=True)
    after = group.stable_offset(0)
    error = refused_epoch_error(answer) if case == "member-id-given" else Error.UNKNOWN_MEMBER_ID
    yield held_if(all_answered(answer, error) and after.shows(10), answer, after)


@probe("KIP1251-TXN-05", rig=fresh_txn_group(), cases=["legacy", "tv2"], offset=OFFSETS, step=STEPS, plains=PLAINS)
def plain_commit_before_the_marker(group: TxnGroup, case: str, offset: int, step: int, plains: int) -> Claims:
    """A plain commit after a transactional one stays when the transaction is committed."""
    newest = yield from late_marker(group, case, offset, step, plains)
    after = group.stable_offset(0)
    yield held_if(after.shows(newest), after)


def late_marker(
    group: TxnGroup, dialect: str, offset: int, step: int, plains: int, *, loads: bool = False
) -> Generator[Claim, None, int]:
    """Send TxnOffsetCommit, then plain commits of the same partition, `step` apart, then the marker; return the last
    offset. If it `loads`, the coordinator is restarted before the marker.

    Premise: the transaction's offset is pending until then.
    """
    member, producer = group.sole_member(), group.producer(dialect)
    producer.require(group.txn_commit(producer, member, {0: BASE + offset}, member.epoch), "commit")
    newest = BASE + offset + plains * step
    for one in range(1, plains + 1):
        group.store(member, 0, BASE + offset + one * step)
    waiting = group.committed_offset(0)
    pending = {found.error for found in waiting.partitions} == {Error.UNSTABLE_OFFSET_COMMIT}
    yield premise(pending, f"an offset is pending: {waiting}", promised=("KIP1251-TXN-04", dialect))
    if loads:
        group.restart_coordinator()
        group.await_transaction_coordinator()
    producer.end(committed=True)
    return newest


@probe(
    "KIP1251-TXN-05",
    rig=fresh_txn_group(),
    cases=["restart"],
    examples=3,
    smoke=False,
    offset=OFFSETS,
    step=STEPS,
    plains=PLAINS,
    pick=PICK,
)
def plain_commit_before_the_marker_loaded(
    group: TxnGroup, case: str, offset: int, step: int, plains: int, pick: int
) -> Claims:
    """A plain commit after a transactional one also stays for a coordinator that loads the offsets from the log, before
    the marker or after it."""
    other = TxnGroup(group.bench, new_group(group.bench))
    first = yield from late_marker(group, group.dialect(pick), offset, step, plains)
    second = yield from late_marker(other, other.dialect(pick + 1), offset, -step, plains, loads=True)
    for restarted, newest in ((group, first), (other, second)):
        after = restarted.stable_offset(0)
        yield held_if(after.shows(newest), after)


def _in_words(moves: list[tuple[str, int]]) -> str:
    """Return drawn moves in words: plain commits, and commits within and ends of transactions by number."""
    return ", ".join(move if move == "plain" else f"{move} {number}" for move, number in moves)


@probe("KIP1251-TXN-05", rig=fresh_txn_group(), cases=["any-order"], moves=MOVES, pick=PICK)
def offsets_in_any_order(group: TxnGroup, moves: list[tuple[str, int]], pick: int) -> Claims:
    """The stored offset is the one sent last by a plain commit or a committed transaction, in whatever order
    transactions end."""
    member = group.sole_member()
    yield group.premise_of_holding(member, member.epoch, 0)
    producers = [group.producer(group.dialect(pick + n)) for n in range(PRODUCERS)]
    pending: dict[int, tuple[int, int]] = {}
    stored = (0, -1)
    for moved, (move, number) in enumerate(moves, 1):
        offset = BASE + (moved if moved % 2 else -moved)
        if move == "plain":
            group.store(member, 0, offset)
            stored = (moved, offset)
        elif move == "txn" or number not in pending:
            group.commit_in(producers[number], member, {0: offset}, first=number not in pending)
            pending[number] = (moved, offset)
        else:
            producers[number].end(committed=move == "commit")
            ended = pending.pop(number)
            stored = max(stored, ended) if move == "commit" else stored
        now = group.node.offset_fetch(group.name, [(group.topic, 0)])
        yield held_if(
            now.shows(stored[1]), now, detail=f"offset {stored[1]} was sent last in {_in_words(moves[:moved])}"
        )
