"""Heartbeats: missed answers, rejoining, and descriptions of assignments (KIP-848 under KIP-1251)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import Group, HandOver, fresh_group
from fixtures.views.member import list_partitions
from protocol.codes import Error
from protocol.groups import JOIN, HeartbeatAnswer
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS


@probe("KIP1251-BASE-04", rig=fresh_group(), cases=["previous-epoch"], bumps=EPOCH_BUMPS, unnamed=integers(0, 2))
def previous_epoch_is_accepted(group: Group, case: str, bumps: int, unnamed: int) -> Claims:
    """A member that missed the answer with its new epoch gets the same epoch again."""
    hand = group.hand_over(bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    answer = hand.old.heartbeat(owned=group.topic_partitions(sorted(hand.old.partitions)[unnamed:]), received=False)
    described = group.describe()
    at = {found.member_id: found.member_epoch for found in described.members}
    forgiven = answer.error is Error.NONE and answer.member_epoch == hand.moved_epoch == at.get(hand.old.id)
    yield held_if(forgiven and described.error is Error.NONE, answer, described)


@probe(
    "KIP1251-BASE-04",
    rig=fresh_group(),
    cases=["owned-unknown", "owned-larger", "older-epoch", "greater-epoch"],
    bumps=EPOCH_BUMPS,
    distance=integers(1, 3),
)
def other_epochs_are_fenced(group: Group, case: str, bumps: int, distance: int) -> Claims:
    """Any other heartbeat that is not at the member epoch is fenced, and the member keeps its place."""
    hand = group.hand_over(bumps)
    epoch = hand.moved_epoch
    if case == "older-epoch":
        hand.old.receive(hand.missed)
        epoch = hand.old.bump(distance)
    yield group.premise_of_holding(hand.old, epoch, hand.kept)
    answer = send_fenced_heartbeat(hand, case, distance)
    described = group.describe()
    stays = group.has_member(described, hand.old, epoch, hand.kept)
    yield held_if(answer.error is Error.FENCED_MEMBER_EPOCH and stays, answer, described)


def send_fenced_heartbeat(hand: HandOver, case: str, distance: int) -> HeartbeatAnswer:
    old = hand.old
    if case == "owned-unknown":
        return old.heartbeat(member_epoch=hand.before, received=False)
    if case == "owned-larger":
        return old.heartbeat(
            member_epoch=hand.before, owned=old.group.topic_partitions(old.partitions | {hand.lost}), received=False
        )
    epoch = hand.before if case == "older-epoch" else hand.moved_epoch + distance
    return old.heartbeat(member_epoch=epoch, owned=list_partitions(old.owned), received=False)


@probe("KIP1251-BASE-06", rig=fresh_group(), cases=["answer"], bumps=integers(1, 4))
def rejoin(group: Group, case: str, bumps: int) -> Claims:
    """A known member that rejoins with epoch 0 stays a member and gets its assignment again."""
    member = group.sole_member(bumps)
    yield group.premise_of_holding(member, member.epoch, *range(group.partitions))
    answer = member.heartbeat(member_epoch=JOIN, owned=(), subscribed_topic_names=[group.topic.name], received=False)
    described = group.describe()
    shown = [(found.member_id, found.member_epoch, group.assigned_partitions(found)) for found in described.members]
    in_place = shown == [(member.id, answer.member_epoch, member.partitions)] and answer.member_epoch >= member.epoch
    kept = answer.error is Error.NONE and in_place
    yield held_if(kept and group.assigned_in(answer) == member.partitions, answer, described)


@probe("KIP1251-BASE-06", rig=fresh_group(), cases=["kept-epochs"], bumps=integers(1, 4), partition=integers(0, 3))
def commit_from_before_the_rejoin(group: Group, case: str, bumps: int, partition: int) -> Claims:
    """Commits from before a rejoin are still accepted after it: partitions keep their assignment epochs."""
    member = group.sole_member(bumps)
    answer = member.heartbeat(member_epoch=JOIN, owned=(), subscribed_topic_names=[group.topic.name], received=False)
    late = group.commit(member, {partition: 100 + bumps}, member.since[partition])
    after = group.committed_offset(partition)
    accepted = late.all_answered(Error.NONE) and after.shows(100 + bumps)
    yield held_if(answer.error is Error.NONE and accepted, answer, late, after)


@probe("KIP1251-BASE-06", rig=fresh_group(), cases=["pending-revocation"], bumps=integers(1, 4))
def rejoin_while_revoking(group: Group, case: str, bumps: int) -> Claims:
    """A rejoin without owned partitions ends a pending revocation: the next owner gets the partition."""
    old, new = group.sole_member(bumps), group.member()
    new.join()
    lost = group.heartbeat_until_revoking(old)
    waiting = new.keep_up()
    held_back = not group.assigned_in(waiting) & lost
    what = f"{say(sorted(lost))} is still held back: {waiting}"
    yield premise(held_back, what, promised=("KIP1251-BASE-02", "acknowledged"))
    back = old.heartbeat(member_epoch=JOIN, owned=(), subscribed_topic_names=[group.topic.name], received=False)
    given = new.keep_up()
    done = back.error is Error.NONE and not group.assigned_in(back) & lost and lost <= group.assigned_in(given)
    yield held_if(done, back, given)


@probe("KIP1251-BASE-07", rig=fresh_group(), bumps=integers(0, 4))
def describe_while_revoking(group: Group, bumps: int) -> Claims:
    """A partition that a member must revoke is described as its own until it acknowledges."""
    old, new = group.sole_member(bumps), group.member()
    new.join()
    lost = group.heartbeat_until_revoking(old)
    described = group.describe()
    held = {found.member_id: group.assigned_partitions(found) for found in described.members}
    nothing: frozenset[int] = frozenset()
    kept, early = lost <= held.get(old.id, nothing), lost & held.get(new.id, nothing)
    shown = described.error is Error.NONE and kept and not early
    yield held_if(shown, described, case="pending")
