"""Assignment epochs (KIP-1251) after a coordinator loaded the group, judged by the commits that it accepts."""

from conformance.core.checks import Claims, held_if
from conformance.rigs.groups.group import Group, HandOver
from protocol.codes import Error


def judged_as_before(group: Group, hand: HandOver, case: str, offset: int) -> Claims:
    """Observe COMMIT-02, -03 and -05 for a member that kept one partition and lost another, at its own epoch."""
    since = hand.old.since[hand.kept]
    below = group.commit(hand.old, {hand.kept: offset + 1}, since - 1)
    unset = group.committed_offset(hand.kept)
    refused = below.all_answered(Error.STALE_MEMBER_EPOCH) and unset.shows(-1)
    yield held_if(refused, below, unset, case=case)
    lost = group.commit(hand.old, {hand.lost: offset + 1}, hand.before)
    owners = group.committed_offset(hand.lost)
    refused = lost.all_answered(Error.STALE_MEMBER_EPOCH) and owners.shows(offset)
    yield held_if(refused, lost, owners, case=case)
    for epoch in (since, hand.before):
        kept = group.commit(hand.old, {hand.kept: offset}, epoch)
        after = group.committed_offset(hand.kept)
        yield held_if(kept.all_answered(Error.NONE) and after.shows(offset), kept, after, case=case)
