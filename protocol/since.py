"""The first version of a message with each field: one table for senders of requests and readers of histories.

`since("FetchRequest", "LastFetchedEpoch")` is 12: the first version of FetchRequest with that field.

`FIELDS` follows the schemas in Kafka's jars (`common/message/*.json`) and uses their names; a nested field is named without its
parents. `SUPPORT` has changes by version that add no field, by API; its source is the text beside `validVersions` in the schema
of the request. A test compares both with the schemas.
"""

FIELDS: dict[str, dict[str, int]] = {
    # The log.
    "ProduceRequest": {"TopicId": 13},
    "FetchRequest": {
        "IsolationLevel": 4,  # KIP-98
        "CurrentLeaderEpoch": 9,  # KIP-320
        "RackId": 11,  # KIP-392: from here on followers serve consumers
        "LastFetchedEpoch": 12,  # KIP-595
        "TopicId": 13,  # KIP-516
        "ReplicaState": 15,  # KIP-903
        "ReplicaDirectoryId": 17,  # KIP-853
        "HighWatermark": 18,  # KIP-1166
    },
    "FetchResponse": {"LastStableOffset": 4, "LogStartOffset": 5, "DivergingEpoch": 12, "NodeEndpoints": 16},
    "ListOffsetsRequest": {"CurrentLeaderEpoch": 4},
    "ListOffsetsResponse": {"Offset": 1, "LeaderEpoch": 4},
    "OffsetForLeaderEpochRequest": {"CurrentLeaderEpoch": 2, "ReplicaId": 3},
    "OffsetForLeaderEpochResponse": {"LeaderEpoch": 1},
    # Topics and brokers.
    "ApiVersionsRequest": {"ClientSoftwareName": 3},
    "MetadataRequest": {"AllowAutoTopicCreation": 4, "TopicId": 10},
    "MetadataResponse": {"IsInternal": 1, "OfflineReplicas": 5, "LeaderEpoch": 7, "TopicId": 10},
    "DescribeConfigsResponse": {"ConfigSource": 1},
    "DeleteTopicsRequest": {"Topics": 6},
    "DescribeClusterRequest": {"EndpointType": 1, "IncludeFencedBrokers": 2},
    "AlterPartitionRequest": {"NewIsrWithEpochs": 3},
    # Coordinators and groups.
    "FindCoordinatorRequest": {"CoordinatorKeys": 4},
    "DescribeGroupsResponse": {"GroupInstanceId": 4},
    "ConsumerGroupDescribeResponse": {"MemberType": 1},
    "JoinGroupRequest": {"GroupInstanceId": 5},
    "LeaveGroupRequest": {"Members": 3},
    "OffsetCommitRequest": {"CommittedLeaderEpoch": 6, "GroupInstanceId": 7, "TopicId": 10},
    "OffsetFetchRequest": {"RequireStable": 7, "Groups": 8, "MemberId": 9, "TopicId": 10},
    "OffsetFetchResponse": {"CommittedLeaderEpoch": 5},
    "OffsetCommitValue": {"leaderEpoch": 3},
    # Producers and transactions.
    "InitProducerIdRequest": {"ProducerEpoch": 3},  # KIP-360
    "AddPartitionsToTxnRequest": {"Transactions": 4},  # KIP-890
    "EndTxnResponse": {"ProducerEpoch": 5},  # KIP-890
    "TxnOffsetCommitRequest": {"CommittedLeaderEpoch": 2, "MemberId": 3, "TopicId": 6},
    "WriteTxnMarkersRequest": {"TransactionVersion": 2},  # KIP-1228
    "ListTransactionsRequest": {"DurationFilter": 1, "TransactionalIdPattern": 2},
    # The metadata quorum.
    "VoteRequest": {"VoterId": 1, "PreVote": 2},
    "VoteResponse": {"NodeEndpoints": 1},
    "BeginQuorumEpochRequest": {"VoterId": 1, "LeaderEndpoints": 1},
    "EndQuorumEpochRequest": {"PreferredCandidates": 1, "LeaderEndpoints": 1},
    "DescribeQuorumResponse": {"LastFetchTimestamp": 1, "Nodes": 2},
}
"""The first version with each field, by message."""

SUPPORT: dict[str, dict[str, int]] = {
    "Fetch": {"magic 2": 4, "zstd": 10},  # KIP-98, before which records are converted down; KIP-110
    "ConsumerGroupHeartbeat": {"regular expressions": 1},  # KIP-848; 3.7 has the field in version 0, and ignores it
    "DescribeGroups": {"GROUP_ID_NOT_FOUND": 6},  # KIP-1043
    "ListOffsets": {"MAX_TIMESTAMP": 7},  # KIP-734
    "JoinGroup": {"MEMBER_ID_REQUIRED": 4},  # KIP-394
    "InitProducerId": {"PRODUCER_FENCED": 4, "TRANSACTION_ABORTABLE": 5},
    "AddPartitionsToTxn": {"PRODUCER_FENCED": 2, "TRANSACTION_ABORTABLE": 5},
    "AddOffsetsToTxn": {"PRODUCER_FENCED": 2, "TRANSACTION_ABORTABLE": 4},
    "EndTxn": {"PRODUCER_FENCED": 2, "TRANSACTION_ABORTABLE": 4, "transaction V2": 5},
    # With transaction V2 these requests themselves add their partitions or group to the transaction.
    "Produce": {"TRANSACTION_ABORTABLE": 11, "transaction V2": 12},
    "TxnOffsetCommit": {"TRANSACTION_ABORTABLE": 4, "transaction V2": 5},
}
"""The first version that knows an error code, a sentinel or a protocol, by API (KIP-890: "transaction V2")."""


_FIRST = FIELDS | SUPPORT


def since(message: str, what: str) -> int:
    """Return the first version of a message with a field, or of an API with support. Raises KeyError if unknown."""
    return _FIRST[message][what]
