"""A group coordinator agrees with its log (GEN-13): committed offsets, members and epochs, also after loading it."""

from collections.abc import Iterable, Sequence

from hypothesis.strategies import integers, lists, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.groups.group_log import GroupLog, GroupState
from conformance.rigs.groups.members import Members
from conformance.rigs.groups.transactions import TxnGroup, fresh_txn_group
from protocol.groups import DescribedGroup
from protocol.since import since
from protocol.words import say

CHANGES = lists(sampled_from(["join", "bump", "leave"]), min_size=6, max_size=7)
OFFSET_CHANGES = lists(sampled_from(["plain", "committed", "aborted", "back"]), min_size=8, max_size=10)
STATIC_FROM = since("ConsumerGroupHeartbeat", "regular expressions")
"""The version of ConsumerGroupHeartbeat from which on groups have static members; the preview before it lacks them."""
BASE = 1000


def state_in(group: TxnGroup, shown: DescribedGroup) -> GroupState:
    """Return the description in the form of the group's records."""
    members = {member.member_id: (member.member_epoch, group.assigned_partitions(member)) for member in shown.members}
    return GroupState(shown.group_epoch, shown.assignment_epoch, members)


def group_as_logged(group: TxnGroup, log: GroupLog, case: str) -> Claim:
    """Check that the group's description at rest matches its records."""
    shown = group.describe()
    states = log.replay()
    held = state_in(group, shown) in states  # releases differ in what they still describe as assigned
    return held_if(held, shown, case=case, detail=f"the log has {say(states[0])}")


def offsets_as_logged(group: TxnGroup, log: GroupLog, case: str, tried: Iterable[int]) -> Claims:
    """Check that each tried partition's committed offset matches the log when no transaction is open."""
    for partition in sorted({*tried}):
        answer, logged = group.committed_offset(partition), log.committed_offset(partition)
        yield held_if(answer.shows(logged), answer, case=case, detail=f"the log has offset {say(logged)}")


@probe("GEN-13", rig=fresh_txn_group(), cases=["group"], changes=CHANGES)
def group_is_described_as_logged(group: TxnGroup, changes: list[str]) -> Claims:
    """After each change, the description's epochs, members and partitions are those of the group's records."""
    yield from each_change_as_logged(GroupLog(group), group, Members(group, static=False), changes)


def each_change_as_logged(log: GroupLog, group: TxnGroup, members: Members, changes: Sequence[str]) -> Claims:
    for change in changes:
        members.change(change)
        yield group_as_logged(group, log, "group")


def each_commit_as_logged(
    log: GroupLog, group: TxnGroup, members: Members, changes: Sequence[str], first: int
) -> Claims:
    for step, change in enumerate(changes):
        commit(group, members, change, (first + step) % group.partitions, step)
        tried = ((first + one) % group.partitions for one in range(step + 1))
        yield from offsets_as_logged(group, log, "offsets", tried)


def commit(group: TxnGroup, members: Members, change: str, partition: int, offset: int) -> None:
    """Commit as the partition's owner, in a transaction or outside one."""
    owner = next(member for member in members.present if partition in member.partitions)
    if change in ("plain", "back"):
        group.store(owner, partition, BASE - offset if change == "back" else BASE + offset)
        return
    producer = group.producer(group.dialect(offset))
    group.commit_in(producer, owner, {partition: BASE + offset}, first=False)
    producer.end(committed=change == "committed")
    group.stable_offset(partition)


@probe("GEN-13", rig=fresh_txn_group(), cases=["offsets"], changes=OFFSET_CHANGES, first=integers(0, 3))
def offsets_are_answered_as_logged(group: TxnGroup, changes: list[str], first: int) -> Claims:
    """After each commit, in a transaction or outside one, OffsetFetch answers the offsets of the records."""
    log, members = GroupLog(group), Members(group, static=False)
    members.change("join")
    yield from each_commit_as_logged(log, group, members, changes, first)


@probe(
    "GEN-13",
    rig=fresh_txn_group(),
    cases=["loaded"],
    examples=2,
    smoke=False,
    changes=CHANGES,
    offsets=OFFSET_CHANGES,
    last=sampled_from(["revoke", "return"]),
)
def loaded_group_is_as_logged(group: TxnGroup, case: str, changes: list[str], offsets: list[str], last: str) -> Claims:
    """A coordinator that has loaded the records agrees with them, too, and describes what the former one did: also while a
    member has to give partitions up, or an instance is away. So it does with the changes that follow."""
    has_instances = group.bench.column.ranges["ConsumerGroupHeartbeat"] >= STATIC_FROM
    log, members = GroupLog(group), Members(group, static=has_instances)
    for change in changes:
        members.change(change)
    for step, change in enumerate(offsets):
        commit(group, members, change, step % group.partitions, step)
    members.change(last if has_instances else "revoke")
    before = group.describe()
    group.restart_coordinator()
    yield group_as_logged(group, log, case)
    after = group.describe()
    yield held_if(state_in(group, after) == state_in(group, before), before, after, case=case)
    yield from offsets_as_logged(group, log, case, (step % group.partitions for step, _ in enumerate(offsets)))
    yield from each_change_as_logged(log, group, members, changes)
    yield from each_commit_as_logged(log, group, members, offsets, 0)
