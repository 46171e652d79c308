"""Requests of producers and transactions in words, with their answers; batches and markers by their producers."""

from collections.abc import Callable
from typing import Any

from conformance.judging.groups_in_words import results_of_partitions

Plain = dict[str, Any]

ENDS = {0: "abort", 1: "commit"}
"""The types of control records that end a transaction."""


def by_producer(batch: Plain) -> str:
    """Describe the producer of a batch: ` by producer 7, epoch 1, from sequence 4, in a transaction`; empty without one."""
    if batch.get("producer_id", -1) < 0:
        return ""
    sequence = f", from sequence {batch['base_sequence']}" if batch.get("base_sequence", -1) >= 0 else ""
    inside = ", in a transaction" if batch.get("transactional") and not batch.get("control") else ""
    return f" by producer {batch['producer_id']}, epoch {batch['producer_epoch']}{sequence}{inside}"


def control(batch: Plain) -> str:
    """Describe a control batch: `commit marker of coordinator epoch 0`, or just `control` for others."""
    for record in batch.get("records", ()):
        if record.get("control_type") in ENDS:
            return f"{ENDS[record['control_type']]} marker of coordinator epoch {record['coordinator_epoch']}"
    return "control"


def _pair(value: Plain) -> str:
    return f"producer {value['producer_id']}, epoch {value['producer_epoch']}"


def _init(request: Plain) -> str:
    whose = request["transactional_id"] or "no transactional id"
    if request["producer_epoch"] < 0:
        return f"InitProducerId of {whose} as a new instance"
    return f"InitProducerId of {whose} for the epoch after {_pair(request)}"


def _partitions(pairs: list[Any]) -> str:
    return ", ".join(f"{topic}-{index}" for topic, index in pairs) or "no partition"


def _end(request: Plain) -> str:
    how = "commit" if request["committed"] else "abort"
    return f"EndTxn of {request['transactional_id']} by {_pair(request)}: {how}"


def _description_in_words(value: Plain) -> str:
    on = f" on {_partitions(value['partitions'])}" if value["partitions"] else ""
    return f"{value['state']}, {_pair(value)}{on}"


def _producer(one: Plain) -> str:
    start = one["current_txn_start_offset"]
    open_ = f", a transaction open from offset {start} on" if start >= 0 else ""
    return f"{_pair(one)}, last sequence {one['last_sequence']}, coordinator epoch {one['coordinator_epoch']}{open_}"


REQUESTS: dict[str, Callable[[Plain], str]] = {
    "init_producer_id": _init,
    "bump_epochs": lambda r: f"InitProducerId of {r['transactional_id']}, {r['times']} times from {_pair(r)} on",
    "add_partitions_to_txn": lambda r: (
        f"AddPartitionsToTxn of {r['transactional_id']} by {_pair(r)}: {_partitions(r['partitions'])}"
    ),
    "add_offsets_to_txn": lambda r: f"AddOffsetsToTxn of {r['transactional_id']} by {_pair(r)}: group {r['group_id']}",
    "end_txn": _end,
    "describe_transaction": lambda r: f"DescribeTransactions of {r['transactional_id']}",
    "describe_producers": lambda r: f"DescribeProducers of {r['topic']}-{r['partition']}",
}

OUTCOMES: dict[str, Callable[[Plain], str]] = {
    "add_partitions_to_txn": results_of_partitions,
    "parked_produce": results_of_partitions,
    "produce_many": results_of_partitions,
    "init_producer_id": _pair,
    "bump_epochs": _pair,
    "end_txn": lambda v: f"done, next {_pair(v)}" if v["producer_epoch"] >= 0 else "done",
    "add_offsets_to_txn": lambda v: "done",
    "describe_transaction": _description_in_words,
    "describe_producers": lambda v: "; ".join(map(_producer, v["active_producers"])) or "no producer",
}


__all__ = ["OUTCOMES", "REQUESTS", "by_producer", "control"]
