"""The outcome of requests to create and delete topics: acknowledged ones are kept (LOG-06, INV-10), others happen everywhere or
nowhere, and no controller acknowledges alone (INV-12)."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, Self

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.topics import TOPIC, ResourceChange, TopicDescription
from conformance.judging.judge import Claim, Finding, joint_judge
from conformance.judging.quorum.lost_contact import last_named
from conformance.judging.quorum.story import QuorumStory, excuses
from conformance.judging.timeline import FaultSpan
from conformance.judging.together import Together
from conformance.judging.topics.story import ResourceStory
from protocol.words import say

STORIES = (QuorumStory, ResourceStory)


class WrittenTopic(NamedTuple):
    """A topic that a history administers, and the quorum that manages it.

    `changes` are its creations and deletions, without refused ones; `last` is what each broker showed last at rest,
    if nothing changed it since: a broker may learn of such a change later than its answer.
    """

    quorum: QuorumStory
    changes: Sequence[ResourceChange]
    last: Sequence[TopicDescription]

    @classmethod
    def from_story(cls, quorum: QuorumStory, story: ResourceStory) -> Self:
        changes = [one for one in story.changes if one.replaces and one.outcome != "refused"]
        last = max((one.event for one in changes), default=-1)
        seen = quorum.comparable_facts(story.seen) if last < story.timeline.rest else ()
        at_rest = {one.node: one for one in seen if story.timeline.rest < one.asked}
        return cls(quorum, changes, [at_rest[node] for node in sorted(at_rest)])

    @property
    def open(self) -> ResourceChange | None:
        """The first change of unknown outcome."""
        return next((one for one in self.changes if one.outcome == "open"), None)

    @property
    def by(self) -> tuple[int, ...]:
        """The last change, what brokers showed, and the last answer that names the quorum's leader."""
        return (self.changes[-1].event, *(one.event for one in self.last), *last_named(self.quorum))

    @property
    def states(self) -> set[object]:
        """The states that brokers show: None for no topic, else its id (True if answers have none)."""
        return {(one.topic_id or True) if one.exists else None for one in self.last}

    @property
    def is_as_acknowledged(self) -> bool:
        """True if all brokers show the last change, a creation under the id that was answered."""
        last = self.changes[-1]
        if last.kind == "delete":
            return self.states == {None}
        return None not in self.states and (last.topic_id is None or self.states <= {last.topic_id, True})

    def __str__(self) -> str:
        changes = "; ".join(f"{one.node}: {one}" for one in self.changes)
        seen = {one.node: "is there" if one.exists else "is not there" for one in self.last}
        return f"{changes}; at rest the topic {say(seen)}"


def written_topics(together: Together) -> Iterator[WrittenTopic]:
    """Yield the topics that were created or deleted and are shown at rest, where there are several real controllers."""
    for quorum in together.stories_of(QuorumStory):
        for story in together.stories_of(ResourceStory) if quorum.has_several_voters else ():
            found = WrittenTopic.from_story(quorum, story)
            if found.changes and found.last and found.changes[0].resource.type == TOPIC:
                yield found


def _left_out(together: Together, *cases: str) -> Iterator[Claim]:
    for quorum in together.stories_of(QuorumStory):
        seen = [one for story in together.stories_of(ResourceStory) for one in story.seen]
        for case in cases if seen else ():
            yield from excuses(quorum, [max(seen, key=by_event)], case)


def _as_acknowledged(topic: WrittenTopic, case: str) -> Iterator[Finding]:
    """Yield a finding for a topic that was created, and perhaps deleted later, if both outcomes are known.

    Where a name was used again, a late copy of a request may be the last one that took effect.
    """
    kinds = [one.kind for one in topic.changes]
    if topic.open is None and kinds in (["create"], ["create", "delete"]):
        yield Finding(topic.is_as_acknowledged, case, topic.by, str(topic), "acknowledged-change-lost")


@joint_judge("KIP595-INV-10", *STORIES)
def acknowledged_metadata_is_kept(together: Together) -> Iterator[Claim]:
    """At rest all brokers show each topic as it was acknowledged last, or, if an outcome is unknown, all in the same state."""
    yield from _left_out(together, "acked", "unacked")
    for topic in written_topics(together):
        yield from _as_acknowledged(topic, "acked")
        if topic.open is not None and len(topic.last) > 1:
            yield Finding(len(topic.states) == 1, "unacked", topic.by, str(topic), "change-on-some-brokers")


# --- a minority that fails


def _minority_cases(quorum: QuorumStory) -> list[str]:
    """Return how controllers failed, if one at a time did; empty if several did at once."""
    controllers = quorum.timeline.controller_names
    spans = [span for span in quorum.timeline.spans if span.concerns(controllers, ())]
    several = any(len(controllers & {*span.nodes}) > 1 for span in spans)
    if several or any(one.began < other.ended and other.began < one.ended for one, other in combinations(spans, 2)):
        return []
    return sorted({case for span in spans if (case := _case_of(span))})


def _case_of(span: FaultSpan) -> str:
    if span.effects.cut_off:
        return "cut"
    return {"down": "killed", "frozen": "paused"}.get(span.effects.process, "")


@joint_judge("KIP595-LOG-06", *STORIES)
def acknowledged_metadata_survives_a_minority(together: Together) -> Iterator[Claim]:
    """The same after one controller at a time was killed, paused or cut off."""
    yield from _left_out(together, "killed", "paused", "cut")
    cases = {id(quorum): _minority_cases(quorum) for quorum in together.stories_of(QuorumStory)}
    for topic in written_topics(together):
        for case in cases[id(topic.quorum)]:
            yield from _as_acknowledged(topic, case)


# --- a controller that is cut off


@joint_judge("KIP595-INV-12", *STORIES)
def controller_that_is_cut_off_acknowledges_nothing_of_its_own(together: Together) -> Iterator[Claim]:
    """A topic that a controller acknowledges while it is cut off from the others is shown by all brokers at rest."""
    yield from _left_out(together, "pinned")
    for topic in written_topics(together):
        timeline = topic.quorum.timeline
        for change in topic.changes:
            if change.node in timeline.controller_names and timeline.cut_off(change.node, change.asked, change.event):
                alone = change.outcome == "done" and change is topic.changes[-1] and not topic.is_as_acknowledged
                detail = f"{change.node} was cut off; {topic}"
                yield Finding(not alone, "pinned", topic.by, detail, "acknowledged-alone")
