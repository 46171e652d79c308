"""Everything that is read from disk, on live nodes of two releases: what the files say is what the cluster says."""

from collections.abc import Iterator

import pytest

from fixtures.cluster import KRaftCluster, Topology
from fixtures.cluster.node import ClusterNode
from fixtures.disk import producers, quorum_state
from fixtures.disk.checkpoint import RECOVERY_POINTS
from fixtures.disk.metadata_log import DIRECTORY, MetadataSchemas, read_metadata_log
from fixtures.disk.replicas import Replica, compare_replicas, read_offsets, read_replica, read_replicas
from fixtures.disk.segments import read_segment
from fixtures.disk.volume import on_volume, overwrite_command
from fixtures.engine import connect
from fixtures.faults.base.target import FaultTarget
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually
from history.readings import EpochEntry
from protocol.codes import Error
from protocol.records import batch
from protocol.transactions import InitProducerIdAnswer

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module", params=["4.3.1", "3.9.2"])
def target(request: pytest.FixtureRequest) -> Iterator[FaultTarget]:
    topology = Topology(name="disk", controllers=1, brokers=2)
    with Run.begin() as run:
        try:
            with (
                KRaftCluster(topology, obtain_image(request.param), run).boot() as cluster,
                FaultTarget.on_new_topic(cluster) as target,
            ):
                yield target
        finally:
            run.end(connect())


@pytest.fixture
def directory(target: FaultTarget) -> str:
    return f"{target.topic.name}-{target.index}"


def replicas(target: FaultTarget, directory: str) -> list[Replica]:
    return read_replicas([target.cluster.node(name) for name in target.cluster.brokers], directory)


def test_replicas_of_running_nodes_have_what_was_written(target: FaultTarget, directory: str) -> None:
    first = target.write(b"a", b"b")
    producer = new_producer(target)
    idempotent = batch(b"c", producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, base_sequence=0)
    assert target.leader().produce(target.topic, target.index, idempotent).error is Error.NONE
    found = replicas(target, directory)
    for replica in found:
        plain, with_producer = replica.batches()
        assert (plain.base_offset, plain.last_offset, plain.leader_epoch) == (first, first + 1, 0)
        assert with_producer.producer_id == producer.producer_id >= 0
        assert (with_producer.producer_epoch, with_producer.base_sequence) == (producer.producer_epoch, 0)
        assert [record.value for record in with_producer.records()] == [b"c"]
        assert (replica.log_start, replica.log_end, replica.epochs_without_entry()) == (0, 3, [])
        assert replica.epochs == (EpochEntry(0, 0),)
    assert compare_replicas(found, upto=3) is None


def test_a_node_is_read_while_it_is_written_to(target: FaultTarget, directory: str) -> None:
    for _ in range(3):
        target.write(b"x" * 1_000)
        assert compare_replicas(replicas(target, directory)) is None


def test_the_quorum_state_is_what_the_quorum_says(target: FaultTarget) -> None:
    controller = target.watch.controller()
    assert controller is not None
    state = quorum_state.parse_quorum_state(controller_of(target).read_file(quorum_state.PATH))
    assert (state.leader_id, state.leader_epoch) == (controller.id, controller.epoch)


def test_the_metadata_log_names_the_topic_on_all_nodes(target: FaultTarget) -> None:
    schemas = MetadataSchemas.of_image(target.cluster.image)
    for node in target.cluster.nodes.values():
        log = read_metadata_log(node)
        records = schemas.records(log.batches())
        assert [one.offset for one in records] == list(range(len(records)))
        assert records[0].type == "LeaderChangeMessage"
        topics = {one.fields["name"]: one.fields["topic_id"] for one in records if one.type == "TopicRecord"}
        assert topics[target.topic.name] == target.topic.id
    assert compare_replicas(read_replicas(list(target.cluster.nodes.values()), DIRECTORY)) is None


def test_what_a_controller_was_formatted_with(target: FaultTarget) -> None:
    batches = read_segment(0, controller_of(target).read_file("bootstrap.checkpoint")).batches
    types = [one.type for one in MetadataSchemas.of_image(target.cluster.image).records(batches)]
    assert types[0] == "SnapshotHeaderRecord"
    assert "FeatureLevelRecord" in types


def test_a_flipped_byte_on_a_stopped_node_is_a_difference(target: FaultTarget, directory: str) -> None:
    node = target.cluster.node(follower(target))
    node.stop()
    held = read_replica(node, directory)
    assert read_offsets(node, RECOVERY_POINTS)[directory] == held.log_end
    assert producers.is_whole(node.read_dir(directory)[producers.snapshot_name(held.log_end)])
    assert compare_replicas(replicas(target, directory)) is None
    flipped = held.batches()[1]
    path = f"{directory}/{held.segments[0].name}.log"
    on_volume(node, overwrite_command(path, flipped.position + flipped.size - 1, b"\x7f"))
    difference = compare_replicas(replicas(target, directory))
    assert difference is not None
    assert (difference.offset, difference.what) == (flipped.base_offset, "bytes")
    on_volume(node, overwrite_command(path, flipped.position + flipped.size - 1, flipped.data[-1:]))
    node.start()
    eventually(lambda: not target.why_unhealthy(), within=60, what="the cluster is whole again", state=target.states)
    assert compare_replicas(replicas(target, directory)) is None


def new_producer(target: FaultTarget) -> InitProducerIdAnswer:
    """Its id; the first one of a cluster takes a moment to be had."""

    def asked() -> InitProducerIdAnswer | None:
        answer = target.leader().init_producer_id()
        return answer if answer.error is Error.NONE else None

    return eventually(asked, within=30, what="a producer id")


def controller_of(target: FaultTarget) -> ClusterNode:
    return target.cluster.node(target.cluster.controllers[0])


def follower(target: FaultTarget) -> str:
    now = target.partition()
    return target.name_of(next(id for id in now.replicas if id != now.leader))
