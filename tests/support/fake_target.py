"""A target on a cluster that exists only as a description: enough for a fault's decisions before it is injected."""

from dataclasses import dataclass, field
from typing import cast

from fixtures.cluster import Topology
from fixtures.faults.base.target import FaultTarget
from fixtures.images import Image


@dataclass
class FakeCluster:
    topology: Topology
    image: Image | None = None
    controllers: list[str] = field(default_factory=lambda: ["controller-101"])
    brokers: list[str] = field(default_factory=lambda: ["broker-1", "broker-2", "broker-3"])


@dataclass
class FakeTarget:
    cluster: FakeCluster


def target_of(config: dict[str, str], image: Image | None = None, **features: str) -> FaultTarget:
    topology = Topology(name="described", config=config, features=features)
    return cast(FaultTarget, FakeTarget(FakeCluster(topology, image)))
