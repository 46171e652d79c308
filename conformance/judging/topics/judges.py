"""The judges of administration: refused requests leave no trace (GEN-01), and configuration is as acknowledged (GEN-19)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeVar

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.topics import BROKER, GROUP, TOPIC, Appended, Change, Described, Resource, TopicSeen
from conformance.judging.judge import Finding, Judge, story_judge
from conformance.judging.reading import Reading
from conformance.judging.topics.story import ResourceStory
from history.events import History

T = TypeVar("T", TopicSeen, Described)

MESSAGE_TOO_LARGE = 10
LIMIT = "max.message.bytes"
OVERHEAD = 600
"""More bytes than a batch of one record adds to its value."""


# --- GEN-01


@story_judge("GEN-01", ResourceStory)
def refused_leaves_no_trace(story: ResourceStory) -> Iterator[Finding]:
    """No broker describes afterwards what only a refused request asked for (GEN-01)."""
    for change in story.refused():
        if change.kind == "create":
            yield from _topic_untouched(story, change, "topic")
        if change.kind == "grow":
            yield from _topic_untouched(story, change, "partitions")
        if change.configs:
            yield from _values_untouched(story, change, "topic" if change.kind == "create" else "configuration")


def _topic_untouched(story: ResourceStory, refused: Change, case: str) -> Iterator[Finding]:
    for seen in _later(story.seen, refused):
        counts = _possible_counts(story, seen.asked)
        if not seen.exists and not counts:
            yield Finding(True, case, (refused.event, seen.event))
        elif seen.exists and refused.partitions not in counts:
            held = seen.partitions in counts
            shown = (
                f"{refused}; {seen.node} has the topic with {seen.partitions} partitions, not one of {sorted(counts)}"
            )
            yield Finding(held, case, (refused.event, seen.event), shown, "refused-left-trace")


def _possible_counts(story: ResourceStory, asked: int) -> set[int]:
    """The numbers of partitions that requests which were not refused may have given the topic."""
    return {change.partitions for change in story.before(asked) if change.kind in ("create", "grow")}


def _values_untouched(story: ResourceStory, refused: Change, case: str) -> Iterator[Finding]:
    for described in _later(story.described, refused):
        for key, value in refused.configs.items():
            others = {change.configs[key] for change in story.before(described.asked) if key in change.configs}
            if value is not None and value not in others and described.error == NONE and described.shows(key):
                held = described.own(key) != value
                shown = f"{refused}; {described.node} describes {key}={value} for the {described.resource}"
                yield Finding(held, case, (refused.event, described.event), shown, "refused-left-trace")


def _later(answers: list[T], change: Change) -> Iterator[T]:
    """Of each broker the first answer after a change, and the last."""
    by_node: dict[str, list[T]] = {}
    for answer in answers:
        if answer.asked > change.event:
            by_node.setdefault(answer.node, []).append(answer)
    for found in by_node.values():
        yield found[0]
        if len(found) > 1:
            yield found[-1]


# --- GEN-19


@story_judge("GEN-19", ResourceStory)
def configuration_is_as_acknowledged(story: ResourceStory) -> Iterator[Finding]:
    """At rest every broker concerned describes what was acknowledged last, and it is in force (GEN-19)."""
    for described in story.described:
        if story.at_rest(described.asked) and _concerns(described):
            for key, change in acknowledged(story, described.asked).items():
                if described.shows(key) and (change.configs[key] is not None or _was_set(story, key, change)):
                    yield _as_acknowledged(described, key, change)
    for appended in story.appended:
        if story.at_rest(appended.asked):
            yield from _in_force(story, appended)


def _was_set(story: ResourceStory, key: str, deletion: Change) -> bool:
    """Did an acknowledged request set the value that was deleted?"""
    earlier = [change for change in story.before(deletion.asked) if change.outcome == "done"]
    return any(change.configs.get(key) is not None for change in earlier)


def _concerns(described: Described) -> bool:
    """A broker's own configuration is described by that broker only; others answer with an error."""
    one_broker = described.resource.type == BROKER and described.resource.name
    return not one_broker or described.error == NONE


def acknowledged(story: ResourceStory, asked: int) -> dict[str, Change]:
    """By key the change that was acknowledged last, without keys that a request of open outcome may have changed.

    Such a request may take effect late, so that it may replace what was acknowledged after it.
    """
    before = story.before(asked)
    if any(change.outcome == "open" and change.replaces for change in before):
        return {}
    found: dict[str, Change] = {}
    for change in before:
        if change.replaces:
            found.clear()
        found |= dict.fromkeys(change.configs, change)
    uncertain = {key for change in before if change.outcome == "open" for key in change.configs}
    return {key: change for key, change in found.items() if key not in uncertain}


def acknowledged_values(history: History) -> dict[Resource, dict[str, str | None]]:
    """The values that every broker concerned has to describe at the end of a history, None for a deleted one."""
    reading = Reading(history.example, [ResourceStory])
    reading.feed(history.events)
    stories = [story for story in reading.stories(ResourceStory) if isinstance(story, ResourceStory) and story.changes]
    return {
        story.changes[0].resource: {
            key: change.configs[key] for key, change in acknowledged(story, sys.maxsize).items()
        }
        for story in stories
    }


def _as_acknowledged(described: Described, key: str, change: Change) -> Finding:
    wanted, own = change.configs[key], described.own(key)
    case = "deleted" if wanted is None else _case(described.resource)
    shown = f"{change}; {described.node} describes {key}={own} (error {described.error}) for the {described.resource}"
    held = own == wanted and described.error == NONE
    return Finding(held, case, (change.event, described.event), shown, "configuration-not-described")


def _case(resource: Resource) -> str:
    if resource.type == BROKER:
        return "broker" if resource.name else "cluster-default"
    return {TOPIC: "topic", GROUP: "group"}[resource.type]


def _in_force(story: ResourceStory, appended: Appended) -> Iterator[Finding]:
    """Other errors than MESSAGE_TOO_LARGE say nothing about the limit."""
    change = acknowledged(story, appended.asked).get(LIMIT)
    limit = int((change.configs[LIMIT] if change is not None else None) or 0)
    if change is None or not limit or appended.error not in (NONE, MESSAGE_TOO_LARGE):
        return
    too_large = appended.payload > limit
    shown = f"{change}; {appended.node} answered {appended.payload} bytes of values with error {appended.error}"
    if too_large or appended.payload + OVERHEAD < limit:
        held = too_large == (appended.error == MESSAGE_TOO_LARGE)
        yield Finding(held, "in-force", (change.event, appended.event), shown, "configuration-not-in-force")


TOPIC_JUDGES: tuple[Judge, ...] = (refused_leaves_no_trace, configuration_is_as_acknowledged)
