"""Facts about any Kafka API: does an answer cover the items of its request, and which error codes does it have?

`API_OF` names the API of each operation whose answer a node gave, `BATCHES` where the items of a request and of its answer are,
and `PARTS` the lists inside an answer whose elements have error codes of their own. A test compares all three with the client.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec

from conformance.judging.facts.exchange import NONE, Attributed, Decoding, decodes
from history.events import Answer, Call
from protocol.codes import Error
from protocol.since import since

Plain: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]
"""A topic's name or id, or another first field of an item, and its further fields."""
Named: TypeAlias = tuple[Any, Any, Key]
"""Name and id of a topic (or the first field of another item, and None), and the values of its further fields."""

INTERNAL = frozenset({int(Error.UNKNOWN_SERVER_ERROR), int(Error.NETWORK_EXCEPTION)})
"""Errors that answer no well-formed request: the server failed, or a client reports that no answer came."""

DUPLICATES, SEVERAL = "duplicates", "several-items"
"""Cases that are no API: a request that names an item more than once, and one with several distinct items."""
UNEXPECTED = "UnexpectedAnswer"
"""The client's error for an answer that does not hold just the one item that was asked for."""

API_OF: dict[str, str] = {
    "add_offsets_to_txn": "AddOffsetsToTxn",
    "add_partitions_to_txn": "AddPartitionsToTxn",
    "add_partitions_to_txns": "AddPartitionsToTxn",
    "alter_partition": "AlterPartition",
    "alter_partition_reassignments": "AlterPartitionReassignments",
    "api_versions": "ApiVersions",
    "begin_quorum_epoch": "BeginQuorumEpoch",
    "bump_epochs": "InitProducerId",
    "consumer_group_describe": "ConsumerGroupDescribe",
    "consumer_group_describe_many": "ConsumerGroupDescribe",
    "consumer_group_heartbeat": "ConsumerGroupHeartbeat",
    "create_partitions": "CreatePartitions",
    "create_topics": "CreateTopics",
    "delete_records": "DeleteRecords",
    "delete_topics": "DeleteTopics",
    "describe_cluster": "DescribeCluster",
    "describe_configs": "DescribeConfigs",
    "describe_configs_many": "DescribeConfigs",
    "describe_groups": "DescribeGroups",
    "describe_log_dirs": "DescribeLogDirs",
    "describe_producers": "DescribeProducers",
    "describe_producers_many": "DescribeProducers",
    "describe_quorum": "DescribeQuorum",
    "describe_topic_partitions": "DescribeTopicPartitions",
    "describe_transaction": "DescribeTransactions",
    "describe_transactions": "DescribeTransactions",
    "elect_leaders": "ElectLeaders",
    "end_quorum_epoch": "EndQuorumEpoch",
    "end_txn": "EndTxn",
    "fetch": "Fetch",
    "fetch_many": "Fetch",
    "fetch_snapshot": "FetchSnapshot",
    "find_coordinator": "FindCoordinator",
    "find_coordinator_many": "FindCoordinator",
    "heartbeat": "Heartbeat",
    "incremental_alter_configs": "IncrementalAlterConfigs",
    "init_producer_id": "InitProducerId",
    "join_group": "JoinGroup",
    "leave_group": "LeaveGroup",
    "list_offsets": "ListOffsets",
    "list_offsets_many": "ListOffsets",
    "list_partition_reassignments": "ListPartitionReassignments",
    "list_transactions": "ListTransactions",
    "metadata": "Metadata",
    "offset_commit": "OffsetCommit",
    "offset_fetch": "OffsetFetch",
    "offset_for_leader_epoch": "OffsetForLeaderEpoch",
    "offset_for_leader_epoch_many": "OffsetForLeaderEpoch",
    "parked_fetch": "Fetch",
    "parked_produce": "Produce",
    "produce": "Produce",
    "produce_many": "Produce",
    "streams_group_heartbeat": "StreamsGroupHeartbeat",
    "sync_group": "SyncGroup",
    "take_producer_ids": "InitProducerId",
    "txn_offset_commit": "TxnOffsetCommit",
    "vote": "Vote",
    "write_txn_markers": "WriteTxnMarkers",
}
"""By operation. A Fetch in flight is sent by `park_fetch` and answered to `parked_fetch`; a Produce likewise."""

_DEEPER: tuple[tuple[str, ...], ...] = (("partitions",),)
PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "add_partitions_to_txn": _DEEPER,
    "add_partitions_to_txns": _DEEPER,
    "alter_partition_reassignments": _DEEPER,
    "consumer_group_describe_many": (("groups",),),
    "create_partitions": (("topics",),),
    "create_topics": (("topics",),),
    "delete_topics": (("topics",),),
    "describe_configs_many": (("resources",),),
    "describe_groups": (("groups",),),
    "describe_log_dirs": (("log_dirs",),),
    "describe_producers_many": _DEEPER,
    "describe_topic_partitions": (("topics",), ("topics", "partitions")),
    "describe_transactions": (("transactions",),),
    "elect_leaders": _DEEPER,
    "fetch_many": _DEEPER,
    "find_coordinator_many": (("coordinators",),),
    "leave_group": (("members",),),
    "list_offsets_many": _DEEPER,
    "list_partition_reassignments": _DEEPER,
    "metadata": (("topics",), ("topics", "partitions")),
    "offset_commit": _DEEPER,
    "offset_fetch": _DEEPER,
    "offset_for_leader_epoch_many": _DEEPER,
    "parked_fetch": _DEEPER,
    "parked_produce": _DEEPER,
    "produce_many": _DEEPER,
    "txn_offset_commit": _DEEPER,
    "write_txn_markers": _DEEPER,
}
"""By operation, the paths to the lists in its answer whose elements have an error code of their own."""


class Items(msgspec.Struct, frozen=True):
    """The items of a request or an answer: the field with their list or the single item (empty for the whole message), and
    the fields that identify an item (an index if an item is a pair, none if it is a name). Where items are in lists `within`
    the elements of that list, `group` is the field that identifies such an element."""

    field: str = ""
    by: tuple[str | int, ...] = ("topic", "partition")
    within: str = ""
    group: str = ""

    def of(self, message: Plain) -> Sequence[Any] | None:
        """None where the message has null in place of a list."""
        found: Any = message[self.field] if self.field else message
        if self.within:
            return [(one[self.group], *item) for one in found for item in one[self.within]]
        items: Sequence[Any] | None = (found,) if isinstance(found, dict) else found
        return items

    def named(self, item: Any) -> Named:
        first = item[self.by[0]] if self.by else item
        rest = tuple([item[field] for field in self.by[1:]])
        if type(first) is dict:
            return first["name"] or None, first.get("id"), rest
        return first, item.get("topic_id") if type(item) is dict else None, rest


Batch: TypeAlias = tuple[Items, Items]
"""The items of a request, and those of its answer."""
PAIRS, NAMES = (0, 1), ()
ONE, PARTITIONS, TOPICS = Items(), Items("partitions"), Items("topics", ("name",))
RESOURCE = Items("", ("resource_name", "resource_type"))
RESOURCES = Items("resources", RESOURCE.by)
GROUPS = Items("groups", NAMES), Items("groups", ("group_id",))
BATCHES: dict[str, Batch] = {
    "add_partitions_to_txn": (Items("partitions", PAIRS), PARTITIONS),
    "add_partitions_to_txns": (
        Items("transactions", (1, 2, 0), "partitions", "transactional_id"),
        Items("partitions", ("topic", "partition", "transactional_id")),
    ),
    "alter_partition": (Items("change"), ONE),
    "alter_partition_reassignments": (Items("reassignments"), PARTITIONS),
    "begin_quorum_epoch": (Items("topics", NAMES), Items("", ("topic",))),
    "consumer_group_describe": (Items("", ("group",)), Items("", ("group_id",))),
    "consumer_group_describe_many": GROUPS,
    "create_partitions": (Items("", ("topic",)), TOPICS),
    "create_topics": (Items("topics", ("name",)), TOPICS),
    "delete_records": (ONE, ONE),
    "delete_topics": (Items("topics", NAMES), TOPICS),
    "describe_configs": (RESOURCE, RESOURCE),
    "describe_configs_many": (RESOURCES, RESOURCES),
    "describe_groups": GROUPS,
    "describe_producers": (ONE, ONE),
    "describe_producers_many": (Items("partitions", PAIRS), PARTITIONS),
    "describe_quorum": (ONE, ONE),
    "describe_topic_partitions": (Items("topics", NAMES), TOPICS),
    "describe_transaction": (Items("", ("transactional_id",)), Items("", ("transactional_id",))),
    "describe_transactions": (Items("transactional_ids", NAMES), Items("transactions", ("transactional_id",))),
    "elect_leaders": (Items("partitions", PAIRS), PARTITIONS),
    "end_quorum_epoch": (Items("topics", NAMES), Items("", ("topic",))),
    "fetch": (ONE, ONE),
    "fetch_many": (PARTITIONS, PARTITIONS),
    "fetch_snapshot": (ONE, ONE),
    "find_coordinator": (Items("", ("key",)), Items("", ("key",))),
    "find_coordinator_many": (Items("keys", NAMES), Items("coordinators", ("key",))),
    "incremental_alter_configs": (RESOURCE, RESOURCE),
    "leave_group": (Items("", ("member_id", "instance_id")), Items("members", ("member_id", "group_instance_id"))),
    "list_offsets": (ONE, ONE),
    "list_offsets_many": (Items("queries"), PARTITIONS),
    "metadata": (Items("topics", NAMES), TOPICS),
    "offset_commit": (Items("offsets"), PARTITIONS),
    "offset_fetch": (Items("partitions", PAIRS), PARTITIONS),
    "offset_for_leader_epoch": (ONE, ONE),
    "offset_for_leader_epoch_many": (Items("queries"), PARTITIONS),
    "parked_fetch": (PARTITIONS, PARTITIONS),
    "produce": (ONE, ONE),
    "produce_many": (PARTITIONS, PARTITIONS),
    "txn_offset_commit": (Items("offsets"), PARTITIONS),
    "vote": (Items("topics", NAMES), Items("", ("topic",))),
    "write_txn_markers": (
        Items("markers", (1, 2, 0), "partitions", "producer_id"),
        Items("partitions", ("topic", "partition", "producer_id")),
    ),
}
"""By operation: those whose request has a list on the wire, even where the client sends one item only. Filters
(DescribeLogDirs, ListTransactions) and requests for everything (ListPartitionReassignments) have no items."""


class Kept(msgspec.Struct, frozen=True, gc=False):
    """Whether one answer keeps a law of all answers, with the events of request and answer; `wrong` is empty if it does."""

    case: str
    asked: int
    event: int
    wrong: str


class Pairing(Kept, frozen=True, gc=False):
    """The items of a request beside those of its answer."""


class ErrorCodes(Kept, frozen=True, gc=False):
    """The error codes anywhere in an answer."""


_OF_BATCH: tuple[type[Kept], ...] = (Pairing, ErrorCodes)
_OF_OTHER: tuple[type[Kept], ...] = (ErrorCodes,)


@cache
def case_of(api: str) -> str:
    """The case of an API: ``OffsetForLeaderEpoch`` is `offset-for-leader-epoch`."""
    return re.sub("(?<!^)(?=[A-Z])", "-", api).lower()


CASES = {op: case_of(api) for op, api in API_OF.items()}
"""By operation, the case of its API."""


@decodes(*API_OF, about=["wire"])
def answers(call: Call, answer: Answer, decoding: Decoding) -> Iterable[Attributed]:
    """A right answer is a fact only the first time for each API and case, a wrong one each time: a long history has few facts."""
    op, seen = call.op, decoding.seen
    if answer.outcome != "ok":
        return _unexpected(call, answer) if answer.kind == UNEXPECTED and op in BATCHES else ()
    if _PLAIN[op](call.request, answer.value) and not call.malformed:
        case = CASES[op]
        if case in seen:
            return ()
        seen.add(case)
        facts: Iterable[Kept] = [
            kind(case, call.n, answer.n, "") for kind in (_OF_BATCH if op in BATCHES else _OF_OTHER)
        ]
    elif "version" not in answer.value:  # a consumer notes what it did, under the name of its request
        return ()
    else:
        facts = [*_pairings(call, answer, decoding), *_error_codes(call, answer)]
    return [("wire", "wire", fact) for fact in facts if fact.wrong or _is_first(fact, seen)]


def _is_first(fact: Kept, seen: set[Any]) -> bool:
    known = (type(fact), fact.case)
    if known in seen:
        return False
    seen.add(known)
    return True


def _unexpected(call: Call, answer: Answer) -> Iterable[Attributed]:
    wrong = f"{call.op} {_shown(call.request)}: {answer.error}"
    return [("wire", "wire", Pairing(CASES[call.op], call.n, answer.n, wrong))]


@decodes("park_fetch", about=["wire"])
def requests_in_flight(call: Call, answer: Answer, decoding: Decoding) -> Iterable[Attributed]:
    """No fact yet: the request is kept for its answer. Two with the same number, on two connections, cannot be told apart."""
    if answer.outcome == "ok":
        parked = (call.node, answer.value["number"])
        decoding.parked[parked] = None if parked in decoding.parked else call.request
    return ()


# --- items


def _pairings(call: Call, answer: Answer, decoding: Decoding) -> Iterator[Pairing]:
    """Empty if request and answer have no items that could be paired."""
    op = call.op
    request = call.request if op != "parked_fetch" else _sent(call, decoding)
    if op not in BATCHES or request is None or (op in _EXEMPT and _EXEMPT[op](request, answer.value)):
        return
    asked, answered = BATCHES[op]
    items, parts = asked.of(request), answered.of(answer.value)
    if items is None or parts is None or not (items or parts) or _is_of_the_whole(answered, answer.value, items):
        return
    if len(items) == len(parts) == 1 and _is_same(asked.named(items[0]), answered.named(parts[0])):
        yield Pairing(CASES[op], call.n, answer.n, "")
    else:
        for case, wrong in _compared(op, items, parts):
            yield Pairing(case, call.n, answer.n, wrong)


def _sent(call: Call, decoding: Decoding) -> Plain | None:
    return decoding.parked.get((call.node, call.request["parked"]["number"]))


_EXEMPT: dict[str, Callable[[Plain, Plain], bool]] = {
    "describe_topic_partitions": lambda request, value: bool(request.get("cursor") or value.get("next_cursor")),
    "fetch_many": lambda request, value: request["options"]["session_epoch"] > 0,
    "leave_group": lambda request, value: value.get("version", 0) < since("LeaveGroupRequest", "Members"),
    "metadata": lambda request, value: not request["topics"] and value.get("version") == 0,
    "parked_fetch": lambda request, value: request["options"]["session_epoch"] > 0,
    "produce": lambda request, value: bool(request["acks"] == 0),
    "produce_many": lambda request, value: bool(request["acks"] == 0),
}
"""Where request and answer are not item by item: pages, incremental fetch sessions, versions without a list, and requests
that are not answered. In Metadata 0 an empty list asks for all topics, as null does later."""


def _is_of_the_whole(answered: Items, value: Plain, items: Sequence[Any]) -> bool:
    """Whether it has an error for the whole answer, or the client did not keep its items or their names."""
    if value.get("top_level_error") or (answered.field and value.get("error_code")):
        return True
    if answered.field:
        return False
    return len(items) != 1 or (value.get(str(answered.by[0])) is None and "topic_id" not in value)


def _is_same(asked: Named, answered: Named) -> bool:
    """By name where the answer has it, else by id."""
    name, id, rest = answered
    return rest == asked[2] and (
        name == asked[0] if name is not None and asked[0] is not None else id == asked[1] is not None
    )


def _compared(op: str, items: Sequence[Any], parts: Sequence[Any]) -> Sequence[tuple[str, str]]:
    asked_names, answered_names = map(BATCHES[op][0].named, items), [*map(BATCHES[op][1].named, parts)]
    by_id = bool(answered_names) and all(name is None and id is not None for name, id, _ in answered_names)
    asked = Counter((id if by_id else name or id, *rest) for name, id, rest in asked_names)
    answered = Counter(_key(named, asked) for named in answered_names)
    repeated = max(asked.values(), default=0) > 1
    refused = repeated and all(part.get("error_code", NONE) != NONE for part in parts)
    wrong = _wrong(asked, answered, refused)
    shown = (
        f"{op} of {_shown([*asked.elements()])} is answered for {_shown([*answered.elements()])}: {wrong}"
        if wrong
        else ""
    )
    if repeated:
        return [(DUPLICATES, shown)]
    return [(CASES[op], shown), (SEVERAL, shown)] if len(asked) > 1 else [(CASES[op], shown)]


def _key(named: Named, asked: Counter[Key]) -> Key:
    """By name, unless it was asked for by id only."""
    name, id, rest = named
    return (name, *rest) if id is None or (name is not None and (name, *rest) in asked) else (id, *rest)


def _wrong(asked: Counter[Key], answered: Counter[Key], refused: bool) -> str:
    """An item requested several times is answered once or as often; if all are `refused`, it may be for the whole request."""
    missing = [key for key in asked if key not in answered and not refused]
    foreign = [key for key in answered if key not in asked]
    repeated = [key for key, count in answered.items() if key in asked and count not in (1, asked[key])]
    found = {"not answered": missing, "never asked for": foreign, "answered several times": repeated}
    return "; ".join(f"{_shown(keys)} {what}" for what, keys in found.items() if keys)


def _shown(value: object) -> str:
    text = msgspec.json.encode(value, order="sorted").decode()
    return text if len(text) <= 500 else f"{text[:500]}..."


# --- error codes


def _error_codes(call: Call, answer: Answer) -> Iterator[ErrorCodes]:
    op, value = call.op, answer.value
    codes = {value.get("error_code"), value.get("top_level_error")}
    for path in PARTS.get(op, ()):
        codes.update([part["error_code"] for part in _at(value, path)])
    if not call.malformed and not _is_unanswered(call):
        names = "" if codes.isdisjoint(INTERNAL) else ", ".join(Error(c).name for c in sorted(codes & INTERNAL))
        yield ErrorCodes(
            CASES[op], call.n, answer.n, f"{op} {_shown(call.request)} is answered with {names}" if names else ""
        )


def _is_unanswered(call: Call) -> bool:
    return bool(call.request.get("acks") == 0)


def _at(value: Plain, path: tuple[str, ...]) -> Sequence[Plain]:
    parts: Sequence[Plain] = value[path[0]]
    for name in path[1:]:
        parts = [deeper for part in parts for deeper in part[name]]
    return parts


# --- most answers need no second look


def _is_plain_code(request: Plain, value: Plain) -> bool:
    return value["error_code"] not in INTERNAL


def _is_plain_partition(request: Plain, value: Plain) -> bool:
    """Whether it is the one requested partition, without an internal error."""
    wanted, name = request["topic"], value["topic"]
    if type(wanted) is dict:
        is_it = name == wanted["name"] if name is not None else value["topic_id"] == wanted["id"] is not None
    else:
        is_it = name == wanted
    ends = value["error_code"] in INTERNAL or value["top_level_error"] in INTERNAL
    return is_it and value["partition"] == request["partition"] and not ends and request.get("acks") != 0


def _is_plain_topic(request: Plain, value: Plain) -> bool:
    """Whether it is the one topic requested by name, without an internal error."""
    asked, answered = request["topics"], value["topics"]
    if asked is None or len(asked) != 1 or len(answered) != 1 or answered[0]["name"] != asked[0]:
        return False
    [topic] = answered
    ends = value["error_code"] in INTERNAL or topic["error_code"] in INTERNAL
    return not ends and INTERNAL.isdisjoint([partition["error_code"] for partition in topic["partitions"]])


def _look_again(request: Plain, value: Plain) -> bool:
    return False


def _plain(op: str) -> Callable[[Plain, Plain], bool]:
    if op == "metadata":
        return _is_plain_topic
    if op in BATCHES:
        return _is_plain_partition if BATCHES[op] == (ONE, ONE) else _look_again
    return _is_plain_code if op not in PARTS else _look_again


_PLAIN = {op: _plain(op) for op in API_OF}
"""By operation: a quick look that is true only if the answer keeps all laws."""
