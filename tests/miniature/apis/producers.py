"""InitProducerId and transactional requests, as TransactionCoordinator answers them; a replica's DescribeProducers."""

from __future__ import annotations

from functools import partial
from typing import Any

from protocol.codes import Error
from tests.miniature.apis.log import hosted
from tests.miniature.core.broker import Broker
from tests.miniature.core.controller import Key
from tests.miniature.core.transactions import Transaction

Plain = dict[str, Any]

BUMPS_FROM = 5
"""The version of EndTxn from which on it bumps the epoch (KIP-890)."""
ABORTABLE_FROM = 4
"""The version of TxnOffsetCommit that knows TRANSACTION_ABORTABLE."""


def _coordinates(broker: Broker) -> bool:
    return broker.cluster.coordinator == broker.id


def init_producer_id(broker: Broker, asked: Plain) -> Plain:
    name, transactions = asked["transactional_id"], broker.cluster.transactions
    if name is None:
        return {"error_code": 0, "producer_id": transactions.new_id(), "producer_epoch": 0}
    refused = {"error_code": Error.NOT_COORDINATOR, "producer_id": -1, "producer_epoch": -1}
    if not _coordinates(broker):
        return refused
    sent = (asked["producer_id"], asked["producer_epoch"])
    error, one = transactions.init(name, asked["transaction_timeout_ms"], *sent)
    if one is None:
        return {**refused, "error_code": error}
    return {"error_code": 0, "producer_id": one.id, "producer_epoch": one.epoch}


def add_partitions_to_txn(broker: Broker, asked: Plain) -> Plain:
    """Return the answer to AddPartitionsToTxn in the clients' form."""
    prefix, topics = "v3_and_below_", []
    error, one = Error.NOT_COORDINATOR, None
    if _coordinates(broker):
        fields = [asked[f"{prefix}{name}"] for name in ("transactional_id", "producer_id", "producer_epoch")]
        error, one = broker.cluster.transactions.entered(*fields)
    for topic in asked[f"{prefix}topics"]:
        if one is not None:
            broker.cluster.transactions.begin(one)
            one.partitions |= {(topic["name"], index) for index in topic["partitions"]}
        each = [{"partition_index": index, "partition_error_code": error} for index in topic["partitions"]]
        topics.append({"name": topic["name"], "results_by_partition": each})
    return {"error_code": 0, "results_by_transaction": [], "results_by_topic_v3_and_below": topics}


def add_offsets_to_txn(broker: Broker, asked: Plain) -> Plain:
    if not _coordinates(broker):
        return {"error_code": Error.NOT_COORDINATOR}
    transactions = broker.cluster.transactions
    error, one = transactions.entered(asked["transactional_id"], asked["producer_id"], asked["producer_epoch"])
    if one is not None and error is Error.NONE:
        transactions.begin(one)
        _add_group(broker, one, asked["group_id"])
    return {"error_code": error}


def _add_group(broker: Broker, one: Transaction, group: str) -> None:
    one.groups.add(group)
    if (coordinators := broker.cluster.coordinators) is not None:
        one.partitions.add(coordinators.partition_of(group))


def txn_offset_commit(broker: Broker, asked: Plain) -> Plain:
    if (coordinators := broker.cluster.coordinators) is not None:
        return coordinators.answer(
            "TxnOffsetCommit", broker, {**asked, "refusal": partial(_offsets_refused, broker, asked)}
        )
    error = _offsets_refused(broker, asked) if _coordinates(broker) else Error.NOT_COORDINATOR
    topics = []
    for topic in asked["topics"]:
        for wanted in topic["partitions"] if error is Error.NONE else ():
            key = (asked["group_id"], topic["name"], wanted["partition_index"])
            fields = (wanted["committed_offset"], wanted["committed_leader_epoch"], wanted["committed_metadata"])
            transactions = broker.cluster.transactions
            transactions.commit(transactions.by_name[asked["transactional_id"]], key, fields)
        each = [{"partition_index": one["partition_index"], "error_code": error} for one in topic["partitions"]]
        topics.append({"name": topic["name"], "partitions": each})
    return {"topics": topics}


def _offsets_refused(broker: Broker, asked: Plain) -> Error:
    transactions = broker.cluster.transactions
    error, one = transactions.entered(asked["transactional_id"], asked["producer_id"], asked["producer_epoch"])
    if one is None or error is not Error.NONE:
        return Error.INVALID_PRODUCER_EPOCH if error is Error.PRODUCER_FENCED else error
    if asked["version"] >= BUMPS_FROM:
        transactions.begin(one)
        _add_group(broker, one, asked["group_id"])
    added = asked["group_id"] in one.groups and one.state == "Ongoing"
    if added or "offsets-without-group" in broker.cluster.bugs:
        return Error.NONE
    return Error.TRANSACTION_ABORTABLE if asked["version"] >= ABORTABLE_FROM else Error.INVALID_TXN_STATE


def end_txn(broker: Broker, asked: Plain) -> Plain:
    if not _coordinates(broker):
        return {"error_code": Error.NOT_COORDINATOR, "producer_id": -1, "producer_epoch": -1}
    bumps = asked["version"] >= BUMPS_FROM
    whose = (asked["transactional_id"], asked["producer_id"], asked["producer_epoch"])
    error, one = broker.cluster.transactions.end(*whose, committed=asked["committed"], bumps=bumps)
    shown = one if one is not None and bumps and error is Error.NONE else None
    return {
        "error_code": error,
        "producer_id": -1 if shown is None else shown.known_as[0],
        "producer_epoch": -1 if shown is None else shown.known_as[1],
    }


def describe_transactions(broker: Broker, asked: Plain) -> Plain:
    return {
        "throttle_time_ms": 0,
        "transaction_states": [_described(broker, name) for name in asked["transactional_ids"]],
    }


def _described(broker: Broker, name: str) -> Plain:
    fields: Plain = {"transactional_id": name, "transaction_state": "", "transaction_timeout_ms": 0}
    fields |= {"transaction_start_time_ms": -1, "producer_id": -1, "producer_epoch": -1, "topics": []}
    if not _coordinates(broker):
        return {**fields, "error_code": Error.NOT_COORDINATOR}
    one = broker.cluster.transactions.by_name.get(name)
    if one is None:
        return {**fields, "error_code": Error.TRANSACTIONAL_ID_NOT_FOUND}
    offsets = {("__consumer_offsets", 0)} if one.groups and broker.cluster.coordinators is None else set()
    partitions = one.partitions | offsets if one.state == "Ongoing" else one.unmarked
    topics = [{"topic": topic, "partitions": [index]} for topic, index in sorted(partitions)]
    known = {"transaction_state": one.state, "producer_id": one.id, "producer_epoch": one.epoch, "topics": topics}
    return {**fields, **known, "transaction_timeout_ms": one.timeout_ms, "error_code": 0}


def list_transactions(broker: Broker, asked: Plain) -> Plain:
    known = broker.cluster.transactions.by_name.items() if _coordinates(broker) else ()
    states = [
        {"transactional_id": name, "producer_id": one.id, "transaction_state": one.state}
        for name, one in known
        if not asked["state_filters"] or one.state in asked["state_filters"]
    ]
    return {"error_code": 0, "unknown_state_filters": [], "transaction_states": states}


def describe_producers(broker: Broker, asked: Plain) -> Plain:
    def described(key: Key) -> Plain:
        replica = hosted(broker, key)
        error = replica if isinstance(replica, Error) else Error.NONE
        known = {} if isinstance(replica, Error) else replica.log.producers.known
        active = [
            {
                "producer_id": id,
                "producer_epoch": one.epoch,
                "last_sequence": one.last_sequence,
                "last_timestamp": -1,
                "coordinator_epoch": one.coordinator_epoch,
                "current_txn_start_offset": one.open_from,
            }
            for id, one in sorted(known.items())
            if "follower-forgets-producers" not in broker.cluster.bugs or isinstance(replica, Error) or replica.leads
        ]
        return {"partition_index": key[1], "error_code": error, "error_message": None, "active_producers": active}

    return {
        "topics": [
            {"name": one["name"], "partitions": [described((one["name"], index)) for index in one["partition_indexes"]]}
            for one in asked["topics"]
        ]
    }


__all__ = [
    "add_offsets_to_txn",
    "add_partitions_to_txn",
    "describe_producers",
    "describe_transactions",
    "end_txn",
    "init_producer_id",
    "list_transactions",
    "txn_offset_commit",
]
