"""The story of a thing that nodes describe: a group, a transaction, a partition, the quorum."""

from typing import ClassVar

from conformance.judging.facts.descriptions import Description
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind


class DescriptionStory(Story):
    """One described thing: its descriptions in the order of the answers, without errors."""

    kind: ClassVar[Kind] = "description"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.described: list[Description] = []

    def add_fact(self, fact: Description) -> None:
        self.described.append(fact)
