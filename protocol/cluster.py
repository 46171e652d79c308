"""A node's view of itself and its cluster: API versions, features, brokers, topics, log directories."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from protocol.codes import Codes, Error
from protocol.errors import KitError
from protocol.messages import Answer, Operation, Part, Request, Topic, Versions

CONTROLLER_ENDPOINT_TYPE = 2


class CoordinatorType(Codes):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class ApiVersionsAnswer(Answer, frozen=True, kw_only=True):
    """The versions and features of a node. `ranges` is by API name, or by API key if the schemas have no name for it; features
    are by name."""

    error: Error
    ranges: dict[str, Versions]
    supported: dict[str, Versions]
    finalized: dict[str, int]
    finalized_features_epoch: int = -1


class Reception(msgspec.Struct, frozen=True, gc=False):
    """A node's reaction to a request: an answer, or a closed connection."""

    answered: bool


class Node(Part, frozen=True, kw_only=True):
    """A node's address, in Metadata, DescribeCluster and as the node endpoints of KIP-951."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


class Cursor(msgspec.Struct, frozen=True, gc=False):
    topic_name: str
    partition_index: int


class PartitionMetadata(Part, frozen=True, kw_only=True):
    error: Error
    partition: int = msgspec.field(name="partition_index")
    leader: int = msgspec.field(name="leader_id")
    leader_epoch: int = -1
    replicas: tuple[int, ...] = msgspec.field(name="replica_nodes")
    isr: tuple[int, ...] = msgspec.field(name="isr_nodes")
    offline: tuple[int, ...] = msgspec.field(name="offline_replicas", default=())
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


class TopicMetadata(Part, frozen=True, kw_only=True):
    error: Error
    name: str | None
    topic_id: UUID | None = None
    is_internal: bool = False
    partitions: tuple[PartitionMetadata, ...] = ()

    def partition(self, index: int) -> PartitionMetadata:
        for partition in self.partitions:
            if partition.partition == index:
                return partition
        raise KitError(f"{self.name} has no partition {index} in the answer: {self}")


class MetadataAnswer(Answer, frozen=True, kw_only=True):
    brokers: tuple[Node, ...]
    cluster_id: str | None = None
    controller_id: int = -1
    topics: tuple[TopicMetadata, ...]
    error: Error = Error.NONE

    def topic(self, name: str) -> TopicMetadata:
        for topic in self.topics:
            if topic.name == name:
                return topic
        raise KitError(f"No topic {name!r} in the answer; ask Metadata for it by name: {self}")


class TopicPartitionsAnswer(Answer, frozen=True, kw_only=True):
    """The answer to DescribeTopicPartitions; `next_cursor` is where to continue, None at the end (KIP-966)."""

    topics: tuple[TopicMetadata, ...]
    next_cursor: Cursor | None = None


class ClusterAnswer(Answer, frozen=True, kw_only=True):
    """The answer to DescribeCluster; `brokers` are controllers if those were requested."""

    error: Error
    error_message: str | None = None
    cluster_id: str
    controller_id: int = -1
    brokers: tuple[Node, ...] = ()


class CoordinatorAnswer(Answer, frozen=True, kw_only=True):
    """The answer to FindCoordinator; `key` is None in versions that lack it."""

    key: str | None = None
    error: Error
    error_message: str | None = None
    node_id: int = -1
    host: str = ""
    port: int = -1


class CoordinatorsAnswer(Answer, frozen=True, kw_only=True):
    """The answer to FindCoordinator for several keys; each `key` is that of the request in versions whose answers lack it."""

    coordinators: tuple[CoordinatorAnswer, ...] = ()


class LogDirReplica(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str
    partition: int
    partition_size: int
    offset_lag: int
    is_future_key: bool


class LogDir(Part, frozen=True, kw_only=True):
    error: Error
    log_dir: str
    replicas: tuple[LogDirReplica, ...] = ()
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


class LogDirsAnswer(Answer, frozen=True, kw_only=True):
    error: Error = Error.NONE
    log_dirs: tuple[LogDir, ...] = ()


class ApiVersions(Request[ApiVersionsAnswer], frozen=True):
    pass


class Knock(Operation[Reception], frozen=True):
    """A request with a raw body."""

    op: ClassVar[str] = "reception"

    of: str = msgspec.field(name="api")
    version: int
    body: bytes


class Metadata(Request[MetadataAnswer], frozen=True):
    topics: Sequence[Topic | str] | None = None


class DescribeTopicPartitions(Request[TopicPartitionsAnswer], frozen=True):
    topics: Sequence[str]
    response_partition_limit: int = 2_000
    cursor: Cursor | None = None


class DescribeCluster(Request[ClusterAnswer], frozen=True):
    controllers: bool = False
    include_fenced: bool = False


class FindCoordinator(Request[CoordinatorAnswer], frozen=True):
    key: str
    key_type: CoordinatorType = CoordinatorType.GROUP


class FindCoordinatorMany(Request[CoordinatorsAnswer], frozen=True):
    api: ClassVar[str] = "FindCoordinator"

    keys: Sequence[str]
    key_type: CoordinatorType = CoordinatorType.GROUP


class DescribeLogDirs(Request[LogDirsAnswer], frozen=True):
    partitions: Sequence[tuple[str, int]] | None = None
