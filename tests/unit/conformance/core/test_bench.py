"""Looks of the bench at the quorum, which no check reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.core.bench import Bench
from fixtures.cluster.topology import Topology
from fixtures.tape import LiveTape, StoredTape
from fixtures.wire import NodeClient, Tap
from fixtures.wire.calls import Reply
from fixtures.wire.errors import WireError
from history.events import Call, Example, History
from history.readings import HeldMetadataLog
from protocol.quorum import METADATA_TOPIC
from tests.miniature.bench import COLUMN
from tests.support.unwritten import Unwritten

MEMBERS = Topology(name="t", controllers=3, brokers=1).members()
LONE = Topology(name="t", controllers=1, brokers=1).members()
EXAMPLE = Example(example="e-1", check="c", column="4.3.1")
LOG = HeldMetadataLog(
    log_start=0, log_end=0, batches=(), leader_changes=(), snapshots=(), epochs=None, quorum_state=b"", steady=True
)


class Controller(NodeClient):
    """A controller that does not lead."""

    def __init__(self, name: str, tap: Tap, down: bool) -> None:
        super().__init__(name, "", 0, None, tap)  # type: ignore[arg-type]  # nothing is encoded
        self._down = down

    def has_field(self, api: str, field: str, version: int) -> bool:
        return False

    def call(self, api: str, version: int | None = None, *, wait_ms: int = 0, **fields: Any) -> Reply:
        if self._down:
            raise WireError(f"{self.node} closed the connection")
        partition = {"partition_index": 0, "error_code": 6, "leader_id": -1, "leader_epoch": 4, "vote_granted": False}
        return Reply(0, {"error_code": 0, "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}]})


class Node:
    def __init__(self, state: str) -> None:
        self._state = state

    def state(self) -> str:
        return self._state


class Cluster:
    """A cluster whose controllers answer, but for those that are `gone` for the engine, or `lost` without its notice."""

    def __init__(self, gone: str = "", lost: str = "") -> None:
        self._gone, self._lost = gone, lost
        self.reads = 0

    def node(self, name: str) -> Node:
        return Node("exited" if name == self._gone else "running")

    def client(self, name: str, tap: Tap, *, controller: bool = False) -> Controller:
        return Controller(name, tap, name == self._lost)

    def metadata_logs(self) -> dict[str, HeldMetadataLog]:
        self.reads += 1
        return {f"controller-{id}": LOG for id in (101, 102, 103)}


def calls(
    cluster: Any, members: Any = MEMBERS, look: Callable[[Bench], None] = Bench.ask_controllers
) -> list[tuple[str, str]]:
    """Return the requests of one look, with their nodes."""
    tape = LiveTape(Unwritten(), EXAMPLE)  # type: ignore[arg-type]  # all of a writer that a tape uses
    look(Bench(tape, COLUMN, members, cluster))
    return [(event.op, event.node) for event in tape.history.events if isinstance(event, Call)]


def asked(*ids: int) -> list[tuple[str, str]]:
    return [(op, f"controller-{id}") for op in ("describe_quorum", "vote") for id in ids]


def test_each_running_controller_is_asked_for_the_quorum_and_its_leader() -> None:
    assert calls(Cluster()) == asked(101, 102, 103)
    assert calls(Cluster(gone="controller-102")) == asked(101, 103)


def test_a_controller_that_does_not_answer_stops_nothing() -> None:
    assert calls(Cluster(lost="controller-102")) == asked(101, 102, 103)


def test_a_lone_controller_is_not_asked() -> None:
    assert calls(Cluster(), LONE) == []


def test_the_disks_of_all_controllers_are_read_together_after_they_are_asked() -> None:
    cluster = Cluster(gone="controller-102")
    read = [("metadata_log", f"controller-{id}") for id in (101, 102, 103)]
    assert calls(cluster, look=Bench.read_quorum) == [*asked(101, 103), *read]
    assert cluster.reads == 1


def test_the_disk_of_a_lone_controller_is_not_read() -> None:
    assert calls(Cluster(), LONE, Bench.read_quorum) == []


def test_a_stored_tape_is_not_asked() -> None:
    bench = Bench(StoredTape(History(example=EXAMPLE, events=[])), COLUMN, MEMBERS, None)
    bench.ask_controllers()
    bench.read_quorum()


def test_each_user_has_a_client_for_each_purpose() -> None:
    bench = Bench(StoredTape(History(example=EXAMPLE, events=[])), COLUMN, MEMBERS, None)
    keys = [(user, purpose) for user in ("", "reader", "node") for purpose in ("", "reader")]
    clients = {(user, purpose): bench.node("broker-1", purpose=purpose, user=user) for user, purpose in keys}
    assert {key: one.user for key, one in clients.items()} == {key: key[0] for key in clients}
    assert len({*map(id, clients.values())}) == len(clients)
    assert bench.node("broker-1", purpose="reader", user="node") is clients["node", "reader"]
