"""Bugs that the machine's steps do not reach, each with a script that does."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judging.judge import judge_all
from conformance.machines.log.machine import LOG_MACHINE
from conformance.rigs.log.partition import new_partition
from fixtures.faults.kinds.process import Kill
from fixtures.wire.records import batch
from history.observations import Observation
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def too_few_in_sync(*bugs: str) -> list[Observation]:
    """Two of three replicas are down, and a write of which all are to have it, where two must. What the judges say against it.

    The machine's faults come one at a time, so that a strict partition keeps two replicas in its ISR.
    """
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (), min_insync_replicas="2")
    faults = bench.faults(partition.topic)
    for left in (["broker-1", "broker-3"], ["broker-1"]):
        faults.inject(Kill(role="follower"))
        partition.settled(left)
    bench.node(1).produce(partition.topic, 0, batch(b"a", timestamp=bench.now().unix_ms))
    partition.settled(["broker-1"])
    faults.heal_all()
    return [one for one in judge_all(LOG_MACHINE.judges, bench.tape.history) if one.result == "violated"]


SCRIPTS: dict[str, Callable[..., list[Observation]]] = {"success-below-min-isr": too_few_in_sync}

__all__ = ["SCRIPTS"]
