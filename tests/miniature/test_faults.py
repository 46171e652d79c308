"""Faults that the miniature refuses; tests/contract covers the effects of each."""

from __future__ import annotations

import pytest

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, new_partition
from fixtures.faults.base.fault import Unavailable
from fixtures.faults.kinds.logs import Compaction
from fixtures.faults.kinds.unclean import UncleanElection
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def a_partition(bench: Bench) -> Partition:
    return new_partition(bench, (), min_insync_replicas="2")


def test_what_the_miniature_does_not_know_is_unavailable() -> None:
    bench = mini_bench(MiniCluster())
    partition = a_partition(bench)
    with pytest.raises(Unavailable, match="does not know"):
        bench.faults(partition.topic).inject(Compaction())
    with pytest.raises(Unavailable, match=r"min\.insync\.replicas"):
        bench.faults(partition.topic).inject(UncleanElection(own_topic=False))
