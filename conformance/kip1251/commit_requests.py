"""OffsetCommit with several partitions or topics in one request (KIP-1251, as it landed)."""

from uuid import UUID

from hypothesis.strategies import integers, uuids

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.group import Group, fresh_group, new_topic
from conformance.rigs.topics import delete_topics
from protocol.codes import Error
from protocol.groups import NewOffset
from protocol.messages import Topic
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, OFFSETS

LONGEST_METADATA = 4096
"""Kafka's default of offset.metadata.max.bytes, which the kit does not change."""


@probe("KIP1251-COMMIT-09", rig=fresh_group(), cases=["mixed"], bumps=EPOCH_BUMPS, offset=OFFSETS)
def one_lost_partition_fails_the_request(group: Group, bumps: int, offset: int) -> Claims:
    """A request with one partition that the member may not commit is refused as a whole and stores nothing."""
    hand = group.hand_over_with_commit(offset, bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    answer = group.commit(hand.old, {hand.kept: offset + 1, hand.lost: offset + 2}, hand.before)
    kept, lost = group.committed_offset(hand.kept), group.committed_offset(hand.lost)
    nothing = kept.shows(-1) and lost.shows(offset)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and nothing, answer, kept, lost, case="mixed")


@probe("KIP1251-COMMIT-10", rig=fresh_group(), cases=["mixed"], bumps=EPOCH_BUMPS, excess=integers(1, 2000))
def oversized_metadata(group: Group, bumps: int, excess: int) -> Claims:
    """Too much metadata for a lost partition is answered as such, and the kept partition is still committed."""
    hand = group.hand_over_with_commit(10, bumps)
    yield group.premise_of_holding(hand.old, hand.moved_epoch, hand.kept)
    yield group.premise_of_holding(hand.new, hand.new.epoch, hand.lost)
    oversized = NewOffset(group.topic, hand.lost, 11, metadata="x" * (LONGEST_METADATA + excess))
    answer = group.commit_all(hand.old, [oversized, NewOffset(group.topic, hand.kept, 12)], hand.before)
    kept, lost = group.committed_offset(hand.kept), group.committed_offset(hand.lost)
    errors = {result.partition: result.error for result in answer.partitions}
    as_expected = errors == {hand.lost: Error.OFFSET_METADATA_TOO_LARGE, hand.kept: Error.NONE}
    yield held_if(as_expected and kept.shows(12) and lost.shows(10), answer, kept, lost, case="mixed")


@probe("KIP1251-COMMIT-12", rig=fresh_group(), cases=["unknown-id"], topic_id=uuids(version=4), offset=OFFSETS)
def id_of_no_topic(group: Group, topic_id: UUID, offset: int) -> Claims:
    """An unknown topic id gets its own error, and the request's other topics are committed."""
    member = group.sole_member()
    yield group.premise_of_holding(member, member.epoch, 0)
    unknown = NewOffset(Topic("nowhere", topic_id), 0, offset)
    answer = group.commit_all(member, [unknown, NewOffset(group.topic, 0, offset)], member.epoch, version=10)
    after = group.committed_offset(0)
    errors = {result.topic_id: result.error for result in answer.partitions}
    as_expected = errors == {topic_id: Error.UNKNOWN_TOPIC_ID, group.topic.id: Error.NONE}
    yield held_if(as_expected and after.shows(offset), answer, after, case="unknown-id")


@probe("KIP1251-COMMIT-12", rig=fresh_group(), cases=["deleted-id"], bumps=EPOCH_BUMPS, offset=OFFSETS)
def id_of_a_deleted_topic(group: Group, bumps: int, offset: int) -> Claims:
    """The id of a deleted topic is unknown and commits nothing for the new topic of its name, even if the request has
    both."""
    member = group.sole_member(bumps)
    group.store(member, 0, offset + 1)
    old = recreate(group)
    member.owned = frozenset()
    group.heartbeat_until_settled(member)
    yield group.premise_of_holding(member, member.epoch, 0)
    yield premise(group.topic.id != old.id, f"{say(group.topic)} has another id than {say(old)}")
    group.bench.eventually(lambda: group.committed_offset(0).shows(-1), f"the offset of {say(old)} gone with it")
    alone = group.commit_all(member, [NewOffset(old, 0, offset)], member.epoch, version=10)
    unset = group.committed_offset(0)
    unknown = alone.all_answered(Error.UNKNOWN_TOPIC_ID) and unset.shows(-1)
    yield held_if(unknown, alone, unset, case="deleted-id")
    both = group.commit_all(
        member, [NewOffset(old, 0, offset), NewOffset(group.topic, 0, offset + 2)], member.epoch, version=10
    )
    after = group.committed_offset(0)
    errors = {result.topic_id: result.error for result in both.partitions}
    as_expected = errors == {old.id: Error.UNKNOWN_TOPIC_ID, group.topic.id: Error.NONE} and after.shows(offset + 2)
    yield held_if(as_expected, both, after, case="deleted-id")


@probe("KIP1251-COMMIT-12", rig=fresh_group(), cases=["by-name"], bumps=integers(1, 4), offset=OFFSETS)
def name_of_a_topic_created_again(group: Group, bumps: int, offset: int) -> Claims:
    """A commit by name at an older epoch is refused for a recreated topic, which was not assigned at that epoch."""
    member = group.sole_member()
    before = member.epoch
    member.bump(bumps)
    recreate(group)
    member.owned = frozenset()
    group.heartbeat_until_settled(member)
    yield group.premise_of_holding(member, member.epoch, 0)
    answer = group.commit(member, {0: offset}, before, version=9)
    after = group.committed_offset(0)
    refused = answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(-1)
    yield held_if(refused, answer, after, case="by-name")


def recreate(group: Group) -> Topic:
    """Delete the group's topic and create it again with the same name; return the deleted topic."""
    old = group.topic
    delete_topics(group.bench, [old.name], by=group.node)
    group.topic = new_topic(group.bench, group.partitions, old.name)
    return old
