"""Requests about a transactional id as its coordinator sees them, from the facts of six APIs."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from conformance.judging.facts import transactions as facts
from conformance.judging.facts.exchange import NEVER_SENT, NONE, UNKNOWN_OUTCOME, Exchange
from conformance.judging.facts.groups import OffsetCommitResult
from conformance.judging.facts.log import ProduceResult
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.coordinator import NO_EPOCH, NO_ID, Api, CoordinatorRequest
from conformance.judging.producers.story import TransactionStory

UNNUMBERED = -1
"""The key of a request that is not yet among those of a transactional id."""


class AnswerKind(Enum):
    """The kinds of answers."""

    ANSWERED = "answered"
    UNKNOWN = "unknown"
    NEVER_SENT = "never sent"
    PARTLY = "partly"
    """The answer to several consecutive requests of which some were not granted: any number of them may have taken effect."""


class AnsweredRequest(NamedTuple):
    """One request and its answer. A request for several partitions is split into one for each. All have different keys."""

    key: int
    request: CoordinatorRequest
    error: int
    given_id: int = NO_ID
    given_epoch: int = NO_EPOCH
    partition: PartitionStory | None = None
    write: ProduceResult | None = None

    @property
    def event(self) -> int:
        return self.request.event

    @property
    def reply(self) -> AnswerKind:
        named = {UNKNOWN_OUTCOME: AnswerKind.UNKNOWN, NEVER_SENT: AnswerKind.NEVER_SENT}
        if self.request.times > 1 and (self.error, self.given_epoch) != (NONE, self.request.epoch + self.request.times):
            return AnswerKind.PARTLY
        return named.get(self.error, AnswerKind.ANSWERED)


def requests(story: TransactionStory, partitions: list[PartitionStory]) -> list[AnsweredRequest]:
    """Return all requests about a transactional id, in call order. A verification changes nothing (KIP-890)."""
    known = [
        *map(_init, story.given),
        *(_adding_request(one) for one in story.added if not one.verify_only),
        *map(_offsets_added, story.groups_added),
        *map(_offsets, story.offsets),
        *map(_end_request, story.ends),
        *_writes(story.name, partitions),
    ]
    known.sort(key=lambda one: one.request.asked)
    return [one._replace(key=key) for key, one in enumerate(known)]


def _first_fields(api: Api, fact: Exchange, version: int) -> tuple[Api, int, int, str, int]:
    """Return the first fields of a Request."""
    return api, fact.asked, fact.event, fact.node, version


def _init(one: facts.InitProducerIdResult) -> AnsweredRequest:
    request = CoordinatorRequest(
        *_first_fields("InitProducerId", one, one.version),
        one.sent_producer_id,
        one.sent_epoch,
        timeout_ms=one.timeout_ms,
    )._replace(times=one.times)
    return AnsweredRequest(UNNUMBERED, request, one.error, one.producer_id, one.producer_epoch)


def _adding_request(one: facts.AddPartitionsResult) -> AnsweredRequest:
    """Return the request to add partitions. If some are refused, none is added, and the first refusal counts."""
    names = frozenset(name for name, _ in one.errors)
    request = CoordinatorRequest(
        *_first_fields("AddPartitionsToTxn", one, one.version), one.producer_id, one.producer_epoch, names
    )
    errors = [error for _, error in one.errors if error != NONE]
    return AnsweredRequest(UNNUMBERED, request, one.error if one.error != NONE or not errors else errors[0])


def _offsets_added(one: facts.AddOffsetsResult) -> AnsweredRequest:
    names = frozenset((f"group {one.group}",))
    request = CoordinatorRequest(
        *_first_fields("AddOffsetsToTxn", one, one.version), one.producer_id, one.producer_epoch, names
    )
    return AnsweredRequest(UNNUMBERED, request, one.error)


def _offsets(one: OffsetCommitResult) -> AnsweredRequest:
    names = frozenset((f"group {one.group}",))
    request = CoordinatorRequest(
        *_first_fields("TxnOffsetCommit", one, one.version), one.producer_id, one.producer_epoch, names
    )
    names_member = bool(one.member_id or one.instance_id) or one.member_epoch >= 0
    return AnsweredRequest(UNNUMBERED, request._replace(names_member=names_member), one.accepted)


def _end_request(one: facts.EndTxnResult) -> AnsweredRequest:
    request = CoordinatorRequest(
        *_first_fields("EndTxn", one, one.version), one.producer_id, one.producer_epoch, commits=one.committed
    )
    return AnsweredRequest(UNNUMBERED, request, one.error, one.next_id, one.next_epoch)


def _writes(name: str, partitions: list[PartitionStory]) -> Iterator[AnsweredRequest]:
    for partition in partitions:
        for one in partition.produced:
            if one.transactional_id == name and one.acks != 0:
                error = NEVER_SENT if one.failed and one.error == UNKNOWN_OUTCOME else one.error
                yield AnsweredRequest(
                    UNNUMBERED, _produce_request(partition, one), error, partition=partition, write=one
                )


def _produce_request(partition: PartitionStory, one: ProduceResult) -> CoordinatorRequest:
    names = frozenset((partition.name,))
    return CoordinatorRequest(*_first_fields("Produce", one, one.version), one.producer_id, one.producer_epoch, names)


def write_request(partition: PartitionStory, write: ProduceResult) -> AnsweredRequest:
    """Return a Produce that no coordinator sees, with its answer."""
    return AnsweredRequest(
        UNNUMBERED, _produce_request(partition, write), write.error, partition=partition, write=write
    )
