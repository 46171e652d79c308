"""A writer of metadata: each request goes to one node, and is acknowledged, refused, or of unknown outcome."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from conformance.core.bench import Bench
from conformance.judging.facts.topics import OPEN
from fixtures.wire import NodeClient, NotSent, WireError
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.topics import CreatedTopic, NewTopic

Outcome = Literal["acknowledged", "refused", "unknown"]

WAITS = 1.0
"""Seconds for which a node may let a write wait, and again for which the writer waits for its answer."""

COUNTED = "retention.ms"
"""The setting of the topic that the writer alters, whose value it counts up."""


TopicsByBroker = Mapping[str, Mapping[str, UUID | None]]
"""The topics that each broker shows, with their ids."""


class Write(NamedTuple):
    """The creation of a topic, sent to a node, and the seconds until it was answered or given up.

    `topic_id` is known if it was acknowledged; `answer` is None if none came.
    """

    topic: str
    node: str
    outcome: Outcome
    seconds: float
    topic_id: UUID | None = None
    answer: CreatedTopic | None = None


class MetadataWriter:
    """The writer, with all topics that it tried to create, in the order of the requests, and those that it tried to delete."""

    def __init__(self, bench: Bench, counted: str) -> None:
        self.bench = bench
        self.written: list[Write] = []
        self.deleted: set[str] = set()
        self.waits = WAITS
        self._counted, self._count, self._turns = counted, 0, 0

    def create(self, node: str) -> Write:
        """Ask the node to create a topic: a controller, which acts itself, or a broker, which forwards the request."""
        name, began = self.bench.fresh_name("written"), self.bench.now().seconds
        answer, sent = self._try_to_create(node, name)
        seconds = self.bench.now().seconds - began
        outcome: Outcome = "unknown"
        if answer is not None and answer.error not in OPEN:
            outcome = "acknowledged" if answer.error is Error.NONE else "refused"
        elif not sent:
            outcome = "refused"
        id = answer.topic_id if answer is not None and outcome == "acknowledged" else None
        self.written.append(Write(name, node, outcome, seconds, id, answer))
        return self.written[-1]

    def _try_to_create(self, node: str, name: str) -> tuple[CreatedTopic | None, bool]:
        """Return the answer, None if there is none, and False if the request was certainly never sent."""
        topic = NewTopic(name, num_partitions=1, replication_factor=1)
        try:
            answer = self._client(node).create_topics([topic], timeout_ms=int(self.waits * 1000))
        except NotSent:
            return None, False
        except WireError:
            return None, True
        return next((one for one in answer.topics if one.name == name), None), True

    def delete_oldest(self, node: str) -> None:
        """Ask the node to delete the first acknowledged topic; its outcome is left to the judges."""
        there = (one.topic for one in self.written if one.outcome == "acknowledged" and one.topic not in self.deleted)
        oldest = next(there, None)
        if oldest is not None:
            self.deleted.add(oldest)
            try:
                self._client(node).delete_topics([oldest], timeout_ms=int(self.waits * 1000))
            except WireError:
                """The deletion is of unknown outcome, as the history shows."""

    def count(self, node: str) -> None:
        """Ask the node to raise the counter in a topic's configuration; its outcome is left to the judges."""
        self._count += 1
        changes = {COUNTED: str(1_000_000_000 + self._count)}
        try:
            self._client(node).incremental_alter_configs(ResourceType.TOPIC, self._counted, changes)
        except WireError:
            """The alteration is of unknown outcome, as the history shows."""

    def write(self, node: str) -> Write:
        """Create a topic, with every second one raise the counter, and with every fourth delete the oldest topic: all at this
        node."""
        self._turns += 1
        if self._turns % 2 == 0:
            self.count(node)
        if self._turns % 4 == 0:
            self.delete_oldest(node)
        return self.create(node)

    def kept_topics(self) -> list[str]:
        """Return the acknowledged topics whose deletion was not requested."""
        return [one.topic for one in self.written if one.outcome == "acknowledged" and one.topic not in self.deleted]

    def read_back(self, nodes: Sequence[str]) -> TopicsByBroker:
        """Return the topics that each node knows of all that were ever written, with their ids; ask for the counter, too."""
        names = [self._counted, *(one.topic for one in self.written)]

        def ask(name: str) -> dict[str, UUID | None]:
            self.bench.node(name).describe_configs(ResourceType.TOPIC, self._counted, [COUNTED])
            found = self.bench.node(name).metadata(names).topics
            return {one.name: one.topic_id for one in found if one.name is not None and one.error is Error.NONE}

        return self.bench.answers(nodes, ask)

    def _client(self, node: str) -> NodeClient:
        client = self.bench.node(node, purpose="writer")
        client.timeout = self.waits
        return client
