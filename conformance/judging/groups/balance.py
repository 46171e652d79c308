"""Convergence: a group whose members heartbeat, and around which nothing changes, becomes stable in time (KIP1251-BASE-09)."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from conformance.judging.excuses import STALE_COORDINATOR
from conformance.judging.facts.exchange import NONE, by_event
from conformance.judging.facts.memberships import Beat, ClassicRequest, GroupDescription, Places, places
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from protocol.groups import JOIN

SETTLES_WITHIN = 30.0
"""The most seconds from the last change to a stable group."""
LONGEST_PAUSE = 5.0
"""The most seconds between two heartbeats of a member that keeps up."""


class Stretch(NamedTuple):
    """The descriptions of a group between two changes; `since` is the event of the first one."""

    since: int
    described: list[GroupDescription]

    @property
    def places(self) -> Places:
        """The partitions of the members' topics, as far as an answer tells them before one of the descriptions."""
        return frozenset[tuple[str, int]]().union(*(one.demand for one in self.described))


@story_judge("KIP1251-BASE-09", GroupStory, "described")
def group_becomes_stable(story: GroupStory) -> Iterator[Claim]:
    """Within 30 s after the last change of members, subscriptions, settings, topics or nodes, a group whose members keep up is
    stable, with each partition of their topics assigned."""
    for stretch in _stretches(story):
        stable = next((one for one in stretch.described if not _why_unstable(one, stretch.places)), None)
        late = [one for one in stretch.described if _is_due(story, stretch.since, one)]
        if stable is not None and (not late or stable.event <= late[0].event):
            yield Finding(True, "stable", (stretch.since, stable.event))
        elif late:
            wrong = f"{late[0].node} described {story.name} 30 s after the last change: {_why_unstable(late[0], stretch.places)}"
            label = "stuck-group" if late[0].said.group_state.lower() != "stable" else "unassigned-partition"
            yield (
                Excuse(STALE_COORDINATOR, "stable")
                if story.may_lack_topics(late[0])
                else Finding(False, "stable", (stretch.since, late[0].event), wrong, label)
            )


def _stretches(story: GroupStory) -> Iterator[Stretch]:
    """Yield the stretches without a change, each with the descriptions of a group with members in it."""
    changes = sorted(_changes(story))
    described = sorted((one for one in story.described if one.said.error == NONE and one.said.members), key=by_event)
    end = 1 + max((one.event for one in described), default=0)
    for since, until in pairwise([*changes, end]):
        between = [one for one in described if since < one.asked and one.event < until]
        if between:
            yield Stretch(since, between)


def _changes(story: GroupStory) -> Iterator[int]:
    """Yield the events that may move the group from its balance: what changes it, and requests that are not those of a member
    that keeps up. Clients of their own join and leave unseen: what they have tells of it."""
    for beat in story.beats:
        if beat.epoch <= JOIN or beat.topics is not None or beat.error != NONE:
            yield from (beat.asked, beat.event)
    for one in story.classic:
        if one.kind != "beat" or one.error != NONE:
            yield from (one.asked, one.event)
    yield from (one.event for one in (*story.altered, *story.clients))
    yield from story.timeline.topic_changes
    yield from (phase.event for phase in story.timeline.faults)


def _is_due(story: GroupStory, since: int, description: GroupDescription) -> bool:
    """True if the group had all the time that it may take, as far as the kit watched, while all its members kept up."""
    until = description.asked
    began = max(_keeps_up_since(story, member.member_id, since, until) for member in description.said.members)
    return story.timeline.watch_time(began, until, SETTLES_WITHIN) >= SETTLES_WITHIN


def _keeps_up_since(story: GroupStory, member: str, since: int, until: int) -> int:
    """Return the event from which on a member acknowledged or sent a heartbeat without pause."""
    own = [one.event for one in _alive(story, member) if since < one.asked and one.event < until]
    pauses = zip([since, *own], [*own, until], strict=True)
    return max((second for first, second in pauses if story.seconds(first, second) > LONGEST_PAUSE), default=since)


def _alive(story: GroupStory, member: str) -> Iterator[Beat | ClassicRequest]:
    """Yield the heartbeats by which a member keeps up: those of the consumer protocol list what the member was given last."""
    given = None
    for beat in (one for one in story.beats if one.member_id == member):
        if beat.error == NONE and beat.owned is not None and beat.owned == given:
            yield beat
        given = beat.given if beat.given is not None else given
    yield from (one for one in story.classic if one.member_id == member and one.kind == "beat")


def _why_unstable(description: GroupDescription, wanted: Places) -> str:
    """Return why a described group is not stable; empty if it is."""
    state, epoch = description.said.group_state.lower(), description.said.group_epoch
    assigned = frozenset[tuple[str, int]]().union(
        *(places(member.assignment.topic_partitions) for member in description.said.members)
    )
    if state != "stable" or {member.member_epoch for member in description.said.members} != {epoch}:
        shown = ", ".join(str(member) for member in description.said.members)
        return f"{state} at group epoch {epoch}, assignment epoch {description.said.assignment_epoch}, with {shown}"
    missing = sorted(partition for _, partition in wanted - assigned)
    return f"stable, and no member has {len(missing)} partitions of their topics" if missing else ""
