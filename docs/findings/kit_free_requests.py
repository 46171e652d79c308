"""Requests to the small clusters of the scripts, made with the classes of kafka-python."""

from __future__ import annotations

import time
from typing import Any

from kit_free import Cluster, Node, Trouble, tell, until

HEARTBEAT = 68
"""The key of ConsumerGroupHeartbeat, for which kafka-python has no class."""


def error(code: int) -> str:
    """Return the name of an error code, with the number."""
    from kafka.errors import for_code

    names = {0: "NONE", -1: "UNKNOWN_SERVER_ERROR"}
    return f"{names.get(code) or getattr(for_code(code), 'message', '?')} ({code})"


def text(value: str | None) -> bytes:
    """Return a compact string of Kafka's protocol; all here are shorter than 127 bytes."""
    return b"\0" if value is None else bytes([len(value) + 1]) + value.encode()


def describe(cluster: Cluster, topic: str, node: int = 1) -> Any:
    """Return the partitions of a topic as Metadata has them, by number."""
    from kafka.protocol.metadata import MetadataRequest

    answer = cluster[node].ask(MetadataRequest(version=7, topics=[MetadataRequest.MetadataRequestTopic(name=topic)]))
    return {one.partition_index: one for one in answer.topics[0].partitions}


def create_topic(cluster: Cluster, topic: str, assignment: list[list[int]], **settings: str) -> None:
    """Create a topic with these replicas of each partition, and wait until all partitions have leaders."""
    from kafka.protocol.admin import CreateTopicsRequest

    kind = CreateTopicsRequest.CreatableTopic
    wanted = kind(
        name=topic,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            kind.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
            for number, replicas in enumerate(assignment)
        ],
        configs=[kind.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
    )
    answer = cluster[1].ask(CreateTopicsRequest(version=4, topics=[wanted], timeout_ms=20000, validate_only=False))
    if answer.topics[0].error_code:
        raise Trouble(f"topic {topic} could not be created: {error(answer.topics[0].error_code)}")
    until(
        lambda: (
            all(one.leader_id >= 0 for one in describe(cluster, topic).values())
            and len(describe(cluster, topic)) == len(assignment)
        ),
        f"{topic} has leaders",
    )


def batch(*values: str, id: int = -1, epoch: int = -1, sequence: int = -1, transactional: bool = False) -> bytes:
    """Return a batch of records, of a producer if it has one."""
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(2, 0, transactional, id, epoch, sequence, 1 << 20)
    for offset, value in enumerate(values):
        builder.append(offset, int(time.time() * 1000), None, value.encode(), [])
    return bytes(builder.build())


def produce(
    node: Node, topic: str, records: bytes, acks: int = -1, transaction: str | None = None, partition: int = 0
) -> Any:
    """Send a batch and return the partition's answer."""
    from kafka.protocol.producer import ProduceRequest

    topics = ProduceRequest.TopicProduceData
    data = topics(name=topic, partition_data=[topics.PartitionProduceData(index=partition, records=records)])
    request = ProduceRequest(version=7, transactional_id=transaction, acks=acks, timeout_ms=10000, topic_data=[data])
    return node.ask(request).responses[0].partition_responses[0]


def append(node: Node, topic: str, records: bytes, **more: Any) -> int:
    """Send a batch that has to be appended, and return its offset."""
    answer = produce(node, topic, records, **more)
    if answer.error_code:
        raise Trouble(f"a write to {topic} was refused: {error(answer.error_code)}")
    return int(answer.base_offset)


def fetch(node: Node, topic: str, offset: int, committed: bool = False) -> Any:
    """Fetch partition 0 from an offset as a consumer, and return the partition's answer."""
    from kafka.protocol.consumer import FetchRequest

    kind = FetchRequest.FetchTopic
    wanted = kind.FetchPartition(
        partition=0, current_leader_epoch=-1, fetch_offset=offset, log_start_offset=-1, partition_max_bytes=1 << 20
    )
    request = FetchRequest(
        version=11,
        replica_id=-1,
        max_wait_ms=100,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=int(committed),
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic=topic, partitions=[wanted])],
        forgotten_topics_data=[],
        rack_id="",
    )
    return node.ask(request).responses[0].partitions[0]


def list_offset(node: Node, topic: str, timestamp: int, committed: bool = False, partition: int = 0) -> Any:
    """Ask for the offset at a timestamp: -1 is the latest, -2 the earliest."""
    from kafka.protocol.consumer import ListOffsetsRequest

    kind = ListOffsetsRequest.ListOffsetsTopic
    wanted = kind.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=timestamp)
    topics = [kind(name=topic, partitions=[wanted])]
    answer = node.ask(ListOffsetsRequest(version=4, replica_id=-1, isolation_level=int(committed), topics=topics))
    return answer.topics[0].partitions[0]


def delete_records(node: Node, topic: str, below: int) -> None:
    """Trim a partition; it has to succeed."""
    from kafka.protocol.admin import DeleteRecordsRequest

    kind = DeleteRecordsRequest.DeleteRecordsTopic
    wanted = kind.DeleteRecordsPartition(partition_index=0, offset=below)
    topics = [kind(name=topic, partitions=[wanted])]
    answer = node.ask(DeleteRecordsRequest(version=1, topics=topics, timeout_ms=20000)).topics[0].partitions[0]
    if answer.error_code:
        raise Trouble(f"DeleteRecords was refused: {error(answer.error_code)}")


def init_producer(node: Node, transaction: str | None, id: int = -1, epoch: int = -1, timeout: int = 60000) -> Any:
    """Send InitProducerId."""
    from kafka.protocol.producer import InitProducerIdRequest

    return node.ask(
        InitProducerIdRequest(
            version=4,
            transactional_id=transaction,
            transaction_timeout_ms=timeout,
            producer_id=id,
            producer_epoch=epoch,
        )
    )


def new_producer(node: Node, transaction: str | None, timeout: int = 60000) -> tuple[int, int]:
    """Return a producer id and its epoch, once the coordinator is there."""
    if transaction is not None:
        find_coordinator(node, transaction, kind=1)
    got: list[tuple[int, int]] = []

    def try_it() -> bool:
        answer = init_producer(node, transaction, timeout=timeout)
        if answer.error_code == 0:
            got.append((answer.producer_id, answer.producer_epoch))
        return bool(got)

    until(try_it, f"InitProducerId of {transaction} succeeds")
    return got[0]


def find_coordinator(node: Node, key: str, kind: int) -> int:
    """Return the coordinator of a group (0) or of a transactional id (1), once there is one."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    found: list[int] = []

    def try_it() -> bool:
        answer = node.ask(FindCoordinatorRequest(version=2, key=key, key_type=kind))
        if answer.error_code == 0:
            found.append(answer.node_id)
        return bool(found)

    until(try_it, f"{key} has a coordinator")
    return found[0]


def add_partition(node: Node, transaction: str, id: int, epoch: int, topics: dict[str, list[int]]) -> None:
    """Add partitions to a transaction; it has to succeed."""
    from kafka.protocol.producer import AddPartitionsToTxnRequest

    kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    named = [kind(name=topic, partitions=partitions) for topic, partitions in topics.items()]

    def try_it() -> bool:
        answer = node.ask(
            AddPartitionsToTxnRequest(
                version=2,
                v3_and_below_transactional_id=transaction,
                v3_and_below_producer_id=id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=named,
            )
        )
        codes = {
            one.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        }
        if codes - {0, 51}:
            raise Trouble(f"AddPartitionsToTxn was refused: {', '.join(map(error, codes))}")
        return codes == {0}

    until(try_it, "the partitions are added to the transaction")


def end_transaction(node: Node, transaction: str, id: int, epoch: int, commit: bool) -> int:
    """Send EndTxn and return the error code."""
    from kafka.protocol.producer import EndTxnRequest

    request = EndTxnRequest(
        version=2, transactional_id=transaction, producer_id=id, producer_epoch=epoch, committed=commit
    )
    return int(node.ask(request).error_code)


def describe_transaction(node: Node, transaction: str) -> Any:
    """Return the state of a transactional id."""
    from kafka.protocol.admin import DescribeTransactionsRequest

    return node.ask(DescribeTransactionsRequest(version=0, transactional_ids=[transaction])).transaction_states[0]


def in_sync(cluster: Cluster, topic: str, node: int = 1) -> list[int]:
    """Return the ISR of partition 0, as a broker tells it."""
    return sorted(describe(cluster, topic, node)[0].isr_nodes)


def reassign(cluster: Cluster, topic: str, replicas: list[int]) -> int:
    """Ask for other replicas of partition 0, and return the error code."""
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest

    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    wanted = kind.ReassignablePartition(partition_index=0, replicas=replicas)
    topics = [kind(name=topic, partitions=[wanted])]
    answer = cluster[1].ask(AlterPartitionReassignmentsRequest(version=0, timeout_ms=20000, topics=topics))
    return int(answer.error_code or answer.responses[0].partitions[0].error_code)


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Delete a topic; it has to succeed."""
    from kafka.protocol.admin import DeleteTopicsRequest

    answer = cluster[1].ask(DeleteTopicsRequest(version=1, topic_names=[topic], timeout_ms=20000))
    if answer.responses[0].error_code:
        raise Trouble(f"DeleteTopics was refused: {error(answer.responses[0].error_code)}")


def alter_topic(cluster: Cluster, topic: str, name: str, value: str) -> None:
    """Set a configuration of a topic; it has to succeed."""
    from kafka.protocol.admin import IncrementalAlterConfigsRequest

    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = kind.AlterableConfig(name=name, config_operation=0, value=value)
    wanted = kind(resource_type=2, resource_name=topic, configs=[config])
    answer = cluster[1].ask(IncrementalAlterConfigsRequest(version=0, resources=[wanted], validate_only=False))
    if answer.responses[0].error_code:
        raise Trouble(f"IncrementalAlterConfigs was refused: {error(answer.responses[0].error_code)}")


def eligible(cluster: Cluster, topic: str) -> list[int]:
    """Return the eligible leader replicas (KIP-966) of partition 0; none where brokers do not tell them."""
    from kafka.protocol.admin import DescribeTopicPartitionsRequest

    if tuple(int(part) for part in cluster.version.split("-")[0].split(".")[:2]) < (3, 8):
        return []
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name=topic)]
    request = DescribeTopicPartitionsRequest(version=0, topics=topics, response_partition_limit=10, cursor=None)
    return sorted(cluster[1].ask(request).topics[0].partitions[0].eligible_leader_replicas or ())


def state_of(cluster: Cluster, topic: str) -> str:
    """Return leader, replicas, ISR and eligible replicas of partition 0 in words."""
    one = describe(cluster, topic)[0]
    elected = f", eligible {eligible(cluster, topic)}" if eligible(cluster, topic) else ""
    return f"leader {one.leader_id}, replicas {list(one.replica_nodes)}, ISR {sorted(one.isr_nodes)}{elected}"


def diverge(cluster: Cluster, topic: str, kept: int, lost: int) -> None:
    """Write records one by one to a topic on brokers 2 and 3, kill both, and cut the last ones from the disk of broker 3.

    Broker 3 was the last leader, and is started again. It leads; broker 2 has records that no leader has, and is still down.
    """
    cluster.step(f"brokers 2 and 3 have a partition; {kept + lost} records are acknowledged by both")
    batches = [batch(f"record {number}") for number in range(kept + lost)]
    for one in batches:
        append(cluster[2], topic, one)
    cluster.step("broker 2 is killed, and broker 3 leads; then broker 3 is killed")
    cluster[2].kill()
    until(lambda: describe(cluster, topic)[0].leader_id == 3 and in_sync(cluster, topic) == [3], "broker 3 leads alone")
    cluster[3].kill()
    until(lambda: describe(cluster, topic)[0].leader_id == -1, "no leader")
    size = sum(len(one) for one in batches[:kept])
    segment = f"/data/log/{topic}-0/00000000000000000000.log"
    cluster.step(
        f"a power loss: the last {lost} records of broker 3 never came to its disk (the segment is cut at {size})"
    )
    cluster[3].on_disk(f"truncate -s {size} {segment}")
    cluster.step("broker 3 is started")
    cluster[3].start()
    until(lambda: describe(cluster, topic)[0].leader_id == 3, "broker 3 leads again")
    tell(f"{state_of(cluster, topic)}; log end {list_offset(cluster[3], topic, -1).offset}")
