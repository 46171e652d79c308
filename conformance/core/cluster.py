"""The interface of a bench's cluster, and its implementation on containers."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import msgspec

from conformance.core.faulting import Faults
from fixtures.cluster import KRaftCluster
from fixtures.cluster.config import HOST_PORT
from fixtures.cluster.node import ClusterNode
from fixtures.cluster.peers import ScriptedPeers
from fixtures.cluster.storage import DatedFile
from fixtures.cluster.tools import Tools
from fixtures.consumers import Consumer
from fixtures.copying import CopyingClient
from fixtures.disk.held import held_replicas
from fixtures.disk.held_metadata import held_metadata_logs
from fixtures.disk.registrations import registration_histories
from fixtures.disk.volume import on_volume, remove_command, write_command
from fixtures.errors import NotKafka
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.process import NodeProcess
from fixtures.images import jar_of
from fixtures.librdkafka import GroupClient, GroupProtocol
from fixtures.producers import KafkaPythonProducer
from fixtures.starvation import STARVATION, cpu_pressure
from fixtures.tape import Tape
from fixtures.views.group_records import read_group_records
from fixtures.waiting import eventually
from fixtures.wire import NodeClient, Schemas, Tap
from fixtures.wire.schemas import Message, SchemaError
from fixtures.wire.tap import PassThrough, WaitingTap
from history.due import Due
from history.events import ProcessEnd
from history.readings import GroupRecords, HeldMetadataLog, HeldReplicas, RegistrationHistories
from protocol.errors import KitError
from protocol.messages import Topic

T = TypeVar("T")

GROUP_LOG_JARS = ("kafka-group-coordinator", "kafka_2.13")
"""The jar with the schemas of the offsets topic, then the one that had them in earlier releases."""


class Moment(msgspec.Struct, frozen=True):
    """A moment: seconds on the kit's monotonic clock, and milliseconds since 1970 on its wall clock."""

    seconds: float
    unix_ms: int


class BenchNode(NodeProcess, Protocol):
    """A node's process and its data directory."""

    def started_at(self) -> str:
        """Return the time of the last start as the engine reports it, which differs at each start."""
        ...

    def terminate(self) -> None:
        """Begin a controlled shutdown without waiting for its end."""
        ...

    def dated_file(self, path: str) -> DatedFile:
        """Return a file below the data directory, with its modification time. Raises FileNotFoundError."""
        ...


class Cluster(Protocol):
    """The cluster of a bench: brokers in containers, or a model of brokers in memory with its own clock."""

    @property
    def peers(self) -> ScriptedPeers | None:
        """The voters that the kit plays itself, or None."""
        ...

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> NodeClient:
        """Return a client of a node's broker listener, or of its controller listener."""
        ...

    def consumer(self, name: str, brokers: Sequence[str], tap: Tap, group: str | None, rack: str | None) -> Consumer:
        """Return a consumer that bootstraps from these brokers, in this rack."""
        ...

    def group_client(
        self, name: str, brokers: Sequence[str], tap: Tap, group: str, protocol: GroupProtocol, instance_id: str
    ) -> GroupClient:
        """Return a consumer of librdkafka that bootstraps from these brokers, for one group; static with an instance id. Raises
        ConsumerTrouble."""
        ...

    def copying_client(
        self, name: str, brokers: Sequence[str], group: str, protocol: GroupProtocol, target: str
    ) -> CopyingClient:
        """Return a member of a group that copies records to a topic, like `group_client`. Raises ConsumerTrouble."""
        ...

    def producer(
        self, name: str, brokers: Sequence[str], tap: WaitingTap, transactional_id: str | None
    ) -> KafkaPythonProducer:
        """Return a producer that bootstraps from these brokers. Raises ProducerTrouble."""
        ...

    def faults(self, tape: Tape, topic: Topic, index: int, *, group: str, transactional_id: str) -> Faults:
        """Return faults aimed at the nodes around a partition. An empty group or transactional id stands for the fault lab's
        own."""
        ...

    # --- time

    def now(self) -> Moment: ...

    def eventually(
        self, probe: Callable[[], T | None], what: str, within: float, every: float | None, due: Due | None
    ) -> T:
        """Wait like `fixtures.waiting.eventually`, by this cluster's clock. Raises Overdue."""
        ...

    def seconds_late(self, since: float) -> float:
        """Return the longest delay, in seconds, with which the kit itself woke since `since`."""
        ...

    def cpu_pressure(self) -> float:
        """Return the percentage of the last ten seconds in which some task on the host waited for CPU; -1 if unknown."""
        ...

    def run_in_parallel(self, actions: Sequence[Callable[[], None]]) -> None:
        """Run all actions in parallel. Raises the error of any of them."""
        ...

    # --- nodes and their disks

    def node(self, name: str) -> BenchNode: ...

    def process_ends(self) -> dict[str, ProcessEnd]:
        """Return how processes ended that the kit wanted to run, by node."""
        ...

    def replicas(self, hosts: Mapping[str, Sequence[str]]) -> HeldReplicas:
        """Return the replicas on disk of partitions (`topic-0`), each from the brokers that host it."""
        ...

    def registrations(self, partitions: Sequence[tuple[Topic, int]]) -> RegistrationHistories:
        """Return all registrations of partitions committed in the controllers' logs."""
        ...

    def metadata_logs(self) -> dict[str, HeldMetadataLog]:
        """Return the metadata logs on the disks of all controllers."""
        ...

    def group_records(self, name: str, partition: int, start: int) -> GroupRecords:
        """Return the records of a partition of the offsets topic, as its leader, this node, serves them."""
        ...

    def write_file(self, name: str, path: str, content: bytes) -> None:
        """Write a file below the data directory of a node that is down."""
        ...

    def remove_file(self, name: str, path: str) -> None:
        """Remove a file below the data directory of a node that is down."""
        ...

    @property
    def tools(self) -> Tools:
        """The release's command line tools. Raises KitError without containers."""
        ...

    def container(self, name: str) -> ClusterNode:
        """Return the container of a node, for checks that damage a disk. Raises KitError without containers."""
        ...

    def message(self, name: str, artifacts: Sequence[str]) -> Message:
        """Return a message's schema from the first jar of the release that has it. Raises KitError if none does."""
        ...


class LiveCluster:
    """The implementation of a cluster on containers."""

    def __init__(self, cluster: KRaftCluster) -> None:
        self._cluster = cluster

    @property
    def peers(self) -> ScriptedPeers | None:
        return self._cluster.peers

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> NodeClient:
        return self._cluster.client(name, tap, controller=controller)

    def consumer(self, name: str, brokers: Sequence[str], tap: Tap, group: str | None, rack: str | None) -> Consumer:
        return Consumer(name, self._addresses(brokers), tap, group, rack)

    def group_client(
        self, name: str, brokers: Sequence[str], tap: Tap, group: str, protocol: GroupProtocol, instance_id: str
    ) -> GroupClient:
        return GroupClient(name, self._addresses(brokers), tap, group, protocol, instance_id)

    def copying_client(
        self, name: str, brokers: Sequence[str], group: str, protocol: GroupProtocol, target: str
    ) -> CopyingClient:
        return CopyingClient(name, self._addresses(brokers), group, protocol, target)

    def producer(
        self, name: str, brokers: Sequence[str], tap: WaitingTap, transactional_id: str | None
    ) -> KafkaPythonProducer:
        nodes = {member.id: member.name for member in self._cluster.topology.members() if member.is_broker}
        return KafkaPythonProducer(name, self._addresses(brokers), tap, nodes, transactional_id)

    def _addresses(self, brokers: Sequence[str]) -> list[str]:
        return [f"127.0.0.1:{self._cluster.node(broker).host_ports[HOST_PORT]}" for broker in brokers]

    def faults(self, tape: Tape, topic: Topic, index: int, *, group: str, transactional_id: str) -> Faults:
        target = FaultTarget(self._cluster, topic, index)
        target.group, target.transactional_id = group or target.group, transactional_id or target.transactional_id
        return Faults(tape, target)

    def now(self) -> Moment:
        return Moment(time.monotonic(), time.time_ns() // 1_000_000)

    def eventually(
        self, probe: Callable[[], T | None], what: str, within: float, every: float | None, due: Due | None
    ) -> T:
        return eventually(probe, within=within, what=what, every=every, due=due)

    def seconds_late(self, since: float) -> float:
        return STARVATION.worst_lateness(since)

    def cpu_pressure(self) -> float:
        return cpu_pressure()

    def run_in_parallel(self, actions: Sequence[Callable[[], None]]) -> None:
        on_threads(actions)

    def node(self, name: str) -> BenchNode:
        return self._cluster.node(name)

    def process_ends(self) -> dict[str, ProcessEnd]:
        ends = {name: node.process_end() for name, node in self._cluster.nodes.items()}
        return {name: end for name, end in ends.items() if end is not None}

    def replicas(self, hosts: Mapping[str, Sequence[str]]) -> HeldReplicas:
        return held_replicas(
            {partition: [self.container(name) for name in names] for partition, names in hosts.items()}
        )

    def registrations(self, partitions: Sequence[tuple[Topic, int]]) -> RegistrationHistories:
        return registration_histories([self.container(name) for name in self._cluster.controllers], partitions)

    def metadata_logs(self) -> dict[str, HeldMetadataLog]:
        return held_metadata_logs([self.container(name) for name in self._cluster.controllers])

    def group_records(self, name: str, partition: int, start: int) -> GroupRecords:
        client = self.client(name, PassThrough())
        try:
            return read_group_records(client, lambda message: self.message(message, GROUP_LOG_JARS), partition, start)
        finally:
            client.close()

    def write_file(self, name: str, path: str, content: bytes) -> None:
        on_volume(self.container(name), write_command(path, content))

    def remove_file(self, name: str, path: str) -> None:
        on_volume(self.container(name), remove_command(path))

    @property
    def tools(self) -> Tools:
        return self._cluster.tools

    def container(self, name: str) -> ClusterNode:
        return self._cluster.node(name)

    def message(self, name: str, artifacts: Sequence[str]) -> Message:
        lacking: list[str] = []
        for artifact in artifacts:
            try:
                return Schemas.of_jar(jar_of(self._cluster.image, artifact)).message(name)
            except (NotKafka, SchemaError) as reason:
                lacking.append(str(reason))
        raise KitError(f"{self._cluster.image.reference} has no message {name}: {'; '.join(lacking)}")


def on_threads(actions: Sequence[Callable[[], None]]) -> None:
    """Run each action on its own thread; once all have ended, raise the first exception in the order of the actions."""
    with ThreadPoolExecutor(max_workers=len(actions) or 1) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()
