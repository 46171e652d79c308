"""A history in words: a line for each request with its answer, each phase of a fault, each new leader, and each step."""

import base64
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from conformance.judging import groups_in_words, transactions_in_words, voters_in_words
from conformance.judging.data_in_words import call_in_words, drop_empty_parts, words_of_data
from conformance.judging.record_values import value_in_words
from conformance.judging.transactions_in_words import by_producer, control
from history.events import Answer, AnyEvent, Call, Ended, Fault, History, Note, Overdue, Premise
from history.subjects import Subject, subjects_of_exchange
from protocol.words import say_error

MAX_LENGTH = 400
KIT_NODE = "kit"
"""The node name of calls for times and waits, which are no requests to the cluster."""
TAGS = ("do", "fault")
"""The fields with the kind of a step and the kind of its fault."""
LEFT_OUT = frozenset({"inject", "heal", "kill", "start", "pause", "resume", "stop", "terminate"})
"""Calls without a line if they succeed, since their fault is an event by itself."""

REPEATED_READS = frozenset({
    "describe_producers", "describe_transactions", "fetch", "find_coordinator", "list_offsets", "list_transactions",
    "offset_fetch", "offset_for_leader_epoch",
})  # fmt: skip
"""Calls that a wait repeats until the answer changes."""

Plain = dict[str, Any]


class EventLine(msgspec.Struct, frozen=True, kw_only=True):
    """An event in words. For an answer, `request` describes the request, and `text` the outcome."""

    event: AnyEvent
    text: str
    node: str = ""
    request: str = ""
    shown: bool = False
    """True if the event is among those that show the violation."""
    times: int = 1
    """The number of consecutive repetitions."""

    @property
    def line(self) -> str:
        text = f"{self.node:9} {self.request} -> {self.text}" if self.node else self.text
        return f"{self.stamp}{_shorten(text)}"

    @property
    def stamp(self) -> str:
        """The beginning of the event's line: an arrow if it shows the violation, and the time."""
        return f"{'->' if self.shown else '  '} {self.event.t:9.3f} s  "


class Narration:
    """The events of one history in words, in their order.

    A repeated request gets a line only if its answer differs. For a read this holds even if other reads came in between, for any
    other request only if it directly repeats the one before; `repeats` counts the omitted ones by the event of the line that
    stands for them. With `about`, only events that concern these subjects get a line. `shown` are the numbers of the events that
    show a violation.
    """

    def __init__(self, history: History, about: Collection[Subject] = (), shown: Collection[int] = ()) -> None:
        self._events = history.events
        self._names = {int(member["id"]): str(member["name"]) for member in history.example.members}
        self._about = frozenset(main_subjects(about))
        self._kinds = {subject.kind for subject in self._about}
        self._shown = set(shown)
        self._last: dict[tuple[str, ...], str] = {}
        self._told: dict[tuple[str, ...], int] = {}
        self.repeats: Counter[int] = Counter()

    def lines(self, begin: int = 0, end: int | None = None) -> list[str]:
        """Return the lines of the events from `begin` up to `end`; an arrow marks those that show the violation."""
        return [one.line for one in self.events(begin, end)]

    def events(self, begin: int = 0, end: int | None = None) -> list[EventLine]:
        return [one for event in self._events[begin:end] if (one := self._line(event)) is not None]

    def _line(self, event: AnyEvent) -> EventLine | None:
        shown = event.n in self._shown
        text = ""
        match event:
            case Answer():
                return self._exchange(self._events[event.call], event, shown)
            case Fault():
                text = _fault(event)
            case Premise():
                text = f"premise {'met' if event.met else 'NOT MET'}: {event.what}"
            case Overdue():
                late = f" (the kit itself woke {event.late:.1f} s late)" if event.late >= 1 else ""
                text = f"overdue: {event.what.splitlines()[0]}{late}"
            case Ended():
                text = f"{event.node} ended by itself with exit code {event.exit_code}"
            case Note() if event.text in ("suspicion", "the cluster was replaced"):
                text = f"{event.text}: {' '.join(map(str, event.data.values()))}"
        return EventLine(event=event, text=text, shown=shown) if text else None

    def _exchange(self, call: AnyEvent, answer: Answer, shown: bool) -> EventLine | None:
        if not isinstance(call, Call) or call.node == KIT_NODE or not self._concerns(call, answer):
            return None
        if call.op in LEFT_OUT and answer.outcome == "ok":
            return None
        if call.op == "metadata" and answer.outcome == "ok":
            request, text = "Metadata", self._metadata(call, answer, shown)
        else:
            request, text = _request(call), _outcome(call, answer)
            text = "" if self._is_repeated(call, answer, request, text, shown) and not shown else text
        return EventLine(event=answer, node=call.node, request=request, text=text, shown=shown) if text else None

    def _is_repeated(self, call: Call, answer: Answer, request: str, text: str, shown: bool) -> bool:
        """True if the same request has just had the same answer. Requests that were not sent may differ in their reasons."""
        key = (call.node, request if call.op in REPEATED_READS else call.op)
        outcome = f"{request} {answer.kind if answer.outcome == 'fail' else text}"
        before, self._last[key] = self._last.get(key), outcome
        if before != outcome or shown:
            self._told[key] = answer.n
        else:
            self.repeats[self._told[key]] += 1
        return before == outcome

    def _concerns(self, call: Call, answer: Answer) -> bool:
        if not self._about:
            return True
        found = {subject for subject in subjects_of_exchange(call, answer) if subject.kind in self._kinds}
        return not found or bool(found & self._about)

    def _metadata(self, call: Call, answer: Answer, always: bool) -> str:
        """Return leader, epoch and ISR from the metadata of one broker, if they differ from its last answer."""
        changed = []
        for name, partition in _partitions(answer.value):
            if "partition" in self._kinds and Subject("partition", name) not in self._about:
                continue
            text = self._state(partition)
            if always or self._last.get((call.node, name)) != text:
                changed.append(f"{name} {text}")
            self._last[call.node, name] = text
        return "; ".join(changed)

    def _state(self, partition: Plain) -> str:
        leader = self._names.get(partition["leader_id"], "no broker")
        isr = ", ".join(self._names.get(id, str(id)) for id in partition["isr_nodes"]) or "empty"
        return f"leader {leader} at epoch {partition['leader_epoch']}, ISR {isr}{_error(partition['error_code'])}"


def main_subjects(subjects: Collection[Subject]) -> list[Subject]:
    """Return the partitions among the subjects, or all subjects if there are none. Groups and producers are identified by the
    partitions that they write to."""
    return [subject for subject in subjects if subject.kind == "partition"] or [*subjects]


def _partitions(value: Plain) -> Iterator[tuple[str, Plain]]:
    for topic in value["topics"]:
        for partition in topic["partitions"]:
            yield f"{topic['name']}-{partition['partition_index']}", partition


def leaders_before(history: History, about: Collection[Subject], events: Sequence[int]) -> list[dict[Subject, str]]:
    """Return the leader and epoch, in words, of each partition among the subjects before each of these events.

    The event numbers ascend; the metadata with the newest epoch counts. It takes one pass over the history.
    """
    names = {int(member["id"]): str(member["name"]) for member in history.example.members}
    newest: dict[Subject, Plain] = {}
    found = []
    for begin, end in pairwise([0, *events]):
        for name, partition in _described_partitions(history.events[begin:end]):
            subject = Subject("partition", name)
            if subject in about and partition["leader_epoch"] >= newest.get(subject, partition)["leader_epoch"]:
                newest[subject] = partition
        found.append({subject: _leader(partition, names) for subject, partition in newest.items()})
    return found


def _described_partitions(events: Sequence[AnyEvent]) -> Iterator[tuple[str, Plain]]:
    for event in events:
        if isinstance(event, Answer) and event.outcome == "ok" and _is_metadata(event.value):
            yield from _partitions(event.value)


def _leader(partition: Plain, names: Mapping[int, str]) -> str:
    return f"{names.get(partition['leader_id'], 'no broker')} leads at epoch {partition['leader_epoch']}"


def _is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and "topics" in value and "brokers" in value


def _fault(event: Fault) -> str:
    phases = {"inject": "FAULT", "witness": "FAULT SHOWN", "consequence": "FAULT FOLLOWED", "heal": "FAULT HEALED"}
    detail = {name: value for name, value in event.detail.items() if name not in ("fault", "role", "partition")}
    measured = f": {words_of_data(detail)}" if detail else ""
    whose = event.node if event.role == event.node else f"the {event.role}, {event.node}"
    return f"{phases[event.phase]}: {event.fault} of {whose}{measured}"


# --- steps of machines


def step_in_words(step: dict[str, Any]) -> str:
    """Return a step in words, its kind and its parameters: `produce, on strict-0, records 3`."""
    tag = next((tag for tag in TAGS if isinstance(step.get(tag), str)), "")
    fields = [f"{name.replace('_', ' ')} {_value(value)}" for name, value in step.items() if name != tag]
    return ", ".join([*([step[tag]] if tag else []), *fields])


def _value(value: Any) -> str:
    return (
        f"({step_in_words(value)})"
        if isinstance(value, dict) and value
        else msgspec.json.encode(value).decode().strip('"')
    )


# --- requests and answers


def _request(call: Call) -> str:
    ask = _REQUESTS.get(call.op)
    return ask(call.request) if ask is not None else call_in_words(call)


def _outcome(call: Call, answer: Answer) -> str:
    if answer.outcome != "ok":
        unknown = "" if answer.outcome == "fail" else " (it may have happened)"
        return f"{answer.kind}: {answer.error.splitlines()[0] if answer.error else ''}{unknown}"
    tell = _OUTCOMES.get(call.op)
    if tell is None or not isinstance(answer.value, dict):
        return words_of_data(drop_empty_parts(answer.value)) or "done"
    error = answer.value.get("error_code", 0)
    return say_error(error) + _hint(answer.value) if error else tell(answer.value)


def _epochs(request: Plain) -> str:
    claimed = request.get("current_leader_epoch", -1)
    fetched = request.get("last_fetched_epoch", -1)
    return (f" current epoch {claimed}" if claimed >= 0 else "") + (f" last fetched {fetched}" if fetched >= 0 else "")


def _reader_in_words(request: Plain) -> str:
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
    values = control(batch) if batch["control"] else " ".join(value_in_words(one["value"]) for one in batch["records"])
    place = f"{batch['base_offset']}-{batch['last_offset']} of epoch {batch['leader_epoch']}"
    return f"[{place}{by_producer(batch)}: {values}]"


def _quorum(value: Plain) -> str:
    voters = ", ".join(f"{one['replica_id']} at {one['log_end_offset']}" for one in value["current_voters"])
    leads = f"leader {value['leader_id']} at epoch {value['leader_epoch']}, HW {value['high_watermark']}"
    return f"{leads}, voters {voters}, {len(value['observers'])} observers"


def _file(content: str | None) -> str:
    """Return the lines of a text file, or the size of any other file. Its bytes are base64 in a history."""
    if content is None:
        return "no such file"
    data = base64.b64decode(content)
    lines = data.decode("latin-1").splitlines()
    return f"'{' | '.join(lines)}'" if all(map(str.isprintable, lines)) else f"{len(data)} bytes"


def _produce(request: Plain) -> str:
    records = request["records"]
    return f"Produce {_place(request)} acks {request['acks']}{_records_in_words(records)}"


def _produce_many(request: Plain) -> str:
    """Describe a Produce of several partitions, also one that stays in flight, which is sent with acks=all."""
    each = "; ".join(f"{_place(one)}{_records_in_words(one['records'])}" for one in request["partitions"])
    return f"Produce acks {request.get('acks', -1)} {each}"


def _records_in_words(records: Any) -> str:
    if not isinstance(records, dict):
        return ": bytes"
    return f"{by_producer(records)}: {' '.join(value_in_words(one['value']) for one in records['records'])}"


_READERS: dict[int | None, str] = {
    None: "consumer",
    -1: "consumer",
    -2: "debugging consumer",
    -3: "future replica (whole log)",
}

_REQUESTS: dict[str, Callable[[Plain], str]] = {
    "fetch": lambda r: f"Fetch {_place(r)} from {r['fetch_offset']}{_epochs(r)} as {_reader_in_words(r)}",
    "produce": _produce,
    "produce_many": _produce_many,
    "park_produce": _produce_many,
    "list_offsets": lambda r: f"ListOffsets {_place(r)} at {r['timestamp']}{_epochs(r)} as {_reader_in_words(r)}",
    "offset_for_leader_epoch": lambda r: (
        f"OffsetForLeaderEpoch {_place(r)} of epoch {r['leader_epoch']}{_epochs(r)} as {_reader_in_words(r)}"
    ),
    "delete_records": lambda r: f"DeleteRecords {_place(r)} below {r['offset']}",
    "read_file": lambda r: f"for the file {r['path']}",
    "reception": lambda r: f"{r['api']} with a body of {len(base64.b64decode(r['body']))} bytes",
    "registrations": lambda r: (
        f"metadata log about {', '.join(f'{topic}-{index}' for topic, index in r['partitions'])}"
    ),
    "metadata_log": lambda r: "for the metadata log on its disk",
    "replicas": lambda r: f"replicas on disk of {', '.join(r['partitions'])}",
    **groups_in_words.REQUESTS,
    **transactions_in_words.REQUESTS,
    **voters_in_words.REQUESTS,
}


def _fate(value: Plain) -> str:
    end = value.get("end")
    return f"ended with exit code {end['exit_code']}; history.jsonl has its last log lines" if end else "runs"


_OUTCOMES: dict[str, Callable[[Plain], str]] = {
    "fetch": _fetch,
    "produce": lambda v: f"appended at {v['base_offset']}" if v["base_offset"] >= 0 else "no answer asked for",
    "list_offsets": lambda v: f"offset {v['offset']} of epoch {v['leader_epoch']}",
    "offset_for_leader_epoch": lambda v: f"epoch {v['leader_epoch']} ends at {v['end_offset']}",
    "delete_records": lambda v: f"log start {v['low_watermark']}",
    "describe_quorum": _quorum,
    "fate": _fate,
    "read_file": lambda v: _file(v["content"]),
    "reception": lambda v: "something" if v["answered"] else "by closing the connection",
    "registrations": lambda v: f"{sum(len(one['registrations']) for one in v['partitions'])} registrations",
    "metadata_log": lambda v: f"offsets {v['log_start']} to {v['log_end']}, {len(v['leader_changes'])} leaders",
    "replicas": lambda v: f"{len(v['replicas'])} replicas read: see `disk/`",
    **groups_in_words.OUTCOMES,
    **transactions_in_words.OUTCOMES,
    **voters_in_words.OUTCOMES,
}


# --- words


def _error(code: int) -> str:
    return f", {say_error(code)}" if code else ""


def _hint(value: Plain) -> str:
    leader: Plain | None = value.get("current_leader")
    if leader is None or leader["leader_id"] < 0:
        return ""
    return f", leader {leader['leader_id']} at epoch {leader['leader_epoch']}"


def _shorten(text: str) -> str:
    return (
        text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}… ({len(text) - MAX_LENGTH} more, in history.jsonl)"
    )
