"""A lab with miniatures and planted bugs as clusters: a machine's whole run and its investigation, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.core.bench import Bench
from conformance.core.profiles import Profile
from conformance.running.standing import Standing
from fixtures.cluster import Topology
from fixtures.runs import Run
from fixtures.tape import LiveTape
from tests.miniature.bench import COLUMN
from tests.miniature.machine import ExampleOnMiniature
from tests.support.fake_cluster import FakeCluster, standing_on
from tests.support.fake_lab import FakeLab, FakeWatch


class MiniLab(FakeLab):
    """A lab that gives every example its own miniature, since each starts on fresh topics anyway."""

    def __init__(self, out: Path, run: Run, bugs: tuple[str, ...], profile: Profile = "quick") -> None:
        super().__init__(out, run, [], profile)
        self.images |= {COLUMN.label: next(iter(self.images.values()))}
        self._bugs = bugs
        self._miniatures: dict[str, ExampleOnMiniature] = {}

    def _boot(self, key: tuple[str, str], topology: Topology) -> Standing:
        return standing_on(FakeCluster(), COLUMN, FakeWatch([]))

    def tape(self, check: str, standing: Standing, **_: Any) -> LiveTape:
        self._examples += 1
        name = f"miniature-{self._examples}"
        lab = self._miniatures[name] = ExampleOnMiniature(self._bugs, name)
        return lab.tape(check, lab.standing)

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        lab = self._miniatures[tape.example.example]
        return lab.bench(tape, lab.standing)
