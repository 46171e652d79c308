"""OffsetCommit by clients that are not members of the group, or in versions that the group does not accept."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import Group, fresh_group
from protocol.codes import Error
from strategies.inputs import OFFSETS

OLD_VERSIONS = integers(2, 8)
"""Versions of OffsetCommit before KIP-848 that every release offers."""

ERRORS = {
    "unknown-member": Error.UNKNOWN_MEMBER_ID,
    "no-member": Error.UNKNOWN_MEMBER_ID,
    "member-without-epoch": Error.STALE_MEMBER_EPOCH,
    "old-version": Error.UNSUPPORTED_VERSION,
}


@probe(
    "KIP1251-COMMIT-11",
    rig=fresh_group(),
    cases=list(ERRORS),
    epoch=integers(-1, 6),
    offset=OFFSETS,
    version=OLD_VERSIONS,
)
def non_member_of_a_group_with_members(group: Group, case: str, epoch: int, offset: int, version: int) -> Claims:
    """A commit without valid member id, epoch and version is rejected and stores nothing."""
    member = group.sole_member(2)
    group.store(member, 0, offset)
    yield group.premise_of_holding(member, member.epoch, 0)
    known = case in {"member-without-epoch", "old-version"}
    commits_as = None if case == "no-member" else member if known else group.member()
    at = {"no-member": -1, "member-without-epoch": -1, "old-version": member.epoch}.get(case, epoch)
    answer = group.commit(commits_as, {0: offset + 1}, at, version=version if case == "old-version" else None)
    after = group.committed_offset(0)
    yield held_if(answer.all_answered(ERRORS[case]) and after.shows(offset), answer, after)


@probe("KIP1251-COMMIT-11", rig=fresh_group(), cases=["unknown-group", "emptied-group"], offset=OFFSETS)
def no_member_id_in_a_group_without_members(group: Group, case: str, offset: int) -> Claims:
    """A commit without member id and epoch is accepted by a group that has no members."""
    if case == "emptied-group":
        group.sole_member().leave()
        described = group.describe()
        yield premise(not described.members, f"{group.name} has no members: {described}")
    answer = group.commit(None, {0: offset}, -1)
    after = group.committed_offset(0)
    yield held_if(answer.all_answered(Error.NONE) and after.shows(offset), answer, after)


@probe(
    "KIP1251-COMMIT-11",
    rig=fresh_group(),
    cases=["unknown-group-v9", "unknown-group-v8"],
    epoch=integers(0, 9),
    newest=booleans(),
    version=OLD_VERSIONS,
)
def member_of_an_unknown_group(group: Group, case: str, epoch: int, newest: bool, version: int) -> Claims:
    """A commit with an epoch is refused in an unknown group, with the error of its request version."""
    old = case.endswith("-v8")
    spoken = version if old else None if newest else 9
    answer = group.commit(group.member(), {0: 5}, epoch, version=spoken)
    after = group.committed_offset(0)
    error = Error.ILLEGAL_GENERATION if old else Error.GROUP_ID_NOT_FOUND
    yield held_if(answer.all_answered(error) and after.shows(-1), answer, after)
