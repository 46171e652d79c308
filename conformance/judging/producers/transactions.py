"""Transactions as their clients know them: their writes, and the requested end."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.judging.facts.exchange import NONE, by_asked
from conformance.judging.facts.groups import OffsetCommitResult
from conformance.judging.facts.log import ProduceResult
from conformance.judging.facts.transactions import EndTxnResult
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.logs import batch_identity
from conformance.judging.producers.story import ProducerStory, TransactionStory
from conformance.judging.together import Together

IDEMPOTENT = "idempotent"
"""The case of producers without a transactional id. The case of any other producer is its transaction protocol."""


class ProducerWrite(NamedTuple):
    """A Produce of a producer with an id, and the partition to which it went."""

    partition: PartitionStory
    result: ProduceResult

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that a batch shares with its repetitions."""
        return (self.partition.name, *batch_identity(self.result))


class Transaction:
    """One transaction of a producer id and epoch. `ended` is the EndTxn that succeeded, or None."""

    def __init__(self, story: TransactionStory, producer_id: int, epoch: int) -> None:
        self.story = story
        self.producer_id = producer_id
        self.epoch = epoch
        self.writes: list[ProducerWrite] = []
        """The first request of each batch."""
        self.offsets: list[OffsetCommitResult] = []
        self.attempts: list[EndTxnResult] = []
        """EndTxn requests whose outcome is unknown, or that were refused."""
        self.ended: EndTxnResult | None = None

    def add_request(self, request: ProducerWrite | OffsetCommitResult) -> None:
        if isinstance(request, ProducerWrite):
            self.writes.append(request)
        else:
            self.offsets.append(request)

    @property
    def first_asked(self) -> int:
        return min(one.asked for one in [*(write.result for write in self.writes), *self.offsets])

    @property
    def opened_at(self) -> int:
        """The first request that may have opened it at the coordinator; its timeout may run from then on."""
        story, at = self.story, (self.producer_id, self.epoch)
        ended = max((end.event for end in story.ends if end.error == NONE and end.event < self.first_asked), default=-1)
        adds = [one.asked for one in (*story.added, *story.groups_added) if (one.producer_id, one.producer_epoch) == at]
        return min([asked for asked in adds if asked > ended], default=self.first_asked)

    @property
    def end_requests(self) -> list[EndTxnResult]:
        """All EndTxn requests that may have decided it, in order."""
        return sorted([*self.attempts, *([self.ended] if self.ended else [])], key=by_asked)

    @property
    def last_asked(self) -> int:
        """The event of the last request that may have decided it, or else of the last write."""
        return max(one.asked for one in [*self.end_requests, *(write.result for write in self.writes), *self.offsets])

    def __str__(self) -> str:
        return f"the transaction of {self.story.name} at epoch {self.epoch} of producer {self.producer_id}"


class Producers:
    """All producers of an example: the case of each id, and the transactions of each transactional id."""

    def __init__(self, together: Together) -> None:
        self.together = together
        self.partitions = [one for one in together.stories_of(PartitionStory) if not one.is_internal]
        self.cases = _cases(together)
        self.transactions = [
            one for story in together.stories_of(TransactionStory) for one in self._transactions_of_id(story)
        ]

    def case(self, producer_id: int) -> str:
        return self.cases.get(producer_id, "")

    def written_by(self, story: TransactionStory) -> list[PartitionStory]:
        """Return the partitions that may be in a transaction of this id: those added to one, or written to."""
        added = {name for one in story.added for name, _ in one.errors}
        sent = (one for one in self.partitions if any(write.transactional_id == story.name for write in one.produced))
        return [*sent, *(one for one in self.partitions if one.name in added)]

    def _transactions_of_id(self, story: TransactionStory) -> Iterator[Transaction]:
        """Yield the transactions of a transactional id in the order of their first requests.

        A batch that is repeated later belongs to the transaction of its first request; offsets belong to the open one. A write of
        a fenced instance belongs to none: KIP360-INV-05 judges it.
        """
        current: dict[tuple[int, int], Transaction] = {}
        known: set[object] = set()
        for one in sorted(self._requests(story), key=_event_of_request):
            fact = one.result if isinstance(one, ProducerWrite) else one
            at = (fact.producer_id, fact.producer_epoch)
            if isinstance(one, EndTxnResult):
                if (ended := current.get(at)) is not None and _ends(ended, one):
                    del current[at]
                continue
            if isinstance(one, ProducerWrite) and (one.identity in known or story.fences(*at, fact.asked)):
                continue
            known.add(one.identity if isinstance(one, ProducerWrite) else None)
            if at not in current:
                current[at] = Transaction(story, *at)
                yield current[at]
            current[at].add_request(one)

    def _requests(self, story: TransactionStory) -> Iterator[ProducerWrite | OffsetCommitResult | EndTxnResult]:
        for partition in self.partitions:
            yield from (
                ProducerWrite(partition, one) for one in partition.produced if one.transactional_id == story.name
            )
        yield from story.offsets
        yield from story.ends


def _event_of_request(one: ProducerWrite | OffsetCommitResult | EndTxnResult) -> int:
    return (one.result if isinstance(one, ProducerWrite) else one).asked


def _ends(transaction: Transaction, end: EndTxnResult) -> bool:
    """Note an EndTxn; True if it ended the transaction."""
    if end.error != NONE:
        transaction.attempts.append(end)
        return False
    transaction.ended = end
    return True


def _cases(together: Together) -> dict[int, str]:
    found: dict[int, str] = {}
    for producer in together.stories_of(ProducerStory):
        for one in producer.given:
            found[one.producer_id] = IDEMPOTENT if one.transactional_id is None else "legacy"
    for story in together.stories_of(TransactionStory):
        found |= dict.fromkeys(story.producer_ids, story.dialect)
    return found


def by_partition(writes: Sequence[ProducerWrite]) -> dict[PartitionStory, list[ProduceResult]]:
    found: dict[PartitionStory, list[ProduceResult]] = defaultdict(list)
    for write in sorted(writes, key=lambda one: by_asked(one.result)):
        found[write.partition].append(write.result)
    return dict(found)
