"""Facts about what an administrator changes: topics, and the configurations of topics, brokers and groups."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    decodes,
    error_of,
    name_of,
)
from history.events import Answer, Call
from protocol.since import since

OPEN = {7: "REQUEST_TIMED_OUT", 13: "NETWORK_EXCEPTION", 20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 41: "NOT_CONTROLLER"}
"""Errors that leave it open whether the request took effect."""
UNANSWERED, SENT_TWICE = "no answer", "sent to the controller twice"
"""Other reasons for which it is open. A broker that lost the controller's answer sends the request again."""
UNKNOWN_TOPIC_OR_PARTITION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, UNKNOWN_TOPIC_ID = 3, 36, 37, 100
TOPIC, BROKER, GROUP = 2, 4, 32
"""Resource types of DescribeConfigs and IncrementalAlterConfigs."""
OWN_SOURCE = {TOPIC: 1, BROKER: 2, GROUP: 8}
DELETED_BY_ID_FROM = since("DeleteTopicsRequest", "Topics")
CLUSTER_DEFAULT_SOURCE = 3
"""ConfigSource of a value that was set on the resource itself; of a broker's, on the cluster default."""

Outcome = Literal["done", "refused", "open"]
"""done: acknowledged; refused: answered with a definite error; open: it may have taken effect or not."""


class Resource(msgspec.Struct, frozen=True, order=True):
    """`type` is the resource type of IncrementalAlterConfigs. A broker is named by its id, the cluster default by no name."""

    type: int
    name: str

    def __str__(self) -> str:
        kind = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}.get(self.type, f"resource of type {self.type}")
        return f"{kind} {self.name}" if self.name else "cluster default"

    @property
    def own_source(self) -> int:
        """The ConfigSource of values that were set on it."""
        return CLUSTER_DEFAULT_SOURCE if self.type == BROKER and not self.name else OWN_SOURCE.get(self.type, -1)


class Change(Exchange, frozen=True, gc=False):
    """One item of a request that changes a resource. `configs` are values by key, None for one that is deleted.

    `partitions` is the number of partitions that it asks for, -1 where it names none; `error` is -1 where no answer came.
    `topic_id` is that of a topic that was created, if its creation told one, or by which it was to be deleted; `left_open` is why
    an outcome is open.
    """

    resource: Resource
    kind: Literal["create", "delete", "grow", "configure"]
    outcome: Outcome
    error: int
    partitions: int = -1
    configs: Mapping[str, str | None] = {}
    topic_id: str = ""
    left_open: str = ""

    @property
    def replaces(self) -> bool:
        """Whether nothing of what a topic was before outlives it."""
        return self.kind in ("create", "delete")

    def __str__(self) -> str:
        wanted = f"{self.partitions} partitions" if self.partitions != -1 else ""
        configs = ", ".join(f"{key}={value}" for key, value in self.configs.items())
        what = "; ".join(part for part in (wanted, configs) if part)
        return f"{self.kind} ({what}) {self.outcome}" + (
            f" with error {self.error}" if self.outcome == "refused" else ""
        )


class TopicSeen(Exchange, frozen=True, gc=False):
    """A topic in the Metadata answer of one broker.

    `partitions` is their number, 0 where there is no such topic; `topic_id` is empty where none was told.
    """

    resource: Resource
    exists: bool
    partitions: int
    topic_id: str = ""


class Described(Exchange, frozen=True, gc=False):
    """The answer of one broker to DescribeConfigs: values with their ConfigSource, by key; `error` is 0 if it gave any.

    `keys` are those that were asked for, None for all.
    """

    resource: Resource
    error: int
    keys: frozenset[str] | None
    values: Mapping[str, tuple[str | None, int]]

    def shows(self, key: str) -> bool:
        return self.keys is None or key in self.keys

    def own(self, key: str) -> str | None:
        """The value that is set on the resource itself; None where its default applies."""
        value, source = self.values.get(key, (None, -1))
        return value if source == self.resource.own_source else None


class Appended(Exchange, frozen=True, gc=False):
    """A Produce to one partition of a topic. `payload` is the number of bytes of the values; `error` -1 if unknown."""

    resource: Resource
    payload: int
    error: int


# --- decoders


@decodes("create_topics", about=["resource"])
def create_topics(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    if not call.request.get("validate_only"):
        for topic in call.request["topics"]:
            partitions = len(topic["assignment"]) or topic["num_partitions"]
            error, id = _error_of_topic(answer, topic["name"]), _id_of_topic(answer, topic["name"])
            resource, configs = Resource(TOPIC, topic["name"]), topic["configs"]
            yield from _change(call, answer, decoding, resource, "create", error, partitions, configs, id)


@decodes("delete_topics", about=["resource"])
def delete_topics(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    for topic in call.request["topics"]:
        name, id = name_of(topic), deleted_by(call, topic)
        error = _error_of_topic(answer, name, id)
        yield from _change(call, answer, decoding, Resource(TOPIC, name), "delete", error, topic_id=id)


def deleted_by(call: Call, topic: Any) -> str:
    """The id by which DeleteTopics is asked to delete a topic; empty for its name."""
    by_id = not isinstance(topic, str) and (call.request.get("version") or DELETED_BY_ID_FROM) >= DELETED_BY_ID_FROM
    return str(topic.get("id") or "") if by_id else ""


@decodes("create_partitions", about=["resource"])
def create_partitions(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    if not call.request.get("validate_only"):
        name = call.request["topic"]
        error = _error_of_topic(answer, name)
        yield from _change(call, answer, decoding, Resource(TOPIC, name), "grow", error, call.request["count"])


@decodes("incremental_alter_configs", about=["resource"])
def incremental_alter_configs(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    if not call.request.get("validate_only"):
        changes = call.request["changes"]
        yield from _change(call, answer, decoding, _resource(call), "configure", error_of(answer), configs=changes)


def _change(
    call: Call,
    answer: Answer,
    decoding: Decoding,
    resource: Resource,
    kind: Literal["create", "delete", "grow", "configure"],
    error: int,
    partitions: int = -1,
    configs: Mapping[str, str | None] | None = None,
    topic_id: str = "",
) -> Iterator[Attributed]:
    if answer.outcome == "fail":  # it was never sent
        return
    left_open = UNANSWERED if answer.outcome != "ok" else OPEN.get(error, "")
    change = Change(
        *decoding.exchange(call, answer),
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


def _id_of_topic(answer: Answer, name: str) -> str:
    topics = answer.value["topics"] if answer.outcome == "ok" else []
    return next((one.get("topic_id") or "" for one in topics if one["name"] == name and one["error_code"] == NONE), "")


def _error_of_topic(answer: Answer, name: str, id: str = "") -> int:
    """A deletion by id is answered by id, and may leave out the name."""
    if answer.outcome != "ok":
        return UNKNOWN_OUTCOME
    own = (one for one in answer.value["topics"] if one["name"] == name or (id and one.get("topic_id") == id))
    return next((int(one["error_code"]) for one in own), UNKNOWN_OUTCOME)


@decodes("describe_configs", about=["resource"])
def describe_configs(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    if answer.outcome == "ok":
        keys, resource = call.request.get("names"), _resource(call)
        described = Described(
            *decoding.exchange(call, answer),
            resource=resource,
            error=answer.value["error_code"],
            keys=None if keys is None else frozenset(keys),
            values={one["name"]: (one["value"], one["config_source"]) for one in answer.value["configs"]},
        )
        yield ("resource", str(resource), described)


def _resource(call: Call) -> Resource:
    return Resource(call.request["resource_type"], call.request["resource_name"])


@decodes("metadata", about=["resource"])
def metadata(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    topics: list[dict[str, Any]] = answer.value["topics"] if answer.outcome == "ok" else []
    for topic in topics:
        if topic["name"] is not None:
            resource = Resource(TOPIC, topic["name"])
            seen = TopicSeen(
                *decoding.exchange(call, answer),
                resource=resource,
                exists=topic["error_code"] == NONE,
                partitions=len(topic["partitions"]),
                topic_id=topic.get("topic_id") or "",
            )
            yield ("resource", str(resource), seen)


@decodes("produce", about=["resource"])
def produce(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Attributed]:
    batch = call.request["records"]
    if isinstance(batch, dict):
        resource = Resource(TOPIC, name_of(call.request["topic"]))
        appended = Appended(
            *decoding.exchange(call, answer),
            resource=resource,
            payload=sum(len(b64decode(one["value"] or "")) for one in batch["records"]),
            error=error_of(answer),
        )
        yield ("resource", str(resource), appended)
