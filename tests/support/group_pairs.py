"""Pairs of histories of a group, for the judges of groups."""

from __future__ import annotations

from protocol.codes import Error
from tests.support.groups import GroupHistory, GroupPair, handed_over, revoked, settled

Pair = tuple[GroupHistory, GroupHistory]


def robbed_owner() -> Pair:
    """Give a partition to b before a has given it up, or afterwards."""
    return revoked().beats("b", 2, given=(1,)), handed_over()


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


PAIRS: dict[str, GroupPair] = {
    "at_most_one_owner": robbed_owner,
    "partition_is_given_after_it_was_given_up": robbed_owner,
    "owners_share_no_epoch": shared_epoch,
    "no_commit_is_refused_for_nothing": refused_commit_of_an_owner,
    "each_answer_is_one_that_the_state_allows": commit_from_the_future,
    "honest_members_stay": removed_member,
    "epochs_never_go_back": fallen_epoch,
    "no_offset_of_an_ownership_that_ended": zombie_offset,
    "commits_of_members_are_readable_or_refused": lost_offset,
}
"""By the judge's function, as in `history_pairs`."""
