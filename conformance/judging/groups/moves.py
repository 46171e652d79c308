"""Moves of partitions for nothing: a changed subscription to the same topics moves none (GEN-14)."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.memberships import Beat, GroupDescription, Places, places
from conformance.judging.groups.members import REFUSALS
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Finding, story_judge


@story_judge("GEN-14", GroupStory, "described", "beats")
def nothing_moves_for_nothing(story: GroupStory) -> Iterator[Claim]:
    """A group that was stable and balanced keeps its assignment when a member names other topics, of which only the same exist.

    Nothing else changed meanwhile: no member, setting or topic. Regular expressions are resolved later than the group is
    assigned, so a change to one may move partitions.
    """
    described = sorted((one for one in story.described if one.said.error == NONE), key=by_event)
    for before, after in pairwise(described):
        if _is_reassigned(before, after) and _is_only_renamed(story, before, after):
            had, has = _assigned(before), _assigned(after)
            moved = sum(len(has[id] - had[id]) for id in has)
            wrong = (
                f"{after.node} moved {moved} partitions of {story.name} from group epoch {before.said.group_epoch} to "
                f"{after.said.group_epoch}, and its members read the same partitions as before"
            )
            yield Finding(had == has, "subscription", (before.event, after.event), wrong, "moved-for-nothing")


def _is_reassigned(before: GroupDescription, after: GroupDescription) -> bool:
    """True if a balanced group of equal members was assigned again, by the same assignor for the same members and partitions."""
    is_later = before.said.group_epoch < after.said.group_epoch
    return (
        is_later
        and before.said.assignor_name == after.said.assignor_name
        and before.wanted_by == after.wanted_by
        and len({*before.wanted_by.values()}) == 1
        and all(_is_balanced(one) for one in (before, after))
    )


def _is_balanced(description: GroupDescription) -> bool:
    """True if the group is stable and shares all partitions, as evenly as possible."""
    sizes = [len(held) for held in _assigned(description).values()]
    is_stable = description.said.group_state.lower() == "stable"
    return is_stable and sum(sizes) == len(description.demand) and max(sizes) - min(sizes) <= 1


def _assigned(description: GroupDescription) -> dict[str, Places]:
    return {member.member_id: places(member.assignment.topic_partitions) for member in description.said.members}


def _is_only_renamed(story: GroupStory, before: GroupDescription, after: GroupDescription) -> bool:
    """True if a subscription by names was the only change between two descriptions."""
    first, last = before.asked, after.event
    beats = [one for one in story.beats if first < one.event and one.asked < last and one.error not in REFUSALS]
    changes = [one for one in beats if one.epoch <= 0 or one.topics is not None]
    others = [*story.classic, *story.altered, *story.clients]
    return (
        len(changes) == 1
        and _renames(changes[0])
        and not any(first < one.event and one.asked < last for one in others)
        and not any(first < change < last for change in story.timeline.topic_changes)
    )


def _renames(beat: Beat) -> bool:
    return beat.epoch > 0 and beat.error == NONE and bool(beat.topics)
