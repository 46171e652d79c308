"""The story of a thing that nodes describe: a group, a transaction, a partition, the quorum."""

from __future__ import annotations

from typing import ClassVar

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import GroupDescription
from conformance.judging.facts.log import DescribedPartition
from conformance.judging.facts.quorum import DescribedQuorum
from conformance.judging.facts.transactions import TransactionDescription
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind

Description = GroupDescription | TransactionDescription | DescribedPartition | DescribedQuorum


class DescriptionStory(Story):
    """One described thing: its descriptions in the order of the answers, without errors."""

    kind: ClassVar[Kind] = "description"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.described: list[Description] = []

    def take(self, fact: Description) -> None:
        if isinstance(fact, GroupDescription | DescribedPartition) or fact.error == NONE:
            self.described.append(fact)
