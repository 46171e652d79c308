"""What a history says about one partition's log, taken out of its events in the order of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from history.events import Answer, Call, Fault, History

NONE = 0
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
LATEST, EARLIEST = -1, -2
"""The timestamps by which ListOffsets is asked for the ends of a log."""
FUTURE_REPLICA = -3
"""The replica id whose fetches show a replica's whole log, uncommitted tail included (catalogue, tool T2)."""


HEALED = "all faults are healed and nobody writes any more"
"""The premise with which the wait for agreement begins (KIP101-INV-18)."""
AT_REST = "at rest"
"""The premise that all replicas agree; what is read after it is judged as read at rest."""
CONVERGES_WITHIN = 33.0
"""Seconds from HEALED to AT_REST: 30 and the session time-out (KIP101-INV-18, KIP320-REPL-09)."""


class RecordRead(msgspec.Struct, frozen=True):
    """A record as one replica held it: `content` is everything but its position."""

    event: int
    node: str
    offset: int
    epoch: int
    content: tuple[Any, ...]


class LogRead(msgspec.Struct, frozen=True):
    """One Fetch that was answered without an error. `cur` is the CurrentLeaderEpoch that it named, -1 for none.

    `asked` and `event` are the numbers of the call and of its answer. `batches` are (base offset, last offset, stamp, CRC),
    control batches included; `records` leaves those out.
    """

    asked: int
    event: int
    node: str
    cur: int
    replica_id: int
    fetch_offset: int
    version: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    records: tuple[RecordRead, ...]
    batches: tuple[tuple[Any, ...], ...]

    @property
    def whole(self) -> bool:
        """Does it show all that the replica holds?"""
        return self.replica_id == FUTURE_REPLICA and self.fetch_offset <= self.log_start

    @property
    def log_end(self) -> int:
        return int(self.batches[-1][1]) + 1 if self.batches else self.fetch_offset

    def shows(self, offset: int) -> bool:
        """Would a record at this offset, if the replica holds it, be among `records`?"""
        inside = max(self.fetch_offset, self.log_start) <= offset
        return inside and (self.whole or offset < self.high_watermark)

    def at(self, offset: int) -> RecordRead | None:
        return next((record for record in self.records if record.offset == offset), None)


class Acknowledged(msgspec.Struct, frozen=True):
    """Records that a Produce with acks=all was answered 0 for. `since` is the newest epoch that anybody had named before."""

    event: int
    since: int
    offset: int
    values: tuple[str, ...]


class Seen(msgspec.Struct, frozen=True):
    """Leader, epoch and ISR of the partition, as one broker's Metadata had them."""

    event: int
    node: str
    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


def answers(history: History, op: str) -> Iterator[tuple[Call, Answer]]:
    """Calls of one kind that were answered, with their answers."""
    return ((call, answer) for call, answer in history.answered() if call.op == op and answer.outcome == "ok")


def log_reads(history: History) -> list[LogRead]:
    return [_log_read(call, answer) for call, answer in answers(history, "fetch") if answer.value["error_code"] == NONE]


def _log_read(call: Call, answer: Answer) -> LogRead:
    value = answer.value
    batches = tuple(batch for batch in value["batches"] if not batch["control"])
    return LogRead(
        asked=call.n,
        event=answer.n,
        node=call.node,
        cur=call.request["current_leader_epoch"],
        replica_id=call.request["replica_id"],
        fetch_offset=call.request["fetch_offset"],
        version=value["version"],
        high_watermark=value["high_watermark"],
        last_stable_offset=value["last_stable_offset"],
        log_start=value["log_start_offset"],
        records=tuple(_records(call, answer, batches)),
        batches=tuple((b["base_offset"], b["last_offset"], b["leader_epoch"], b["crc"]) for b in value["batches"]),
    )


def _records(call: Call, answer: Answer, batches: tuple[dict[str, Any], ...]) -> Iterator[RecordRead]:
    for batch in batches:
        for record in batch["records"]:
            if record["offset"] >= call.request["fetch_offset"]:
                content = (record["key"], record["value"], record["timestamp"])
                yield RecordRead(answer.n, call.node, record["offset"], batch["leader_epoch"], content)


def records_read(history: History) -> Iterator[RecordRead]:
    return (record for read in log_reads(history) for record in read.records)


def acknowledged(history: History) -> Iterator[Acknowledged]:
    """What acks=all was answered 0 for."""
    named = [(seen.event, seen.epoch) for seen in metadata_seen(history)]
    for call, answer in answers(history, "produce"):
        if call.request["acks"] == -1 and answer.value["error_code"] == NONE:
            since = max((epoch for event, epoch in named if event < call.n), default=0)
            values = tuple(record["value"] for record in call.request["records"]["records"])
            yield Acknowledged(answer.n, since, answer.value["base_offset"], values)


def metadata_seen(history: History) -> Iterator[Seen]:
    """Every broker's word on the partition's leader and epoch."""
    for call, answer in answers(history, "metadata"):
        for topic in answer.value["topics"]:
            for p in topic["partitions"]:
                if p["error_code"] == NONE:
                    yield Seen(
                        answer.n,
                        call.node,
                        p["leader_id"],
                        p["leader_epoch"],
                        tuple(p["isr_nodes"]),
                        tuple(p["replica_nodes"]),
                    )


def leaders(history: History) -> dict[int, int]:
    """Epoch -> id of its leader, as first seen."""
    found: dict[int, int] = {}
    for seen in metadata_seen(history):
        if seen.leader >= 0:
            found.setdefault(seen.epoch, seen.leader)
    return found


def incarnations(history: History) -> dict[str, list[int]]:
    """The events at which each node was started again."""
    starts: dict[str, list[int]] = {}
    for event in history.events:
        if isinstance(event, Fault) and event.phase == "heal":
            starts.setdefault(event.node, []).append(event.n)
    return starts


def incarnation(starts: dict[str, list[int]], node: str, event: int) -> int:
    """How often the node had been started again before the event."""
    return sum(start < event for start in starts.get(node, ()))


class Fence(msgspec.Struct, frozen=True):
    """What an answer to a request with a CurrentLeaderEpoch tells of the epoch that the broker holds."""

    event: int
    node: str
    at_least: int | None
    at_most: int | None


def fences(history: History) -> Iterator[Fence]:
    """FENCED_LEADER_EPOCH: the broker's is higher; UNKNOWN_LEADER_EPOCH: lower."""
    for call, answer in history.answered():
        cur = call.request.get("current_leader_epoch", -1)
        if answer.outcome == "ok" and cur >= 0:
            error = answer.value["error_code"]
            if error == FENCED_LEADER_EPOCH:
                yield Fence(answer.n, call.node, cur + 1, None)
            elif error == UNKNOWN_LEADER_EPOCH:
                yield Fence(answer.n, call.node, None, cur - 1)


def leader_hints(history: History) -> Iterator[tuple[int, int, int]]:
    """(event, epoch, leader) as named in Fetch answers (KIP-951)."""
    for _, answer in answers(history, "fetch"):
        hint = answer.value["current_leader"]
        if hint is not None and hint["leader_id"] >= 0:
            yield answer.n, hint["leader_epoch"], hint["leader_id"]


def name_of(history: History, id: int) -> str:
    """The node's name; empty for an id that is no member's."""
    return next((str(member["name"]) for member in history.example.members if member["id"] == id), "")


def leads(history: History, found: dict[int, int], read: LogRead) -> bool:
    """Was the read answered by the leader of the epoch that it named?"""
    return read.cur in found and name_of(history, found[read.cur]) == read.node
