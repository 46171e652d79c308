"""The story of each resource that a history administers: what was asked to change, what came of it, and what brokers describe.

A resource is a topic, one broker, all brokers (their cluster default) or a consumer group.
"""

from __future__ import annotations

from typing import ClassVar

from conformance.judging.facts.topics import Appended, Change, Described, TopicSeen
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind


class ResourceStory(Story):
    """One resource; the lists are in the order of the answers."""

    kind: ClassVar[Kind] = "resource"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.changes: list[Change] = []
        self.seen: list[TopicSeen] = []
        self.described: list[Described] = []
        self.appended: list[Appended] = []

    def take(self, fact: Change | TopicSeen | Described | Appended) -> None:
        match fact:
            case Change():
                self.changes.append(fact)
            case TopicSeen():
                self.seen.append(fact)
            case Described():
                self.described.append(fact)
            case Appended():
                self.appended.append(fact)

    def before(self, event: int) -> list[Change]:
        """Changes that may have taken effect before an answer: those that were asked for before it and were not refused."""
        return [change for change in self.changes if change.asked < event and change.outcome != "refused"]

    def refused(self) -> list[Change]:
        return [change for change in self.changes if change.outcome == "refused"]

    def at_rest(self, asked: int) -> bool:
        """Every fault was healed before, and all brokers described what was acknowledged, or the bound for that had passed."""
        return 0 <= max(self.timeline.rest, self.timeline.disagreed) < asked
