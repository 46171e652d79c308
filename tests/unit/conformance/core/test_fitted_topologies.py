"""Settings that a topology gets for a version."""

import pytest

from conformance.core.topologies import CLUSTER, COMBINED, GROUPS, LOG_DIRECTORIES, QUICK_CLUSTER, adapt_topology
from fixtures.cluster import Topology

OPT_IN = "group.coordinator.rebalance.protocols"
UNSTABLE = "unstable.api.versions.enable"
UNVERIFIED = "transaction.partition.verification.enable"


@pytest.mark.parametrize(
    ("version", "switched_on"),
    [("3.7.2", {OPT_IN, UNSTABLE, UNVERIFIED}), ("3.8.1", {OPT_IN}), ("3.9.2+zstd", {OPT_IN})],
)
def test_the_consumer_protocol_and_its_description_are_switched_on_where_they_are_optional(
    version: str, switched_on: set[str]
) -> None:
    assert adapt_topology(GROUPS, version).name == GROUPS.name
    assert adapt_topology(GROUPS, version).config.keys() - COMBINED.config.keys() == switched_on


@pytest.mark.parametrize("version", ["3.6.2", "3.7.2", "3.9.2", "4.0.2", "3.10.0"])
def test_what_is_not_about_the_consumer_protocol_meets_the_coordinator_that_users_have(version: str) -> None:
    assert adapt_topology(COMBINED, version) == COMBINED
    assert adapt_topology(CLUSTER, version) == CLUSTER


@pytest.mark.parametrize("version", ["3.6.2", "4.0.2", "4.3.1"])
def test_no_cluster_is_booted_to_switch_on_what_is_on(version: str) -> None:
    assert adapt_topology(GROUPS, version) == COMBINED


@pytest.mark.parametrize(
    ("version", "topology"),
    [
        ("3.3.2", QUICK_CLUSTER),
        ("3.6.2", QUICK_CLUSTER),
        ("3.7.0", LOG_DIRECTORIES),
        ("3.10.0", LOG_DIRECTORIES),
        ("4.3.1", LOG_DIRECTORIES),
    ],
)
def test_several_log_directories_are_for_releases_whose_controllers_know_them(version: str, topology: Topology) -> None:
    assert adapt_topology(LOG_DIRECTORIES, version) == topology


def test_levels_of_the_user_come_before_those_of_the_topology() -> None:
    assert adapt_topology(CLUSTER, "4.3.1", {"kraft.version": "0"}).features == {
        **CLUSTER.features,
        "kraft.version": "0",
    }
