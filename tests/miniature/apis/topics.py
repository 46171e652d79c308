"""Topics, as the controller answers forwarded requests (create, delete, add partitions), and a broker's Metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from protocol.codes import Error
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import CONTROLLER, MiniCluster
from tests.miniature.core.configs import TOPIC, refusal
from tests.miniature.core.controller import PartitionState

Plain = dict[str, Any]
Assignment = list[tuple[int, ...]]

NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NO_ID = UUID(int=0)
HEARS_OF_ONE_LESS = 2
"""The broker with the bug `last-partition-unheard`."""


# --- Metadata


def metadata(broker: Broker, asked: Plain) -> Plain:
    cluster = broker.cluster
    wanted = [(named.get("name"), named.get("topic_id")) for named in asked["topics"] or ()]
    if asked["topics"] is None:
        wanted = [(name, None) for name in broker.topics if _states(broker, name)]
    elif "foreign-topic-answered" in cluster.bugs:
        wanted.append(("another", None))
    living = [id for id in cluster.brokers if id not in broker.fenced_ids]
    return {
        "brokers": [{"node_id": id, "host": "miniature", "port": 9000 + id, "rack": None} for id in living],
        "cluster_id": "miniature",
        "controller_id": CONTROLLER,
        "topics": [_topic(broker, name, id) for name, id in wanted],
    }


def _topic(broker: Broker, name: str | None, id: UUID | None) -> Plain:
    topic = broker.topics.get(name) if name else broker.topic_of(id or NO_ID)
    states = [] if topic is None else _states(broker, topic.name)
    if topic is None or not states:
        unknown = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
        return {"error_code": unknown, "name": name, "topic_id": id, "is_internal": False, "partitions": []}
    partitions = [_partition(state, broker) for state in states]
    return {"error_code": 0, "name": topic.name, "topic_id": topic.id, "is_internal": False, "partitions": partitions}


def _states(broker: Broker, topic: str) -> list[PartitionState]:
    states = [broker.in_metadata(key) for key in sorted(key for key in broker.views if key[0] == topic)]
    found = [state for state in states if state is not None]
    fewer = len(found) > 1 and broker.id == HEARS_OF_ONE_LESS and "last-partition-unheard" in broker.cluster.bugs
    return found[:-1] if fewer else found


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


def describe_topic_partitions(broker: Broker, asked: Plain) -> Plain:
    """Return the answer to DescribeTopicPartitions, without eligible leader replicas: an ISR keeps its last member."""
    topics = [_topic(broker, wanted["name"], None) for wanted in asked["topics"]]
    described = [
        topic | {"partitions": [_with_eligible(one, broker) for one in topic["partitions"]]} for topic in topics
    ]
    return {"topics": described, "next_cursor": None}


def _with_eligible(partition: Plain, broker: Broker) -> Plain:
    full = len(partition["isr_nodes"]) == len(partition["replica_nodes"])
    eligible = [] if full or "eligible-in-isr" not in broker.cluster.bugs else partition["isr_nodes"][:1]
    return partition | {"eligible_leader_replicas": eligible, "last_known_elr": []}


# --- CreateTopics


def create_topics(broker: Broker, asked: Plain) -> Plain:
    names = [topic["name"] for topic in asked["topics"]]
    twice = {name for name in names if names.count(name) > 1}
    answers = [_refused(name, Error.INVALID_REQUEST) for name in sorted(twice)]
    once = [topic for topic in asked["topics"] if topic["name"] not in twice]
    return {"topics": answers + [_created(broker.cluster, topic, asked["validate_only"]) for topic in once]}


def _created(cluster: MiniCluster, wanted: Plain, validate_only: bool) -> Plain:
    name, configs = wanted["name"], {config["name"]: config["value"] for config in wanted["configs"]}
    error, assignment = _unfit(cluster, wanted, configs)
    if error is Error.INVALID_CONFIG and "refused-topic-created" in cluster.bugs:
        cluster.controller.create_topic(name, assignment)
    if error is Error.INVALID_CONFIG and "internal-error-answered" in cluster.bugs:
        error = Error.UNKNOWN_SERVER_ERROR
    if error is not Error.NONE:
        return _refused(name, error)
    id = NO_ID if validate_only else cluster.controller.create_topic(name, assignment, configs).id
    counts = {"num_partitions": len(assignment), "replication_factor": len(assignment[0])}
    return {"name": name, "topic_id": id, "error_code": 0, "error_message": None, **counts}


def _refused(name: str, error: Error) -> Plain:
    counts = {"num_partitions": -1, "replication_factor": -1}
    return {"name": name, "topic_id": NO_ID, "error_code": error, "error_message": error.name, **counts}


def _unfit(cluster: MiniCluster, wanted: Plain, configs: dict[str, str | None]) -> tuple[Error, Assignment]:
    """Return the error for a topic that cannot be created, and the replicas that it would get."""
    name, controller = wanted["name"], cluster.controller
    if not NAME.fullmatch(name) or name in (".", ".."):
        return Error.INVALID_TOPIC_EXCEPTION, []
    if name in controller.topics or (name in controller.deleted and "deleted-name-taken" in cluster.bugs):
        return Error.TOPIC_ALREADY_EXISTS, []
    if any(name.replace(".", "_") == other.replace(".", "_") for other in controller.topics):
        return Error.INVALID_TOPIC_EXCEPTION, []
    error, assignment = _assigned(cluster, wanted)
    if error is not Error.NONE:
        return error, assignment
    wrong = any(refusal(TOPIC, key, value) is not Error.NONE for key, value in configs.items())
    return Error.INVALID_CONFIG if wrong else Error.NONE, assignment


def _assigned(cluster: MiniCluster, wanted: Plain) -> tuple[Error, Assignment]:
    partitions, factor, given = wanted["num_partitions"], wanted["replication_factor"], wanted["assignments"]
    if given:
        if partitions != -1 or factor != -1:
            return Error.INVALID_REQUEST, []
        ordered = sorted(given, key=lambda one: int(one["partition_index"]))
        if [one["partition_index"] for one in ordered] != list(range(len(given))):
            return Error.INVALID_REPLICA_ASSIGNMENT, []
        return _given(cluster, [tuple(one["broker_ids"]) for one in ordered])
    if partitions == 0 or partitions < -1:
        return Error.INVALID_PARTITIONS, []
    if factor == 0 or factor < -1 or factor > len(cluster.brokers):
        return Error.INVALID_REPLICATION_FACTOR, []
    return Error.NONE, placed(cluster, max(1, partitions), len(cluster.brokers) if factor == -1 else factor)


def _given(cluster: MiniCluster, assignment: Assignment) -> tuple[Error, Assignment]:
    """Return the given assignment, with an error unless it has known brokers, each once, one of them alive, and equally
    many per partition."""
    for replicas in assignment:
        known = replicas and set(replicas) <= set(cluster.brokers) and len(set(replicas)) == len(replicas)
        alive = not set(replicas) <= cluster.controller.fenced
        if not known or not alive or len(replicas) != len(assignment[0]):
            return Error.INVALID_REPLICA_ASSIGNMENT, []
    return Error.NONE, assignment


def placed(cluster: MiniCluster, partitions: int, factor: int) -> Assignment:
    """Return an assignment that prefers unfenced brokers."""
    ids = sorted(cluster.brokers, key=lambda id: (id in cluster.controller.fenced, id))
    return [tuple(ids[:factor])] * partitions


# --- DeleteTopics


def delete_topics(broker: Broker, asked: Plain) -> Plain:
    by_name: list[Plain] = [{"name": name, "topic_id": NO_ID} for name in asked.get("topic_names", ())]
    return {"responses": [_deleted(broker.cluster, one) for one in by_name + asked.get("topics", [])]}


def _deleted(cluster: MiniCluster, wanted: Plain) -> Plain:
    name, id = wanted["name"], wanted.get("topic_id") or NO_ID
    topics = cluster.controller.topics
    by_id = (one for one in topics.values() if one.id == id or "former-id-deletes" in cluster.bugs)
    topic = topics.get(name) if name else next(by_id, None)
    error = Error.NONE
    if name and id != NO_ID:
        error = Error.INVALID_REQUEST
    elif topic is None:
        error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
    if topic is None or error is not Error.NONE:
        return {"name": name, "topic_id": id, "error_code": error, "error_message": error.name}
    cluster.delete(topic.name)
    return {"name": topic.name, "topic_id": topic.id, "error_code": 0, "error_message": None}


# --- CreatePartitions


def create_partitions(broker: Broker, asked: Plain) -> Plain:
    return {"results": [_grown(broker.cluster, topic, asked["validate_only"]) for topic in asked["topics"]]}


def _grown(cluster: MiniCluster, wanted: Plain, validate_only: bool) -> Plain:
    name, controller = wanted["name"], cluster.controller
    now = controller.partitions_of(name)
    more = wanted["count"] - len(now)
    error, assignment = Error.NONE, []
    if name not in controller.topics:
        error = Error.UNKNOWN_TOPIC_OR_PARTITION
    elif more <= 0:
        error = Error.INVALID_PARTITIONS
    elif wanted["assignments"] is None:
        assignment = placed(cluster, more, len(now[0].replicas))
    else:
        error, assignment = _by_hand(cluster, wanted["assignments"], more, len(now[0].replicas))
    if error is Error.INVALID_REPLICA_ASSIGNMENT and "refused-growth-grows" in cluster.bugs:
        controller.add_partitions(name, placed(cluster, more, len(now[0].replicas)))
    if error is Error.NONE and not validate_only:
        controller.add_partitions(name, assignment)
    return {"name": name, "error_code": error, "error_message": None if error is Error.NONE else error.name}


def _by_hand(cluster: MiniCluster, given: Sequence[Plain], more: int, factor: int) -> tuple[Error, Assignment]:
    assignment = [tuple(one["broker_ids"]) for one in given]
    if len(assignment) != more or any(len(replicas) != factor for replicas in assignment):
        return Error.INVALID_REPLICA_ASSIGNMENT, []
    return _given(cluster, assignment)


__all__ = ["create_partitions", "create_topics", "delete_topics", "describe_topic_partitions", "metadata"]
