"""A lab in memory: its clusters boot at once, and answer and break as a test says."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.core.bench import Bench
from conformance.core.checks import Check
from conformance.core.cluster import LiveCluster
from conformance.core.faulting import Faults
from conformance.core.machines import AnyMachine, MachineCheck
from conformance.core.profiles import Profile
from conformance.judging.judge import Judge
from conformance.judging.judges import JUDGES
from conformance.running.lab import Lab
from conformance.running.machine.run import MachineRun
from conformance.running.probe.run import ProbeRun
from conformance.running.settings import Settings
from conformance.running.standing import Standing
from fixtures.cluster import Topology
from fixtures.images import Image
from fixtures.runs import Run
from fixtures.spending import counted_in, spending
from fixtures.tape import LiveTape, Tape
from history.due import Due
from history.events import History
from history.shards import Column, Shard, read_shard
from history.store import read_histories
from history.subjects import Kind
from protocol.errors import KitError
from tests.support.declared import facts_of
from tests.support.fake_cluster import FakeCluster, standing_on
from tests.support.fake_faults import FakeTarget

COLUMN = Column(
    label="4.3.1",
    version="4.3.1",
    image="kafka",
    image_id="sha256:1",
    selection=["--kafka-version", "4.3.1"],
    ranges=facts_of("4.3.1").ranges,
)


def faults_on(tape: Tape) -> Faults:
    return Faults(tape, FakeTarget())  # type: ignore[arg-type]  # all of a target that an injector uses


class FakeWatch:
    """A watch. `owes` is what the cluster owes while it is unhealthy; this has no bound, so no test waits for one."""

    owes: Due = "write"

    def __init__(self, lacks: list[str]) -> None:
        self.lacks = lacks
        self.asked = 0
        self.deleted: list[str] = []

    def delete_topics(self, infixes: Collection[str]) -> list[str]:
        self.deleted += infixes
        return []

    def why_unhealthy(self) -> list[str]:
        self.asked += 1
        return self.lacks

    def due(self) -> Due:
        return self.owes

    def close(self) -> None:
        pass


IMAGE = Image(
    reference="some", id="some", version="4.3.1", label="4.3.1", class_path=(), kafka_opts=(), clients_jar=Path(), cds=None
)  # fmt: skip


class FakeLiveCluster(LiveCluster):
    """A cluster whose faults meet a target in memory."""

    def faults(self, tape: Tape, *_: Any, **__: Any) -> Faults:
        return faults_on(tape)


class JudgedMachine(MachineCheck[Any], frozen=True, kw_only=True, eq=False, dict=True):
    """A machine whose history is first judged by a test's own `judges`. Its rows are theirs."""

    judges: Sequence[Judge]
    aims: Sequence[Kind] = ()

    @cached_property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(judge.row for judge in self.judges))


class FakeLab(Lab):
    """A lab that boots a cluster in memory for each entry of `boots`, which says what it lacks after an example."""

    def __init__(
        self,
        out: Path,
        run: Run,
        boots: list[list[str]],
        profile: Profile,
        minutes: float = 0.0,
        judges: Sequence[Judge] = (),
    ) -> None:
        settings = Settings(versions=[], out=str(out), profile=profile, minutes=minutes)
        super().__init__(settings, run, "gw0", {"4.3.1": IMAGE})
        self.judges = (*judges, *JUDGES)
        self.booted: list[FakeCluster] = []
        self.watches: list[FakeWatch] = []
        self._boots = iter(boots)

    def _boot(self, key: tuple[str, str], topology: Topology) -> Standing:
        lacks = next(self._boots, None)
        if lacks is None:
            raise KitError("no cluster came up")
        self.booted.append(FakeCluster(*range(100)))
        self.watches.append(FakeWatch(lacks))
        return standing_on(self.booted[-1], COLUMN, self.watches[-1])

    def bench(self, tape: LiveTape, standing: Standing) -> Bench:
        cluster = standing.cluster
        return Bench(tape, COLUMN, cluster.topology.members(), FakeLiveCluster(cluster), standing.clients)


class Play:
    """A run of a check in a lab in memory, with its shard and history."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def __call__(
        self,
        check: Check | AnyMachine,
        boots: list[list[str]],
        profile: Profile = "smoke",
        seconds: float = math.inf,
    ) -> tuple[FakeLab, Shard, list[History]]:
        with Run.begin() as run:
            judges = check.judges if isinstance(check, JudgedMachine) else ()
            lab = self.lab = FakeLab(self.out, run, boots, profile, judges=judges)
            self.run = (
                MachineRun(check, lab, "4.3.1") if isinstance(check, MachineCheck) else ProbeRun(check, lab, "4.3.1")
            )
            with counted_in(lab.ledger("4.3.1")), spending("act"):
                self.run.run(seconds)
            lab.close()
        return lab, self.shard(), list(read_histories(self.out / lab.history_path))

    def shard(self) -> Shard:
        """Read the shard that was written."""
        [path] = (self.out / "shards").glob("*.jsonl")
        return read_shard(path)


def of(shard: Shard, kind: type[Any]) -> list[Any]:
    return [line for line in shard.lines if isinstance(line, kind)]
