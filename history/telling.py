"""Events of a history in words: one line for what was asked and answered, for a fault, for another leader."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from history.codes import Error
from history.events import Answer, AnyEvent, Call, Fault, History, Note, Premise
from history.taken import places_of

LONGEST = 400
KIT = "kit"
"""Who the tape says was asked for times and waits: that tells nothing about a cluster."""
UNTOLD = frozenset({"inject", "heal", "kill", "start", "pause", "resume", "stop", "terminate"})
"""Calls whose fault is an event of its own, when they succeed."""

Plain = dict[str, Any]

_ERRORS = ("error_code", "top_level_error")
_APIS = frozenset({
    "add_offsets_to_txn", "add_partitions_to_txn", "alter_partition", "alter_partition_reassignments", "begin_quorum_epoch",
    "consumer_group_heartbeat", "create_topics", "describe_producers", "describe_quorum", "describe_transaction",
    "elect_leaders", "end_quorum_epoch", "end_txn", "fetch_snapshot", "find_coordinator", "init_producer_id", "metadata",
    "offset_commit", "offset_fetch", "txn_offset_commit", "vote", "write_txn_markers",
})  # fmt: skip
"""Calls that are Kafka's own requests, which readers know by another spelling."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An event in words. Of an answer, `asked` is what its call asked the node for, and `text` what came of it."""

    event: AnyEvent
    text: str
    node: str = ""
    asked: str = ""
    shown: bool = False
    """Whether it is one of those that show the violation."""

    @property
    def line(self) -> str:
        told = f"{self.node:9} {self.asked} -> {self.text}" if self.node else self.text
        return f"{'->' if self.shown else '  '} {self.event.t:9.3f} s  {_cut(told)}"


class Telling:
    """Tells the events of one history, in their order. What is asked again and again is told when its answer differs."""

    def __init__(self, history: History, partitions: Collection[str] = (), shown: Collection[int] = ()) -> None:
        self._events = history.events
        self._names = {int(member["id"]): str(member["name"]) for member in history.example.members}
        self._partitions = set(partitions)
        self._shown = set(shown)
        self._last: dict[tuple[str, ...], str] = {}

    def lines(self, begin: int = 0, end: int | None = None) -> list[str]:
        """Those of the partitions, or of all where none were named; an arrow marks what shows the violation."""
        return [told.line for told in self.told(begin, end)]

    def told(self, begin: int = 0, end: int | None = None) -> list[Told]:
        return [told for event in self._events[begin:end] if (told := self._told(event)) is not None]

    def _told(self, event: AnyEvent) -> Told | None:
        shown = event.n in self._shown
        text = ""
        match event:
            case Answer():
                return self._answered(self._events[event.call], event, shown)
            case Fault():
                text = _fault(event)
            case Premise():
                text = f"{event.what}: {'yes' if event.met else 'NO'}"
            case Note() if event.text in ("suspicion", "the cluster was replaced"):
                text = f"{event.text}: {' '.join(map(str, event.data.values()))}"
        return Told(event=event, text=text, shown=shown) if text else None

    def _answered(self, call: AnyEvent, answer: Answer, shown: bool) -> Told | None:
        if not isinstance(call, Call) or call.node == KIT or not self._concerns(call, answer):
            return None
        if call.op in UNTOLD and answer.outcome == "ok":
            return None
        if call.op == "metadata" and answer.outcome == "ok":
            asked, text = "Metadata", self._seen(call, answer, shown)
        else:
            asked, text = _asked(call), _outcome(call, answer)
            repeated = self._last.get((call.node, call.op)) == f"{asked} {text}"
            self._last[call.node, call.op] = f"{asked} {text}"
            text = "" if repeated and not shown else text
        return Told(event=answer, node=call.node, asked=asked, text=text, shown=shown) if text else None

    def _concerns(self, call: Call, answer: Answer) -> bool:
        named = places_of(call) or places_of(answer)
        return not self._partitions or not named or bool(named & self._partitions)

    def _seen(self, call: Call, answer: Answer, always: bool) -> str:
        """Leader, epoch and ISR, as one broker has them: when they are others than it last said."""
        told = []
        for name, partition in _partitions(answer.value):
            if self._partitions and name not in self._partitions:
                continue
            text = self._state(partition)
            if always or self._last.get((call.node, name)) != text:
                told.append(f"{name} {text}")
            self._last[call.node, name] = text
        return "; ".join(told)

    def _state(self, partition: Plain) -> str:
        leader = self._names.get(partition["leader_id"], "nobody")
        isr = ", ".join(self._names.get(id, str(id)) for id in partition["isr_nodes"])
        return f"leader {leader} at epoch {partition['leader_epoch']}, ISR {isr}{_error(partition['error_code'])}"


def _partitions(value: Plain) -> Iterator[tuple[str, Plain]]:
    for topic in value["topics"]:
        for partition in topic["partitions"]:
            yield f"{topic['name']}-{partition['partition_index']}", partition


def leader_of(history: History, partition: str, before: int) -> str:
    """Leader and epoch of a partition, as the newest Metadata before an event had them."""
    names = {int(member["id"]): str(member["name"]) for member in history.example.members}
    newest: Plain | None = None
    for event in history.events[:before]:
        if isinstance(event, Answer) and event.outcome == "ok" and _is_metadata(event.value):
            for name, found in _partitions(event.value):
                if name == partition and (newest is None or found["leader_epoch"] >= newest["leader_epoch"]):
                    newest = found
    return f"{names.get(newest['leader_id'], 'nobody')} leads at epoch {newest['leader_epoch']}" if newest else ""


def _is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and "topics" in value and "brokers" in value


def _fault(event: Fault) -> str:
    phases = {"inject": "FAULT", "witness": "FAULT SHOWN", "consequence": "FAULT FOLLOWED", "heal": "FAULT HEALED"}
    detail = {name: value for name, value in event.detail.items() if name not in ("fault", "role", "partition")}
    told = f": {_words(detail)}" if detail else ""
    whose = event.node if event.role == event.node else f"the {event.role}, {event.node}"
    return f"{phases[event.phase]}: {event.fault} of {whose}{told}"


# --- requests and answers


def _asked(call: Call) -> str:
    ask = _ASKED.get(call.op)
    return (
        ask(call.request) if ask is not None else f"{_api(call.op)} {_words(_without_nothing(call.request))}".rstrip()
    )


def _api(op: str) -> str:
    return "".join(word.capitalize() for word in op.split("_")) if op in _APIS else op


def _outcome(call: Call, answer: Answer) -> str:
    if answer.outcome != "ok":
        unknown = "" if answer.outcome == "fail" else " (it may have happened)"
        return f"{answer.kind}: {answer.error.splitlines()[0] if answer.error else ''}{unknown}"
    tell = _OUTCOMES.get(call.op)
    if tell is None or not isinstance(answer.value, dict):
        return _words(_without_nothing(answer.value)) or "done"
    error = answer.value.get("error_code", 0)
    return _name_of(error) + _hint(answer.value) if error else tell(answer.value)


def _epochs(request: Plain) -> str:
    claimed = request.get("current_leader_epoch", -1)
    fetched = request.get("last_fetched_epoch", -1)
    return (f" current epoch {claimed}" if claimed >= 0 else "") + (f" last fetched {fetched}" if fetched >= 0 else "")


def _by(request: Plain) -> str:
    replica = request.get("replica_id", -1)
    return _READERS.get(replica, f"replica {replica}")


def _place(request: Plain) -> str:
    topic = request["topic"]
    return f"{topic if isinstance(topic, str) else topic['name']}-{request['partition']}"


def _fetch(value: Plain) -> str:
    diverging: Plain | None = value.get("diverging_epoch")
    diverges = f", diverging at epoch {diverging['epoch']} end {diverging['end_offset']}" if diverging else ""
    marks = f"log start {value['log_start_offset']}, HW {value['high_watermark']}{diverges}"
    return f"{marks}; {', '.join(map(_batch, value['batches'])) or 'no records'}"


def _batch(batch: Plain) -> str:
    values = "control" if batch["control"] else " ".join(_text(one["value"]) for one in batch["records"])
    return f"[{batch['base_offset']}-{batch['last_offset']} of epoch {batch['leader_epoch']}: {values}]"


def _produce(request: Plain) -> str:
    records = request["records"]
    values = " ".join(_text(one["value"]) for one in records["records"]) if isinstance(records, dict) else "bytes"
    return f"Produce {_place(request)} acks {request['acks']}: {values}"


def _text(value: str | None) -> str:
    """Bytes are base64 in a history; a value that is text is shown as such."""
    if value is None:
        return "null"
    try:
        decoded = base64.b64decode(value, validate=True).decode()
    except ValueError:
        return value[:40]
    return repr(decoded) if decoded.isprintable() else value[:40]


_READERS: dict[int | None, str] = {
    None: "consumer",
    -1: "consumer",
    -2: "debugging consumer",
    -3: "future replica (whole log)",
}

_ASKED: dict[str, Callable[[Plain], str]] = {
    "fetch": lambda r: f"Fetch {_place(r)} from {r['fetch_offset']}{_epochs(r)} as {_by(r)}",
    "produce": _produce,
    "list_offsets": lambda r: f"ListOffsets {_place(r)} at {r['timestamp']}{_epochs(r)} as {_by(r)}",
    "offset_for_leader_epoch": lambda r: (
        f"OffsetForLeaderEpoch {_place(r)} of epoch {r['leader_epoch']}{_epochs(r)} as {_by(r)}"
    ),
    "delete_records": lambda r: f"DeleteRecords {_place(r)} below {r['offset']}",
    "replicas": lambda r: f"replicas on disk of {', '.join(r['partitions'])}",
}

_OUTCOMES: dict[str, Callable[[Plain], str]] = {
    "fetch": _fetch,
    "produce": lambda v: f"appended at {v['base_offset']}" if v["base_offset"] >= 0 else "no answer asked for",
    "list_offsets": lambda v: f"offset {v['offset']} of epoch {v['leader_epoch']}",
    "offset_for_leader_epoch": lambda v: f"epoch {v['leader_epoch']} ends at {v['end_offset']}",
    "delete_records": lambda v: f"log start {v['low_watermark']}",
    "replicas": lambda v: f"{len(v['replicas'])} replicas read: see `disk/`",
}


# --- words


def _name_of(code: int) -> str:
    try:
        return f"{Error(code).name} ({code})"
    except ValueError:
        return f"error {code}"


def _error(code: int) -> str:
    return f", {_name_of(code)}" if code else ""


def _hint(value: Plain) -> str:
    leader: Plain | None = value.get("current_leader")
    if leader is None or leader["leader_id"] < 0:
        return ""
    return f", leader {leader['leader_id']} at epoch {leader['leader_epoch']}"


def _without_nothing(value: Any) -> Any:
    """Without what says nothing: null, empty, -1, no error."""
    if isinstance(value, dict):
        nothing: tuple[Any, ...] = (None, "", [], {}, -1)
        kept = {k: _without_nothing(v) for k, v in value.items() if k not in ("throttle_time_ms", "version")}
        return {k: v for k, v in kept.items() if v not in nothing and not (k.endswith(_ERRORS) and v == 0)}
    return [_without_nothing(one) for one in value] if isinstance(value, list | tuple) else value


def _words(value: Any) -> str:
    """Plain data as one reads it: `producer id 7, partitions [(topic a, partition 0)]`."""
    if isinstance(value, dict):
        return ", ".join(_field(str(name), item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inner(item) for item in value)}]"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _field(name: str, value: Any) -> str:
    if name.endswith(_ERRORS) and isinstance(value, int):
        return _name_of(value)
    if name == "value" and isinstance(value, str):
        return f"value {_text(value)}"
    return f"{name.replace('_', ' ')} {_inner(value)}"


def _inner(value: Any) -> str:
    return f"({_words(value)})" if isinstance(value, dict) else _words(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more, in history.jsonl)"
