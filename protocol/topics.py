"""Topics and their replicas: create, delete, add partitions, reassign, elect."""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from protocol.codes import Codes, Error
from protocol.messages import Answer, Part, PartitionAnswer, Request, Topic


class ElectionType(Codes):
    PREFERRED = 0
    UNCLEAN = 1


class NewTopic(msgspec.Struct, frozen=True, gc=False):
    """A topic to create: `assignment` has each partition's replicas, the preferred leader first.

    Without an assignment the counts apply, where -1 is the broker's default (from version 4 on).
    """

    name: str
    assignment: tuple[tuple[int, ...], ...] = ()
    num_partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str] = msgspec.field(default_factory=dict)


class CreatedTopic(Part, frozen=True, kw_only=True):
    name: str
    topic_id: UUID | None = None
    error: Error
    error_message: str | None = None
    num_partitions: int = -1
    replication_factor: int = -1


class CreateTopicsAnswer(Answer, frozen=True, kw_only=True):
    topics: tuple[CreatedTopic, ...]


class TopicResult(Part, frozen=True, kw_only=True):
    name: str | None
    topic_id: UUID | None = None
    error: Error
    error_message: str | None = None


class TopicResults(Answer, frozen=True, kw_only=True):
    topics: tuple[TopicResult, ...]


class PartitionResult(PartitionAnswer, frozen=True, kw_only=True):
    error_message: str | None = None


class PartitionResults(Answer, frozen=True, kw_only=True):
    """The results of partitions; empty if `error` applies to all."""

    error: Error = Error.NONE
    error_message: str | None = None
    partitions: tuple[PartitionResult, ...] = ()


class Reassignment(msgspec.Struct, frozen=True, gc=False):
    """A partition's target replicas; None cancels a reassignment."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


class OngoingReassignment(PartitionAnswer, frozen=True, kw_only=True):
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ListReassignmentsAnswer(Answer, frozen=True, kw_only=True):
    error: Error
    error_message: str | None = None
    partitions: tuple[OngoingReassignment, ...] = ()


class CreateTopics(Request[CreateTopicsAnswer], frozen=True):
    topics: Sequence[NewTopic]
    timeout_ms: int = 10_000
    validate_only: bool = False


class DeleteTopics(Request[TopicResults], frozen=True):
    topics: Sequence[Topic | str]
    timeout_ms: int = 10_000


class CreatePartitions(Request[TopicResults], frozen=True):
    topic: str
    count: int
    assignment: tuple[tuple[int, ...], ...] | None = None
    timeout_ms: int = 10_000
    validate_only: bool = False


class ElectLeaders(Request[PartitionResults], frozen=True):
    sent_as: ClassVar[Mapping[str, str]] = {"partitions": "topic_partitions"}

    partitions: Sequence[tuple[str, int]]
    election_type: ElectionType = ElectionType.PREFERRED
    timeout_ms: int = 10_000


class AlterPartitionReassignments(Request[PartitionResults], frozen=True):
    sent_as: ClassVar[Mapping[str, str]] = {"reassignments": "topics"}

    reassignments: Sequence[Reassignment]
    timeout_ms: int = 10_000


class ListPartitionReassignments(Request[ListReassignmentsAnswer], frozen=True):
    timeout_ms: int = 10_000
