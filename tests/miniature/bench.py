"""The kit's bench on the miniature: its clients speak to the cluster in memory, and its waits pass by the logical clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from conformance.core.bench import WITHIN, Bench, Done, File, Moment
from fixtures.cluster.topology import Topology
from fixtures.disk.checkpoint import EPOCHS, render_epochs
from fixtures.disk.held import HeldReplica, HeldReplicas
from fixtures.tape import LiveTape, Tape
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, Tap, Unanswered
from fixtures.wire.calls import Reply, Topic
from fixtures.wire.client import NotOffered
from fixtures.wire.errors import NotSent
from history.events import AnyEvent, Example
from history.shards import Column
from tests.miniature.apis import HANDLERS, NEEDS_CONTROLLER, VERSIONS
from tests.miniature.core.cluster import CLIENTS, CONTROLLER, MiniCluster
from tests.miniature.core.faults import MiniFaults, MiniInjector
from tests.miniature.groups.consumers import MiniConsumer
from tests.miniature.log.replica import Replica

T = TypeVar("T")

MEMBERS = Topology(name="miniature", controllers=1, brokers=3).members()
RANGES = {name: high for name, (_, _, high) in VERSIONS.items()}
COLUMN = Column(label="miniature", version="4.3.1", image="none", image_id="none", ranges=RANGES)
NAMES = {key: name for name, (key, _, _) in VERSIONS.items()}


class MiniClient(NodeClient):
    """The kit's own client down to the schema's fields. Each request takes a round, in which everything else goes on."""

    def __init__(self, cluster: MiniCluster, name: str, tap: Tap) -> None:
        super().__init__(name, "", 0, None, tap)  # type: ignore[arg-type]  # nothing is encoded
        self._cluster = cluster

    def choose(self, api: str, version: int | None = None, *, at_most: int | None = None) -> int:
        if version is not None:
            return version
        if api not in HANDLERS:
            raise NotOffered(f"the miniature doesn't offer {api}")
        _, low, high = VERSIONS[api]
        chosen = high if at_most is None else min(high, at_most)
        if chosen < low:
            raise NotOffered(f"the miniature offers {api} {low} to {high}, at most {at_most} was asked for")
        return chosen

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        version = self.choose(api, version)
        self._cluster.tick()
        broker = self._cluster.broker(self.node)
        if broker.status == "exited":
            raise NotSent(f"{self.node} refuses connections")
        if broker.status == "paused" or not self._cluster.linked(broker.id, CLIENTS):
            raise Unanswered(f"{self.node} does not answer {api}")
        if api in NEEDS_CONTROLLER and not self._cluster.linked(broker.id, CONTROLLER):
            raise Unanswered(f"{self.node} does not reach the controller, and does not answer {api}")
        return Reply(version, HANDLERS[api](broker, {**fields, "version": version}))

    def send_only(self, api: str, version: int | None = None, **fields: Any) -> int:
        return self.call(api, version, **fields).version

    def name_of(self, api_key: int) -> str:
        return NAMES.get(api_key, str(api_key))

    def carries(self, api: str, field: str, version: int) -> bool:
        return True


class Unwritten:
    """A writer of histories that keeps nothing: the tape has it all."""

    def write(self, line: object) -> None:
        """Nothing."""


class MiniTape(LiveTape):
    """Tells the time by the logical clock, so that the same schedule is the same history."""

    def __init__(self, cluster: MiniCluster, opened: Example) -> None:
        super().__init__(Unwritten(), opened)  # type: ignore[arg-type]  # all of a writer that a tape uses
        self._cluster = cluster

    def _append(self, event: Callable[[dict[str, Any]], AnyEvent]) -> int:
        made = event({"n": len(self.events), "t": self._cluster.seconds, "process": "client"})
        self.events.append(made)
        return made.n


def live_tape(cluster: MiniCluster, example: str = "miniature-1") -> LiveTape:
    opened = Example(
        example=example,
        check="miniature",
        column=COLUMN.label,
        members=[{"name": member.name, "id": member.id, "role": member.role} for member in MEMBERS],
    )
    return MiniTape(cluster, opened)


class MiniBench(Bench):
    def __init__(self, cluster: MiniCluster, tape: Tape | None = None) -> None:
        super().__init__(tape or live_tape(cluster), COLUMN, MEMBERS, None)
        self.cluster = cluster
        self._injector = MiniInjector(cluster)

    def _client(self, name: str, controller: bool) -> NodeClient:
        return MiniClient(self.cluster, name, self.tape)

    # --- time, waiting

    def now(self) -> Moment:
        return self.tape.call("kit", "now", {}, Moment, lambda: Moment(self.cluster.seconds, self.cluster.unix_ms))

    def eventually(self, probe: Callable[[], T | None], what: str, within: float = WITHIN, every: float = 0.02) -> T:
        """By the logical clock: the background goes on between two tries, and nobody sleeps."""
        ends = self.cluster.seconds + within
        while True:
            answer = probe()
            if answer is not None and answer is not False:
                return answer
            if self.cluster.seconds >= ends:
                raise Overdue(f"{what}: not within {within:g} s. {'; '.join(self.cluster.lacking())}")
            self.cluster.tick()

    @property
    def stored(self) -> bool:
        return False

    # --- consumers

    def consumer(self, name: str, group: str | None = None) -> MiniConsumer:
        made = MiniConsumer(name, self.cluster, self.tape, group)
        self._consumers.append(made)
        return made

    def together(self, actions: Sequence[Callable[[], None]]) -> None:
        """In their order: nothing here happens at the same time."""
        for action in actions:
            action()

    def silent(self) -> list[str]:
        return [broker.name for broker in self.cluster.brokers.values() if broker.status != "running"]

    # --- faults and actions

    def faults(self, topic: Topic, index: int = 0, *, group: str = "", transactional_id: str = "") -> MiniFaults:
        self._faults.append(MiniFaults(self.tape, self._injector, topic, index))
        return self._faults[-1]  # type: ignore[return-value]

    def _act(self, action: str, name: str) -> Done:
        def act() -> Done:
            broker = self.cluster.broker(name)
            getattr(self.cluster, action)(broker.id)
            return Done(broker.status, f"start {broker.starts}")  # type: ignore[arg-type]

        return self.tape.call(name, action, {}, Done, act)

    # --- the disk

    def read_file(self, name: str, path: str) -> File:
        return self.tape.call(name, "read_file", {"path": path}, File, lambda: self._file(name, path))

    def _file(self, name: str, path: str) -> File:
        directory, _, file = path.rpartition("/")
        replica = self._replica(name, directory)
        if replica is None or file != EPOCHS or not replica.log.epochs.entries:
            return File(None)
        return File(render_epochs(replica.log.epochs.entries))

    def _replica(self, name: str, directory: str) -> Replica | None:
        topic, _, index = directory.rpartition("-")
        return self.cluster.broker(name).replicas.get((topic, int(index)))

    def replicas(self, *partitions: str, on: Sequence[str] = ()) -> HeldReplicas:
        names = tuple(on) or tuple(self.brokers)
        asked = {"partitions": list(partitions), "on": list(names)} if on else {"partitions": list(partitions)}

        def read() -> HeldReplicas:
            return HeldReplicas(tuple(self._held(name, partition) for partition in partitions for name in names))

        return self.tape.call("cluster", "replicas", asked, HeldReplicas, read)

    def _held(self, name: str, partition: str) -> HeldReplica:
        replica = self._replica(name, partition)
        if replica is None:
            raise FileNotFoundError(f"{name} has no {partition}")
        return held(name, partition, replica)


def held(name: str, partition: str, replica: Replica) -> HeldReplica:
    log = replica.log
    return HeldReplica(
        node=name,
        partition=partition,
        log_start=log.start,
        log_end=log.end,
        epochs=tuple(log.epochs.entries) if log.epochs.entries else None,
        batches=tuple(stored.held() for stored in log.batches),
    )


__all__ = ["MEMBERS", "MiniBench", "MiniClient", "live_tape"]
