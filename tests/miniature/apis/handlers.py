"""A broker's answers: plain requests to plain answers, with the message schema's names in snake case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.miniature.apis.cluster import alter_reassignments, api_versions, elect_leaders, list_reassignments
from tests.miniature.apis.configs import describe_configs, incremental_alter_configs
from tests.miniature.apis.groups import describe_groups, find_coordinator, offset_commit, offset_fetch
from tests.miniature.apis.log import delete_records, epoch_ends, fetch, list_offsets, produce
from tests.miniature.apis.producers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
)
from tests.miniature.apis.topics import (
    create_partitions,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    metadata,
)
from tests.miniature.core.broker import Broker

Plain = dict[str, Any]
Handler = Callable[[Broker, Plain], Plain]

VERSIONS: dict[str, tuple[int, int, int]] = {
    "Produce": (0, 3, 12),
    "Fetch": (1, 4, 17),
    "ListOffsets": (2, 1, 10),
    "Metadata": (3, 0, 12),
    "OffsetCommit": (8, 2, 9),
    "OffsetFetch": (9, 1, 9),
    "FindCoordinator": (10, 0, 6),
    "DescribeGroups": (15, 0, 6),
    "ApiVersions": (18, 0, 4),
    "CreateTopics": (19, 2, 7),
    "DeleteTopics": (20, 1, 6),
    "DeleteRecords": (21, 0, 2),
    "InitProducerId": (22, 0, 5),
    "OffsetForLeaderEpoch": (23, 2, 4),
    "AddPartitionsToTxn": (24, 0, 5),
    "AddOffsetsToTxn": (25, 0, 4),
    "EndTxn": (26, 0, 5),
    "TxnOffsetCommit": (28, 0, 5),
    "DescribeConfigs": (32, 1, 4),
    "CreatePartitions": (37, 0, 3),
    "ElectLeaders": (43, 0, 2),
    "IncrementalAlterConfigs": (44, 0, 1),
    "AlterPartitionReassignments": (45, 0, 0),
    "ListPartitionReassignments": (46, 0, 0),
    "DescribeProducers": (61, 0, 0),
    "DescribeTransactions": (65, 0, 0),
    "ListTransactions": (66, 0, 1),
    "DescribeTopicPartitions": (75, 0, 0),
}
"""API -> key, lowest and highest version."""

VERSIONS_OF_MEMBERS: dict[str, tuple[int, int, int]] = {
    "JoinGroup": (11, 2, 9),
    "Heartbeat": (12, 0, 4),
    "LeaveGroup": (13, 0, 5),
    "SyncGroup": (14, 0, 5),
    "ConsumerGroupHeartbeat": (68, 0, 1),
    "ConsumerGroupDescribe": (69, 0, 1),
}
"""The same of APIs for members, which a cluster without coordinators of members does not offer."""
OF_COORDINATORS = frozenset({*VERSIONS_OF_MEMBERS, "DescribeGroups", "FindCoordinator", "OffsetCommit", "OffsetFetch"})

HANDLERS: dict[str, Handler] = {
    "Produce": produce,
    "Fetch": fetch,
    "ListOffsets": list_offsets,
    "OffsetForLeaderEpoch": epoch_ends,
    "DeleteRecords": delete_records,
    "Metadata": metadata,
    "ApiVersions": lambda broker, asked: api_versions(VERSIONS),
    "CreateTopics": create_topics,
    "DeleteTopics": delete_topics,
    "CreatePartitions": create_partitions,
    "DescribeTopicPartitions": describe_topic_partitions,
    "DescribeConfigs": describe_configs,
    "IncrementalAlterConfigs": incremental_alter_configs,
    "ElectLeaders": elect_leaders,
    "AlterPartitionReassignments": alter_reassignments,
    "ListPartitionReassignments": list_reassignments,
    "FindCoordinator": find_coordinator,
    "OffsetCommit": offset_commit,
    "OffsetFetch": offset_fetch,
    "DescribeGroups": describe_groups,
    "DescribeProducers": describe_producers,
    "InitProducerId": init_producer_id,
    "AddPartitionsToTxn": add_partitions_to_txn,
    "AddOffsetsToTxn": add_offsets_to_txn,
    "TxnOffsetCommit": txn_offset_commit,
    "EndTxn": end_txn,
    "DescribeTransactions": describe_transactions,
    "ListTransactions": list_transactions,
}


def handle(broker: Broker, api: str, asked: Plain) -> Plain:
    """Return a broker's answer; that of a group's coordinator comes from the offsets topic if the cluster has one."""
    coordinators = broker.cluster.coordinators
    if coordinators is not None and api in OF_COORDINATORS:
        return coordinators.answer(api, broker, asked)
    return HANDLERS[api](broker, asked)


NEEDS_CONTROLLER = frozenset(
    {
        "AlterPartitionReassignments",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "ListPartitionReassignments",
    }
)
"""APIs that a broker forwards to the controller; without a link to it, they time out."""
