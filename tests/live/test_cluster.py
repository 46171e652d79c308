"""A node of a real cluster through its life: what ready means, what a fault does, and what an error shows."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import docker
import pytest

from fixtures.cluster import KRaftCluster, NotReady, Topology, node
from fixtures.images import Image, obtain_image
from fixtures.runs import RUN_LABEL, Run
from fixtures.waiting import eventually
from fixtures.wire import Unanswered
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.errors import KitError
from protocol.groups import NewOffset
from protocol.log import EARLIEST, FetchPartition
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import NewTopic

pytestmark = pytest.mark.docker

ONE = Topology(name="one", combined=True, brokers=1)
NODE = "node-1"


@pytest.fixture(scope="module")
def old() -> Image:
    return obtain_image("3.9.2")


@pytest.fixture(scope="module")
def new() -> Image:
    return obtain_image("4.3.1")


@pytest.fixture(scope="module")
def engine() -> docker.DockerClient:
    return docker.from_env()


@pytest.fixture(scope="module")
def run(engine: docker.DockerClient) -> Iterator[Run]:
    with Run.begin() as held:
        yield held
        assert held.end(engine) == [], "every test removes what it made"


def leftovers(engine: docker.DockerClient, run: Run) -> list[str]:
    """Names of containers, networks and volumes of the run."""
    ours = {"filters": {"label": f"{RUN_LABEL}={run.id}"}}
    containers = engine.containers.list(all=True, ignore_removed=True, **ours)
    return [thing.name for thing in (*containers, *engine.networks.list(**ours), *engine.volumes.list(**ours))]


@pytest.fixture(scope="class")
def cluster(old: Image, run: Run, engine: docker.DockerClient) -> Iterator[KRaftCluster]:
    with KRaftCluster(ONE, old, run).boot() as booted:
        assert len(leftovers(engine, run)) == 3
        yield booted
    assert leftovers(engine, run) == []


class TestOneNode:
    """The tests of this class follow one node through its life, in their order."""

    def test_ready_means_that_everything_can_be_used_at_once(self, cluster: KRaftCluster) -> None:
        """A quorum with a leader, unfenced brokers, internal topics: nothing of these is asked for twice."""
        with cluster.client(NODE) as client:
            assert client.describe_quorum().leader_id == 1
            assert [broker.node_id for broker in client.metadata([]).brokers] == [1]
            for kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION):
                assert client.find_coordinator("ready", kind).error is Error.NONE
            assert client.describe_transaction("ready").error is Error.TRANSACTIONAL_ID_NOT_FOUND
            created = client.create_topics([NewTopic("ready", ((1,),))])
            assert [topic.error for topic in created.topics] == [Error.NONE]
            eventually(
                lambda: bool(client.metadata(["ready"]).topics[0].partitions), within=20, what="the topic's metadata"
            )
            committed = client.offset_commit("ready", [NewOffset(Topic("ready"), 0, 1)])
            assert [partition.error for partition in committed.partitions] == [Error.NONE]
            assert client.produce("ready", 0, batch(b"before")).error is Error.NONE

    def test_the_version_is_the_one_that_its_log_tells(self, cluster: KRaftCluster) -> None:
        assert cluster.node(NODE).logged_version() == cluster.node(NODE).image.version == "3.9.2"
        assert {"Fetch", "controller.Vote", "metadata.version"} <= cluster.ranges().keys()

    def test_a_killed_node_comes_back_with_its_data(self, cluster: KRaftCluster) -> None:
        one, first = cluster.node(NODE), cluster.node(NODE).started_at()
        one.kill()
        assert (one.state(), one.exit_code()) == ("exited", 137)
        with pytest.raises(KitError, match=r"not ready: node-1 ended\.\n--- node-1: exited"):
            cluster.wait_ready(within=30)
        one.start()
        assert one.state() == "running"
        assert one.started_at() != first
        cluster.wait_ready()
        assert values(cluster) == [b"before"]

    def test_a_paused_node_answers_nothing_until_it_is_resumed(self, cluster: KRaftCluster) -> None:
        one = cluster.node(NODE)
        with cluster.client(NODE, timeout=0.5) as client:
            client.metadata([])
            one.pause()
            assert one.state() == "paused"
            with pytest.raises(Unanswered):
                client.metadata([])
            one.resume()
        assert one.state() == "running"
        cluster.wait_ready()

    def test_a_paused_node_can_be_killed(self, cluster: KRaftCluster) -> None:
        one = cluster.node(NODE)
        one.pause()
        one.kill()
        assert one.state() == "exited"
        one.start()
        cluster.wait_ready()

    def test_files_are_read_from_a_running_and_from_a_stopped_node(self, cluster: KRaftCluster) -> None:
        one = cluster.node(NODE)
        assert b"node.id=1\n" in one.read_file("meta.properties")
        one.stop()
        assert (one.state(), one.exit_code()) == ("exited", 143)
        assert one.read_file("ready-0/leader-epoch-checkpoint").startswith(b"0\n")
        assert one.read_file("ready-0/00000000000000000000.log").endswith(b"before\x00")
        with pytest.raises(FileNotFoundError, match="nothing"):
            one.read_file("ready-0/nothing")
        one.start()
        cluster.wait_ready()

    def test_another_image_goes_on_with_the_same_data(self, cluster: KRaftCluster, new: Image) -> None:
        one = cluster.node(NODE)
        before = one.read_file("meta.properties")
        one.recreate(image=new)
        cluster.wait_ready()
        assert one.read_file("meta.properties").splitlines()[1:] == before.splitlines()[1:]
        assert values(cluster) == [b"before"]
        assert one.logged_version() == "4.3.1"
        assert cluster.ranges()["controller.Vote"] == 2
        with cluster.client(NODE) as client:
            assert client.produce("ready", 0, batch(b"after")).error is Error.NONE
        assert values(cluster) == [b"before", b"after"]

    def test_an_unknown_node_is_told_which_there_are(self, cluster: KRaftCluster) -> None:
        with pytest.raises(KitError, match=r"'broker-1' is no node of the one cluster of 3\.9\.2; there are node-1"):
            cluster.node("broker-1")


def values(cluster: KRaftCluster) -> list[bytes | None]:
    """The records of the topic `ready`."""
    with cluster.client(NODE) as client:
        start = client.list_offsets("ready", 0, EARLIEST).offset
        read = client.fetch(FetchPartition("ready", 0, start), version=12)
    assert read.error is Error.NONE
    return [record.value for fetched in read.batches for record in fetched.records]


class TestTrouble:
    @pytest.fixture(autouse=True)
    def _nothing_left(self, run: Run, engine: docker.DockerClient) -> Iterator[None]:
        yield
        assert leftovers(engine, run) == []

    def test_a_node_that_refuses_its_configuration_is_told_at_once(self, new: Image, run: Run) -> None:
        wrong = Topology(name="wrong", combined=True, brokers=1, config={"log.retention.hours": "never"})
        began = time.monotonic()
        with pytest.raises(NotReady) as raised:
            KRaftCluster(wrong, new, run).boot()
        assert time.monotonic() - began < 30
        assert "the wrong cluster of 4.3.1 is not ready: node-1 ended." in str(raised.value)
        assert "--- node-1: exited" in str(raised.value)
        [(node, end)] = raised.value.ends.items()
        assert (node, end.exit_code, end.out_of_memory) == ("node-1", 1, False)
        for text in (str(raised.value), end.log):
            assert "Invalid value never for configuration log.retention.hours" in text

    def test_an_image_that_never_becomes_ready_is_told_with_states_and_logs(self, new: Image, run: Run) -> None:
        """Its JVM waits for a debugger that never comes."""
        waiting = replace(new, kafka_opts=("-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=5005",))
        with pytest.raises(NotReady) as raised:
            KRaftCluster(ONE, waiting, run).boot(within=4)
        assert (raised.value.ends, raised.value.disagrees) == ({}, False)
        assert "is not ready: a quorum with a leader: not within 4 s" in str(raised.value)
        assert "--- node-1: running\nListening for transport dt_socket" in str(raised.value)

    def test_an_image_whose_log_tells_another_version_is_refused(self, new: Image, run: Run) -> None:
        with pytest.raises(KitError, match=r"is of 4\.3\.0, but the node's log says 4\.3\.1\. An image must hold"):
            KRaftCluster(ONE, replace(new, version="4.3.0"), run).boot()

    def test_a_feature_that_the_image_does_not_know_is_told_in_the_words_of_its_tool(
        self, new: Image, run: Run
    ) -> None:
        with pytest.raises(KitError, match=r"features \{'no.such': '1'\} failed: (.|\n)*no\.such"):
            KRaftCluster(Topology(name="one", combined=True, brokers=1, features={"no.such": "1"}), new, run).boot()

    def test_a_port_that_is_taken_is_changed_for_another(
        self, new: Image, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free = node._free_port
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = other.getsockname()[1]
            chosen = [taken, free(), free(), free()]
            given = iter(chosen)
            monkeypatch.setattr(node, "_free_port", lambda: next(given))
            with KRaftCluster(ONE, new, run).boot() as cluster:
                assert list(cluster.node(NODE).host_ports.values()) == chosen[2:]

    def test_ports_that_are_always_taken_end_the_tries(
        self, new: Image, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = other.getsockname()[1]
            monkeypatch.setattr(node, "_free_port", lambda: taken)
            with pytest.raises(
                KitError, match=rf"node-1: ports \[{taken}, {taken}\] were taken 5 times; the engine must"
            ):
                KRaftCluster(ONE, new, run).boot()


def test_a_cluster_of_controllers_and_brokers_is_whole_when_it_is_ready(
    new: Image, run: Run, engine: docker.DockerClient
) -> None:
    """Every broker sees all others, and the loss of the active controller is made up for. Its name still resolves: Java
    remembers for ten seconds that a name did not."""
    with KRaftCluster(Topology(name="three", controllers=3, brokers=3), new, run).boot() as cluster:
        assert len(leftovers(engine, run)) == 6 + 6 + 1
        for name in cluster.brokers:
            with cluster.client(name) as client:
                assert {broker.node_id for broker in client.metadata([]).brokers} == {1, 2, 3}
        active = next(name for name in cluster.controllers if leads(cluster, name))
        cluster.node(active).kill()
        others = [name for name in cluster.controllers if name != active]
        eventually(lambda: next((True for name in others if leads(cluster, name)), None), within=30, what="a successor")
        _, hosts = engine.containers.get(cluster.node(others[0]).own_volume).exec_run(["cat", "/etc/hosts"])
        assert f"{cluster.node(active).address}\t{active}" in hosts.decode()
        cluster.node(active).start()
        cluster.wait_ready()
    assert leftovers(engine, run) == []


def leads(cluster: KRaftCluster, name: str) -> bool:
    with cluster.client(name, controller=True, timeout=3) as client:
        return client.describe_quorum().leader_id == cluster.node(name).member.id
