"""Every typed call against real brokers, at every version that schema and broker share."""

import struct
from collections.abc import Iterator
from typing import TypeVar
from uuid import UUID

import msgspec
import pytest

from fixtures.cluster import KRaftCluster, Topology
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually
from fixtures.wire import ConnectionClosed, NodeClient
from fixtures.wire.errors import NotOffered
from fixtures.wire.records import control_message, encode_batch
from fixtures.wire.schemas import SchemaError
from protocol.assignments import encode_assignment, subscription
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.configs import ConfigsQuery, ResourceType
from protocol.controller import IsrChange
from protocol.errors import KitError
from protocol.groups import JOIN, LEAVE, NewOffset, TopicPartitions
from protocol.log import (
    EARLIEST,
    EpochAndOffset,
    EpochQuery,
    FetchOptions,
    FetchPartition,
    OffsetQuery,
    ProducePartition,
)
from protocol.messages import Topic
from protocol.operations import OPERATIONS
from protocol.quorum import Listener
from protocol.records import Codec, ControlType, NewBatch, NewRecord, RecordHeader, batch
from protocol.streams import Subtopology
from protocol.topics import NewTopic, Reassignment
from protocol.transactions import InitProducerIdAnswer, TxnMarker, TxnPartitions
from tests.support.wire_calls import Checking, made, seen, versions

pytestmark = pytest.mark.docker
T = TypeVar("T")


ALTER_PARTITION_BY_ID_FROM = 2
TAP = Checking()


@pytest.fixture(scope="module", params=["3.3.2", "4.3.1"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KRaftCluster]:
    topology = Topology(name="wire", brokers=1, combined=True)
    with Run.begin() as run, KRaftCluster(topology, obtain_image(request.param), run).boot() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: KRaftCluster) -> Iterator[NodeClient]:
    with cluster.client(cluster.brokers[0], TAP) as client:
        yield client


@pytest.fixture
def topic(client: NodeClient, request: pytest.FixtureRequest) -> Topic:
    """A topic of two partitions of this test's own, ready for use."""
    return made(client, "".join(filter(str.isalnum, request.node.name)), 2)


class TestLog:
    def test_produce(self, client: NodeClient, topic: Topic) -> None:
        for offset, version in enumerate(versions(client, "Produce", start=3)):
            named: Topic | str = topic if version >= 13 else topic.name
            answer = client.produce(named, 0, batch(b"%d" % version), version=version)
            assert (answer.version, answer.error, answer.base_offset) == (version, Error.NONE, offset)
        corrupt = bytearray(encode_batch(batch(b"value")))
        corrupt[-1] ^= 1
        assert client.produce(topic, 0, bytes(corrupt)).error is Error.CORRUPT_MESSAGE
        both = client.produce_many([ProducePartition(topic, p, batch(b"m")) for p in (0, 1)])
        assert {p.partition: p.error for p in both.partitions} == {0: Error.NONE, 1: Error.NONE}

    def test_produce_without_acks(self, client: NodeClient, topic: Topic) -> None:
        assert client.produce(topic, 0, batch(b"a"), acks=0).base_offset == -1
        assert client.produce(topic, 0, batch(b"b")).base_offset == 1

    @pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
    def test_records_come_back(self, client: NodeClient, topic: Topic, codec: Codec) -> None:
        new = (
            NewRecord(b"v" * 200, b"k", (RecordHeader("h", b"1"), RecordHeader("n")), 5),
            NewRecord(None, timestamp=7),
        )
        client.produce(topic, 0, NewBatch(new, codec=codec))
        [read] = client.fetch(FetchPartition(topic, 0, 0)).batches
        assert [NewRecord(r.value, r.key, r.headers, r.timestamp) for r in read.records] == list(new)
        assert (read.crc_valid, read.codec, read.leader_epoch, read.last_offset) == (True, codec, 0, 1)

    def test_fetch(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(b"a"))
        for version in versions(client, "Fetch"):
            named: Topic | str = topic if version >= 13 else topic.name
            answer = client.fetch(
                FetchPartition(named, 0, 0, current_leader_epoch=0 if version >= 9 else -1), version=version
            )
            assert (answer.version, answer.error, answer.high_watermark) == (version, Error.NONE, 1)
            assert [r.value for b in answer.batches for r in b.records] == [b"a"]
            as_follower = client.fetch(FetchPartition(named, 0, 0), FetchOptions(replica_id=7), version=version)
            assert as_follower.error is Error.NOT_LEADER_OR_FOLLOWER, version
        assert client.fetch(FetchPartition(topic, 0, 0, current_leader_epoch=3)).error is Error.UNKNOWN_LEADER_EPOCH
        assert client.fetch(FetchPartition(topic, 0, 9)).error is Error.OFFSET_OUT_OF_RANGE
        assert client.fetch(FetchPartition(Topic("no", UUID(int=9)), 0, 0)).error is Error.UNKNOWN_TOPIC_ID
        assert client.fetch(FetchPartition(topic.name, 0, 0)).version == 12
        with pytest.raises(SchemaError, match="doesn't carry replica_epoch"):
            client.fetch(FetchPartition(topic, 0, 0), FetchOptions(replica_id=1, replica_epoch=1), version=12)
        with pytest.raises(SchemaError, match="names topics by id"):
            client.fetch(FetchPartition(topic.name, 0, 0), version=13)

    def test_a_follower_that_diverged_is_told_where(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(b"a"))
        same = client.fetch(FetchPartition(topic, 0, 1, current_leader_epoch=0, last_fetched_epoch=0))
        assert (same.error, same.diverging_epoch) == (Error.NONE, None)
        longer = client.fetch(FetchPartition(topic, 0, 5, current_leader_epoch=0, last_fetched_epoch=0))
        assert (longer.error, longer.diverging_epoch) == (Error.NONE, EpochAndOffset(epoch=0, end_offset=1))

    def test_fetch_session(self, client: NodeClient, topic: Topic) -> None:
        wanted = [FetchPartition(topic=topic, partition=p, fetch_offset=0) for p in (0, 1)]
        full = client.fetch_many(wanted, FetchOptions(session_epoch=0))
        assert len(full.partitions) == 2
        client.produce(topic, 1, batch(b"new"))
        news = client.fetch_many([], FetchOptions(session_id=full.session_id, session_epoch=1, forgotten=((topic, 0),)))
        assert [p.partition for p in news.partitions] == [1]
        wrong = client.fetch_many([], FetchOptions(session_id=full.session_id, session_epoch=9))
        assert wrong.error is Error.INVALID_FETCH_SESSION_EPOCH

    def test_a_parked_fetch_wakes(self, client: NodeClient, topic: Topic) -> None:
        waiting = [FetchPartition(topic=topic, partition=0, fetch_offset=0)]
        parked = client.park_fetch(waiting, FetchOptions(max_wait_ms=20_000, min_bytes=1))
        client.produce(topic, 0, batch(b"wake"))
        [answer] = client.parked_fetch(parked, within=10).partitions
        assert answer.batches[0].records[0].value == b"wake"

    def test_a_parked_produce_is_answered(self, client: NodeClient, topic: Topic) -> None:
        parked = client.park_produce([ProducePartition(topic, 0, batch(b"parked"))], timeout_ms=5_000)
        [answer] = client.parked_produce(parked, within=10).partitions
        assert (answer.error, client.list_offsets(topic.name, 0).offset) == (Error.NONE, answer.base_offset + 1)

    def test_list_offsets(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(b"a"))
        for version in versions(client, "ListOffsets"):
            answer = client.list_offsets(topic.name, 0, version=version)
            assert (answer.version, answer.error) == (version, Error.NONE)
            assert (answer.offset, answer.old_style_offsets) in [(1, ()), (-1, (1,))]
        many = client.list_offsets_many([OffsetQuery(topic.name, 0, EARLIEST), OffsetQuery(topic.name, 1, -1, 9)])
        found = {p.partition: (p.error, p.offset) for p in many.partitions}
        assert found == {0: (Error.NONE, 0), 1: (Error.UNKNOWN_LEADER_EPOCH, -1)}

    def test_offset_for_leader_epoch(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(b"a"))
        for version in versions(client, "OffsetForLeaderEpoch"):
            answer = client.offset_for_leader_epoch(topic.name, 0, 0, version=version)
            assert (answer.version, answer.error, answer.end_offset) == (version, Error.NONE, 1)
        many = client.offset_for_leader_epoch_many(
            [EpochQuery(topic.name, 0, 0), EpochQuery(topic.name, 0, 5), EpochQuery(topic.name, 1, 0, 3)],
            replica_id=-1,
        )
        assert [(p.error, p.leader_epoch, p.end_offset) for p in many.partitions] == [
            (Error.NONE, 0, 1),
            (Error.NONE, -1, -1),
            (Error.UNKNOWN_LEADER_EPOCH, -1, -1),
        ]

    def test_delete_records(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(*[b"a"] * 5))
        for offset, version in enumerate(versions(client, "DeleteRecords"), 1):
            answer = client.delete_records(topic.name, 0, offset, version=version)
            assert (answer.error, answer.low_watermark) == (Error.NONE, offset)
        assert client.delete_records(topic.name, 0, 99).error is Error.OFFSET_OUT_OF_RANGE


class TestTopics:
    def test_create_and_delete(self, client: NodeClient) -> None:
        for version in versions(client, "CreateTopics"):
            made(client, f"created-{version}", 1, version=version)
        assert client.create_topics([NewTopic("created-3", ((1,),))]).topics[0].error is Error.TOPIC_ALREADY_EXISTS
        for version in versions(client, "DeleteTopics", start=2):
            [deleted] = client.delete_topics([f"created-{version}"], version=version).topics
            assert (deleted.name, deleted.error) == (f"created-{version}", Error.NONE)

    def test_delete_by_id(self, client: NodeClient, topic: Topic) -> None:
        [deleted] = client.delete_topics([topic]).topics
        assert (deleted.error, deleted.topic_id) == (Error.NONE, topic.id)

    def test_create_partitions(self, client: NodeClient, topic: Topic) -> None:
        for count, version in enumerate(versions(client, "CreatePartitions"), 3):
            [grown] = client.create_partitions(topic.name, count, assignment=((1,),), version=version).topics
            assert grown.error is Error.NONE

    def test_elect_leaders(self, client: NodeClient, topic: Topic) -> None:
        for version in versions(client, "ElectLeaders"):
            results = client.elect_leaders([(topic.name, 0), (topic.name, 9)], version=version).partitions
            assert {p.partition: p.error for p in results} == {
                0: Error.ELECTION_NOT_NEEDED,
                9: Error.UNKNOWN_TOPIC_OR_PARTITION,
            }

    def test_reassign(self, client: NodeClient, topic: Topic) -> None:
        wanted = [Reassignment(topic.name, 0, (1,)), Reassignment(topic.name, 1, None)]
        for version in versions(client, "AlterPartitionReassignments"):
            results = client.alter_partition_reassignments(wanted, version=version).partitions
            assert [p.error for p in results] == [Error.NONE, Error.NO_REASSIGNMENT_IN_PROGRESS]
        assert client.list_partition_reassignments().partitions == ()


class TestCluster:
    def test_api_versions(self, client: NodeClient) -> None:
        for version in versions(client, "ApiVersions"):
            answer = client.api_versions(version=version)
            assert answer.ranges["Fetch"].high >= 13
            assert ("metadata.version" in answer.finalized) == (version >= 3)
            assert ("metadata.version" in answer.supported) == (version >= 3)

    def test_metadata(self, client: NodeClient, topic: Topic) -> None:
        for version in versions(client, "Metadata"):
            answer = client.metadata([topic.name], version=version)
            partition = answer.topic(topic.name).partition(1)
            assert (partition.leader, partition.replicas, partition.isr) == (1, (1,), (1,))
            assert answer.brokers[0].node_id == 1
        by_id = client.metadata([Topic("", topic.id)]).topics[0]
        assert by_id.name == topic.name
        [unknown] = client.metadata(["not-created"]).topics
        assert unknown.error is Error.UNKNOWN_TOPIC_OR_PARTITION
        assert topic.name in [each.name for each in client.metadata().topics]

    def test_describe_topic_partitions(self, client: NodeClient, topic: Topic) -> None:
        if "DescribeTopicPartitions" not in client.api_versions().ranges:
            with pytest.raises(NotOffered):
                client.describe_topic_partitions([topic.name])
            return
        first = client.describe_topic_partitions([topic.name], response_partition_limit=1)
        assert first.next_cursor is not None
        rest = client.describe_topic_partitions([topic.name], cursor=first.next_cursor)
        assert [t.partitions[0].partition for t in first.topics + rest.topics] == [0, 1]

    def test_describe_cluster(self, client: NodeClient) -> None:
        for version in versions(client, "DescribeCluster"):
            answer = client.describe_cluster(include_fenced=version >= 2, version=version)
            assert (answer.error, [node.node_id for node in answer.brokers]) == (Error.NONE, [1])

    def test_find_coordinator(self, client: NodeClient) -> None:
        for version in versions(client, "FindCoordinator"):
            assert client.find_coordinator("group", version=version).error in (
                Error.NONE,
                Error.COORDINATOR_NOT_AVAILABLE,
            )
        eventually(
            lambda: client.find_coordinator("t", CoordinatorType.TRANSACTION).node_id == 1,
            within=20,
            what="a transaction coordinator",
        )
        found = client.find_coordinator_many(["group", "another group"]).coordinators
        assert [one.key for one in found] == ["group", "another group"]

    def test_describe_quorum(self, client: NodeClient) -> None:
        for version in versions(client, "DescribeQuorum"):
            answer = client.describe_quorum(version=version)
            assert (answer.error, answer.leader_id) == (Error.NONE, 1)
            assert [voter.replica_id for voter in answer.current_voters] == [1]
            assert [node.node_id for node in answer.nodes] == ([1] if version >= 2 else [])
        assert client.describe_quorum("not-a-quorum").error is Error.UNKNOWN_TOPIC_OR_PARTITION

    def test_describe_log_dirs(self, client: NodeClient, topic: Topic) -> None:
        for version in versions(client, "DescribeLogDirs"):
            [log_dir] = client.describe_log_dirs([(topic.name, 0)], version=version).log_dirs
            [replica] = log_dir.replicas
            assert (log_dir.error, replica.topic, replica.partition) == (Error.NONE, topic.name, 0)
        assert {r.topic for d in client.describe_log_dirs().log_dirs for r in d.replicas} >= {topic.name}

    def test_configs(self, client: NodeClient, topic: Topic) -> None:
        for version in versions(client, "IncrementalAlterConfigs"):
            changes = {"retention.ms": f"{10**9 + version}", "segment.bytes": None}
            altered = client.incremental_alter_configs(ResourceType.TOPIC, topic.name, changes, version=version)
            assert altered.error is Error.NONE
        for version in versions(client, "DescribeConfigs"):

            def retention(version: int = version) -> str | None:
                described = client.describe_configs(ResourceType.TOPIC, topic.name, ["retention.ms"], version=version)
                return described.value("retention.ms")

            # A broker hears of an alteration only after the controller has answered it.
            eventually(lambda: retention() == f"{10**9 + 1}", within=10, what="the last alteration described")
            assert retention() == f"{10**9 + 1}"
        asked = [ConfigsQuery(ResourceType.TOPIC, topic.name), ConfigsQuery(ResourceType.BROKER, "1")]
        assert [one.resource_name for one in client.describe_configs_many(asked).resources] == [topic.name, "1"]

    def test_a_controller_listener(self, cluster: KRaftCluster) -> None:
        with cluster.client(cluster.controllers[0], TAP, controller=True) as controller:
            assert controller.describe_quorum().leader_id == 1
            assert "Vote" in controller.api_versions().ranges
            with pytest.raises(NotOffered):
                controller.produce("t", 0, batch(b"a"))

    def test_the_raft_calls(self, cluster: KRaftCluster) -> None:
        with cluster.client(cluster.controllers[0], TAP, controller=True) as controller:
            epoch = controller.describe_quorum().leader_epoch
            led = {"leader_id": 1, "leader_epoch": epoch, "top_level_error": Error.NONE}
            for version in versions(controller, "Vote"):
                vote = controller.vote(
                    1, 0, last_offset=-1, last_offset_epoch=0, cluster_id=cluster.id, version=version
                )
                assert seen(vote, version, Error.INVALID_REQUEST, vote_granted=False, **led)
            for version in versions(controller, "BeginQuorumEpoch"):
                begin = controller.begin_quorum_epoch(1, epoch, cluster_id=cluster.id, version=version)
                assert seen(begin, version, Error.NONE, **led)
            for version in versions(controller, "EndQuorumEpoch"):
                end = controller.end_quorum_epoch(1, 0, cluster_id=cluster.id, successors=[1], version=version)
                assert seen(end, version, Error.FENCED_LEADER_EPOCH, **led)
            for version in versions(controller, "FetchSnapshot"):
                wanted = EpochAndOffset(1, 1)
                refused = controller.fetch_snapshot(
                    wanted, current_leader_epoch=epoch, cluster_id="another", version=version
                )
                assert seen(refused, version, Error.INCONSISTENT_CLUSTER_ID)
            endpoints = [Listener("CONTROLLER", "node-1", 9093)]
            with pytest.raises(SchemaError, match="carries no leader endpoints"):
                controller.begin_quorum_epoch(1, epoch, cluster_id=None, leader_endpoints=endpoints, version=0)

    def test_the_controllers_own_calls(self, cluster: KRaftCluster) -> None:
        """A registered broker, and an ISR change of a broker that gives an older epoch for itself."""
        with cluster.client(cluster.controllers[0], TAP, controller=True) as controller:
            epochs = controller.broker_registrations(controller.describe_quorum().leader_epoch).epochs
            assert epochs[1] >= 0
            change = IsrChange(
                topic=Topic("unknown", UUID(int=77)),
                partition=0,
                broker_id=1,
                broker_epoch=epochs[1] - 1,
                leader_epoch=0,
                partition_epoch=0,
                isr=(1,),
            )
            for version in versions(controller, "AlterPartition"):
                if version >= ALTER_PARTITION_BY_ID_FROM:
                    assert controller.alter_partition(change, version=version).error is Error.STALE_BROKER_EPOCH

    def test_a_request_as_bytes(self, client: NodeClient) -> None:
        """The body of ApiVersions v0 is empty."""
        assert client.reception("ApiVersions", 0, b"").answered

    def test_a_leader_change_in_the_metadata_log(self, cluster: KRaftCluster) -> None:
        metadata = Topic("__cluster_metadata", UUID(int=1))
        with cluster.client(cluster.controllers[0], TAP, controller=True) as controller:
            first = controller.fetch(
                FetchPartition(metadata, 0, 0, current_leader_epoch=1, last_fetched_epoch=0)
            ).batches[0]
            message = control_message(first.records[0], controller.schemas)
        assert (first.control, first.records[0].control_type) == (True, ControlType.LEADER_CHANGE)
        assert (message["leader_id"], [voter["voter_id"] for voter in message["voters"]]) == (1, [1])


def coordinated(client: NodeClient, group: str) -> str:
    """The group's name, once its coordinator has loaded."""
    client.find_coordinator(group)
    loading = {Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR}

    def loaded() -> bool:
        return client.offset_fetch(group, version=7).error not in loading

    return group if eventually(loaded, within=20, what=f"the coordinator of {group}") else ""


class TestGroups:
    def test_offsets(self, client: NodeClient, topic: Topic) -> None:
        group = coordinated(client, f"{topic.name}-offsets")
        for version in versions(client, "OffsetCommit", start=2):
            named = topic if version >= 10 else Topic(topic.name)
            leader_epoch = 4 if version >= 6 else -1
            new = [NewOffset(named, p, 10 * version + p, leader_epoch, "m") for p in (0, 1)]
            done = client.offset_commit(group, new, version=version)
            assert (done.version, done.errors) == (version, (Error.NONE, Error.NONE))
            assert done.all_answered(Error.NONE)
        newest = client.choose_version("OffsetCommit")
        for version in versions(client, "OffsetFetch", start=1):
            named = topic if version >= 10 else Topic(topic.name)
            answer = client.offset_fetch(group, [(named, 1)], require_stable=version >= 7, version=version)
            found = answer.only_partition
            assert (answer.error, found.error, found.offset, found.metadata) == (0, 0, 10 * newest + 1, "m")
            assert found.leader_epoch == (4 if version >= 5 else -1)
            assert (found.topic, found.topic_id) == ((None, topic.id) if version >= 10 else (topic.name, None))
            if version >= 2:
                assert len(client.offset_fetch(group, version=version).partitions) == 2
        with pytest.raises(KitError):
            assert client.offset_fetch(group).only_partition

    def test_a_classic_member(self, client: NodeClient, topic: Topic) -> None:
        group = coordinated(client, f"{topic.name}-classic")
        protocols = {"range": subscription([topic.name])}
        for version in versions(client, "JoinGroup"):
            asked = client.join_group(group, protocols, rebalance_timeout_ms=9_000 if version else -1, version=version)
            if asked.error is Error.MEMBER_ID_REQUIRED:
                asked = client.join_group(group, protocols, member_id=asked.member_id, version=version)
            assert (asked.error, asked.leader, asked.protocol_name) == (Error.NONE, asked.member_id, "range")
            assert [member.metadata for member in asked.members] == [protocols["range"]]
            own = {asked.member_id: encode_assignment({topic.name: [0, 1]})}
            kind, spoken = ("consumer", 5) if version >= 7 else (None, min(version, 4))
            share = client.sync_group(
                group,
                asked.member_id,
                asked.generation_id,
                own,
                protocol_type=kind,
                protocol_name="range" if kind else None,
                version=spoken,
            )
            assert (share.error, share.assignment) == (Error.NONE, own[asked.member_id])
            for described in versions(client, "DescribeGroups"):
                [seen] = client.describe_groups([group], version=described).groups
                assert (seen.error, [member.member_id for member in seen.members]) == (Error.NONE, [asked.member_id])
            for beat in versions(client, "Heartbeat"):
                answer = client.heartbeat(group, asked.member_id, asked.generation_id, version=beat)
                assert answer.error is Error.NONE
            left = client.leave_group(group, asked.member_id, version=min(version, client.choose_version("LeaveGroup")))
            assert (left.error, {member.error for member in left.members} - {Error.NONE}) == (Error.NONE, set())

    def test_a_consumer_protocol_member(self, client: NodeClient, topic: Topic) -> None:
        try:
            client.choose_version("ConsumerGroupHeartbeat")
        except NotOffered:
            return
        group = coordinated(client, f"{topic.name}-consumer")
        joined = client.consumer_group_heartbeat(
            group, "m", JOIN, rebalance_timeout_ms=9_000, subscribed_topic_names=[topic.name], owned=[]
        )
        assert (joined.error, joined.member_id) == (Error.NONE, "m")
        assert topic.id is not None
        both = (TopicPartitions(topic.id, (0, 1)),)

        def given() -> int | None:
            [member] = client.consumer_group_describe(group).members
            beat = client.consumer_group_heartbeat(group, "m", member.member_epoch)
            assert beat.error is Error.NONE
            return beat.member_epoch if member.assignment.topic_partitions == both else None

        epoch = eventually(given, within=20, what="an assignment")
        for version in versions(client, "ConsumerGroupDescribe"):
            described = client.consumer_group_describe(group, version=version)
            [member] = described.members
            assert (described.error, described.group_id, member.member_id) == (Error.NONE, group, "m")
            assert member.target_assignment.topic_partitions == both
        several = client.consumer_group_describe_many([group, f"{group}-unknown"]).groups
        assert [(one.group_id, one.error is Error.NONE) for one in several] == [
            (group, True),
            (f"{group}-unknown", False),
        ]
        own = client.consumer_group_heartbeat(group, "m", epoch, owned=both)
        assert (own.error, own.member_epoch) == (Error.NONE, epoch)
        served = client.offset_fetch(group, [(topic, 0)], member_id="m", epoch=epoch)
        assert (served.error, served.only_partition.offset) == (Error.NONE, -1)
        stale = client.offset_fetch(group, [(topic, 0)], member_id="m", epoch=99)
        assert (stale.error, stale.partitions) == (Error.STALE_MEMBER_EPOCH, ())
        left = client.consumer_group_heartbeat(group, "m", LEAVE)
        assert (left.error, left.member_epoch) == (Error.NONE, LEAVE)

    def test_a_streams_protocol_member(self, client: NodeClient, topic: Topic) -> None:
        if "StreamsGroupHeartbeat" not in client.api_versions().ranges:
            return
        group = coordinated(client, f"{topic.name}-streams")
        joined = client.streams_group_heartbeat(
            group,
            "m",
            JOIN,
            process_id="p",
            rebalance_timeout_ms=9_000,
            topology=[Subtopology("0", topic.name)],
            active=(),
            standby=(),
            warmup=(),
        )
        assert (joined.error, joined.member_id) == (Error.NONE, "m")
        left = client.streams_group_heartbeat(group, "m", LEAVE)
        assert (left.error, left.member_epoch) == (Error.NONE, LEAVE)


def loaded(client: NodeClient, transactional_id: str, *, version: int | None = None) -> InitProducerIdAnswer:
    """A producer id for the transactional id, once its coordinator has loaded."""
    client.find_coordinator(transactional_id, CoordinatorType.TRANSACTION)

    def given() -> InitProducerIdAnswer | None:
        answer = client.init_producer_id(transactional_id, transaction_timeout_ms=9_000, version=version)
        return answer if answer.error is Error.NONE else None

    return eventually(given, within=20, what=f"a producer id for {transactional_id}")


class TestTransactions:
    def test_a_transaction(self, client: NodeClient, topic: Topic) -> None:
        group, offsets = coordinated(client, f"{topic.name}-group"), [NewOffset(Topic(topic.name), 0, 7, 1, "m")]
        for version in versions(client, "EndTxn"):
            tid = f"{topic.name}-{version}"
            own = loaded(client, tid)
            id, epoch = own.producer_id, own.producer_epoch
            for spoken in versions(client, "AddPartitionsToTxn"):
                named = TxnPartitions(
                    transactional_id=tid, producer_id=id, producer_epoch=epoch, partitions=((topic.name, 0),)
                )
                added = (
                    client.add_partitions_to_txns([named], version=spoken)
                    if spoken >= 4
                    else client.add_partitions_to_txn(tid, id, epoch, named.partitions, version=spoken)
                )
                assert [(p.topic, p.partition, p.error, p.transactional_id) for p in added.partitions] == [
                    (topic.name, 0, Error.NONE, tid)
                ]
            for spoken in versions(client, "AddOffsetsToTxn"):
                assert client.add_offsets_to_txn(tid, id, epoch, group, version=spoken).error is Error.NONE
            for spoken in versions(client, "TxnOffsetCommit"):
                named_offsets = [msgspec.structs.replace(offsets[0], topic=topic)] if spoken >= 6 else offsets
                offset = msgspec.structs.replace(named_offsets[0], leader_epoch=1 if spoken >= 2 else -1)
                done = client.txn_offset_commit(tid, group, id, epoch, [offset], version=spoken)
                assert done.all_answered(Error.NONE)
            shown = client.describe_transaction(tid)
            assert (shown.state, shown.producer_id, shown.timeout_ms) == ("Ongoing", id, 9_000)
            assert (topic.name, 0) in shown.partitions
            assert client.describe_transactions([tid]).transactions == (shown,)
            ended = client.end_txn(tid, id, epoch, committed=True, version=version)
            assert (ended.error, ended.producer_epoch) == (Error.NONE, epoch + 1 if version >= 5 else -1)

    def test_many_producer_ids_and_epochs(self, client: NodeClient) -> None:
        """Requests that are sent without waiting for each answer get the answers that single ones get."""
        first = loaded(client, "many-0")
        ids = client.take_producer_ids(30)
        assert ids.error is Error.NONE
        assert len(set(ids.producer_ids)) == 30
        bumped = client.bump_epochs("many-0", first.producer_id, first.producer_epoch, 50)
        assert (bumped.error, bumped.producer_epoch) == (Error.NONE, first.producer_epoch + 50)
        fenced = client.bump_epochs("many-0", first.producer_id, first.producer_epoch, 3)
        assert fenced.error is Error.PRODUCER_FENCED

    def test_init_producer_id(self, client: NodeClient) -> None:
        for version in versions(client, "InitProducerId"):
            assert loaded(client, f"init-{version}", version=version).producer_epoch == 0
        bumped = client.init_producer_id("init-0", producer_id=loaded(client, "init-0").producer_id, producer_epoch=1)
        assert (bumped.error, bumped.producer_epoch) == (Error.NONE, 2)

    def test_producers_and_markers(self, client: NodeClient, topic: Topic) -> None:
        client.produce(topic, 0, batch(b"a", b"b", producer_id=900, producer_epoch=3, base_sequence=5))
        for version in versions(client, "DescribeProducers"):
            state = client.describe_producers(topic.name, 0, version=version).producer(900)
            assert state is not None
            assert (state.producer_epoch, state.last_sequence, state.current_txn_start_offset) == (3, 6, -1)
        both = client.describe_producers_many([(topic.name, 0), (topic.name, 1)]).partitions
        assert [one.partition for one in both if one.producer(900) is not None] == [0]
        for version in versions(client, "WriteTxnMarkers"):
            marker = TxnMarker(
                producer_id=900,
                producer_epoch=4,
                committed=False,
                partitions=((topic.name, 0),),
                coordinator_epoch=version,
                transaction_version=2 if version >= 2 else 0,
            )
            [marked] = client.write_txn_markers([marker], version=version).partitions
            assert (marked.producer_id, marked.topic, marked.partition, marked.error) == (900, topic.name, 0, 0)

    def test_list_transactions(self, client: NodeClient) -> None:
        own = loaded(client, "listed")
        for version in versions(client, "ListTransactions"):
            answer = client.list_transactions(
                states=["Empty", "Nonsense"],
                producer_ids=[own.producer_id],
                duration_ms=0 if version >= 1 else -1,
                transactional_id_pattern="list.*" if version >= 2 else None,
                version=version,
            )
            assert (answer.error, answer.unknown_state_filters) == (Error.NONE, ("Nonsense",))
            assert [found.transactional_id for found in answer.transaction_states] == ["listed"]


def test_a_version_that_the_node_does_not_offer(client: NodeClient) -> None:
    """It is sent when asked for; the node hangs up."""
    api = client.schemas.api("Fetch")
    offered = client.api_versions().ranges["Fetch"]
    connection = client.connect()
    request = connection.send(api, offered.high, {}, 5)
    connection.receive(request, 5)
    beyond = struct.pack(">hhih", api.key, offered.high + 1, 77, -1) + b"\x00"
    connection._socket.sendall(struct.pack(">i", len(beyond)) + beyond)
    with pytest.raises(ConnectionClosed):
        connection.receive(request._replace(correlation_id=77), 5)


def test_every_typed_call_was_tried() -> None:
    assert OPERATIONS.keys() <= TAP.seen
