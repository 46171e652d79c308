"""What is read of the quorum before and after a schedule."""

from __future__ import annotations

from typing import Any, cast

from conformance.core.bench import Bench
from conformance.core.cluster import Cluster
from fixtures.cluster.topology import Topology
from fixtures.tape import LiveTape, StoredTape, Tape
from fixtures.wire.errors import NotSent
from history.events import Call, Example, History
from history.readings import HeldMetadataLog
from history.shards import Column
from tests.support.unwritten import Unwritten

LOG = HeldMetadataLog(
    log_start=0,
    log_end=0,
    batches=(),
    leader_changes=(),
    snapshots=(),
    epochs=None,
    quorum_state=b"",
    steady=True,
)
EXAMPLE = Example(example="e-1", check="check", column="4.3.1")


class Controller:
    """A controller that is asked; with number 102, it is down."""

    def __init__(self, name: str, asked: list[str]) -> None:
        self.name, self._asked = name, asked

    def describe_quorum(self) -> None:
        self._asked.append(self.name)
        if self.name.endswith("102"):
            raise NotSent("it is down")


class Quorum:
    """Controllers whose disks are read together."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reads = 0

    def client(self, name: str, tape: Tape, *, controller: bool) -> Any:
        assert controller
        return Controller(name, self.asked)

    def metadata_logs(self) -> dict[str, HeldMetadataLog]:
        self.reads += 1
        return {f"controller-{id}": LOG for id in (101, 102, 103)}


def read(controllers: int, cluster: Quorum | None, tape: Tape) -> list[tuple[str, str]]:
    """Return the operations that are recorded, with their nodes."""
    column = cast(Column, None)
    members = Topology(name="any", controllers=controllers, brokers=1).members()
    Bench(tape, column, members, cast(Cluster, cluster)).read_quorum()
    return [(event.op, event.node) for event in tape.history.events if isinstance(event, Call)]


def test_all_controllers_are_asked_and_their_disks_are_read_once() -> None:
    quorum = Quorum()
    found = read(3, quorum, LiveTape(cast(Any, Unwritten()), EXAMPLE))
    assert found == [("metadata_log", f"controller-{id}") for id in (101, 102, 103)]
    assert quorum.asked == ["controller-101", "controller-102", "controller-103"]
    assert quorum.reads == 1


def test_a_lone_controller_is_not_read() -> None:
    quorum = Quorum()
    assert read(1, quorum, LiveTape(cast(Any, Unwritten()), EXAMPLE)) == []
    assert (quorum.asked, quorum.reads) == ([], 0)


def test_a_stored_history_without_a_read_is_replayed_without_one() -> None:
    assert read(3, None, StoredTape(History(example=EXAMPLE, events=[]))) == []
