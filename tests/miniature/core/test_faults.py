"""Faults on the miniature: each is witnessed and healed, and recorded as on a live cluster."""

from __future__ import annotations

import pytest

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, new_partition
from conformance.rigs.log.quiescence import at_rest
from fixtures.faults.base.fault import Fault, Unavailable
from fixtures.faults.kinds.disk import CutTailAbove, CutTailBelow, RemoveEpochCheckpoint, WipeDisk
from fixtures.faults.kinds.elections import MoveLeader, PreferredElection, Reassign
from fixtures.faults.kinds.logs import Compaction, DeleteRecords, RetentionBySize, RetentionByTime, RollBySize
from fixtures.faults.kinds.process import Kill, Pause, PausePastFencing, RollingRestart, Stop
from fixtures.faults.kinds.shapes import Isolate
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from history.events import Fault as FaultEvent
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def a_partition(bench: Bench) -> Partition:
    return new_partition(bench, (), min_insync_replicas="2")


KINDS: list[Fault] = [
    Kill(role="leader"),
    Kill(role="follower"),
    Kill(role="all brokers"),
    Stop(role="leader"),
    Pause(role="leader"),
    PausePastFencing(role="follower"),
    CutOffFromControllers(role="follower"),
    PausedZombie(role="leader"),
    Isolate(role="leader", clients_too=True),
    CutTailAbove(role="follower"),
    CutTailBelow(role="leader"),
    RemoveEpochCheckpoint(role="leader", clean=False),
    WipeDisk(role="follower"),
    Reassign(role="leader"),
    MoveLeader(),
    PreferredElection(),
    DeleteRecords(keep=2),
    RetentionBySize(),
    RetentionByTime(),
    RollBySize(),
    RollingRestart(role="all brokers"),
]


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: f"{fault.name} of {fault.role}")
def test_a_fault_is_witnessed_and_healed(fault: Fault) -> None:
    bench = mini_bench(MiniCluster())
    partition = a_partition(bench)
    partition.write(b"a", b"b")
    with bench.faults(partition.topic).under(fault.fresh()):
        pass
    partition.write(b"c")
    assert at_rest(partition)
    phases = [event for event in bench.tape.history.events if isinstance(event, FaultEvent)]
    assert [event.phase for event in phases] == ["inject", "witness", "heal"]
    assert phases[0].detail["partition"] == f"{partition.name}-0"
    assert phases[0].detail["fault"] == fault.name


def test_what_the_miniature_does_not_know_is_unavailable() -> None:
    bench = mini_bench(MiniCluster())
    partition = a_partition(bench)
    with pytest.raises(Unavailable, match="does not know"):
        bench.faults(partition.topic).inject(Compaction())
    with pytest.raises(Unavailable, match=r"min\.insync\.replicas"):
        bench.faults(partition.topic).inject(UncleanElection(own_topic=False))
