"""Sweeps: the same read-only questions to the right broker and to a wrong one, in every offered version, about all items and
about single ones.

Each question has several items, one of them unknown. It is first asked about all items in the highest version, and again at the
end; other versions and single items come in between. If the first and last answers about an item are equal, it had one right
answer all the while (`conformance.judging.laws.sweeps`). The turn decides which versions and items come in between: over all
turns each version is asked about each item alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from conformance.core.bench import Bench
from conformance.core.roles import Absent
from fixtures.wire import NodeClient
from fixtures.wire.cluster import COORDINATOR_KEYS_FROM
from fixtures.wire.errors import NotOffered
from fixtures.wire.log import MAGIC_2_FROM
from history.steps import SWEEP_NOTE, SWEPT_NOTE
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.configs import ConfigsQuery, ResourceType
from protocol.log import DEBUGGER, EARLIEST, LATEST, EpochQuery, FetchPartition, OffsetQuery
from protocol.messages import Topic

TopicPartition = tuple[Topic, int]

SINGLES_PER_TURN = 2
"""The number of (version, single item) pairs per turn, question and broker."""
FETCHED_BYTES = 4096
"""The number of bytes to fetch from a partition's log start offset."""
NO_SUCH_PARTITION = 999
CONFIGS = ("cleanup.policy", "compression.type", "log.cleanup.policy", "max.message.bytes", "message.max.bytes")
"""The configs requested of topics and brokers; an answer omits those that its resource does not have."""


class SweepTargets(NamedTuple):
    """The partitions of a sweep, whose topics have ids, and its group, if any."""

    partitions: Sequence[TopicPartition]
    group: str | None = None


class Question(NamedTuple):
    """A request about any number of items. Versions below `together_from` take one item; versions below `least` are not sent."""

    api: str
    ask: Callable[[NodeClient, Sequence[Any], int], object]
    items: Sequence[Any]
    least: int = 0
    together_from: int = 0

    def versions(self, node: NodeClient) -> range:
        """Return the versions that both the node and the schema have; empty if there are none."""
        try:
            common = node.common_versions(self.api)
        except NotOffered:
            return range(0)
        return range(max(common.low, self.least), common.high + 1)

    def ask_together(self, node: NodeClient) -> None:
        """Ask about all items in the highest version."""
        self.ask(node, self.items, self.versions(node)[-1])

    def ask_singly(self, node: NodeClient, turn: int) -> None:
        """Ask about the turn's single items, and about all items in the same versions."""
        versions = self.versions(node)
        pairs = _pairs_of_turn(versions, self.items, turn)
        for version in sorted({version for version, _ in pairs} - {versions[-1]}):
            if version >= self.together_from:
                self.ask(node, self.items, version)
        for version, item in pairs:
            self.ask(node, [item], version)


def _pairs_of_turn(versions: Sequence[int], items: Sequence[Any], turn: int) -> list[tuple[int, Any]]:
    """Return the turn's (version, item) pairs: versions in descending order, with other items in each round, until each version
    has had each item."""
    first = turn * SINGLES_PER_TURN
    places = [
        divmod(place, len(versions))
        for place in range(first, first + min(SINGLES_PER_TURN, len(versions) * len(items)))
    ]
    return [(versions[-1 - place], items[(place + cycle) % len(items)]) for cycle, place in places]


def turn_of(example: str) -> int:
    """Return the number at the end of an example's name, which selects its turn."""
    return int(example.rpartition("-")[2] or 0) if example[-1:].isdigit() else 0


def ask_all(bench: Bench, swept: SweepTargets, turn: int = 0) -> None:
    """Ask all questions. Raises Absent if a partition has no leader, and the error of a request without an answer: the tape then
    lacks the sweep's last note.

    Nothing is asked about a group without a coordinator. Checks whose stored histories are judged again by running them must not
    use it, since the tape does not have the versions that a node offers.
    """
    asked = [*questions_of_turn(bench, swept, turn)]
    bench.tape.note(SWEEP_NOTE, {"turn": turn})
    for question, node in asked:
        question.ask_together(node)
    for question, node in asked:
        question.ask_singly(node, turn)
    for question, node in asked:
        question.ask_together(node)
    bench.tape.note(SWEPT_NOTE)


def questions_of_turn(bench: Bench, swept: SweepTargets, turn: int) -> Iterator[tuple[Question, NodeClient]]:
    """Yield each question with each of its brokers: the leader of the turn's partition or the group's coordinator, and another
    broker. Raises Absent if a partition has no leader."""
    states = _partition_states(bench, swept)
    nodes = _with_another_broker(bench, states[turn % len(states)].leader, turn)
    starts = _log_starts(nodes[0], swept.partitions)
    yield from _offered_questions(_partition_questions(bench, swept.partitions, states, starts), nodes)
    if swept.group is not None:
        coordinator = nodes[0].find_coordinator(swept.group)
        if coordinator.error is Error.NONE:
            yield from _offered_questions([_coordinators_question(swept.group)], nodes)
            yield from _offered_questions(
                _group_questions(swept), _with_another_broker(bench, coordinator.node_id, turn)
            )


def _offered_questions(
    questions: Sequence[Question], nodes: Sequence[NodeClient]
) -> Iterator[tuple[Question, NodeClient]]:
    return ((question, node) for question in questions for node in nodes if question.versions(node))


def _partition_states(bench: Bench, swept: SweepTargets) -> list[PartitionMetadata]:
    """Return the state of each partition. Raises Absent if one has no leader."""
    node = bench.node(bench.brokers[0])
    topics = node.metadata(sorted({topic.name for topic, _ in swept.partitions})).topics
    led = {(topic.name, one.partition): one for topic in topics for one in topic.partitions if one.leader >= 0}
    for topic, index in swept.partitions:
        if (topic.name, index) not in led:
            raise Absent(f"{topic.name}-{index} has no leader that {node.node} knows")
    return [led[topic.name, index] for topic, index in swept.partitions]


def _log_starts(node: NodeClient, partitions: Sequence[TopicPartition]) -> list[int]:
    """Return the log start offset of each partition's replica on this broker, 0 without a replica."""
    asked = [OffsetQuery(topic.name, index, EARLIEST) for topic, index in partitions]
    found = {
        (one.topic, one.partition): one.offset for one in node.list_offsets_many(asked, replica_id=DEBUGGER).partitions
    }
    return [max(0, found.get((topic.name, index), 0)) for topic, index in partitions]


def _with_another_broker(bench: Bench, id: int, turn: int) -> list[NodeClient]:
    """Return a broker and one other, which depends on the turn."""
    others = [name for name in bench.brokers if bench.id_of(name) != id]
    return [bench.node(id), bench.node(others[turn % len(others)])]


# --- questions


def _partition_questions(
    bench: Bench, partitions: Sequence[TopicPartition], states: Sequence[PartitionMetadata], starts: Sequence[int]
) -> list[Question]:
    """Return the questions about partitions, whose fetch offsets are `starts`. Fetch versions below 4 down-convert records and
    are left out."""
    unknown, absent = _topic_of(_missing_name(bench.tape.example.example)), (partitions[0][0], NO_SUCH_PARTITION)
    asked = [*partitions, (unknown, 0), absent]
    topics = [*dict.fromkeys(topic.name for topic, _ in partitions), unknown.name]
    brokers = [str(bench.id_of(name)) for name in bench.brokers]
    epochs = [*(state.leader_epoch for state in states), 0, 0]
    fetched = zip(asked, [*starts, 0, 0], strict=True)
    return [
        Question("Metadata", lambda node, items, version: node.metadata(items, version=version), topics),
        Question("DescribeTopicPartitions", _describe_topic_partitions, topics),
        Question("ListOffsets", _list_offsets, [OffsetQuery(topic.name, index, EARLIEST) for topic, index in asked]),
        Question("ListOffsets", _list_offsets, [OffsetQuery(topic.name, index, LATEST) for topic, index in asked]),
        Question("Fetch", _send_fetch, [_fetch_of(one, start) for one, start in fetched], least=MAGIC_2_FROM),
        Question(
            "OffsetForLeaderEpoch",
            lambda node, items, version: node.offset_for_leader_epoch_many(items, version=version),
            [EpochQuery(topic.name, index, epoch) for (topic, index), epoch in zip(asked, epochs, strict=True)],
        ),
        Question(
            "DescribeProducers",
            lambda node, items, version: node.describe_producers_many(items, version=version),
            [(topic.name, index) for topic, index in asked],
        ),
        Question(
            "DescribeConfigs",
            lambda node, items, version: node.describe_configs_many(items, version=version),
            [
                *(ConfigsQuery(ResourceType.TOPIC, name, CONFIGS) for name in topics),
                *(ConfigsQuery(ResourceType.BROKER, name, CONFIGS) for name in brokers),
            ],
        ),
    ]


def _describe_topic_partitions(node: NodeClient, items: Sequence[str], version: int) -> object:
    return node.describe_topic_partitions(items, version=version)


def _list_offsets(node: NodeClient, items: Sequence[OffsetQuery], version: int) -> object:
    return node.list_offsets_many(items, version=version)


def _send_fetch(node: NodeClient, items: Sequence[FetchPartition], version: int) -> object:
    return node.fetch_many(items, version=version)


def _fetch_of(partition: TopicPartition, start: int) -> FetchPartition:
    topic, index = partition
    return FetchPartition(topic=topic, partition=index, fetch_offset=start, partition_max_bytes=FETCHED_BYTES)


def _coordinators_question(group: str) -> Question:
    return Question(
        "FindCoordinator",
        lambda node, items, version: node.find_coordinator_many(items, version=version),
        [group, _missing_name(group)],
        together_from=COORDINATOR_KEYS_FROM,
    )


def _group_questions(swept: SweepTargets) -> list[Question]:
    """Return the questions about a group. Version 0 of OffsetFetch was offered up to 3.9, but KRaft never supported it."""
    group = str(swept.group)
    unknown = _topic_of(_missing_name(group))
    groups = [group, _missing_name(group)]
    return [
        Question(
            "OffsetFetch",
            lambda node, items, version: node.offset_fetch(group, items, version=version),
            [*swept.partitions, (unknown, 0), (swept.partitions[0][0], NO_SUCH_PARTITION)],
            least=1,
        ),
        Question("DescribeGroups", lambda node, items, version: node.describe_groups(items, version=version), groups),
        Question(
            "ConsumerGroupDescribe",
            lambda node, items, version: node.consumer_group_describe_many(items, version=version),
            groups,
        ),
    ]


def _missing_name(name: str) -> str:
    return f"no-such-{name}"


def _topic_of(name: str) -> Topic:
    """Return a topic that was never created, with an id that no topic has."""
    return Topic(name, uuid5(NAMESPACE_OID, name))
