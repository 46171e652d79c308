"""Facts about changes by an administrator: to topics, and to the configurations of topics, brokers and groups."""

from collections.abc import Iterator, Mapping
from typing import Literal
from uuid import UUID

import msgspec

from conformance.judging.excuses import ANSWERED_OPEN, NOT_ANSWERED, Evidence
from conformance.judging.facts.exchange import (
    NEVER_SENT,
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    LostAnswer,
    decodes,
    name_of,
)
from protocol.cluster import Metadata, MetadataAnswer
from protocol.codes import Error
from protocol.configs import AlterConfigsAnswer, ConfigsAnswer, DescribeConfigs, IncrementalAlterConfigs
from protocol.log import Produce, ProducedPartition
from protocol.messages import Answer, Topic
from protocol.records import NewBatch
from protocol.since import since
from protocol.topics import (
    CreatePartitions,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    TopicResults,
)
from protocol.words import say, say_error

OPEN = frozenset(
    (
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.NOT_CONTROLLER,
    )
)
"""Errors after which the request may have taken effect or not."""
TOPIC, BROKER, GROUP = 2, 4, 32
"""Resource types of DescribeConfigs and IncrementalAlterConfigs."""
OWN_SOURCE = {TOPIC: 1, BROKER: 2, GROUP: 8}
DELETED_BY_ID_FROM = since("DeleteTopicsRequest", "Topics")
CLUSTER_DEFAULT_SOURCE = 3
"""The ConfigSource of values that are set on the cluster-wide default of all brokers."""

Outcome = Literal["done", "refused", "open"]
"""The outcome of a change. done: acknowledged; refused: answered with a definite error; open: it may have taken effect or not."""


class Resource(msgspec.Struct, frozen=True, order=True):
    """A topic, broker or group; `type` is its resource type in IncrementalAlterConfigs. The name of a broker is its id, that of
    the cluster default is empty."""

    type: int
    name: str

    def __str__(self) -> str:
        kind = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}.get(self.type, f"resource of type {self.type}")
        return f"{kind} {self.name}" if self.name else "cluster default"

    @property
    def own_source(self) -> int:
        """The ConfigSource of values that are set on this resource itself."""
        return CLUSTER_DEFAULT_SOURCE if self.type == BROKER and not self.name else OWN_SOURCE.get(self.type, -1)


class ResourceChange(Exchange, frozen=True, gc=False):
    """One item of a request that changes a resource. `configs` are values by key, None for a deleted one.

    `partitions` is the requested number of partitions, or -1; `error` is -1 if no answer came. `topic_id` is the id in the answer
    to a creation, or in a deletion by id; `left_open` is why the outcome is open.
    """

    resource: Resource
    kind: Literal["create", "delete", "grow", "configure"]
    outcome: Outcome
    error: int
    partitions: int = -1
    configs: Mapping[str, str | None] = {}
    topic_id: UUID | None = None
    left_open: Evidence | None = None

    @property
    def replaces(self) -> bool:
        """True if the change creates or deletes the topic, after which no earlier setting remains."""
        return self.kind in ("create", "delete")

    def __str__(self) -> str:
        wanted = f"{self.partitions} partitions" if self.partitions != -1 else ""
        configs = ", ".join(f"{key}={say(value)}" for key, value in self.configs.items())
        what = "; ".join(part for part in (wanted, configs) if part)
        return f"{self.kind} ({what}) {self.outcome}" + (
            f" with {say_error(self.error)}" if self.outcome == "refused" else ""
        )


class TopicDescription(Exchange, frozen=True, gc=False):
    """A topic in the Metadata answer of one broker.

    `partitions` is the number of partitions, 0 if there is no such topic; `topic_id` is None if the answer lacks it.
    """

    resource: Resource
    exists: bool
    partitions: int
    topic_id: UUID | None = None


class ConfigDescription(Exchange, frozen=True, gc=False):
    """The answer of one broker to DescribeConfigs: values with their ConfigSource, by key; `error` is 0 if it has any.

    `keys` are the requested keys, None for all.
    """

    resource: Resource
    error: int
    keys: frozenset[str] | None
    values: Mapping[str, tuple[str | None, int]]

    def shows(self, key: str) -> bool:
        return self.keys is None or key in self.keys

    def own_value(self, key: str) -> str | None:
        """Return the value that is set on the resource itself; None if its default applies."""
        value, source = self.values.get(key, (None, -1))
        return value if source == self.resource.own_source else None


class TopicProduce(Exchange, frozen=True, gc=False):
    """A Produce to one partition of a topic. `payload` is the size of the values in bytes; `error` is -1 if the outcome is
    unknown."""

    resource: Resource
    payload: int
    error: int


# --- decoders


@decodes(CreateTopics, about=["resource"], lost=True)
def create_topics(request: CreateTopics, answer: CreateTopicsAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    for topic in () if request.validate_only else request.topics:
        partitions = len(topic.assignment) or topic.num_partitions
        made = next((one for one in answer.topics if one.name == topic.name), None)
        error = made.error if made is not None else UNKNOWN_OUTCOME
        id = made.topic_id if made is not None and error == NONE else None
        yield from _change(Resource(TOPIC, topic.name), "create", error, answer, at, partitions, topic.configs, id)


@decodes(DeleteTopics, about=["resource"], lost=True)
def delete_topics(request: DeleteTopics, answer: TopicResults | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    for topic in request.topics:
        name, id = name_of(topic), deleted_by(request, topic)
        error = _error_of_topic(answer, name, id)
        yield from _change(Resource(TOPIC, name), "delete", error, answer, at, topic_id=id)


def deleted_by(request: DeleteTopics, topic: Topic | str) -> UUID | None:
    """Return the id by which DeleteTopics deletes a topic; None if by name."""
    by_id = request.version is None or request.version >= DELETED_BY_ID_FROM
    return topic.id if by_id and not isinstance(topic, str) else None


@decodes(CreatePartitions, about=["resource"], lost=True)
def create_partitions(
    request: CreatePartitions, answer: TopicResults | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    if not request.validate_only:
        error = _error_of_topic(answer, request.topic)
        yield from _change(Resource(TOPIC, request.topic), "grow", error, answer, at, request.count)


@decodes(IncrementalAlterConfigs, about=["resource"], lost=True)
def incremental_alter_configs(
    request: IncrementalAlterConfigs, answer: AlterConfigsAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    if not request.validate_only:
        yield from _change(_resource(request), "configure", answer.error, answer, at, configs=request.changes)


def _change(
    resource: Resource,
    kind: Literal["create", "delete", "grow", "configure"],
    error: int,
    answer: Answer | LostAnswer,
    at: Decoding,
    partitions: int = -1,
    configs: Mapping[str, str | None] | None = None,
    topic_id: UUID | None = None,
) -> Iterator[Attributed]:
    if isinstance(answer, LostAnswer) and answer.error == NEVER_SENT:
        return
    left_open = NOT_ANSWERED if isinstance(answer, LostAnswer) else ANSWERED_OPEN if error in OPEN else None
    change = ResourceChange(
        *at.exchange(),
        resource=resource,
        kind=kind,
        outcome="open" if left_open else "done" if error == NONE else "refused",
        error=error,
        partitions=partitions,
        configs=configs or {},
        topic_id=topic_id,
        left_open=left_open,
    )
    yield ("resource", str(resource), change)


def _error_of_topic(answer: TopicResults | LostAnswer, name: str, id: UUID | None = None) -> int:
    """Return the error of a topic. A deletion by id is answered by id, and may leave out the name."""
    own = (one.error for one in answer.topics if one.name == name or (id is not None and one.topic_id == id))
    return next(own, UNKNOWN_OUTCOME)


@decodes(DescribeConfigs, about=["resource"])
def describe_configs(request: DescribeConfigs, answer: ConfigsAnswer, at: Decoding) -> Iterator[Attributed]:
    resource = _resource(request)
    described = ConfigDescription(
        *at.exchange(),
        resource=resource,
        error=answer.error,
        keys=None if request.names is None else frozenset(request.names),
        values={one.name: (one.value, one.config_source) for one in answer.configs},
    )
    yield ("resource", str(resource), described)


def _resource(request: DescribeConfigs | IncrementalAlterConfigs) -> Resource:
    return Resource(request.resource_type, request.resource_name)


@decodes(Metadata, about=["resource"])
def metadata(request: Metadata, answer: MetadataAnswer, at: Decoding) -> Iterator[Attributed]:
    by = at.exchange()
    for topic in answer.topics:
        if topic.name is not None:
            resource, name = _topic(topic.name, at)
            seen = TopicDescription(
                *by,
                resource=resource,
                exists=topic.error == NONE,
                partitions=len(topic.partitions),
                topic_id=topic.topic_id,
            )
            yield ("resource", name, seen)


def _topic(name: str, at: Decoding) -> tuple[Resource, str]:
    """Return a topic as a resource, and the resource in words."""
    found: tuple[Resource, str] | None = at.known.get(name)
    if found is None:
        resource = Resource(TOPIC, name)
        found = at.known[name] = (resource, str(resource))
    return found


@decodes(Produce, about=["resource"], lost=True)
def produce(request: Produce, answer: ProducedPartition | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    if isinstance(request.records, NewBatch):
        resource, name = _topic(name_of(request.topic), at)
        payload = sum([len(one.value or b"") for one in request.records.records])
        yield ("resource", name, TopicProduce(*at.exchange(), resource, payload, answer.error))
