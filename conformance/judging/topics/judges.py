"""The judges of administration: refused requests leave no trace (GEN-01), and configuration is as acknowledged (GEN-19)."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from conformance.judging.excuses import LOOKED_TOO_RARELY
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.topics import (
    BROKER,
    GROUP,
    TOPIC,
    ConfigDescription,
    Resource,
    ResourceChange,
    TopicDescription,
    TopicProduce,
)
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.reading import Reading
from conformance.judging.topics.story import ResourceStory
from history.events import History
from protocol.codes import Error
from protocol.words import say, say_error

T = TypeVar("T", TopicDescription, ConfigDescription)

MESSAGE_TOO_LARGE = 10
LIMIT = "max.message.bytes"
OVERHEAD = 600
"""An upper bound for the overhead of a batch with one record, in bytes."""


# --- GEN-01


@story_judge("GEN-01", ResourceStory)
def refused_changes_leave_no_trace(story: ResourceStory) -> Iterator[Claim]:
    """No broker later describes a state that only a refused request could have caused (GEN-01)."""
    for refused in story.refusals():
        if refused.kind in ("create", "grow"):
            for seen in _later(story.seen, refused):
                possible, accounted = story.visible_changes(seen), story.is_accounted_for(seen, refused)
                yield from _claims(refused, possible, partial(_topic_untouched, refused, seen, accounted))
        if refused.configs:
            for described in _later(story.described, refused):
                possible = story.visible_changes(described)
                for key in refused.configs:
                    untouched = partial(
                        _value_untouched, refused, described, key, story.last_described(refused, described, key)
                    )
                    yield from _claims(refused, possible, untouched)


Look = Callable[[list[ResourceChange]], Finding | None]
"""A function that judges one answer, given the changes that may show in it; None if they explain too much to judge."""


def _claims(refused: ResourceChange, possible: list[ResourceChange], look: Look) -> Iterator[Claim]:
    """Judge one answer. A trace of the refused change is excused if a request of open outcome explains it."""
    others = [change for change in possible if change is not refused]
    finding = look(others)
    if finding is not None and not refused.left_open:
        yield finding
        return
    trace = look([change for change in others if change.outcome == "done"])
    if trace is not None and not trace.held:
        yield excuse(refused if refused.left_open else next(one for one in others if one.left_open), trace.case)


def excuse(change: ResourceChange, case: str) -> Excuse:
    """Return an excuse, with the reason why the outcome of a change is open."""
    assert change.left_open is not None
    return Excuse(change.left_open, case)


def _topic_untouched(
    refused: ResourceChange, seen: TopicDescription, accounted: bool, possible: list[ResourceChange]
) -> Finding | None:
    case = "topic" if refused.kind == "create" else "partitions"
    by = (refused.event, seen.event)
    counts = {change.partitions for change in possible if change.kind in ("create", "grow")}
    if not seen.exists:
        return None if counts else Finding(True, case, by)
    if case == "topic" and not accounted:
        if any(change.kind == "create" and change.outcome == "open" for change in possible):
            return None
        shown = f"{refused}; {seen.node} has the topic with id {seen.topic_id}, which no creation answered"
        return Finding(False, case, by, shown, "refused-left-trace")
    if refused.partitions in counts:
        return None
    shown = f"{refused}; {seen.node} has the topic with {seen.partitions} partitions, not one of {say(sorted(counts))}"
    return Finding(seen.partitions in counts, case, by, shown, "refused-left-trace")


def _value_untouched(
    refused: ResourceChange, described: ConfigDescription, key: str, told: str | None, possible: list[ResourceChange]
) -> Finding | None:
    value = refused.configs[key]
    others = {change.configs[key] for change in possible if key in change.configs}
    if value is None or value in others or described.error != NONE or not described.shows(key):
        return None
    case = "topic" if refused.kind == "create" else "configuration"
    shown = f"{refused}; {described.node} describes {key}={value} for the {described.resource}"
    untouched = value == told or described.own_value(key) != value
    return Finding(untouched, case, (refused.event, described.event), shown, "refused-left-trace")


def _later(answers: list[T], change: ResourceChange) -> Iterator[T]:
    """Yield each broker's first answer after a change, and its last."""
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
def acknowledged_configuration_is_in_force(story: ResourceStory) -> Iterator[Claim]:
    """At rest every broker concerned describes the last acknowledged value, and applies it (GEN-19)."""
    for claim in _described_and_in_force(story):
        in_vain = isinstance(claim, Finding) and not claim.held and not story.timeline.watched_the_wait
        yield Excuse(LOOKED_TOO_RARELY, claim.case) if in_vain else claim


def _described_and_in_force(story: ResourceStory) -> Iterator[Claim]:
    for described in story.described:
        if story.is_at_rest(described.asked) and _is_own_description(described):
            for key, change in story.acknowledged_changes(described.asked).items():
                if described.shows(key) and (change.configs.get(key) is not None or _was_set(story, key, change)):
                    rivals, explains = story.rivals(described.asked, key), partial(_may_be_described, described, key)
                    yield from _finding_or_excuse(rivals, _as_acknowledged(described, key, change), explains)
    for appended in story.appended:
        limited = story.acknowledged_changes(appended.asked).get(LIMIT) if story.is_at_rest(appended.asked) else None
        finding = None if limited is None else _judge_limit(limited, appended)
        if finding is not None:
            yield from _finding_or_excuse(
                story.rivals(appended.asked, LIMIT), finding, partial(_may_be_in_force, appended)
            )


def _finding_or_excuse(
    rivals: list[ResourceChange], finding: Finding, explains: Callable[[ResourceChange], bool]
) -> Iterator[Claim]:
    """Yield the finding, or an excuse if a request of open outcome explains it."""
    explanation = next(filter(explains, rivals), None)
    if not rivals or (explanation is None and not finding.held):
        yield finding
    elif not finding.held:
        assert explanation is not None
        yield excuse(explanation, finding.case)


def _was_set(story: ResourceStory, key: str, deletion: ResourceChange) -> bool:
    """True if an acknowledged request set the value that was deleted, by itself or with its topic."""
    earlier = [change for change in story.possible_changes(deletion.asked) if change.outcome == "done"]
    return any(change.configs.get(key) is not None for change in earlier)


def _is_own_description(described: ConfigDescription) -> bool:
    """True if the description counts. Only a broker itself describes its own configuration; others answer with an error."""
    one_broker = described.resource.type == BROKER and described.resource.name
    return not one_broker or described.error == NONE


def acknowledged_values(history: History) -> dict[Resource, dict[str, str | None]]:
    """Return the values that every broker concerned must describe at the end of a history, None for deleted ones."""
    reading = Reading(history.example, [ResourceStory])
    reading.feed(history.events)
    stories = [story for story in reading.stories(ResourceStory) if isinstance(story, ResourceStory) and story.changes]
    return {
        story.changes[0].resource: {
            key: change.configs.get(key)
            for key, change in story.acknowledged_changes(sys.maxsize).items()
            if not story.rivals(sys.maxsize, key)
        }
        for story in stories
    }


def _as_acknowledged(described: ConfigDescription, key: str, change: ResourceChange) -> Finding:
    wanted, own = change.configs.get(key), described.own_value(key)
    unset = "created-again" if change.kind == "create" else "deleted"
    case = unset if wanted is None else _case(described.resource)
    described_so = f"{described.node} describes {key} as {say(own)} ({say_error(described.error)})"
    shown = f"{change}; {described_so} for the {described.resource}"
    held = own == wanted and described.error == NONE
    return Finding(held, case, (change.event, described.event), shown, "configuration-not-described")


def _case(resource: Resource) -> str:
    if resource.type == BROKER:
        return "broker" if resource.name else "cluster-default"
    return {TOPIC: "topic", GROUP: "group"}[resource.type]


def _may_be_described(described: ConfigDescription, key: str, rival: ResourceChange) -> bool:
    """True if the answer is right provided that the rival change took effect last."""
    if rival.kind == "delete":
        return described.error == Error.UNKNOWN_TOPIC_OR_PARTITION
    return described.error == NONE and described.own_value(key) == rival.configs.get(key)


def _judge_limit(change: ResourceChange, appended: TopicProduce) -> Finding | None:
    held = _is_limited(change.configs.get(LIMIT), appended)
    if held is None:
        return None
    shown = f"{change}; {appended.node} answered {appended.payload} bytes of values with {say_error(appended.error)}"
    return Finding(held, "in-force", (change.event, appended.event), shown, "configuration-not-in-force")


def _may_be_in_force(appended: TopicProduce, rival: ResourceChange) -> bool:
    return rival.kind != "delete" and _is_limited(rival.configs.get(LIMIT), appended) is not False


def _is_limited(limit: str | None, appended: TopicProduce) -> bool | None:
    """True if the answer to a Produce fits the size limit; None if the size or error leaves this open."""
    most = int(limit or 0)
    too_large = appended.payload > most
    if not most or appended.error not in (NONE, MESSAGE_TOO_LARGE):
        return None
    return (
        too_large == (appended.error == MESSAGE_TOO_LARGE) if too_large or appended.payload + OVERHEAD < most else None
    )
