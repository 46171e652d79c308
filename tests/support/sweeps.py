"""Sweeps of batch requests and single ones over two brokers, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.judging.facts.apis import BATCHES
from history.effects import Effects
from history.events import Answer, AnyEvent, Call, Example, Fault, History, Note
from history.steps import SWEEP_NOTE, SWEPT_NOTE
from protocol.codes import Error
from protocol.operations import OPERATIONS
from tests.support import filled

Plain = dict[str, Any]
Asked = tuple[str, int, int, Sequence[Any], Sequence[Plain]]
"""The operation, the broker, the version, the items and the parts of the answer."""

ID, NO_ID = "3310cd9c-e2ad-4eb0-87e6-b47a5e2dd975", "92ae2215-b094-477b-8c61-1878e98f577e"
MEMBERS = [{"name": f"broker-{id}", "id": id, "role": "broker"} for id in (1, 2)]
A, NO_SUCH = {"name": "a", "id": ID}, {"name": "no-such", "id": NO_ID}
HIGHEST = 18
LEADS, FOLLOWS = 0, 1
"""The partition of topic `a` that broker 1 leads, and the one that broker 2 leads."""


def state(index: int, **changed: Any) -> Plain:
    fields = {"leader_id": index + 1, "leader_epoch": 3, "replica_nodes": [2, 1], "isr_nodes": [1, 2]}
    return {"error_code": 0, "partition_index": index, "offline_replicas": [], **fields, **changed}


def topic(name: str = "a", error: int = 0, **changed: Any) -> Plain:
    partitions = [] if error else [state(LEADS, **changed), state(FOLLOWS)]
    return {"name": name, "topic_id": ID, "error_code": error, "is_internal": False, "partitions": partitions}


def of(index: int, error: int = 0, *, about: Plain = A, by_id: bool = False, **fields: Any) -> Plain:
    """Return a partition of an answer."""
    named = {"topic": None, "topic_id": about["id"]} if by_id else {"topic": about["name"], "topic_id": None}
    return {**named, "partition": index, "error_code": error, "top_level_error": 0, **fields}


def listed(index: int, error: int = 0, offset: int = 5, **fields: Any) -> Plain:
    return of(index, error, **{"timestamp": -1, "offset": offset, "leader_epoch": 3, **fields})


def fetched(index: int, error: int = 0, *batches: Plain, **fields: Any) -> Plain:
    marks = {"high_watermark": 5, "last_stable_offset": 5, "log_start_offset": 0, "batches": batches}
    return of(index, error, **{**marks, **fields})


def batch(base: int, codec: int = 0, size: int = 70) -> Plain:
    fields = {"leader_epoch": 3, "crc": base, "codec": codec, "size": size}
    return {"base_offset": base, "last_offset": base, "records": [], **fields}


def query(index: int, name: str = "a") -> Plain:
    return {"topic": name, "partition": index, "timestamp": -1, "current_leader_epoch": -1}


def wanted(index: int, about: Plain = A, limit: int = 4096) -> Plain:
    return {"topic": about, "partition": index, "fetch_offset": 0, "partition_max_bytes": limit}


class SweepHistory:
    """A sweep over two brokers and a topic that they replicate; `moved` is a broker's last description of partition
    0."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    @property
    def history(self) -> History:
        return History(example=Example(example="e", check="c", column="4.3.1", members=MEMBERS), events=self.events)

    @property
    def _now(self) -> Plain:
        return {"n": len(self.events), "t": float(len(self.events))}

    def note(self, text: str) -> SweepHistory:
        self.events.append(Note(**self._now, text=text))
        return self

    def begun(self) -> SweepHistory:
        return self.note(SWEEP_NOTE).described()

    def ended(self, **moved: Any) -> SweepHistory:
        return self.described(**moved).note(SWEPT_NOTE)

    def described(self, **moved: Any) -> SweepHistory:
        unknown = topic("no-such", Error.UNKNOWN_TOPIC_OR_PARTITION)
        for broker in (1, 2):
            self.ask("metadata", broker, HIGHEST, ["a", "no-such"], [topic(**moved), unknown])
        return self

    def ask(
        self, op: str, broker: int, version: int, items: Sequence[Any], parts: Sequence[Plain], error: int = 0
    ) -> SweepHistory:
        asked, answered = BATCHES[op]
        more: Plain = {"options": {}} if op == "fetch_many" else {"group": "g"} if op == "offset_fetch" else {}
        request = {asked.field: [*items], "version": version, **more}
        n = len(self.events)
        self.events.append(Call(**self._now, op=op, node=f"broker-{broker}", request=request))
        answer = {"version": version, "throttle_time_ms": n, "error_code": error, answered.field: [*parts]}
        value = filled.answered(OPERATIONS[op], answer)
        self.events.append(Answer(**self._now, call=n, outcome="ok", value=value))
        return self

    def fault(self, phase: Any) -> SweepHistory:
        effects = Effects(process="down", stands=True)
        self.events.append(
            Fault(**self._now, fault="kill", phase=phase, role="leader", node="broker-2", effects=effects)
        )
        return self


def swept(*asked: Asked) -> SweepHistory:
    """Add a sweep. Its first request, the batch in the highest version, is repeated at the end."""
    history = SweepHistory().begun()
    for one in (*asked, asked[0]):
        history.ask(*one)
    return history.ended()


def offsets(version: int, *parts: Plain, broker: int = 1) -> Asked:
    """Return ListOffsets of those partitions."""
    return "list_offsets_many", broker, version, [query(part["partition"], part["topic"]) for part in parts], parts
