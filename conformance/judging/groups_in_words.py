"""Requests of consumer groups in words, with their answers."""

from collections.abc import Callable, Sequence
from typing import Any

from protocol.words import say_error

Plain = dict[str, Any]


def _place(topic: Any, partition: int) -> str:
    return f"{topic if isinstance(topic, str) else topic['name']}-{partition}"


def _sender(member: str | None, epoch: int) -> str:
    """Describe the sender of a request: a member at its epoch, just a claimed epoch, or neither."""
    at = f" at epoch {epoch}" if epoch != -1 else ""
    return f" by {member}{at}" if member else at


def _commit(request: Plain) -> str:
    sender = _sender(request.get("member_id"), request.get("epoch", -1))
    return f"OffsetCommit of {_offsets(request)} in {request['group']}{sender}"


def _commit_in_transaction(request: Plain) -> str:
    by = _sender(request.get("member_id"), request.get("generation_id_or_member_epoch", -1))
    producer = f"producer {request['producer_id']}, epoch {request['producer_epoch']}"
    return f"TxnOffsetCommit of {_offsets(request)} in {request['group_id']}{by} and {producer}"


def _offsets(request: Plain) -> str:
    return ", ".join(f"{_place(one['topic'], one['partition'])} offset {one['offset']}" for one in request["offsets"])


def _fetch(request: Plain) -> str:
    partitions = request["partitions"]
    asked = "all partitions" if partitions is None else ", ".join(_place(*pair) for pair in partitions)
    return f"OffsetFetch of {asked} in {request['group']}{_sender(request.get('member_id'), request.get('epoch', -1))}"


def _heartbeat(request: Plain) -> str:
    owned = f", owning {_partitions(request['owned'])}" if request.get("owned") else ""
    names = request.get("subscribed_topic_names") or filter(None, [request.get("subscribed_topic_regex")])
    subscribed = f", subscribed to {topics}" if (topics := ", ".join(names)) else ""
    who = f"{request['member_id']} at epoch {request['member_epoch']}"
    return f"ConsumerGroupHeartbeat of {who} in {request['group']}{owned}{subscribed}"


def _beat(value: Plain) -> str:
    assignment = value["assignment"]
    given = f", assigned {_partitions(assignment['topic_partitions'])}" if assignment is not None else ""
    return f"epoch {value['member_epoch']}{given}"


def _partitions(topics: Sequence[Plain]) -> str:
    return ", ".join(str(partition) for topic in topics for partition in topic["partitions"]) or "nothing"


def _described(value: Plain) -> str:
    """Return a group's state and epochs, and each member with its epoch and partitions."""
    members = ", ".join(map(_described_member, value.get("members", ())))
    epochs = f"epoch {value.get('group_epoch')}, assigned at {value.get('assignment_epoch')}"
    return f"{value.get('group_state') or 'group'} at {epochs}: {members or 'no members'}"


def _described_member(member: Plain) -> str:
    has, wanted = (_assigned(member.get(name)) for name in ("assignment", "target_assignment"))
    target = f", to have {wanted}" if wanted != has else ""
    return f"{member.get('member_id', 'a member')} at epoch {member['member_epoch']} with {has}{target}"


def _assigned(assignment: Plain | None) -> str:
    return _partitions(assignment["topic_partitions"]) if assignment else "nothing"


def results_of_partitions(value: Plain) -> str:
    """Return the results of partitions; if there are several, with partition numbers."""
    found = [(one["partition"], _result(one)) for one in value["partitions"]]
    if len(found) == 1:
        return found[0][1]
    return ", ".join(f"partition {partition}: {result}" for partition, result in found) or "no partition"


def _result(one: Plain) -> str:
    if not one["error_code"] and "committed_offset" in one:
        return f"offset {one['committed_offset']}" if one["committed_offset"] >= 0 else "no offset"
    if not one["error_code"] and "base_offset" in one:
        return f"appended at {one['base_offset']}"
    return say_error(one["error_code"])


def _client_error(request: Plain) -> str:
    times = f", {request['times']} times" if request["times"] > 1 else ""
    fatal = ", after which it does nothing more" if request["fatal"] else ""
    return f"error {request['code']} of the client in {request['group']}{times}{fatal}: {request['reason']}"


REQUESTS: dict[str, Callable[[Plain], str]] = {
    "client_error": _client_error,
    "consumer_group_heartbeat": _heartbeat,
    "offset_commit": _commit,
    "offset_fetch": _fetch,
    "txn_offset_commit": _commit_in_transaction,
}

OUTCOMES: dict[str, Callable[[Plain], str]] = {
    "consumer_group_describe": _described,
    "consumer_group_heartbeat": _beat,
    "offset_commit": results_of_partitions,
    "offset_fetch": results_of_partitions,
    "txn_offset_commit": results_of_partitions,
}


__all__ = ["OUTCOMES", "REQUESTS", "results_of_partitions"]
