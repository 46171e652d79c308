"""A cluster in memory: its nodes answer ListOffsets as the test says, and can be killed and started."""

from __future__ import annotations

from typing import Any

from conformance.running.standing import Standing
from fixtures.cluster.cpu import CpuTime
from fixtures.cluster.storage import DatedFile
from fixtures.cluster.topology import Member, Topology
from fixtures.wire import NodeClient, Tap
from fixtures.wire.calls import Reply
from history.events import ProcessEnd
from history.shards import Column
from protocol.errors import KitError

TOPOLOGY = Topology(name="fake", controllers=1, brokers=2)


def standing_on(cluster: Any, column: Column, watch: Any = None) -> Standing:
    """Return the standing of a cluster in memory, whose type is not that of a real one."""
    return Standing(cluster=cluster, watch=watch, column=column)


class FakeClient(NodeClient):
    """The kit's own client down to the schema's fields; it sends no frame."""

    def __init__(self, cluster: FakeCluster, name: str, tap: Tap) -> None:
        super().__init__(name, "", 0, None, tap)  # type: ignore[arg-type]  # nothing is encoded
        self._cluster = cluster

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        assert api == "ListOffsets"
        return Reply(version or 7, {"topics": [self._cluster.listed(topic) for topic in fields["topics"]]})


class FakeNode:
    def __init__(self) -> None:
        self.starts = 1
        self.status = "running"
        self.end: ProcessEnd | None = None

    def process_end(self) -> ProcessEnd | None:
        return self.end

    def kill(self) -> None:
        self.status = "exited"

    def start(self) -> None:
        self.status = "running"
        self.starts += 1

    def pause(self) -> None:
        """Do nothing: the engine goes on saying that it runs."""

    def state(self) -> str:
        return self.status

    def started_at(self) -> str:
        return f"start {self.starts}"

    def dated_file(self, path: str) -> DatedFile:
        if path != "topic-0/leader-epoch-checkpoint":
            raise FileNotFoundError(path)
        return DatedFile(b"0\n0\n", 0)


class FakeCluster:
    """A cluster in memory. `answers` are offsets to return or exceptions to raise, one per request; `epoch` is in all
    of them."""

    def __init__(self, *answers: int | Exception, epoch: int = 3) -> None:
        self.topology = TOPOLOGY
        self.nodes = {member.name: FakeNode() for member in self.members()}
        self.epoch = epoch
        self.closed = False
        self.used: dict[str, CpuTime] = {}
        self._answers = iter(answers)

    def cpu_times(self) -> dict[str, CpuTime]:
        return self.used

    def members(self) -> list[Member]:
        return TOPOLOGY.members()

    def node(self, name: str) -> FakeNode:
        return self.nodes[name]

    def addresses(self) -> str:
        return "broker-1 at 127.0.0.1:30001"

    def wait_ready(self, within: float) -> None:
        ended = [name for name, node in self.nodes.items() if node.state() != "running"]
        if ended:
            raise KitError(f"{', '.join(ended)} ended")

    def close(self) -> None:
        self.closed = True

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> FakeClient:
        return FakeClient(self, name, tap)

    def listed(self, topic: dict[str, Any]) -> dict[str, Any]:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        [asked] = topic["partitions"]
        fields = {"error_code": 0, "timestamp": -1, "offset": answer, "leader_epoch": self.epoch}
        return {"name": topic["name"], "partitions": [{"partition_index": asked["partition_index"], **fields}]}
