"""Histories of administration, event by event: requests about topics and configurations, and brokers' descriptions."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from uuid import UUID

from conformance.judging.facts.topics import BROKER, GROUP, TOPIC, Resource
from history.effects import Effects, Process
from history.events import Answer, AnyEvent, Call, Example, Fault, History, Note, Outcome, Overdue, Phase, Premise
from protocol.operations import OPERATIONS
from tests.support import filled

BROKERS = ("broker-1", "broker-2", "broker-3")
CONTROLLER = "controller-101"
CLUSTER_DEFAULT = Resource(BROKER, "")
BROKER_1 = Resource(BROKER, "1")
THE_GROUP = Resource(GROUP, "group")
THE_TOPIC = Resource(TOPIC, "topic")


def topic_id(letter: str | None) -> str | None:
    """Return the topic id that a test names by a letter or a word."""
    return None if letter is None else str(UUID(int=int.from_bytes(letter.encode(), "big")))


class AdministrationHistory:
    """A history whose methods append a request and its answer; `error` None means that there was no answer."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    @property
    def history(self) -> History:
        members = [{"name": name, "id": id, "role": "broker"} for id, name in enumerate(BROKERS, 1)]
        members.append({"name": CONTROLLER, "id": 101, "role": "controller"})
        return History(example=Example(example="e", check="c", column="4.3.1", members=members), events=self.events)

    def create(
        self,
        partitions: int = 1,
        configs: dict[str, str] | None = None,
        *,
        error: int | None = 0,
        name: str = "topic",
        id: str | None = None,
    ) -> AdministrationHistory:
        topic = {"name": name, "assignment": [], "num_partitions": partitions, "configs": configs or {}}
        result = {"name": name, "topic_id": topic_id(id), "error_code": error}
        return self._asked("create_topics", {"topics": [topic], "validate_only": False}, {"topics": [result]}, error)

    def delete(self, *, error: int | None = 0, name: str = "topic") -> AdministrationHistory:
        result = {"name": name, "error_code": error}
        return self._asked("delete_topics", {"topics": [name]}, {"topics": [result]}, error)

    def grow(self, count: int, *, error: int | None = 0, name: str = "topic") -> AdministrationHistory:
        request = {"topic": name, "count": count, "validate_only": False}
        return self._asked("create_partitions", request, {"topics": [{"name": name, "error_code": error}]}, error)

    def alter(
        self, resource: Resource, changes: dict[str, str | None], *, error: int | None = 0
    ) -> AdministrationHistory:
        request = {"resource_type": resource.type, "resource_name": resource.name, "changes": changes}
        return self._asked(
            "incremental_alter_configs", request | {"validate_only": False}, {"error_code": error}, error
        )

    def described(
        self,
        resource: Resource,
        values: dict[str, str],
        *,
        on: str = "broker-1",
        error: int = 0,
        source: int | None = None,
        keys: list[str] | None = None,
    ) -> AdministrationHistory:
        """Add DescribeConfigs: values of the resource itself, or from another `source`; `keys` are requested, None
        means all."""
        own = resource.own_source if source is None else source
        configs = [{"name": key, "value": value, "config_source": own} for key, value in values.items()]
        request = {"resource_type": resource.type, "resource_name": resource.name, "names": keys}
        return self._asked("describe_configs", request, {"error_code": error, "configs": configs}, error, on)

    def described_everywhere(self, resource: Resource, values: dict[str, str]) -> AdministrationHistory:
        for broker in BROKERS:
            self.described(resource, values, on=broker)
        return self

    def seen(
        self, partitions: int, *, on: str = "broker-1", name: str = "topic", id: str | None = None
    ) -> AdministrationHistory:
        """Add Metadata of the topic, which is unknown if there are no partitions."""
        topic: dict[str, Any] = {"name": name, "error_code": 0 if partitions else 3, "partitions": [{}] * partitions}
        topic["topic_id"] = topic_id(id)
        return self._asked("metadata", {}, {"topics": [topic]}, 0, on)

    def produced(self, size: int, error: int | None, *, name: str = "topic") -> AdministrationHistory:
        batch = {"records": [{"value": b64encode(b"v" * size).decode()}]}
        return self._asked("produce", {"topic": name, "records": batch}, {"error_code": error}, error)

    def fault(self, phase: Phase, node: str, process: Process = "down") -> AdministrationHistory:
        n, effects = len(self.events), Effects(process=process) if phase == "inject" else None
        self.events.append(Fault(n=n, t=0.0, fault="kill", phase=phase, role="node", node=node, effects=effects))
        return self

    def in_vain(self, late: float) -> AdministrationHistory:
        """Add a wait of 30 s in vain for brokers' descriptions, read every 5 s, by a kit that woke `late` seconds
        late."""
        self.events += [Note(n=len(self.events) + look, t=5.0 * look, text="the kit looks on") for look in range(7)]
        self.events.append(Overdue(n=len(self.events), t=30.0, due="step", what="described", within=30.0, late=late))
        return self

    def at_rest(self, *, met: bool = True) -> AdministrationHistory:
        self.events.append(
            Premise(n=len(self.events), t=self.events[-1].t if self.events else 0.0, what="at rest", met=met)
        )
        return self

    def _asked(
        self, op: str, request: dict[str, Any], value: dict[str, Any], error: int | None, node: str = "broker-1"
    ) -> AdministrationHistory:
        n = len(self.events)
        outcome: Outcome = "info" if error is None else "ok"
        kind = OPERATIONS[op]
        self.events.append(Call(n=n, t=0.0, op=op, node=node, request=filled.asked(kind, request)))
        answer = filled.answered(kind, value) if outcome == "ok" else None
        self.events.append(Answer(n=n + 1, t=0.0, call=n, outcome=outcome, value=answer))
        return self
