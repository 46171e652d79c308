"""Facts about any Kafka API: whether an answer covers the items of its request, and its error codes.

`API_OF` names the API of each operation that a node answers, `PARTS` the lists inside an answer whose elements have error codes
of their own, and `BATCHES` the fields with the items of a request and of its answer. A test compares `BATCHES` with the client.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias, get_args

import msgspec

from conformance.judging.data_in_words import api_name, call_in_words
from conformance.judging.facts.exchange import Attributed, Decoding, LostAnswer, decodes, name_of
from history.events import Call
from protocol.cluster import DescribeTopicPartitions, Metadata, MetadataAnswer, TopicPartitionsAnswer
from protocol.codes import Error
from protocol.groups import LeaveGroup
from protocol.log import FetchMany, ParkedFetch, ParkFetch, Produce, ProduceMany
from protocol.messages import Answer, Operation, PartitionAnswer, PendingRequest
from protocol.operations import OPERATIONS
from protocol.since import since
from protocol.words import shorten

Plain: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]
"""The key of an item: a topic's name or id (or another first field), and the values of its further fields."""
Named: TypeAlias = tuple[Any, Any, Key]
"""An item's name: name and id of its topic (or its first field, and None), and the values of its further fields."""

INTERNAL = frozenset({Error.UNKNOWN_SERVER_ERROR, Error.NETWORK_EXCEPTION})
"""Errors that no well-formed request may get: UNKNOWN_SERVER_ERROR, and those by which clients report a missing answer."""

DUPLICATES, SEVERAL = "duplicates", "several-items"
"""The cases besides one per API: a request that names an item more than once, and one with several distinct items."""
UNEXPECTED = "UnexpectedAnswer"
"""The client's error for an answer without exactly the one requested item."""

ASKED = {op: kind for op, kind in OPERATIONS.items() if kind.api and issubclass(kind.answer, Answer)}
API_OF = {op: kind.api for op, kind in ASKED.items()}
"""The API of each operation. `park_fetch` records that a Fetch was sent, `parked_fetch` its answer; likewise for Produce."""


def _paths(kind: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths to the lists in an answer whose elements have an error code of their own."""
    for field in msgspec.structs.fields(kind):
        if path and field.encode_name == "error_code":
            yield path
        for inner in get_args(field.type):
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                yield from _paths(inner, (*path, field.name))


PARTS: dict[str, list[tuple[str, ...]]] = {op: [*_paths(kind.answer)] for op, kind in ASKED.items()}
"""The paths to the lists in an answer whose elements have an error code of their own, by operation."""


class Items(msgspec.Struct, frozen=True):
    """The items of a request or an answer: the field with their list or with the single item (empty for the whole message), and
    the fields that identify an item (an index if an item is a pair, none if it is a name). If each element of that list has a
    list of items itself, `within` is the field of the inner list, and `group` the field that identifies the element."""

    field: str = ""
    by: tuple[str | int, ...] = ("topic", "partition")
    within: str = ""
    group: str = ""

    def items_in(self, message: Plain) -> Sequence[Any] | None:
        """Return the items of a message; None if it has null in place of a list."""
        found: Any = message[self.field] if self.field else message
        if self.within:
            return [(one[self.group], *item) for one in found for item in one[self.within]]
        items: Sequence[Any] | None = (found,) if isinstance(found, dict) else found
        return items

    def name_of(self, item: Any) -> Named:
        first = item[self.by[0]] if self.by else item
        rest = tuple([item[field] for field in self.by[1:]])
        if type(first) is dict:
            return first["name"] or None, first.get("id"), rest
        return first, item.get("topic_id") if type(item) is dict else None, rest


Batch: TypeAlias = tuple[Items, Items]
"""The fields with the items of a request, and of its answer."""
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
"""The items of each operation whose request has a list on the wire, even if the client sends only one item. Filters
(DescribeLogDirs, ListTransactions) and requests for everything (ListPartitionReassignments) have no items."""


class LawResult(msgspec.Struct, frozen=True, gc=False):
    """The result of testing one answer by a law, with the events of request and answer; `wrong` is empty if the law holds."""

    case: str
    asked: int
    event: int
    wrong: str


class Pairing(LawResult, frozen=True, gc=False):
    """The items of a request, paired with those of its answer."""


class ErrorCodes(LawResult, frozen=True, gc=False):
    """The error codes anywhere in an answer."""


_OF_BATCH: tuple[type[LawResult], ...] = (Pairing, ErrorCodes)
_OF_OTHER: tuple[type[LawResult], ...] = (ErrorCodes,)


@cache
def case_of(api: str) -> str:
    """Return the case of an API: ``OffsetForLeaderEpoch`` is `offset-for-leader-epoch`."""
    return re.sub("(?<!^)(?=[A-Z])", "-", api).lower()


CASES = {op: case_of(api) for op, api in API_OF.items()}
"""The case of each operation's API."""


@decodes(*ASKED.values(), about=["wire"], lost=True)
def answers(request: Operation[Any], answer: Answer | LostAnswer, at: Decoding) -> Iterable[Attributed]:
    """Return the facts about an answer. A right answer yields one fact for each API and case in a history, to keep them few."""
    op, case, seen = request.op, CASES[request.op], at.seen
    if isinstance(answer, LostAnswer):
        return _unexpected_answer(at) if at.answer.kind == UNEXPECTED and op in BATCHES else ()
    facts: Iterable[LawResult]
    if not at.call.malformed and _is_plain(request, answer):
        if case in seen:
            return ()
        seen.add(case)
        facts = [kind(case, at.call.n, at.answer.n, "") for kind in (_OF_BATCH if op in BATCHES else _OF_OTHER)]
    elif "version" not in at.answer.value:  # a consumer notes its own actions under the name of their request
        return ()
    else:
        facts = [*_pairings(request, answer, at), *_error_codes(request, answer, at)]
    return [("wire", "wire", fact) for fact in facts if fact.wrong or _is_first(fact, seen)]


def _is_first(fact: LawResult, seen: set[Any]) -> bool:
    known = (type(fact), fact.case)
    if known in seen:
        return False
    seen.add(known)
    return True


def _unexpected_answer(at: Decoding) -> Iterable[Attributed]:
    wrong = f"{at.call.node}, asked {call_in_words(at.call)}, gave no fitting answer: {at.answer.error}"
    return [("wire", "wire", Pairing(CASES[at.call.op], at.call.n, at.answer.n, wrong))]


@decodes(ParkFetch, about=["wire"])
def requests_in_flight(request: ParkFetch, answer: PendingRequest, at: Decoding) -> Iterable[Attributed]:
    """Keep a request until its answer comes, and return no fact yet. Two requests with the same number cannot be
    distinguished."""
    parked = (at.call.node, answer.number)
    at.parked[parked] = None if parked in at.parked else (request, at.call.request)
    return ()


# --- items


def _pairings(request: Operation[Any], answer: Answer, at: Decoding) -> Iterator[Pairing]:
    """Yield the items of the request paired with those of the answer; nothing if they have no items that could be paired."""
    op = request.op
    recorded: Plain | None = at.call.request
    if isinstance(request, ParkedFetch):
        request, recorded = at.parked.get((at.call.node, request.parked.number)) or (request, None)
    if op not in BATCHES or recorded is None or (op in _EXEMPT and _is_exempt(request, answer)):
        return
    asked, answered = BATCHES[op]
    items, parts = asked.items_in(recorded), answered.items_in(at.answer.value)
    if items is None or parts is None or not (items or parts) or _is_of_the_whole(answered, answer, items, at):
        return
    if len(items) == len(parts) == 1 and _is_same(asked.name_of(items[0]), answered.name_of(parts[0])):
        yield Pairing(CASES[op], at.call.n, at.answer.n, "")
    else:
        for case, wrong in _compare(at.call, items, parts, answer):
            yield Pairing(case, at.call.n, at.answer.n, wrong)


_EXEMPT = frozenset(
    [kind.op for kind in (DescribeTopicPartitions, FetchMany, ParkedFetch, LeaveGroup, Metadata, Produce, ProduceMany)]
)
"""Operations some of whose requests are exempt; see `_is_exempt`."""


def _is_exempt(request: Operation[Any], answer: Answer) -> bool:
    """True if the answer need not match the request item by item: pages, incremental fetch sessions, versions without a list, and
    requests without an answer. In Metadata 0 an empty list asks for all topics, as null does later."""
    match request:
        case DescribeTopicPartitions():
            more = answer.next_cursor if isinstance(answer, TopicPartitionsAnswer) else None
            return bool(request.cursor or more)
        case FetchMany() | ParkFetch():
            return request.options.session_epoch > 0
        case LeaveGroup():
            return answer.version < since("LeaveGroupRequest", "Members")
        case Metadata():
            return not request.topics and answer.version == 0
        case Produce() | ProduceMany():
            return request.acks == 0
    return False


def _is_of_the_whole(answered: Items, answer: Answer, items: Sequence[Any], at: Decoding) -> bool:
    """True if the answer has one error for all items, or the client did not keep its items or their names."""
    if (isinstance(answer, PartitionAnswer) and answer.top_level_error) or (answered.field and _error_of(answer)):
        return True
    if answered.field:
        return False
    return len(items) != 1 or (at.answer.value.get(answered.by[0]) is None and not isinstance(answer, PartitionAnswer))


def _error_of(part: object) -> Error:
    """Return the error code of an answer or a part of it; NONE if it has no such field."""
    found: Error = getattr(part, "error", Error.NONE)
    return found


def _is_same(asked: Named, answered: Named) -> bool:
    """True if both name the same item, compared by name if both have one, else by id."""
    name, id, rest = answered
    return rest == asked[2] and (
        name == asked[0] if name is not None and asked[0] is not None else id == asked[1] is not None
    )


def _compare(call: Call, items: Sequence[Any], parts: Sequence[Any], answer: Answer) -> Sequence[tuple[str, str]]:
    op = call.op
    asked_names, answered_names = map(BATCHES[op][0].name_of, items), [*map(BATCHES[op][1].name_of, parts)]
    by_id = bool(answered_names) and all(name is None and id is not None for name, id, _ in answered_names)
    asked = Counter((id if by_id else name or id, *rest) for name, id, rest in asked_names)
    answered = Counter(_key(named, asked) for named in answered_names)
    repeated = max(asked.values(), default=0) > 1
    refused = repeated and all(map(_error_of, _values_at(answer, PARTS[op][0]) if PARTS[op] else (answer,)))
    wrong = _wrong_items(asked, answered, refused)
    shown = f"{call.node} answered {api_name(op)} of {_names(asked)} for {_names(answered)}: {wrong}" if wrong else ""
    if repeated:
        return [(DUPLICATES, shown)]
    return [(CASES[op], shown), (SEVERAL, shown)] if len(asked) > 1 else [(CASES[op], shown)]


def _key(named: Named, asked: Counter[Key]) -> Key:
    """Return the key of an answered item: its name, or its id if it was requested by id only."""
    name, id, rest = named
    return (name, *rest) if id is None or (name is not None and (name, *rest) in asked) else (id, *rest)


def _wrong_items(asked: Counter[Key], answered: Counter[Key], refused: bool) -> str:
    """Return a description of how the answered items differ from the requested ones; empty if they match. An item requested
    several times is answered once or as often; if all are `refused`, one answer may stand for the whole request."""
    missing = [key for key in asked if key not in answered and not refused]
    foreign = [key for key in answered if key not in asked]
    repeated = [key for key, count in answered.items() if key in asked and count not in (1, asked[key])]
    found = {"not answered": missing, "never asked for": foreign, "answered several times": repeated}
    return "; ".join(f"{_names(Counter(keys))} {what}" for what, keys in found.items() if keys)


def _names(keys: Counter[Key]) -> str:
    return shorten(", ".join("-".join(map(str, key)) for key in keys.elements()) or "nothing", 80)


# --- error codes


def _error_codes(request: Operation[Any], answer: Answer, at: Decoding) -> Iterator[ErrorCodes]:
    if not at.call.malformed and getattr(request, "acks", -1) != 0:
        op, internal = request.op, sorted(_codes(answer, PARTS[request.op]) & INTERNAL)
        names = ", ".join(code.name for code in internal)
        wrong = f"{at.call.node} answered {names} to {call_in_words(at.call)}" if names else ""
        yield ErrorCodes(CASES[op], at.call.n, at.answer.n, wrong)


def _codes(answer: Answer, paths: Iterable[tuple[str, ...]]) -> set[Error]:
    of_all = {answer.top_level_error} if isinstance(answer, PartitionAnswer) else set()
    return {_error_of(answer), *of_all, *(_error_of(part) for path in paths for part in _values_at(answer, path))}


def _values_at(answer: object, path: tuple[str, ...]) -> Sequence[object]:
    parts: Sequence[object] = (answer,)
    for name in path:
        parts = [deeper for part in parts for deeper in getattr(part, name) or ()]
    return parts


# --- most answers need no second look


_OF_ONE = frozenset([op for op, items in BATCHES.items() if items == (ONE, ONE)])
_OF_TOPIC = frozenset([op for op, items in BATCHES.items() if items == (Items("topics", NAMES), Items("", ("topic",)))])
_BY_KEY = {
    op: (str(asked.by[0]), str(answered.by[0]))
    for op, (asked, answered) in BATCHES.items()
    if not (asked.field or answered.field or PARTS[op]) and len(asked.by) == len(answered.by) == 1
}
"""The field that names the only item of a request, and the one of its answer, by operation."""


def _is_plain(request: Operation[Any], answer: Answer) -> bool:
    """True only if the answer certainly keeps all laws: a quick test that most answers pass."""
    op = request.op
    if isinstance(request, Metadata):
        return isinstance(answer, MetadataAnswer) and _is_plain_topic(request, answer)
    if op not in BATCHES:
        return not PARTS[op] and _error_of(answer) not in INTERNAL
    if op in _BY_KEY:
        asked, answered = _BY_KEY[op]
        return getattr(request, asked) == getattr(answer, answered) and _error_of(answer) not in INTERNAL
    if not isinstance(answer, PartitionAnswer):
        return False
    return (
        _is_plain_partition(request, answer) if op in _OF_ONE else op in _OF_TOPIC and _is_plain_vote(request, answer)
    )


def _is_plain_partition(request: Any, answer: PartitionAnswer) -> bool:
    """True if the answer is about the one requested partition, without an internal error."""
    wanted, name = request.topic, answer.topic
    is_it = name == name_of(wanted) if name is not None else answer.topic_id == getattr(wanted, "id", None) is not None
    ends = answer.error in INTERNAL or answer.top_level_error in INTERNAL
    return is_it and answer.partition == request.partition and not ends and getattr(request, "acks", -1) != 0


def _is_plain_vote(request: Any, answer: PartitionAnswer) -> bool:
    """True if the answer of a voter is about the one requested topic, without an internal error."""
    is_it = len(request.topics) == 1 and request.topics[0] == answer.topic
    return is_it and answer.error not in INTERNAL and answer.top_level_error == Error.NONE


def _is_plain_topic(request: Metadata, answer: MetadataAnswer) -> bool:
    """True if the answer is about the one topic requested by name, without an internal error."""
    asked, answered = request.topics, answer.topics
    if asked is None or len(asked) != 1 or len(answered) != 1 or answered[0].name != asked[0]:
        return False
    [topic] = answered
    ends = answer.error in INTERNAL or topic.error in INTERNAL
    return not ends and INTERNAL.isdisjoint([partition.error for partition in topic.partitions])
