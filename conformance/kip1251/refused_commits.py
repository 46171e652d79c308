"""Refused commits, which leave no trace, and the order of accepted ones (KIP-1251)."""

from hypothesis.strategies import integers, lists, sampled_from

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.groups.classic import classic_alone, commit_offset, upgrade_group
from conformance.rigs.groups.group import SESSION, Group, GroupMember, fresh_group
from conformance.rigs.groups.group_log import GroupLog
from protocol.codes import Error
from protocol.groups import OffsetCommitAnswer
from protocol.words import say
from strategies.inputs import EPOCHS_AHEAD, OFFSETS

WRONG = sampled_from(["unknown-member", "newer-epoch", "without-epoch", "older-epoch"])
WRONGS = lists(WRONG, min_size=6, max_size=8)
STRANGERS = {"unknown-member": Error.UNKNOWN_MEMBER_ID}
SEVERAL = 6


def send_refused_commit(
    group: Group, member: GroupMember, wrong: str, ahead: int, partition: int, offset: int
) -> OffsetCommitAnswer:
    """Send a commit that must be refused; `wrong` says why. An older epoch is one before the partition's assignment epoch."""
    if wrong == "unknown-member":
        return group.commit(group.member(), {partition: offset}, member.epoch)
    if wrong == "older-epoch":
        return group.commit(member, {partition: offset}, member.since[partition] - 1)
    return group.commit(member, {partition: offset}, member.epoch + ahead if wrong == "newer-epoch" else -1)


@probe(
    "KIP1251-COMMIT-13", rig=fresh_group(), cases=["offset-fetch"], wrongs=WRONGS, ahead=EPOCHS_AHEAD, offset=OFFSETS
)
def refused_commit_is_not_stored(group: Group, wrongs: list[str], ahead: int, offset: int) -> Claims:
    """After a refused commit, the coordinator answers the previous offset, and its log has no later one."""
    log, member = GroupLog(group), group.sole_member(1, aged=2)
    group.store(member, 0, offset)
    yield group.premise_of_holding(member, member.epoch, 0)
    for step, wrong in enumerate(wrongs, 1):
        answer = send_refused_commit(group, member, wrong, ahead, 0, offset + step)
        after, stored = group.committed_offset(0), log.offsets(0)
        error = answer.all_answered(STRANGERS.get(wrong, Error.STALE_MEMBER_EPOCH))
        yield held_if(error and after.shows(offset), answer, after, case="offset-fetch")
        yield held_if(
            error and stored == [offset],
            answer,
            case="log",
            detail=f"the log has the offsets {say(stored)}, before it had {offset}",
        )


@probe(
    "KIP1251-COMMIT-13",
    rig=fresh_group(SEVERAL),
    cases=["fail-over"],
    smoke=False,
    wrongs=lists(WRONG, min_size=SEVERAL, max_size=SEVERAL),
    ahead=EPOCHS_AHEAD,
    offset=OFFSETS,
)
def refused_commit_is_unknown_to_the_next_coordinator(
    group: Group, wrongs: list[str], ahead: int, offset: int
) -> Claims:
    """A restarted coordinator has the offsets of before the refused commits."""
    member = group.sole_member(1, aged=2)
    for partition in range(SEVERAL):
        group.store(member, partition, offset)
    yield group.premise_of_holding(member, member.epoch, *range(SEVERAL))
    answers = [send_refused_commit(group, member, wrong, ahead, at, offset + 1) for at, wrong in enumerate(wrongs)]
    group.restart_coordinator()
    for partition, answer in enumerate(answers):
        after = group.committed_offset(partition)
        held = answer.all_answered(STRANGERS.get(wrongs[partition], Error.STALE_MEMBER_EPOCH)) and after.shows(offset)
        yield held_if(held, answer, after, case="fail-over")


@probe(
    "KIP1251-COMMIT-13",
    rig=fresh_group(),
    cases=["illegal-generation", "illegal-generation-upgraded"],
    rejoins=integers(1, 3),
    distances=lists(sampled_from([-2, -1, 1, 2, 100]), min_size=6, max_size=8),
    offset=OFFSETS,
)
def refused_generation_is_not_stored(
    group: Group, case: str, rejoins: int, distances: list[int], offset: int
) -> Claims:
    """A commit at another generation than the classic member's is not stored either, in a classic group or an upgraded
    one."""
    log, classic = GroupLog(group), classic_alone(group, rejoins)
    if case == "illegal-generation-upgraded":
        _, is_upgraded = upgrade_group(group, classic)
        yield is_upgraded
    group.bench.require(commit_offset(group, classic, 0, offset, classic.generation), "commit", SESSION)
    for step, distance in enumerate(distances, 1):
        answer = commit_offset(group, classic, 0, offset + step, max(0, classic.generation + distance))
        after, stored = group.committed_offset(0), log.offsets(0)
        held = answer.all_answered(Error.ILLEGAL_GENERATION) and after.shows(offset) and stored == [offset]
        yield held_if(held, answer, after, detail=f"the log has the offsets {say(stored)}, before it had {offset}")


@probe("KIP1251-COMMIT-14", rig=fresh_group(), bumps=integers(5, 6), back=integers(1, 100), offset=OFFSETS)
def delayed_commit_moves_the_offset_back(group: Group, bumps: int, back: int, offset: int) -> Claims:
    """A commit delayed since an older epoch of the same ownership is accepted after a newer commit, and replaces it."""
    member = group.sole_member(bumps)
    yield group.premise_of_holding(member, member.epoch, 0)
    newer = offset + back
    for epoch in range(member.since[0], member.epoch):
        group.store(member, 0, newer)
        answer = group.commit(member, {0: offset}, epoch)
        after = group.committed_offset(0)
        yield held_if(answer.all_answered(Error.NONE) and after.shows(offset), answer, after, case="held-back")
