"""The partitions of an example by the machine's own names."""

from __future__ import annotations

import pytest

from conformance.core.roles import Absent
from conformance.machines.log.partitions import new_partitions
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def test_an_example_begins_with_partitions_led_by_different_brokers() -> None:
    partitions = new_partitions(mini_bench(MiniCluster()))
    assert [*partitions] == ["strict-0", "strict-1", "loose-0", "compacted-0", "lone-0"]
    assert partitions["strict-0"].state_by().leader != partitions["strict-1"].state_by().leader
    assert len(partitions["lone-0"].state_by().replicas) == 1
    assert len(partitions.topic_names) == 4


def test_one_that_no_step_has_created_is_absent() -> None:
    with pytest.raises(Absent, match="fleeting-0 was not created yet"):
        new_partitions(mini_bench(MiniCluster()))["fleeting-0"]


def test_all_partitions_of_a_topic_are_dropped_together() -> None:
    partitions = new_partitions(mini_bench(MiniCluster()))
    strict = partitions["strict-0"].topic
    assert partitions.known_as("strict") == [strict, strict]
    partitions.drop({"strict"})
    assert [*partitions] == ["loose-0", "compacted-0", "lone-0"]
