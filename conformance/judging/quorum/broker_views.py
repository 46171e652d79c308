"""The metadata that each broker shows, in the order of its answers: never a step back in the committed order (INV-18)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.judging.facts.exchange import by_asked, by_event
from conformance.judging.facts.topics import TOPIC, ResourceChange, TopicDescription
from conformance.judging.judge import Claim, Finding, joint_judge
from conformance.judging.quorum.lost_contact import last_named
from conformance.judging.quorum.story import QuorumStory, excuses
from conformance.judging.together import Together
from conformance.judging.topics.story import ResourceStory

CASE = "broker"

Process = tuple[str, int]
"""A broker, and the number of its incarnation."""


@joint_judge("KIP595-INV-18", QuorumStory, ResourceStory)
def brokers_show_metadata_in_committed_order(together: Together) -> Iterator[Claim]:
    """No process of a broker shows a topic that it had shown as gone, loses one without a deletion, or shows a topic without one
    that was acknowledged before it was asked for."""
    for quorum in together.stories_of(QuorumStory):
        topics = [one for one in together.stories_of(ResourceStory) if one.seen and one.seen[0].resource.type == TOPIC]
        if not quorum.has_several_voters or not topics:
            continue
        yield from excuses(quorum, [max((one.seen[-1] for one in topics), key=by_event)], CASE)
        for topic in topics:
            yield from _no_step_back(topic, quorum)
        yield from _in_order_of_creation(topics, quorum)


def _no_step_back(topic: ResourceStory, quorum: QuorumStory) -> Iterator[Finding]:
    """Yield a finding for each process of a broker that showed a topic twice or more."""
    by_process: dict[Process, list[TopicDescription]] = defaultdict(list)
    for one in sorted(quorum.comparable_facts(topic.seen), key=by_asked):
        by_process[one.node, one.incarnation].append(one)
    for seen in by_process.values():
        before = _before_a_step_back(topic, seen)
        last = seen[-1] if before is None else before[1]
        if len(seen) > 1:
            by = (seen[0].event if before is None else before[0].event, last.event, *last_named(quorum))
            detail = "" if before is None else f"{_in_words(before[0])}; later {_in_words(before[1])}"
            yield Finding(before is None, CASE, by, detail, "step-back")


def _in_words(seen: TopicDescription) -> str:
    return f"{seen.node} showed {'the topic' if seen.exists else 'no topic'} of that name"


def _before_a_step_back(
    topic: ResourceStory, seen: Sequence[TopicDescription]
) -> tuple[TopicDescription, TopicDescription] | None:
    """Return the first two answers of a process between which a topic was lost without a deletion, or came back; else None."""
    shown: TopicDescription | None = None
    gone: dict[object, TopicDescription] = {}
    for one in seen:
        if one.exists and one.topic_id is not None and one.topic_id in gone and gone[one.topic_id].event < one.asked:
            return gone[one.topic_id], one
        if shown is not None and shown.event < one.asked and (not one.exists or _is_another(one, shown)):
            if not _may_be_deleted(topic, shown, one.event):
                return shown, one
            gone[shown.topic_id] = one
        if not one.exists:
            shown = None
        elif shown is None or one.topic_id is not None:
            shown = one
    return None


def _is_another(one: TopicDescription, shown: TopicDescription) -> bool:
    """True if two answers show different topics, as far as both have the topic's id: Metadata has it from version 10 on."""
    return one.topic_id is not None is not shown.topic_id and one.topic_id != shown.topic_id


def _may_be_deleted(topic: ResourceStory, shown: TopicDescription, event: int) -> bool:
    """True if the topic that was shown may be deleted by an event: not by a request that was answered before its creation was
    asked for, unless a late copy of that may be under way."""
    own = (one for one in topic.changes if one.kind == "create" and None is not one.topic_id == shown.topic_id)
    created = min((one.asked for one in own), default=-1)
    deletions = [one for one in topic.possible_changes(event) if one.kind == "delete"]
    return any(one.outcome != "done" or one.event > created or topic.may_be_sent_twice(one) for one in deletions)


class TopicCreation(NamedTuple):
    """The only acknowledged creation of a topic of this name."""

    story: ResourceStory
    change: ResourceChange


def _in_order_of_creation(topics: Sequence[ResourceStory], quorum: QuorumStory) -> Iterator[Finding]:
    """Yield a finding for each answer that shows a topic; it must show every topic acknowledged before that one was requested."""
    answers: dict[int, list[tuple[TopicCreation, TopicDescription]]] = defaultdict(list)
    for story in topics:
        if (created := _creation(story)) is not None:
            for seen in quorum.comparable_facts(story.seen):
                answers[seen.event].append((created, seen))
    for shown in answers.values():
        there = [created for created, one in shown if one.exists]
        absent = [created for created, one in shown if not one.exists and _must_be_there(created, one)]
        if there and absent:
            newest, oldest = max(there, key=_asked), min(absent, key=_answered)
            if oldest.change.event < newest.change.asked:
                seen = shown[0][1]
                former, later = oldest.change.resource, newest.change.resource
                detail = f"{seen.node} showed {later} and not {former}, which had been acknowledged earlier"
                by = (oldest.change.event, newest.change.event, seen.event, *last_named(quorum))
                yield Finding(False, CASE, by, detail, "out-of-order")


def _creation(story: ResourceStory) -> TopicCreation | None:
    made = [one for one in story.changes if one.kind == "create" and one.outcome != "refused"]
    return TopicCreation(story, made[0]) if len(made) == 1 and made[0].outcome == "done" else None


def _must_be_there(created: TopicCreation, seen: TopicDescription) -> bool:
    """True if the topic's deletion had not been requested when the broker answered."""
    return not any(one.kind == "delete" and one.asked < seen.event for one in created.story.changes)


def _asked(created: TopicCreation) -> int:
    return created.change.asked


def _answered(created: TopicCreation) -> int:
    return created.change.event
