"""What a topology gets switched on for a version."""

import pytest

from conformance.running.lab import fitted
from conformance.topologies import CLUSTER, COMBINED

OPT_IN = "group.coordinator.rebalance.protocols"
UNSTABLE = "unstable.api.versions.enable"


@pytest.mark.parametrize(
    ("version", "switched_on"),
    [("3.6.2", set()), ("3.7.2", {OPT_IN, UNSTABLE}), ("3.8.1", {OPT_IN}), ("3.9.2", {OPT_IN}), ("4.0.2", set())],
)
def test_the_consumer_protocol_and_its_description_are_switched_on_where_they_are_optional(
    version: str, switched_on: set[str]
) -> None:
    assert fitted(COMBINED, version, {}).config.keys() - COMBINED.config.keys() == switched_on
    assert fitted(CLUSTER, version, {}).config == CLUSTER.config


def test_levels_of_the_user_come_before_those_of_the_topology() -> None:
    assert fitted(CLUSTER, "4.3.1", {"kraft.version": "0"}).features == {**CLUSTER.features, "kraft.version": "0"}
