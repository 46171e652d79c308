"""A target in memory, and faults that record their calls in one list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fixtures.errors import EngineTrouble
from fixtures.faults.base.fault import AVAILABLE, Availability, Fault, Measured
from fixtures.faults.base.injector import Injector
from fixtures.faults.base.target import Snapshot
from fixtures.faults.kinds.cuts import Link, LinkFault, SeveredLinks
from fixtures.tape import RecordedPhase
from history.due import Due
from history.effects import Effects
from history.events import Phase
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.errors import KitError

BROKERS = ["broker-1", "broker-2", "broker-3"]
CONTROLLERS = ["controller-101", "controller-102", "controller-103"]


class FakeNode:
    def __init__(self) -> None:
        self.status = "running"

    def state(self) -> str:
        return self.status


class FakeCluster:
    def __init__(self) -> None:
        self.brokers = BROKERS
        self.controllers = CONTROLLERS
        self.nodes = {name: FakeNode() for name in [*BROKERS, *CONTROLLERS]}

    def node(self, name: str) -> FakeNode:
        return self.nodes[name]


class FakeWatch:
    def __init__(self, cluster: FakeCluster) -> None:
        self.doubted: set[str] = set()
        self._cluster = cluster

    def reachable(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self._cluster.node(name).status == "running"]


class FakeLinks:
    def existing_rules(self) -> list[str]:
        return []


class FakeTarget:
    """A target in memory. `done` has its calls in order, `lacks` the reasons why it is unhealthy, `writes` its answers
    to writes, in turn."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.cluster = FakeCluster()
        self.watch = FakeWatch(self.cluster)
        self.links = FakeLinks()
        self.partition_name = "topic-0"
        self.in_sync: tuple[int, ...] = (1, 2, 3)
        self.controller: Any = "controller-101"
        self.lacks: list[str] = []
        self.writes: list[KitError | None] = []
        self.appended = False

    def snapshot(self) -> Snapshot:
        partition = PartitionMetadata(
            error=Error.NONE, partition=0, leader=self.in_sync[0], leader_epoch=1, replicas=(1, 2, 3), isr=self.in_sync
        )
        return Snapshot(partition=partition, controller=self.controller, group_coordinator=2, transaction_coordinator=3)

    def why_unhealthy(self) -> list[str]:
        return self.lacks

    def due(self) -> Due:
        return "node"

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def states(self) -> str:
        return "the states"

    def name_of(self, id: int) -> str:
        return f"broker-{id}"

    def write(self, *values: bytes) -> int:
        self.appended = True
        answer = self.writes.pop(0) if self.writes else None
        self.done.append("write" if answer is None else "refused")
        if answer is not None:
            raise answer
        return 0


class Recorded(Fault, kw_only=True, tag="recorded"):
    """A fault that only records its calls. `on` is the node that it hits; the other fields say what goes wrong."""

    on: str = "broker-1"
    acts: bool = True
    shows: bool = True
    follows: bool = True
    heals: bool = True
    possible: bool = True
    roles: ClassVar[tuple[str, ...]] = ("leader", "follower", "active controller", "all brokers")
    effects = Effects()
    witness_within: ClassVar[float] = 0.05
    consequence_within: ClassVar[float] = 0.05
    heal_within: ClassVar[float] = 0.05

    def notify(self, what: str) -> None:
        target: Any = self.target
        target.done.append(f"{what} {self.on}")

    def availability(self, target: Any) -> Availability:
        return AVAILABLE if self.possible else Availability("it cannot be")

    def aim_at(self, target: Any, *, amid: bool = False) -> None:
        self.target = target
        self.amid = amid
        self.before = target.snapshot()
        self.nodes = [self.on]

    def inject(self) -> None:
        self.notify("inject")
        if not self.acts:
            raise EngineTrouble("the engine does not want to")

    def witness(self) -> Measured | None:
        return {"seen": self.on} if self.shows else None

    def consequence(self) -> Measured | None:
        return {} if self.follows else None

    def heal(self) -> None:
        self.notify("heal")

    def restoration(self) -> Measured | None:
        return {} if self.heals else None


class Lonely(Recorded, kw_only=True, tag="lonely"):
    alone: ClassVar[str] = "it is lonely"


class Followed(Recorded, kw_only=True, tag="followed"):
    """A fault that something follows, or whose consequence fails with `trouble`."""

    trouble: str = ""

    def consequence(self) -> Measured | None:
        if self.trouble:
            raise KitError(self.trouble)
        return {"fenced": [self.on]} if self.follows else None


class OnLinks(Recorded, LinkFault, kw_only=True, tag="on-links"):
    """A fault that cuts pairs of nodes (`cut`)."""

    cut: tuple[tuple[str, str], ...] = ()

    def consequence(self) -> Measured | None:
        return {}

    def links(self) -> list[Link]:
        return [Link(*ends) for ends in self.cut]

    def aim_at(self, target: Any, *, amid: bool = False) -> None:
        super().aim_at(target, amid=amid)
        self.hit = self.links()


class Cutting(OnLinks, SeveredLinks, kw_only=True, tag="cutting"):
    pass


class FakeLog:
    """A fault log that keeps its entries in memory."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, Phase]] = []
        self.details: list[dict[str, Any]] = []
        self.effects: list[Effects | None] = []

    def fault(self, seen: RecordedPhase) -> None:
        self.phases.append((seen.node, seen.phase))
        self.details.append(seen.detail)
        self.effects.append(seen.effects)


def injector_of(target: FakeTarget, log: FakeLog | None = None) -> Injector:
    return Injector(target, log)  # type: ignore[arg-type]  # all of a target that an injector uses
