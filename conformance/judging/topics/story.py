"""The story of each resource that a history administers: what was asked to change, what came of it, and what brokers describe.

A resource is a topic, one broker, all brokers (their cluster default) or a consumer group. Everything is named by the number
of the event that shows it, so that ``one.event < other.asked`` says what was known first.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from history.events import Answer, Call, History, Premise

NONE = 0
REQUEST_TIMED_OUT, NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_CONTROLLER = 7, 13, 20, 41
OPEN = frozenset({REQUEST_TIMED_OUT, NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_CONTROLLER})
"""Errors that leave it open whether the request took effect."""
TOPIC, BROKER, GROUP = 2, 4, 32
"""Resource types of DescribeConfigs and IncrementalAlterConfigs."""
OWN_SOURCE = {TOPIC: 1, BROKER: 2, GROUP: 8}
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


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a request that changes a resource. `configs` are values by key, None for one that is deleted.

    `partitions` is the number of partitions asked for, -1 where the request names none. `replaces` tells that nothing of what
    the resource was before outlives it: the creation or the deletion of a topic.
    """

    kind: Literal["create", "delete", "grow", "configure"]
    asked: int
    event: int
    node: str
    outcome: Outcome
    error: int
    partitions: int = -1
    configs: Mapping[str, str | None] = {}

    @property
    def replaces(self) -> bool:
        return self.kind in ("create", "delete")

    def __str__(self) -> str:
        wanted = f"{self.partitions} partitions" if self.partitions != -1 else ""
        configs = ", ".join(f"{key}={value}" for key, value in self.configs.items())
        what = "; ".join(part for part in (wanted, configs) if part)
        return f"{self.kind} ({what}) {self.outcome}" + (
            f" with error {self.error}" if self.outcome == "refused" else ""
        )


class TopicSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in the Metadata answer of one broker; `partitions` is their number, 0 where there is no such topic."""

    asked: int
    event: int
    node: str
    exists: bool
    partitions: int


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's description of a resource: values with their ConfigSource, by key; `error` is 0 if it gave any.

    `keys` are those that were asked for, None for all.
    """

    asked: int
    event: int
    node: str
    error: int
    keys: frozenset[str] | None
    values: Mapping[str, tuple[str | None, int]]

    def shows(self, key: str) -> bool:
        return self.keys is None or key in self.keys

    def own(self, key: str, resource: Resource) -> str | None:
        """The value that is set on the resource itself; None where its default applies."""
        value, source = self.values.get(key, (None, -1))
        return value if source == resource.own_source else None


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """A Produce to one partition of a topic. `payload` is the number of bytes of the values; `error` -1 if unknown."""

    asked: int
    event: int
    node: str
    payload: int
    error: int


class ResourceStory:
    """One resource; the lists are in the order of the answers. `agreed` and `rested` are events, -1 where there is none.

    `rested` is the event from which on answers count as given at rest: every fault is healed, and either all brokers described
    what was acknowledged (`agreed`), or the bound for that has passed.
    """

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.changes: list[Change] = []
        self.seen: list[TopicSeen] = []
        self.described: list[Described] = []
        self.appended: list[Appended] = []
        self.rested = -1

    def before(self, event: int) -> list[Change]:
        """Changes that may have taken effect before an answer: those that were asked for before it."""
        return [change for change in self.changes if change.asked < event and change.outcome != "refused"]

    def refused(self) -> list[Change]:
        return [change for change in self.changes if change.outcome == "refused"]

    def at_rest(self, asked: int) -> bool:
        return 0 <= self.rested < asked


def resource_stories(history: History) -> list[ResourceStory]:
    """The resources that the history administers or describes, topics first, by name."""
    reader = _Reader()
    for call, answer in _answered(history):
        reader.read(call, answer)
    rested = _rested(history)
    stories = [story for _, story in sorted(reader.stories.items()) if story.changes]
    for story in stories:
        story.rested = rested
    return stories


AT_REST = "at rest"
"""The premise with which the final reads begin, met or not: see `conformance.judging.timeline`."""


def _rested(history: History) -> int:
    premises = [event.n for event in history.events if isinstance(event, Premise) and event.what == AT_REST]
    return premises[-1] if premises else -1


def _answered(history: History) -> Iterator[tuple[Call, Answer]]:
    calls: dict[int, Call] = {}
    for event in history.events:
        if isinstance(event, Call):
            calls[event.n] = event
        elif isinstance(event, Answer):
            yield calls.pop(event.call), event


class _Reader:
    """Hands each answer to the stories of the resources that it is about."""

    def __init__(self) -> None:
        self.stories: dict[Resource, ResourceStory] = {}
        self._ops: dict[str, Callable[[Call, Answer], None]] = {
            "create_topics": self._create_topics,
            "delete_topics": self._delete_topics,
            "create_partitions": self._create_partitions,
            "incremental_alter_configs": self._alter_configs,
            "describe_configs": self._describe_configs,
            "metadata": self._metadata,
            "produce": self._produce,
        }
        self._names: dict[str, str] = {}

    def read(self, call: Call, answer: Answer) -> None:
        if (op := self._ops.get(call.op)) is not None:
            op(call, answer)

    def _story(self, type: int, name: str) -> ResourceStory:
        resource = Resource(type, name)
        return self.stories.setdefault(resource, ResourceStory(resource))

    # --- changes

    def _create_topics(self, call: Call, answer: Answer) -> None:
        if call.request.get("validate_only"):
            return
        results = _by_name(answer, "topics")
        for topic in call.request["topics"]:
            result = results.get(topic["name"], {})
            if result.get("topic_id"):
                self._names[result["topic_id"]] = topic["name"]
            self._change(
                TOPIC, topic["name"], call, answer, result, "create",
                partitions=len(topic["assignment"]) or topic["num_partitions"], configs=topic["configs"],
            )  # fmt: skip

    def _delete_topics(self, call: Call, answer: Answer) -> None:
        results = _by_name(answer, "topics")
        for topic in call.request["topics"]:
            name = topic if isinstance(topic, str) else self._names.get(topic["id"] or "", topic["name"])
            self._change(TOPIC, name, call, answer, results.get(name, {}), "delete")

    def _create_partitions(self, call: Call, answer: Answer) -> None:
        if not call.request.get("validate_only"):
            name = call.request["topic"]
            result = _by_name(answer, "topics").get(name, {})
            self._change(TOPIC, name, call, answer, result, "grow", partitions=call.request["count"])

    def _alter_configs(self, call: Call, answer: Answer) -> None:
        if not call.request.get("validate_only"):
            result = answer.value if answer.outcome == "ok" else {}
            type, name = call.request["resource_type"], call.request["resource_name"]
            self._change(type, name, call, answer, result, "configure", configs=call.request["changes"])

    def _change(
        self,
        type: int,
        name: str,
        call: Call,
        answer: Answer,
        result: Mapping[str, Any],
        kind: Literal["create", "delete", "grow", "configure"],
        partitions: int = -1,
        configs: Mapping[str, str | None] | None = None,
    ) -> None:
        if answer.outcome == "fail":  # it was never sent
            return
        error = int(result.get("error_code", -1)) if answer.outcome == "ok" else -1
        self._story(type, name).changes.append(
            Change(
                kind=kind,
                asked=call.n,
                event=answer.n,
                node=call.node,
                outcome=_outcome(answer, error),
                error=error,
                partitions=partitions,
                configs=configs or {},
            )
        )

    # --- what brokers describe

    def _describe_configs(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        values = {one["name"]: (one["value"], one["config_source"]) for one in answer.value["configs"]}
        keys = call.request.get("names")
        described = Described(
            asked=call.n,
            event=answer.n,
            node=call.node,
            error=answer.value["error_code"],
            keys=None if keys is None else frozenset(keys),
            values=values,
        )
        self._story(call.request["resource_type"], call.request["resource_name"]).described.append(described)

    def _metadata(self, call: Call, answer: Answer) -> None:
        if answer.outcome != "ok":
            return
        for topic in answer.value["topics"]:
            if topic["name"] is not None:
                seen = TopicSeen(
                    asked=call.n,
                    event=answer.n,
                    node=call.node,
                    exists=topic["error_code"] == NONE,
                    partitions=len(topic["partitions"]),
                )
                self._story(TOPIC, topic["name"]).seen.append(seen)

    def _produce(self, call: Call, answer: Answer) -> None:
        topic, batch = call.request["topic"], call.request["records"]
        if not isinstance(batch, dict):
            return
        appended = Appended(
            asked=call.n,
            event=answer.n,
            node=call.node,
            payload=sum(len(b64decode(one["value"] or "")) for one in batch["records"]),
            error=answer.value["error_code"] if answer.outcome == "ok" else -1,
        )
        self._story(TOPIC, topic if isinstance(topic, str) else topic["name"]).appended.append(appended)


def _outcome(answer: Answer, error: int) -> Outcome:
    if answer.outcome != "ok" or error in OPEN:
        return "open"
    return "done" if error == NONE else "refused"


def _by_name(answer: Answer, field: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in answer.value[field]} if answer.outcome == "ok" else {}
