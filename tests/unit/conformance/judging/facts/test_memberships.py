"""Facts about members of groups."""

from __future__ import annotations

from conformance.judging.facts.memberships import Beat, ClassicRequest
from conformance.judging.groups.story import GroupStory
from conformance.judging.reading import Reading
from protocol.codes import Error
from tests.support.groups import GROUP, READ, GroupHistory

ID = str(READ.id)


def story_of(history: GroupHistory) -> GroupStory:
    reading = Reading(history.example, [GroupStory])
    reading.feed(history.events)
    assert reading.unreadable == []
    [found] = [one for one in reading.stories(GroupStory) if one.name == GROUP]
    assert isinstance(found, GroupStory)
    return found


def test_heartbeat_has_what_was_sent_and_what_was_given() -> None:
    history = GroupHistory().beats("a", 1, 2, (0, 1), owned=(0,), topics=("topic",), rebalance_ms=5)
    fact = Beat(
        0, 1, "broker-1", 0, "a", "", 1, ("topic",), frozenset({(ID, 0)}), 5, 0, 2, frozenset({(ID, 0), (ID, 1)})
    )
    assert story_of(history).beats == [fact]


def test_lost_and_refused_heartbeats_give_nothing() -> None:
    history = GroupHistory().beats("a", 1, lost=True).beats("a", 1, error=Error.UNKNOWN_MEMBER_ID)
    found = [(one.error, one.given_epoch, one.given) for one in story_of(history).beats]
    assert found == [(-1, -1, None), (Error.UNKNOWN_MEMBER_ID, -1, None)]


def test_classic_member_names_partitions_by_the_id_of_their_topic() -> None:
    history = GroupHistory().created_as(READ.id).classic_joins("a", 1, owned=(1,)).syncs("a", 1, (0,))
    joined, synced = story_of(history).classic
    assert (joined.generation, joined.owned) == (1, frozenset({(ID, 1)}))
    assert synced.given == frozenset({(ID, 0)})


def test_eager_member_names_no_partitions() -> None:
    [joined] = story_of(GroupHistory().classic_joins("a", 1)).classic
    assert isinstance(joined, ClassicRequest)
    assert joined.owned is None


def test_refused_fetch_is_kept() -> None:
    [fetch] = story_of(GroupHistory().fetches(0, 3, member="a", epoch=2, error=Error.STALE_MEMBER_EPOCH)).fetches
    assert (fetch.member_id, fetch.member_epoch, fetch.error, fetch.partitions) == (
        "a",
        2,
        Error.STALE_MEMBER_EPOCH,
        (),
    )


def test_commit_and_fetch_name_a_partition_alike() -> None:
    story = story_of(GroupHistory().commits("a", 1, 0).fetches(0, 3))
    assert story.commits[0].place == story.fetches[0].partitions[0].place == (ID, 0)
