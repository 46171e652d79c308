"""Typed calls to a real broker: a tap that checks answers, topics that are ready, and the versions to try."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from fixtures.waiting import eventually
from fixtures.wire import NodeClient
from fixtures.wire.errors import Unanswered
from protocol.codes import Error
from protocol.messages import PartitionAnswer, Topic
from protocol.topics import NewTopic

T = TypeVar("T")


class Checking:
    """A tap that asserts, for each answer, what every tap may rely on."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def call(self, node: str, op: str, request: dict[str, Any], answer: type[T], do: Callable[[], T]) -> T:
        json.dumps(request)
        given = do()
        assert type(given) is answer
        assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(given))), answer) == given
        self.seen.add(op)
        return given


def made(client: NodeClient, name: str, partitions: int, *, version: int | None = None) -> Topic:
    [created] = client.create_topics([NewTopic(name, ((1,),) * partitions)], version=version).topics
    assert created.error is Error.NONE

    def ids() -> UUID | None:
        found = client.metadata([name]).topic(name)
        return found.topic_id if len(found.partitions) == partitions else None

    topic = Topic(name, eventually(ids, within=20, what=f"metadata of {name}"))

    def led() -> bool:
        # On a busy machine a node may be too slow to answer in time.
        with suppress(Unanswered):
            return all(client.list_offsets(name, index).error is Error.NONE for index in range(partitions))
        return False

    eventually(led, within=60, what=f"leaders of {name}")
    return topic


def versions(client: NodeClient, api: str, start: int = 0) -> range:
    highest = client.choose_version(api)
    offered, known = client.api_versions().ranges[api], client.schemas.api(api).request.versions
    assert known is not None
    return range(max(start, offered.low, known.low), highest + 1)


def seen(answer: PartitionAnswer, version: int, error: Error, **fields: object) -> bool:
    """True if an answer of this version holds the error and the fields."""
    as_said = all(getattr(answer, name) == value for name, value in fields.items())
    return (answer.version, answer.error) == (version, error) and as_said
