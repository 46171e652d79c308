"""What a broker answers: plain requests to plain answers, both with the names of Kafka's message schema in snake case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fixtures.wire import Error
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import CONTROLLER, Made, MiniCluster
from tests.miniature.core.controller import Key, PartitionState
from tests.miniature.groups.apis import find_coordinator, offset_commit, offset_fetch
from tests.miniature.log.apis import delete_records, epoch_ends, fetch, list_offsets, produce

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
    "ApiVersions": (18, 0, 4),
    "CreateTopics": (19, 2, 7),
    "DeleteTopics": (20, 1, 6),
    "DeleteRecords": (21, 0, 2),
    "OffsetForLeaderEpoch": (23, 2, 4),
    "DescribeConfigs": (32, 1, 4),
    "ElectLeaders": (43, 0, 2),
    "IncrementalAlterConfigs": (44, 0, 1),
    "AlterPartitionReassignments": (45, 0, 0),
    "ListPartitionReassignments": (46, 0, 0),
}
"""API -> key, lowest and highest version."""


def api_versions(broker: Broker, _: Plain) -> Plain:
    keys = [{"api_key": key, "min_version": low, "max_version": high} for key, low, high in VERSIONS.values()]
    finalized = [{"name": "metadata.version", "max_version_level": 30, "min_version_level": 7}]
    return {"error_code": 0, "api_keys": keys, "finalized_features": finalized}


# --- metadata


def metadata(broker: Broker, asked: Plain) -> Plain:
    cluster = broker.cluster
    wanted = [(named.get("name"), named.get("topic_id")) for named in asked["topics"] or ()]
    if asked["topics"] is None:
        wanted = [(name, None) for name in cluster.topics]
    living = [id for id in cluster.brokers if id not in broker.fenced_ids]
    return {
        "brokers": [{"node_id": id, "host": "miniature", "port": 9000 + id, "rack": None} for id in living],
        "cluster_id": "miniature",
        "controller_id": CONTROLLER,
        "topics": [_topic(broker, name, id) for name, id in wanted],
    }


def _topic(broker: Broker, name: str | None, id: Any) -> Plain:
    made = broker.cluster.topics.get(name) if name else broker.cluster.topic_of(id)
    states = [] if made is None else [told for key in _keys(broker, made) if (told := broker.told(key))]
    if made is None or not states:
        unknown = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
        return {"error_code": unknown, "name": name, "topic_id": id, "is_internal": False, "partitions": []}
    partitions = [_partition(state, broker) for state in states]
    return {"error_code": 0, "name": made.name, "topic_id": made.id, "is_internal": False, "partitions": partitions}


def _keys(broker: Broker, made: Made) -> list[Key]:
    return sorted(key for key in broker.views if key[0] == made.name)


def _partition(state: PartitionState, broker: Broker) -> Plain:
    return {
        "error_code": 0 if state.leader >= 0 else Error.LEADER_NOT_AVAILABLE,
        "partition_index": state.key[1],
        "leader_id": state.leader,
        "leader_epoch": state.epoch,
        "replica_nodes": list(state.replicas),
        "isr_nodes": list(state.isr),
        "offline_replicas": [id for id in state.replicas if id in broker.fenced_ids],
    }


# --- topics and replicas: what the controller is asked for, through a broker that reaches it


def create_topics(broker: Broker, asked: Plain) -> Plain:
    return {"topics": [_created(broker.cluster, topic) for topic in asked["topics"]]}


def _created(cluster: MiniCluster, topic: Plain) -> Plain:
    name = topic["name"]
    if name in cluster.topics:
        return {"name": name, "topic_id": None, "error_code": Error.TOPIC_ALREADY_EXISTS, "error_message": name}
    everywhere = [tuple(cluster.brokers)] * max(1, topic["num_partitions"])
    given = sorted(topic["assignments"], key=lambda one: int(one["partition_index"]))
    assignment = [tuple(one["broker_ids"]) for one in given] or everywhere
    configs = {config["name"]: config["value"] for config in topic["configs"]}
    made = cluster.create(name, assignment, configs)
    counts = {"num_partitions": len(assignment), "replication_factor": len(assignment[0])}
    return {"name": name, "topic_id": made.id, "error_code": 0, "error_message": None, **counts}


def elect_leaders(broker: Broker, asked: Plain) -> Plain:
    controller = broker.cluster.controller
    elect = controller.elect_unclean if asked["election_type"] else controller.elect_preferred
    results = []
    for topic in asked["topic_partitions"]:
        each = [{"partition_id": i, "error_code": elect((topic["topic"], i))} for i in topic["partitions"]]
        results.append({"topic": topic["topic"], "partition_result": each})
    return {"error_code": 0, "replica_election_results": results}


def alter_reassignments(broker: Broker, asked: Plain) -> Plain:
    responses = []
    for topic in asked["topics"]:
        each = []
        for wanted in topic["partitions"]:
            replicas = None if wanted["replicas"] is None else tuple(wanted["replicas"])
            key = (topic["name"], wanted["partition_index"])
            each.append({"partition_index": key[1], "error_code": broker.cluster.controller.reassign(key, replicas)})
        responses.append({"name": topic["name"], "partitions": each})
    return {"error_code": 0, "error_message": None, "responses": responses}


def list_reassignments(broker: Broker, _: Plain) -> Plain:
    ongoing = [state for state in broker.cluster.controller.partitions.values() if state.target is not None]
    topics = [{"name": state.key[0], "partitions": [_ongoing(state)]} for state in ongoing]
    return {"error_code": 0, "error_message": None, "topics": topics}


def _ongoing(state: PartitionState) -> Plain:
    removing = [id for id in state.replicas if id not in (state.target or ())]
    told = {"replicas": list(state.replicas), "adding_replicas": list(state.adding), "removing_replicas": removing}
    return {"partition_index": state.key[1], **told}


HANDLERS: dict[str, Handler] = {
    "Produce": produce,
    "Fetch": fetch,
    "ListOffsets": list_offsets,
    "OffsetForLeaderEpoch": epoch_ends,
    "DeleteRecords": delete_records,
    "Metadata": metadata,
    "ApiVersions": api_versions,
    "CreateTopics": create_topics,
    "ElectLeaders": elect_leaders,
    "AlterPartitionReassignments": alter_reassignments,
    "ListPartitionReassignments": list_reassignments,
    "FindCoordinator": find_coordinator,
    "OffsetCommit": offset_commit,
    "OffsetFetch": offset_fetch,
}

NEEDS_CONTROLLER = frozenset(
    {"CreateTopics", "ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments"}
)
"""A broker forwards these; one that does not reach the controller lets them time out."""
