"""The kit's own bench on the miniature: its clients, its clock, its nodes and the tape of an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from conformance.core.bench import Bench
from conformance.core.cluster import Moment
from conformance.core.faulting import Faults
from fixtures.cluster.node import ClusterNode, NodeState
from fixtures.cluster.storage import DatedFile
from fixtures.cluster.tools import Tools
from fixtures.cluster.topology import Topology
from fixtures.consumers import Consumer, ConsumerTrouble
from fixtures.copying import CopyingClient
from fixtures.disk.checkpoint import EPOCHS
from fixtures.librdkafka import GroupClient, GroupProtocol
from fixtures.producers import KafkaPythonProducer
from fixtures.tape import LiveTape, Tape
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, Tap, Unanswered
from fixtures.wire.calls import AT_ONCE, Reply
from fixtures.wire.errors import NotOffered, NotSent
from fixtures.wire.schemas import Message, Plain
from history.due import Due
from history.events import AnyEvent, Example, ProcessEnd
from history.readings import (
    GroupRecords,
    HeldMetadataLog,
    HeldReplica,
    HeldReplicas,
    PartitionRegistration,
    RegistrationHistories,
    RegistrationHistory,
)
from history.shards import Column
from protocol.errors import KitError
from protocol.messages import Topic, Versions
from tests.miniature.apis.handlers import HANDLERS, NEEDS_CONTROLLER, VERSIONS, VERSIONS_OF_MEMBERS, handle
from tests.miniature.clients.consumers import MiniConsumer
from tests.miniature.clients.producers import MiniProducer
from tests.miniature.coordinators.service import GroupCoordinators
from tests.miniature.coordinators.turns import Turns
from tests.miniature.core.cluster import CLIENTS, CONTROLLER, MiniCluster
from tests.miniature.core.controller import PartitionState
from tests.miniature.core.replica import Replica
from tests.miniature.faults.injector import MiniFaults, MiniInjector
from tests.support.disk_files import epoch_file
from tests.support.unwritten import Unwritten

T = TypeVar("T")

MEMBERS = Topology(name="miniature", controllers=1, brokers=3).members()
RANGES = {name: high for name, (_, _, high) in VERSIONS.items()} | {"transaction.version": 2}
COLUMN = Column(label="miniature", version="4.3.1", image="none", image_id="none", ranges=RANGES)
COLUMN_OF_MEMBERS = msgspec.structs.replace(
    COLUMN, ranges={**RANGES, **{name: high for name, (_, _, high) in VERSIONS_OF_MEMBERS.items()}}
)
"""The column of a cluster with coordinators of members."""
NAMES = {key: name for name, (key, _, _) in {**VERSIONS, **VERSIONS_OF_MEMBERS}.items()}


class MiniClient(NodeClient):
    """The kit's own client above the schema's fields. Each request takes a round, in which everything else goes on."""

    def __init__(self, cluster: MiniCluster, name: str, tap: Tap) -> None:
        super().__init__(name, "", 0, None, tap)  # type: ignore[arg-type]  # nothing is encoded
        self._cluster = cluster

    def common_versions(self, api: str) -> Versions:
        offered = VERSIONS if self._cluster.coordinators is None else {**VERSIONS, **VERSIONS_OF_MEMBERS}
        if api not in offered:
            raise NotOffered(f"the miniature doesn't offer {api}")
        _, low, high = offered[api]
        return Versions(low, high)

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        version = self.choose_version(api, version)
        self._cluster.tick()
        broker = self._cluster.broker(self.node)
        if broker.status == "exited":
            raise NotSent(f"{self.node} refuses connections")
        if broker.status == "paused" or not self._cluster.linked(broker.id, CLIENTS):
            raise Unanswered(f"{self.node} does not answer {api}")
        if api in NEEDS_CONTROLLER and not self._cluster.linked(broker.id, CONTROLLER):
            raise Unanswered(f"{self.node} does not reach the controller, and does not answer {api}")
        if "epoch-ends-unanswered" in self._cluster.bugs and api == "OffsetForLeaderEpoch":
            raise Unanswered(f"{self.node} does not answer {api}", within=10.0)
        return Reply(version, handle(broker, api, {**fields, "version": version}))

    def pipeline(self, api: str, version: int, requests: Iterable[Plain], at_once: int = AT_ONCE) -> list[Reply]:
        """Answer all requests in one round: one round for each of tens of thousands would take minutes."""
        first, *others = requests
        replies, broker = [self.call(api, version, **first)], self._cluster.broker(self.node)
        return replies + [Reply(version, HANDLERS[api](broker, {**one, "version": version})) for one in others]

    def send_only(self, api: str, version: int | None = None, **fields: Any) -> int:
        return self.call(api, version, **fields).version

    def name_of(self, api_key: int) -> str:
        return NAMES.get(api_key, str(api_key))

    def has_field(self, api: str, field: str, version: int) -> bool:
        return True


class MiniTape(LiveTape):
    """A tape with the logical clock's time, so that the same schedule gives the same history."""

    def __init__(self, cluster: MiniCluster, opened: Example) -> None:
        super().__init__(Unwritten(), opened)  # type: ignore[arg-type]  # all of a writer that a tape uses
        self._cluster = cluster

    def _append(self, event: Callable[[dict[str, Any]], AnyEvent]) -> int:
        made = event({"n": len(self.events), "t": self._cluster.seconds, "process": "client"})
        self.events.append(made)
        return made.n


def live_tape(cluster: MiniCluster, example: str = "miniature-1", check: str = "miniature") -> LiveTape:
    opened = Example(
        example=example,
        check=check,
        column=COLUMN.label,
        members=[{"name": member.name, "id": member.id, "role": member.role} for member in MEMBERS],
    )
    return MiniTape(cluster, opened)


class MiniNode:
    """A broker's process and its disk."""

    def __init__(self, cluster: MiniCluster, name: str) -> None:
        self._cluster = cluster
        self._broker = cluster.broker(name)

    def state(self) -> NodeState:
        return self._broker.status

    def started_at(self) -> str:
        return f"start {self._broker.starts}"

    def start(self) -> None:
        self._cluster.start(self._broker.id)

    def stop(self, within: float) -> None:
        self._cluster.stop(self._broker.id)

    def terminate(self) -> None:
        """Shut the broker down; a controlled shutdown takes a few rounds here, and is complete when this returns."""
        self._cluster.stop(self._broker.id)

    def kill(self) -> None:
        self._cluster.kill(self._broker.id)

    def pause(self) -> None:
        self._cluster.pause(self._broker.id)

    def resume(self) -> None:
        self._cluster.resume(self._broker.id)

    def renew(self) -> None:
        raise NotImplementedError("no check gives up a broker")

    # --- the disk

    def dated_file(self, path: str) -> DatedFile:
        """Return the only file that exists: a partition's leader-epoch-checkpoint, written just now."""
        directory, _, file = path.rpartition("/")
        replica = self._replica(directory)
        lost = "checkpoint-not-written" in self._cluster.bugs
        if lost or replica is None or file != EPOCHS or not replica.log.epochs.entries:
            raise FileNotFoundError(path)
        return DatedFile(epoch_file(replica.log.epochs.entries), self._cluster.unix_ms)

    def held(self, partition: str) -> HeldReplica:
        replica = self._replica(partition)
        if replica is None:
            raise FileNotFoundError(f"{self._broker.name} has no {partition}")
        log = replica.log
        return HeldReplica(
            node=self._broker.name,
            partition=partition,
            log_start=log.start,
            log_end=log.end,
            epochs=tuple(log.epochs.entries) if log.epochs.entries else None,
            batches=tuple(stored.held() for stored in log.batches),
        )

    def _replica(self, directory: str) -> Replica | None:
        topic, _, index = directory.rpartition("-")
        return self._broker.replicas.get((topic, int(index)))


class Miniature:
    """A `conformance.core.cluster.Cluster` in memory: waits pass on the logical clock, without sleeping."""

    peers = None

    def __init__(self, cluster: MiniCluster) -> None:
        self.cluster = cluster
        self._injector = MiniInjector(cluster)
        self._turns = Turns(cluster)
        self._coordinators: GroupCoordinators | None = None

    def have_members(self) -> None:
        """Keep groups in the offsets topic, from now on, with all that members ask of their coordinators."""
        self._coordinators = GroupCoordinators(self.cluster, self._turns.wait)

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> NodeClient:
        return MiniClient(self.cluster, name, tap)

    def consumer(self, name: str, brokers: Sequence[str], tap: Tap, group: str | None, rack: str | None) -> Consumer:
        return MiniConsumer(name, self.cluster, tap, group)

    def group_client(
        self, name: str, brokers: Sequence[str], tap: Tap, group: str, protocol: GroupProtocol, instance_id: str
    ) -> GroupClient:
        raise ConsumerTrouble("librdkafka does not know the miniature")

    def copying_client(
        self, name: str, brokers: Sequence[str], group: str, protocol: GroupProtocol, target: str
    ) -> CopyingClient:
        raise ConsumerTrouble("librdkafka does not know the miniature")

    def producer(
        self, name: str, brokers: Sequence[str], tap: Tap, transactional_id: str | None
    ) -> KafkaPythonProducer:
        nodes = {broker.id: MiniClient(self.cluster, broker.name, tap) for broker in self.cluster.brokers.values()}
        return MiniProducer(name, self.cluster, tap, nodes, transactional_id)

    def faults(self, tape: Tape, topic: Topic, index: int, *, group: str, transactional_id: str) -> Faults:
        return MiniFaults(tape, self._injector, topic, index)

    # --- time

    def now(self) -> Moment:
        return Moment(self.cluster.seconds, self.cluster.unix_ms)

    def seconds_late(self, since: float) -> float:
        """Return 0: the logical clock is never late."""
        return 0.0

    def cpu_pressure(self) -> float:
        return -1.0

    def eventually(
        self, probe: Callable[[], T | None], what: str, within: float, every: float | None, due: Due | None
    ) -> T:
        """Wait for the probe; background work runs between two tries."""
        ends = self.cluster.seconds + within
        while True:
            answer = probe()
            if answer is not None and answer is not False:
                return answer
            if self.cluster.seconds >= ends:
                text = f"{what}: not within {within:g} s. {'; '.join(self.cluster.lacking())}"
                raise Overdue(text, due=due, within=within, late=self.seconds_late(0.0))
            self.cluster.tick()

    def run_in_parallel(self, actions: Sequence[Callable[[], None]]) -> None:
        """Run all actions in order, one at a time: the next one begins, or goes on, when one ends or waits for others."""
        self._turns.run(actions)

    # --- nodes and their disks

    def process_ends(self) -> dict[str, ProcessEnd]:
        return {broker.name: broker.ended for broker in self.cluster.brokers.values() if broker.ended is not None}

    def node(self, name: str) -> MiniNode:
        return MiniNode(self.cluster, name)

    def replicas(self, hosts: Mapping[str, Sequence[str]]) -> HeldReplicas:
        return HeldReplicas(tuple(self.node(name).held(one) for one, names in hosts.items() for name in names))

    def registrations(self, partitions: Sequence[tuple[Topic, int]]) -> RegistrationHistories:
        log = self.cluster.controller.log
        found = (
            (topic, index, tuple(_word(*one) for one in log if (one[0].topic, one[0].key[1]) == (topic.id, index)))
            for topic, index in partitions
        )
        return RegistrationHistories(
            tuple(RegistrationHistory(topic.name, index, words) for topic, index, words in found)
        )

    def metadata_logs(self) -> dict[str, HeldMetadataLog]:
        raise KitError("the miniature's controller decides alone, and has no quorum whose logs could be read")

    def group_records(self, name: str, partition: int, start: int) -> GroupRecords:
        if self._coordinators is None:
            raise KitError("the miniature has no jars, and so no schemas of the offsets topic")
        return self._coordinators.records(self.cluster.broker(name), partition, start)

    def write_file(self, name: str, path: str, content: bytes) -> None:
        raise KitError("the miniature has no files")

    def remove_file(self, name: str, path: str) -> None:
        raise KitError("the miniature has no files")

    @property
    def tools(self) -> Tools:
        raise KitError("the miniature has no jars, and so no command line tools")

    def container(self, name: str) -> ClusterNode:
        raise KitError(f"{name} of the miniature has no container, and so no disk that could be damaged file by file")

    def message(self, name: str, artifacts: Sequence[str]) -> Message:
        raise KitError(f"the miniature has no jars, and so no schema of {name}")


def _word(state: PartitionState, unfenced: tuple[int, ...]) -> PartitionRegistration:
    return PartitionRegistration(state.leader, state.isr, epoch=state.epoch, replicas=state.replicas, unfenced=unfenced)


def mini_bench(cluster: MiniCluster, tape: Tape | None = None, *, members: bool = False) -> Bench:
    """Return the kit's own bench on a miniature, with coordinators of members if these are wanted."""
    miniature = Miniature(cluster)
    if members:
        miniature.have_members()
    return Bench(tape or live_tape(cluster), COLUMN_OF_MEMBERS if members else COLUMN, MEMBERS, miniature)


__all__ = ["COLUMN", "MEMBERS", "MiniClient", "MiniTape", "Miniature", "live_tape", "mini_bench"]
