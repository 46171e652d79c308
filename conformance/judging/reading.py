"""The reading of a history, event by event, into the timeline and into facts for the stories of their subjects."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from conformance.judging.facts import decoders_of
from conformance.judging.facts.exchange import OPERATIONS, Decoding
from conformance.judging.facts.quorum import leaders_after
from conformance.judging.facts.topics import ResourceChange
from conformance.judging.recreations import (
    DELETED_TOPIC,
    UNKNOWN_TOPIC,
    Recreations,
    RequestByFormerId,
    replace_by_unknown,
)
from conformance.judging.story import Story
from conformance.judging.timeline import JUDGED_BY, NOTED, Timeline
from history.events import Answer, AnyEvent, Call, Example, Fault
from history.subjects import METADATA_LOG, Kind
from protocol.configs import DescribeConfigs, IncrementalAlterConfigs
from protocol.errors import KitError
from protocol.topics import CreateTopics

CONFIGURES = frozenset((CreateTopics.op, IncrementalAlterConfigs.op, DescribeConfigs.op))
"""Calls that alter or describe configurations. The timeline takes the facts about them."""


class _Doubtful(NamedTuple):
    """A fact of a partition that may be deleted, the request of unknown outcome that stands in for it, and the process that
    answered."""

    name: str
    number: int
    fact: Any
    request: Any
    process: tuple[str, int]


Named = dict[tuple[str, int], Story]
"""The stories of one type by the names of their subjects; successive topics of one name are numbered from 0."""


class UnreadableEvent(KitError):
    """A request or an answer that does not fit its struct: trouble of the kit, not of the tested system."""


class Reading:
    """The facts of one example so far. Facts of kinds that no story uses are dropped."""

    def __init__(self, example: Example, stories: Iterable[type[Story]]) -> None:
        self._events: list[AnyEvent] = []
        self.timeline = Timeline(example, self._events)
        self._stories: dict[type[Story], Named] = {story: {} for story in stories}
        self._by_kind: dict[Kind, list[tuple[type[Story], Named]]] = {}
        self._named: dict[tuple[Kind, str, int], Sequence[Story]] = {}
        """By kind, name and number of a subject, its stories."""
        self._ended: set[type[Story]] = set()
        for story, found in self._stories.items():
            self._by_kind.setdefault(story.kind, []).append((story, found))
        self._decoders = decoders_of(frozenset(("resource", *self._by_kind)))
        self._decoding = Decoding(self.timeline)
        self._recreations = Recreations(self.timeline)
        self._doubtful: dict[str, list[_Doubtful]] = {}
        """By topic, the facts since it may be deleted."""
        self._unreadable: dict[tuple[str, str], UnreadableEvent] = {}
        """The first event by operation and kind of error."""

    @property
    def unreadable(self) -> list[UnreadableEvent]:
        """The events from which no fact could be made; of those with the same error only the first."""
        return [*self._unreadable.values()]

    def stories(self, story: type[Story]) -> list[Story]:
        """Return the stories of one type, sorted by the names of their subjects; those of one name in their order."""
        return [found for _, found in sorted(self._stories[story].items())]

    def feed(self, events: Iterable[AnyEvent]) -> None:
        new = [*events]
        self._events += new
        for event in new:
            try:
                if type(event) is Answer:
                    call = self._events[event.call]
                    assert type(call) is Call
                    self._read(call, event)
                elif type(event) is not Call or event.op in NOTED:
                    self._note(event)
            except msgspec.ValidationError as error:
                self._leave_out(event, error)

    def _read(self, call: Call, answer: Answer) -> None:
        decoders = self._decoders.get(call.op)
        facts = self._decoding.facts(call, answer, decoders) if decoders is not None else ()
        if call.op in CONFIGURES:
            self._note_configuration(call.op, [fact for kind, _, fact in facts if kind == "resource"])
        self._recreations.follow_answer(call, answer)
        for kind, name, fact in facts:
            self._attribute(kind, name, fact, call)
        for topic in self._recreations.told_again:
            self._settle(topic, self._process(call.node))

    def _note_configuration(self, op: str, facts: Sequence[Any]) -> None:
        if op == CreateTopics.op:
            self.timeline.note_creations(self._decoding.request, self._decoding.value.topics, facts)
        elif any(not JUDGED_BY.isdisjoint(_keys_in(one)) for one in facts):
            self.timeline.note_settings(facts)

    def _leave_out(self, event: AnyEvent, error: msgspec.ValidationError) -> None:
        """Note an event that cannot be read. Later ones are read without it."""
        call = self._events[event.call] if isinstance(event, Answer) else event
        assert isinstance(call, Call), event
        value = event.value if isinstance(event, Answer) and isinstance(event.value, dict) else {}
        version = value.get("version", call.request.get("version"))
        what = OPERATIONS[call.op].api or call.op
        found = UnreadableEvent(f"event {event.n}, {what} v{version} of {call.node}: {error}")
        self._unreadable.setdefault((call.op, str(error)), found)

    def _note(self, event: AnyEvent) -> None:
        if isinstance(event, Fault) and "quorum-state" in self.timeline.effects_of(event).disk:
            self._end_stories()
        self.timeline.feed(event)
        if isinstance(event, Fault):
            for known in leaders_after(event):
                self._take("quorum", METADATA_LOG, known)
        if type(event) is Call:
            self._recreations.follow_call(event)

    def _attribute(self, kind: Kind, name: str, fact: Any, call: Call) -> None:
        """Add a fact to the story of its subject. For a partition, this is in the topic that had the name at the time."""
        topic = name.rpartition("-")[0] if kind == "partition" else ""
        if topic not in self._recreations.deleted:
            self._take(kind, name, fact)
            return
        node = getattr(fact, "node", call.node)
        number = self._recreations.number(topic, node, self._decoding)
        if number >= 0:
            self._take(kind, name, fact, number)
        elif number == UNKNOWN_TOPIC:
            self._set_aside(topic, name, fact, node)
        elif number == DELETED_TOPIC and (asked := RequestByFormerId.request_behind(fact)) is not None:
            latest = self._recreations.latest(topic)
            if self._recreations.knows_latest(topic, node, call):
                self._take(kind, name, asked, latest)
            else:
                self._count_left_out(name, latest)

    def _set_aside(self, topic: str, name: str, fact: Any, node: str) -> None:
        """Set aside a fact of a partition that may be deleted. The request may have changed the later topic, whatever the
        answer."""
        number, request = self._recreations.latest(topic), replace_by_unknown(fact)
        self._count_left_out(name, number)
        for story in self._stories_of("partition", name, number):
            if request is not None and type(story) not in self._ended:
                story.add_fact(request)
        self._doubtful.setdefault(topic, []).append(_Doubtful(name, number, fact, request, self._process(node)))

    def _count_left_out(self, name: str, number: int) -> None:
        """Count a fact that is left out since it may be about a topic that is deleted."""
        for story in self._stories_of("partition", name, number):
            story.doubted += 1
            story.version += 1

    def _settle(self, topic: str, process: tuple[str, int]) -> None:
        """Add the facts that were set aside for a process, once it answers with the latest topic's id again: it had not applied a
        deletion."""
        doubtful, meant = self._doubtful.pop(topic, []), (process, self._recreations.latest(topic))
        self._doubtful[topic] = [one for one in doubtful if (one.process, one.number) != meant]
        for one in (one for one in doubtful if (one.process, one.number) == meant):
            for story in self._stories_of("partition", one.name, one.number):
                story.doubted -= 1
                story.version += 1
                if type(story) in self._ended:
                    story.left_out += 1
                else:
                    story.replace_unknown(one.request, one.fact)

    def _process(self, node: str) -> tuple[str, int]:
        return node, self.timeline.incarnations.get(node, 0)

    def _take(self, kind: Kind, name: str, fact: Any, number: int = 0) -> None:
        for story in self._stories_of(kind, name, number):
            story.version += 1
            if type(story) in self._ended:
                story.left_out += 1
            else:
                story.add_fact(fact)

    def _stories_of(self, kind: Kind, name: str, number: int) -> Sequence[Story]:
        """Return the stories of a subject, created if needed."""
        found = self._named.get((kind, name, number))
        if found is None:
            found = [self._begin(type, stories, name, number) for type, stories in self._by_kind.get(kind, ())]
            self._named[kind, name, number] = found
        return found

    def _begin(self, type: type[Story], stories: Named, name: str, number: int) -> Story:
        """Begin a story. An unanswered request to an earlier topic of this name may reach the new one."""
        story = stories[name, number] = type(name, self.timeline)
        story.number = number
        for former in [stories[name, n] for n in range(number) if (name, n) in stories][-1:]:
            for request in former.open_requests:
                story.add_fact(request)
        return story

    def _end_stories(self) -> None:
        """End the stories that depend on the quorum, and count later facts: from here on two leaders of one epoch are legal."""
        ended = {story for story in self._stories if story.ends_with_quorum_state} - self._ended
        last = self.timeline.snapshot()
        self._ended |= ended
        for found in (found for story in ended for found in self._stories[story].values()):
            found.timeline = last


def _keys_in(fact: Any) -> Iterable[str]:
    """Return the settings that a fact alters or describes, by their names as topic settings."""
    return [key.removeprefix("log.") for key in fact.configs] if isinstance(fact, ResourceChange) else fact.values
