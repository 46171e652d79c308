"""OffsetCommit by members of Streams groups: assignment epochs of active tasks (KIP-1071 and KIP-1251)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import new_topic
from conformance.rigs.groups.streams import STREAMS_GROUP, StreamsGroup
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.words import say

BACK = integers(1, 5)
OFFSET = integers(1, 1000)


@probe("KIP1251-STR-01", rig=STREAMS_GROUP, cases=["kept", "before-assignment"], back=BACK, offset=OFFSET)
def older_epoch_of_an_active_task(group: StreamsGroup, case: str, back: int, offset: int) -> Claims:
    """A commit at an older epoch is accepted for a task that the member has owned since then, and refused for a later
    task."""
    hand = group.hand_over_tasks()
    member, partition = (hand.old, hand.kept) if case == "kept" else (hand.new, hand.lost)
    yield group.at_epoch(member)
    since = member.since[partition]
    epoch = max(since, member.epoch - back) if case == "kept" else max(0, since - back)
    yield premise(epoch < member.epoch, f"{epoch} is below {member.epoch}")
    answer = group.commit_by(member, {partition: offset}, epoch)
    after = group.committed_offset(partition)
    error, stored = (Error.NONE, offset) if case == "kept" else (Error.STALE_MEMBER_EPOCH, -1)
    yield held_if(answer.all_answered(error) and after.shows(stored), answer, after)


@probe("KIP1251-STR-01", rig=STREAMS_GROUP, cases=["outside-topology"], back=BACK, offset=OFFSET)
def topic_outside_the_topology(group: StreamsGroup, back: int, offset: int) -> Claims:
    """A commit at an older epoch is refused for a topic that the topology does not read, and with it for the member's
    own task."""
    other = new_topic(group.bench, 1)
    hand = group.hand_over_tasks()
    yield group.at_epoch(hand.old)
    epoch = max(hand.old.since[hand.kept], hand.old.epoch - back)
    yield premise(epoch < hand.old.epoch, f"{epoch} is below {hand.old.epoch}")
    answer = group.commit_by(hand.old, {hand.kept: offset}, epoch, elsewhere=NewOffset(other, 0, offset))
    kept, outside = group.committed_offset(hand.kept), group.committed_offset(0, other)
    nothing = kept.shows(-1) and outside.shows(-1)
    refused = answer.all_answered(Error.STALE_MEMBER_EPOCH) and nothing
    yield held_if(refused, answer, kept, outside, case="outside-topology")


@probe("KIP1251-STR-01", rig=STREAMS_GROUP, cases=["not-active"], back=BACK, offset=OFFSET)
def standby_task(group: StreamsGroup, back: int, offset: int) -> Claims:
    """A commit at an older epoch is refused for a partition of which the member has only the standby task."""
    group.with_standbys()
    hand = group.hand_over_tasks()
    yield group.at_epoch(hand.old)
    yield premise(hand.lost in hand.old.standby, f"{hand.lost} is a standby task of {say(sorted(hand.old.standby))}")
    epoch = max(1, hand.old.epoch - back)
    yield premise(epoch < hand.old.epoch, f"{epoch} is below {hand.old.epoch}")
    answer = group.commit_by(hand.old, {hand.lost: offset}, epoch)
    after = group.committed_offset(hand.lost)
    refused = answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(-1)
    yield held_if(refused, answer, after, case="not-active")
