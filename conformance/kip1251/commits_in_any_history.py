"""Commits after any history of joins, leaves and bumps: KIP-1251's rule as an oracle, in transactions and outside
them."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis.strategies import integers, lists, sampled_from

from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.rigs.groups.group import Group, GroupMember, fresh_group
from conformance.rigs.groups.members import Owners, Ownership
from conformance.rigs.groups.transactions import TxnGroup, all_answered, fresh_txn_group, refused_epoch_error
from protocol.codes import Error
from protocol.groups import OffsetFetchAnswer
from protocol.words import say

CHANGES = lists(sampled_from(["join", "bump", "leave"]), min_size=4, max_size=5)
"""Changes of the group; after each, members have partitions to revoke for a while."""
BACKS = lists(integers(1, 8), min_size=3, max_size=4, unique=True)
"""The numbers of epochs by which commits lag behind."""
MIDDLE = 10_000
"""The offset around which committed offsets alternate."""
ROWS = {"pending revocation": "KIP1251-COMMIT-07", "lost": "KIP1251-COMMIT-05"}


class OldEpochCommit(NamedTuple):
    """A commit below the member epoch, and whether the rule of its row accepts it."""

    member: GroupMember
    partition: int
    epoch: int
    row: str
    accepted: bool


def older_commits(held: Ownership, back: int) -> Iterator[OldEpochCommit]:
    """Yield the commit `back` epochs before the last one of an ownership, unless it is below epoch 0, or before a lost
    ownership began."""
    epoch = held.until - back + (held.hold == "lost")
    since = held.since
    if epoch < (since if held.hold == "lost" else 0):
        return
    accepted = held.hold != "lost" and epoch >= since
    row = ROWS.get(held.hold, "KIP1251-COMMIT-02" if accepted else "KIP1251-COMMIT-03")
    yield OldEpochCommit(held.member, held.partition, epoch, row, accepted)


def premise_of_known_epochs(group: Group, owners: Owners) -> PremiseClaim:
    """Return the premise that the coordinator's member epochs are those that the members know."""
    shown = {found.member_id: found.member_epoch for found in group.describe().members}
    known = {member.id: member.epoch for member in owners.present}
    back = any(0 <= shown.get(id, -1) < epoch for id, epoch in known.items())
    promised = ("KIP1251-BASE-08", "one-coordinator") if back else None
    return premise(shown == known, f"members at the epochs {say(known)}: {say(shown)}", promised=promised)


class AlternatingOffsets:
    """The last offsets that were read, and the next one to commit, alternately above and below `MIDDLE`."""

    def __init__(self) -> None:
        self._read: dict[int, int] = {}
        self._tried = 0

    def next(self) -> int:
        self._tried += 1
        return MIDDLE + (self._tried if self._tried % 2 else -self._tried)

    def agree(self, one: OldEpochCommit, offset: int, after: OffsetFetchAnswer) -> bool:
        """True if `after` has the accepted `offset`, or the previous one if it was refused."""
        expected = offset if one.accepted else self._read.get(one.partition, -1)
        if after.partitions:
            self._read[one.partition] = after.only_partition.offset
        return after.shows(expected)


@probe(
    "KIP1251-COMMIT-05",
    "KIP1251-COMMIT-02",
    "KIP1251-COMMIT-03",
    "KIP1251-COMMIT-07",
    rig=fresh_group(),
    cases=["any-history"],
    changes=CHANGES,
    backs=BACKS,
)
def commits_follow_the_rule(group: Group, changes: list[str], backs: list[int]) -> Claims:
    """After any history, an older epoch is accepted exactly for what the member has owned since then, even if the
    offset goes back."""
    owners, offsets = Owners(group), AlternatingOffsets()
    for kind in (step for change in changes for step in (change, "revoke")):
        held = owners.change(kind)
        yield premise_of_known_epochs(group, owners)
        for one in (one for each in held for back in backs for one in older_commits(each, back)):
            offset = offsets.next()
            answer = group.commit(one.member, {one.partition: offset}, one.epoch)
            after = group.committed_offset(one.partition)
            error = Error.NONE if one.accepted else Error.STALE_MEMBER_EPOCH
            held_up = offsets.agree(one, offset, after) and answer.all_answered(error)
            yield held_if(held_up, answer, after, row=one.row, case="any-history")


@probe(
    "KIP1251-TXN-01",
    rig=fresh_txn_group(),
    cases=["any-history"],
    changes=CHANGES,
    back=integers(1, 6),
    pick=integers(0, 1),
)
def transactional_commits_follow_the_rule(group: TxnGroup, changes: list[str], back: int, pick: int) -> Claims:
    """Commits in transactions follow the same rule; each member makes one for each kind of ownership."""
    owners, offsets = Owners(group), AlternatingOffsets()
    for kind in (step for change in changes for step in (change, "revoke")):
        held = owners.change(kind)
        yield premise_of_known_epochs(group, owners)
        for one in {(one.member, one.row): one for each in held for one in older_commits(each, back)}.values():
            offset, producer = offsets.next(), group.producer(group.dialect(pick))
            answer = group.txn_commit(producer, one.member, {one.partition: offset}, one.epoch)
            producer.end(committed=True)
            after = group.stable_offset(one.partition)
            error = Error.NONE if one.accepted else refused_epoch_error(answer)
            held_up = offsets.agree(one, offset, after) and all_answered(answer, error)
            yield held_if(held_up, answer, after)
