"""The stories of a transactional id and of a producer id: the requests made with it, and the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import OffsetCommitResult
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.transactions import (
    AddOffsetsResult,
    AddPartitionsResult,
    EndTxnResult,
    InitProducerIdResult,
    TransactionDescription,
)
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind
from protocol.since import since

TV2_END, TV2_PRODUCE = since("EndTxn", "transaction V2"), since("Produce", "transaction V2")
"""The first versions of EndTxn and Produce in the second transaction protocol (KIP-890)."""


class TransactionStory(Story):
    """One transactional id; the lists are in the order of the answers."""

    kind: ClassVar[Kind] = "transactional-id"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.given: list[InitProducerIdResult] = []
        self.writes: list[ProduceResult] = []
        self.added: list[AddPartitionsResult] = []
        self.groups_added: list[AddOffsetsResult] = []
        self.offsets: list[OffsetCommitResult] = []
        self.ends: list[EndTxnResult] = []
        self.described: list[TransactionDescription] = []
        self.judged_turns: list[Any] = []
        """The turns judged so far, from which `conformance.judging.producers.answers` goes on."""

    _TAKES: ClassVar[dict[type[Any], Callable[[TransactionStory, Any], None]]] = {
        InitProducerIdResult: lambda story, fact: story.given.append(fact),
        ProduceResult: lambda story, fact: story.writes.append(fact),
        AddPartitionsResult: lambda story, fact: story.added.append(fact),
        AddOffsetsResult: lambda story, fact: story.groups_added.append(fact),
        OffsetCommitResult: lambda story, fact: story.offsets.append(fact),
        EndTxnResult: lambda story, fact: story.ends.append(fact),
        TransactionDescription: lambda story, fact: story.described.append(fact),
    }

    def add_fact(self, fact: Any) -> None:
        self._TAKES[type(fact)](self, fact)

    @property
    def dialect(self) -> str:
        """The transaction protocol of its clients, from the versions of their requests: `tv2` or `legacy`."""
        ends = (end.version >= TV2_END for end in self.ends)
        writes = (write.version >= TV2_PRODUCE for write in self.writes)
        return "tv2" if any(ends) or any(writes) else "legacy"

    @property
    def groups(self) -> set[str]:
        """The groups whose offsets were added to its transactions, or were requested to be."""
        return {one.group for one in self.groups_added} | {one.group for one in self.offsets}

    @property
    def answers(self) -> list[InitProducerIdResult]:
        """The answers of InitProducerId that gave a producer id and epoch."""
        return [one for one in self.given if one.error == NONE]

    @property
    def producer_ids(self) -> set[int]:
        """The producer ids returned by InitProducerId, or by EndTxn to replace an id whose epochs were exhausted (KIP-890)."""
        return {one.producer_id for one in self.answers} | {one.next_id for one in self.ends if one.next_id >= 0}

    def fences(self, producer_id: int, epoch: int, event: int) -> InitProducerIdResult | None:
        """Return the first InitProducerId answer before an event with a newer epoch or another, later producer id; None without
        one."""
        known: set[int] = set()
        for one in self.answers:
            if one.event >= event:
                return None
            if one.producer_id == producer_id and one.producer_epoch > epoch:
                return one
            if one.producer_id != producer_id and producer_id in known:
                return one
            known.add(one.producer_id)
        return None

    def bumped_by_fenced(self, first: int, second: int) -> bool:
        """True if a fenced instance asked for the next epoch between two events, which aborts its successor's transaction
        (KIP360-INIT-10)."""
        return any(
            self.fences(one.sent_producer_id, one.sent_epoch, one.asked) is not None
            for one in self.given
            if one.sent_epoch >= 0 and one.event > first and one.asked < second
        )


class ProducerStory(Story):
    """One producer id: the answers that gave it. EndTxn gives a new id to replace one whose epochs were exhausted (KIP-890)."""

    kind: ClassVar[Kind] = "producer"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.given: list[InitProducerIdResult | EndTxnResult] = []

    def add_fact(self, fact: Any) -> None:
        """Add an answer that gave the id. Other facts of a producer are in the stories of its partitions and transactional id."""
        if isinstance(fact, InitProducerIdResult) and fact.error == NONE and str(fact.producer_id) == self.name:
            self.given.append(fact)
        elif isinstance(fact, EndTxnResult) and fact.error == NONE and self.name == str(fact.next_id):
            self.given += [fact] if fact.next_id != fact.producer_id else []
