"""The story of all answers of a history, whatever they are about."""

from typing import ClassVar

from conformance.judging.facts.apis import ErrorCodes, Pairing
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind


class WireStory(Story):
    """The results of the general laws for all answers of a history, in their order: each violation, and one result per case for
    laws that hold."""

    kind: ClassVar[Kind] = "wire"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.pairings: list[Pairing] = []
        self.error_codes: list[ErrorCodes] = []

    def add_fact(self, fact: Pairing | ErrorCodes) -> None:
        if isinstance(fact, Pairing):
            self.pairings.append(fact)
        else:
            self.error_codes.append(fact)
