"""The partitions of the log machine, by its own names for them."""

from collections.abc import Collection

from conformance.core.bench import Bench
from conformance.core.roles import Absent
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.topics import create_topics
from protocol.messages import Topic
from protocol.topics import NewTopic
from strategies.steps import topic_of

SETTINGS: dict[str, dict[str, str]] = {
    "strict": {"min.insync.replicas": "2"},
    "loose": {"min.insync.replicas": "1"},
    "compacted": {
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "1000",
    },
    "lone": {"min.insync.replicas": "1"},
}


class Partitions(dict[str, Partition]):
    """The existing partitions by the machine's names. Looking up one that no step has created yet raises Absent."""

    def __missing__(self, on: str) -> Partition:
        raise Absent(f"{on} was not created yet")

    @property
    def topic_names(self) -> list[str]:
        """The cluster's names of their topics, each once."""
        return sorted({partition.name for partition in self.values()})

    @property
    def ids(self) -> list[tuple[Topic, int]]:
        return [(partition.topic, partition.index) for partition in self.values()]

    def known_as(self, topic: str) -> list[Topic]:
        """Return the topics whose partitions the machine knows under this name."""
        return [made.topic for on, made in self.items() if topic_of(on) == topic]

    def drop(self, topics: Collection[str]) -> None:
        """Drop these topics' partitions, by the machine's name."""
        for on in [on for on in self if topic_of(on) in topics]:
            del self[on]


def new_partitions(bench: Bench) -> Partitions:
    """Create the topics with which an example begins. The two strict partitions have different leaders."""
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    turned = (*ids[1:], ids[0])
    assignments = {"strict": (ids, turned), "loose": (turned,), "compacted": (ids,), "lone": ((ids[-1],),)}
    wanted = [NewTopic(bench.fresh_name(kind), assignments[kind], configs=SETTINGS[kind]) for kind in SETTINGS]
    partitions = Partitions()
    for kind, topic in zip(SETTINGS, create_topics(bench, wanted), strict=True):
        for index in range(len(assignments[kind])):
            partitions[f"{kind}-{index}"] = Partition(bench, PartitionData(topic, index))
    for partition in partitions.values():
        partition.wait_until_whole()
    return partitions
