"""Pairs of histories of a group, for the judges of groups."""

from __future__ import annotations

from history.readings import GroupRecord
from protocol.codes import Error
from tests.support.groups import (
    READ,
    GroupHistory,
    GroupPair,
    assignment,
    group_epoch,
    handed_over,
    keeps_up,
    revoked,
    settled,
    stored,
    target_epoch,
)

Pair = tuple[GroupHistory, GroupHistory]


def robbed_owner() -> Pair:
    """Give a partition to b before a has given it up, or afterwards."""
    return revoked().beats("b", 2, given=(1,)), handed_over()


def robbed_client() -> Pair:
    """Assign a partition to one client before another has given it up, or afterwards."""
    return GroupHistory().has("a", 0, 1).has("b", 1), GroupHistory().has("a", 0, 1).gives_up("a", 0).has("b", 1)


def robbed_classic_member() -> Pair:
    """Give b a partition of a classic member that has rejoined with it, or without it."""

    def gives(owned: tuple[int, ...]) -> GroupHistory:
        history = GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1)).joins("b", 2, ())
        return history.classic_joins("a", 2, owned=owned).beats("b", 2, given=(1,))

    return gives((0, 1)), gives((0,))


def shared_epoch() -> Pair:
    """Give b a partition at the epoch at which a had it, or at the next one."""

    def gives(epoch: int) -> GroupHistory:
        return revoked().beats("a", 1, 2, owned=(0,)).beats("b", 1, epoch, given=(1,))

    return gives(1), gives(2)


def refused_commit_of_an_owner() -> Pair:
    """Refuse a commit at an older epoch for the partition that a kept, or for the one that it lost."""

    def refuses(partition: int) -> GroupHistory:
        return handed_over().commits("a", 1, partition, error=Error.STALE_MEMBER_EPOCH)

    return refuses(0), refuses(1)


def commit_from_the_future() -> Pair:
    """Accept a commit above the member epoch, or at it for a partition of another member."""
    return handed_over().commits("a", 3, 0), handed_over().commits("a", 2, 1)


def removed_member() -> Pair:
    """Forget a member after 30 s without a heartbeat, or after 44."""

    def forgets(seconds: float) -> GroupHistory:
        return settled().later(seconds).beats("a", 1, error=Error.UNKNOWN_MEMBER_ID)

    return forgets(30), forgets(44)


def forgotten_classic_member() -> Pair:
    """Forget a classic member in an upgraded group, while it heartbeats, or after it has left."""

    def forgets(*, leaves: bool) -> GroupHistory:
        history = GroupHistory().created_as(READ.id).classic_joins("a", 1).syncs("a", 1, (0, 1)).joins("b", 2, ())
        history = history.classic_beats("a", 1)
        return (history.classic_leaves("a") if leaves else history).classic_beats("a", 1, Error.UNKNOWN_MEMBER_ID)

    return forgets(leaves=False), forgets(leaves=True)


def fallen_epoch() -> Pair:
    """Answer a member with a lower epoch at the next coordinator, or with the same one."""

    def answers(epoch: int) -> GroupHistory:
        return handed_over().kill(1).moved(2).beats("a", 2, epoch)

    return answers(1), answers(2)


def zombie_offset() -> Pair:
    """Show an offset that a committed at an epoch of its ownership, after b was given the partition; or at a later epoch."""

    def commits(epoch: int) -> GroupHistory:
        return handed_over().commits("a", epoch, 1, offset=3).fetches(1, 3)

    return commits(1), commits(2)


def lost_offset() -> Pair:
    """Show no offset after a commit was accepted, or that of the commit."""

    def shows(offset: int) -> GroupHistory:
        return settled().commits("a", 1, 0, offset=3).fetches(0, offset)

    return shows(-1), shows(3)


def robbed_owner_in_the_log() -> Pair:
    """Log a partition as b's while a has it, or after a has given it up."""

    def logs(*given_up: GroupRecord) -> GroupHistory:
        return GroupHistory().logs(assignment("a", 1, {0: 1}), *given_up, assignment("b", 2, {0: 2}))

    return logs(assignment("a", 1, {}, {0: 1})), logs(assignment("a", 2, {}))


def epoch_ahead_in_the_log() -> Pair:
    """Log a member above the target assignment epoch, or at it."""

    def logs(epoch: int) -> GroupHistory:
        return GroupHistory().logs(group_epoch(3), target_epoch(2), assignment("a", epoch, {0: 1}))

    return logs(3), logs(2)


def epoch_that_was_not_logged() -> Pair:
    """Answer a heartbeat with an epoch that the log lacks, or has."""

    def logs(epoch: int) -> GroupHistory:
        return GroupHistory().joins("a", 2).logs(group_epoch(2), target_epoch(2), assignment("a", epoch, {}))

    return logs(1), logs(2)


def refused_commit_in_the_log() -> Pair:
    """Log the offset of a refused commit, or another one."""

    def logs(offset: int) -> GroupHistory:
        return settled().commits("a", 9, 0, offset=3, error=Error.STALE_MEMBER_EPOCH).logs(stored(0, offset))

    return logs(3), logs(2)


def group_without_balance() -> Pair:
    """Describe b as behind the group epoch after 32 s of heartbeats, or after 20."""

    def waits(seconds: float) -> GroupHistory:
        return keeps_up(seconds).shows(("a", 3, (0,)), ("b", 2, (1,)), epoch=3)

    return waits(32), waits(20)


def needless_move() -> Pair:
    """Give two members each other's partition, or their own, when one of them names a topic that does not exist."""

    def gives(a: int, b: int) -> GroupHistory:
        history = settled().metadata(2, 1, 1, id=READ.id, count=2)
        history.shows(("a", 2, (0,)), ("b", 2, (1,)), epoch=2, topics=(READ.name,)).beats(
            "a", 2, 3, topics=(READ.name, "x")
        )
        return history.shows(("a", 3, (a,)), ("b", 3, (b,)), epoch=3, topics=(READ.name,))

    return gives(1, 0), gives(0, 1)


PAIRS: dict[str, GroupPair] = {
    "nothing_moves_for_nothing": needless_move,
    "at_most_one_owner": robbed_owner,
    "clients_share_nothing": robbed_client,
    "partition_is_given_after_it_was_given_up": robbed_owner,
    "members_of_both_kinds_share_nothing": robbed_classic_member,
    "owners_share_no_epoch": shared_epoch,
    "no_commit_is_refused_for_nothing": refused_commit_of_an_owner,
    "each_answer_is_one_that_the_state_allows": commit_from_the_future,
    "honest_members_stay": removed_member,
    "honest_classic_members_stay": forgotten_classic_member,
    "epochs_never_go_back": fallen_epoch,
    "group_epochs_are_ordered": fallen_epoch,
    "no_offset_of_an_ownership_that_ended": zombie_offset,
    "commits_of_members_are_readable_or_refused": lost_offset,
    "at_most_one_owner_by_log": robbed_owner_in_the_log,
    "logged_epochs_are_in_order": epoch_ahead_in_the_log,
    "answers_were_logged": epoch_that_was_not_logged,
    "refused_commits_are_not_logged": refused_commit_in_the_log,
    "group_becomes_stable": group_without_balance,
}
"""By the judge's function, as in `history_pairs`."""
