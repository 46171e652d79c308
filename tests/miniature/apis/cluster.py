"""ApiVersions, and the controller's APIs about replicas: elections and reassignments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.miniature.core.broker import Broker
from tests.miniature.core.controller import PartitionState

Plain = dict[str, Any]


def api_versions(versions: Mapping[str, tuple[int, int, int]]) -> Plain:
    """Return the answer to ApiVersions. `versions`: API -> key, lowest and highest version."""
    keys = [{"api_key": key, "min_version": low, "max_version": high} for key, low, high in versions.values()]
    finalized = [{"name": "metadata.version", "max_version_level": 30, "min_version_level": 7}]
    return {"error_code": 0, "api_keys": keys, "finalized_features": finalized}


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
    replicas = {"replicas": list(state.replicas), "adding_replicas": list(state.adding), "removing_replicas": removing}
    return {"partition_index": state.key[1], **replicas}


__all__ = ["alter_reassignments", "api_versions", "elect_leaders", "list_reassignments"]
