"""FindCoordinator, OffsetCommit and OffsetFetch, of one coordinator that loses nothing."""

from __future__ import annotations

from typing import Any

from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import MiniCluster

Plain = dict[str, Any]

UNKNOWN_FROM = 6
"""The version of DescribeGroups from which on a non-existent group is an error (KIP-1043)."""


def find_coordinator(broker: Broker, asked: Plain) -> Plain:
    found = broker.cluster.coordinator
    error = Error.NONE if found is not None else Error.COORDINATOR_NOT_AVAILABLE
    where = {"node_id": -1 if found is None else found, "host": "miniature", "port": 9000 + (found or 0)}
    keys = asked.get("coordinator_keys")
    if keys is None:
        return {"error_code": error, "error_message": None, **where}
    return {"coordinators": [{"key": key, "error_code": error, "error_message": None, **where} for key in keys]}


def offset_commit(broker: Broker, asked: Plain) -> Plain:
    refused = Error.NONE if broker.cluster.coordinator == broker.id else Error.NOT_COORDINATOR
    topics = []
    for topic in asked["topics"]:
        name, each = _named(broker.cluster, topic), []
        for wanted in topic["partitions"]:
            if refused is Error.NONE:
                fields = (wanted["committed_offset"], wanted["committed_leader_epoch"], wanted["committed_metadata"])
                broker.cluster.offsets[asked["group_id"], name, wanted["partition_index"]] = fields
            each.append({"partition_index": wanted["partition_index"], "error_code": refused})
        topics.append({"name": name, "partitions": each})
    return {"topics": topics}


def offset_fetch(broker: Broker, asked: Plain) -> Plain:
    """Return the answer to OffsetFetch; up to version 7 for one group, whose error version 1 repeats in each
    partition."""
    if "groups" in asked:
        return {"groups": [_group(broker, group) for group in asked["groups"]]}
    group = _group(broker, asked)
    if asked["version"] > 1 or group["error_code"] == Error.NONE:
        return group
    return {"topics": [_refused(topic, group["error_code"]) for topic in asked["topics"]]}


def _refused(topic: Plain, error: Error) -> Plain:
    nothing = {"committed_offset": -1, "metadata": "", "error_code": error}
    return {
        "name": topic["name"],
        "partitions": [{"partition_index": i, **nothing} for i in topic["partition_indexes"]],
    }


def _group(broker: Broker, group: Plain) -> Plain:
    if broker.cluster.coordinator != broker.id:
        return {"group_id": group["group_id"], "error_code": Error.NOT_COORDINATOR, "topics": []}
    wanted = group["topics"]
    if wanted is None:
        stored = [key[1:] for key in broker.cluster.offsets if key[0] == group["group_id"]]
        wanted = [{"name": name, "partition_indexes": [index]} for name, index in stored]
    topics = []
    for topic in wanted:
        name = _named(broker.cluster, topic)
        each = [_committed(broker, (group["group_id"], name, index)) for index in topic["partition_indexes"]]
        topics.append({"name": name, "partitions": each})
    return {"group_id": group["group_id"], "error_code": 0, "topics": topics}


def _committed(broker: Broker, key: tuple[str, str, int]) -> Plain:
    offset, epoch, metadata = broker.cluster.offsets.get(key, (-1, -1, ""))
    epoch = -1 if "committed-epoch-lost" in broker.cluster.bugs else epoch
    fields = {"committed_offset": offset, "committed_leader_epoch": epoch, "metadata": metadata}
    return {"partition_index": key[2], "error_code": 0, **fields}


def describe_groups(broker: Broker, asked: Plain) -> Plain:
    return {"groups": [_described(broker, group, asked["version"]) for group in asked["groups"]]}


def _described(broker: Broker, group: str, version: int) -> Plain:
    fields: Plain = {"group_id": group, "protocol_type": "", "protocol_data": "", "error_message": None}
    if broker.cluster.coordinator != broker.id:
        return {**fields, "error_code": Error.NOT_COORDINATOR, "group_state": "", "members": []}
    members = broker.cluster.groups.get(group)
    if members is None:
        unknown = Error.GROUP_ID_NOT_FOUND if version >= UNKNOWN_FROM else Error.NONE
        return {**fields, "error_code": unknown, "group_state": "Dead", "members": []}
    each = [{"member_id": member, "group_instance_id": None} for member in members]
    return {**fields, "error_code": 0, "group_state": "Stable" if members else "Empty", "members": each}


def _named(cluster: MiniCluster, topic: Plain) -> str:
    if topic.get("name"):
        return str(topic["name"])
    known = next((one for one in cluster.controller.topics.values() if one.id == topic["topic_id"]), None)
    return known.name if known is not None else METADATA_TOPIC


__all__ = ["describe_groups", "find_coordinator", "offset_commit", "offset_fetch"]
