"""A lab whose clusters are miniatures with planted bugs: a machine's whole run, with its follow-up, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from conformance.core.bench import Bench
from conformance.running.lab import Standing
from conformance.running.planning.budget import Profile
from fixtures.cluster import Topology
from fixtures.runs import Run
from fixtures.tape import LiveTape
from history.events import Example
from tests.miniature.bench import COLUMN, MEMBERS, MiniTape, mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_lab import FakeLab, FakeWatch


class MiniLab(FakeLab):
    """Every example gets a miniature of its own, since it starts on fresh topics in any case."""

    def __init__(self, out: Path, run: Run, bugs: tuple[str, ...], profile: Profile = "quick") -> None:
        super().__init__(out, run, [], profile)
        self._bugs = bugs
        self._miniatures: dict[str, MiniCluster] = {}

    def _boot(self, key: tuple[str, str], topology: Topology) -> Standing:
        return Standing(cluster=FakeCluster(), watch=FakeWatch([]), column=COLUMN)

    def tape(self, check: str, standing: Standing, **fields: Any) -> LiveTape:
        self._examples += 1
        name = f"miniature-{self._examples}"
        self._miniatures[name] = MiniCluster(self._bugs)
        members = msgspec.to_builtins(MEMBERS)
        opened = Example(example=name, check=check, column=COLUMN.label, members=members, **fields)
        return MiniTape(self._miniatures[name], opened)

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        return mini_bench(self._miniatures[tape.example.example], tape)
