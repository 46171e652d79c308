"""Scripted peers: a real controller finds them, asks them, and heeds their answers."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import msgspec
import pytest

from fixtures.cluster import KRaftCluster, Peers, Topology
from fixtures.cluster.network import FixedNetwork
from fixtures.cluster.relay import RelayContainer
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.wire import NodeClient, PassThrough
from history.readings import Received
from protocol.codes import Error
from protocol.errors import KitError

FROZEN = Topology(
    name="frozen",
    controllers=1,
    brokers=0,
    scripted=(2, 3),
    config={"controller.quorum.election.timeout.ms": "600000", "controller.quorum.fetch.timeout.ms": "600000"},
)


@pytest.fixture(scope="module", params=["3.3.2", "4.3.1"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KRaftCluster]:
    with Run.begin() as run, KRaftCluster(FROZEN, obtain_image(request.param), run).boot() as cluster:
        yield cluster


@pytest.fixture
def peers(cluster: KRaftCluster) -> Peers:
    return Peers(PassThrough(), cluster.peers)


@pytest.fixture
def controller(cluster: KRaftCluster) -> Iterator[NodeClient]:
    with cluster.client(cluster.controllers[0], controller=True) as client:
        yield client


def followed(controller: NodeClient, cluster: KRaftCluster, leader: int, epoch: int) -> None:
    assert controller.begin_quorum_epoch(leader, epoch, cluster_id=cluster.id, version=0).error is Error.NONE


def fetch_in(peers: Peers, epoch: int) -> Received:
    """The fetch of an epoch; what is still open from before is answered, or the node would wait for it."""
    peers.recall()
    while (asked := peers.receive(within=10)) is not None:
        if asked.api == "Fetch" and asked.partition["current_leader_epoch"] == epoch:
            return asked
        peers.reply(asked, nothing(asked))
    raise AssertionError(f"no fetch in epoch {epoch}")


def nothing(asked: Received) -> dict[str, object]:
    leader = {"leader_id": asked.peer, "leader_epoch": asked.partition["current_leader_epoch"]}
    answer = {"partition_index": 0, "high_watermark": -1, "current_leader": leader, "records": b""}
    return {"responses": [{"topic_id": UUID(int=1), "partitions": [answer]}]}


@pytest.mark.docker
class TestPeers:
    def test_a_controller_without_a_leader_is_ready(self, cluster: KRaftCluster, controller: NodeClient) -> None:
        assert controller.describe_quorum().error is Error.NOT_LEADER_OR_FOLLOWER
        cluster.wait_ready(within=5)

    def test_requests_arrive_at_the_peer_that_they_are_for(
        self, cluster: KRaftCluster, controller: NodeClient, peers: Peers
    ) -> None:
        for epoch, leader in ((10, 2), (20, 3)):
            followed(controller, cluster, leader, epoch)
            asked = fetch_in(peers, epoch)
            assert (asked.peer, asked.body["cluster_id"]) == (leader, cluster.id)
            assert msgspec.convert(msgspec.to_builtins(asked), Received) == asked
            assert peers.reply(asked, nothing(asked))
            assert fetch_in(peers, epoch).number > asked.number, "an answered fetch is followed by another"

    def test_what_was_not_answered_can_be_received_again(
        self, cluster: KRaftCluster, controller: NodeClient, peers: Peers
    ) -> None:
        followed(controller, cluster, 2, 30)
        asked = fetch_in(peers, 30)
        assert peers.receive("Vote", within=0.01) is None
        peers.recall()
        assert peers.receive("Fetch", peer=2, within=1) == asked
        assert peers.reply(asked, nothing(asked))
        assert not peers.reply(asked, nothing(asked)), "a request is answered once"


def test_a_cluster_without_scripted_peers_says_so() -> None:
    with pytest.raises(KitError, match="name them in the topology"):
        Peers(PassThrough(), None).receive(within=0)


def test_a_relay_that_was_never_started_is_removed_without_an_error() -> None:
    with Run.begin() as run:
        RelayContainer((2, 3), FixedNetwork(run), run).remove()
