"""Metrics of a real node: a node's own are those of the cluster."""

import pytest

from fixtures import metrics
from fixtures.cluster import ClusterNode, KRaftCluster, Topology
from fixtures.images import obtain_image
from fixtures.metrics import RAFT, NoMetrics
from fixtures.runs import Run
from fixtures.waiting import eventually

pytestmark = pytest.mark.docker

BROKER_METADATA = "kafka.server:type=broker-metadata-metrics"


def last_applied(broker: ClusterNode) -> int:
    """Return the offset up to which a broker has applied the metadata log."""
    return int(metrics.read(broker, BROKER_METADATA)["last-applied-record-offset"])


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_a_node_tells_what_the_quorum_and_its_broker_are_at(version: str, run: Run) -> None:
    topology = Topology(name="metrics", controllers=1, brokers=1, metrics=True)
    with KRaftCluster(topology, obtain_image(version), run).boot() as cluster:
        controller, broker = cluster.node("controller-101"), cluster.node("broker-1")
        metric = metrics.read(controller, RAFT)
        assert (metric["current-state"], int(metric["current-leader"])) == ("leader", 101)
        assert metrics.read(broker, RAFT)["current-state"] in ("follower", "observer")
        first = last_applied(broker)
        eventually(lambda: last_applied(broker) > first, within=10, what="the broker applies more")
        broker.kill()
        with pytest.raises(NoMetrics, match="broker-1 does not answer"):
            metrics.read(broker, BROKER_METADATA)


def test_other_nodes_have_none(run: Run) -> None:
    with (
        KRaftCluster(Topology(name="one", combined=True, brokers=1), obtain_image("4.3.1"), run).boot() as cluster,
        pytest.raises(NoMetrics, match="metrics=True"),
    ):
        metrics.read(cluster.node("node-1"), RAFT)
