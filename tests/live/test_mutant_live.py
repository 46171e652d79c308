"""A mutant on a real broker."""

import pytest

from fixtures.cluster import KRaftCluster, Topology
from fixtures.images import obtain_image
from fixtures.runs import Run
from mutants import mutant
from mutants.build import mutant_image
from protocol.codes import Error
from protocol.topics import NewTopic

PLANTED = "unfenced-leader-epoch"

pytestmark = pytest.mark.docker


def install_line(output: str) -> str:
    (line,) = {line for line in output.splitlines() if mutant(PLANTED).install_line in line}
    return line


def test_broker_serves_an_older_epoch() -> None:
    """Restarting the only replica raises its epoch, from 4.0 on also on a node that is its own controller."""
    base = obtain_image("4.3.1")
    image = mutant_image(PLANTED, base)
    assert mutant_image(PLANTED, base).id == image.id != base.id
    topology = Topology(name="mutant", brokers=1, combined=True)
    with Run.begin() as run, KRaftCluster(topology, image, run).boot() as cluster:
        (node,) = cluster.nodes.values()
        with cluster.client(node.name) as client:
            client.create_topics([NewTopic("t", ((node.member.id,),))])
        node.kill()
        node.start()
        cluster.wait_ready()
        with cluster.client(node.name) as client:
            epoch = client.metadata(["t"]).topic("t").partition(0).leader_epoch
            asked = {
                back: client.offset_for_leader_epoch("t", 0, epoch, current_leader_epoch=epoch - back).error
                for back in (1, 0, -1)
            }
        assert epoch > 0
        assert asked == {1: Error.NONE, 0: Error.NONE, -1: Error.UNKNOWN_LEADER_EPOCH}
        assert install_line(node.logs()).endswith(f"/opt/kafka/libs/kafka_2.13-{base.version}.jar")
