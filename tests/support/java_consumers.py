"""A group whose members are Java consumers, and what these write, as a test says."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from conformance.core.waiting import Settled
from conformance.rigs.groups.java_consumers import JavaConsumers
from history.readings import ToolLines, ToolRun
from protocol.groups import CommittedOffset, OffsetFetchAnswer


class FakeBench:
    """Consumers whose lines a test writes."""

    brokers = ("broker-1", "broker-2")

    def __init__(self) -> None:
        self.tape = self
        self.wait = self
        self.told: list[tuple[str, str, list[int]]] = []
        """The partitions that each consumer had after each ownership on the tape."""
        self.lines: dict[str, list[str]] = {}
        self.signals: list[tuple[str, str]] = []
        self.ended: set[str] = set()

    def fresh_name(self, prefix: str) -> str:
        return f"{prefix}-{len(self.lines)}"

    def start_java_consumer(self, name: str, *arguments: str) -> ToolRun:
        self.lines[name] = []
        return ToolRun(code=0)

    def read_java_consumer(self, name: str, start: int) -> ToolLines:
        return ToolLines(tuple(self.lines[name][start:]), len(self.lines[name]))

    def signal_java_consumer(self, name: str, signal: str) -> ToolRun:
        if signal != "0":
            self.signals.append((name, signal))
        return ToolRun(code=int(name in self.ended))

    def eventually(self, probe: Any, what: str, within: float) -> None:
        assert probe(), what

    def call(self, node: str, op: str, request: dict[str, str], answer: type, do: Any) -> None:
        self.told.append((node, request["how"], [partition for _, partition in do().partitions]))

    def becomes_true(self, probe: Any, what: str, within: float) -> Settled:
        return Settled(1, probe(), within)


class FakeGroup:
    """A group of two partitions, which is described with the members that a test names."""

    name = "group"
    topic = SimpleNamespace(name="topic")
    partitions = 2

    def __init__(self, bench: FakeBench) -> None:
        self.bench = bench
        self.members: list[str] = []
        self.offsets: dict[int, int] = {}
        """The offsets that the group has, whatever its consumers were told."""

    def stable_offset(self, partition: int) -> OffsetFetchAnswer:
        offset = self.offsets.get(partition, -1)
        found = CommittedOffset(version=8, partition=partition, offset=offset)
        return OffsetFetchAnswer(version=8, partitions=(found,))

    def describe(self) -> Any:
        return SimpleNamespace(members=[SimpleNamespace(member_id=one) for one in self.members])


def line(at: int, name: str, *partitions: int, **more: object) -> str:
    named = [{"topic": "topic", "partition": one} for one in partitions]
    return json.dumps({"timestamp": at, "name": name, "partitions": named, **more})


def commit(at: int, offsets: dict[int, int], *, success: bool = True) -> str:
    named = [{"topic": "topic", "partition": one, "offset": offset} for one, offset in offsets.items()]
    return json.dumps({"timestamp": at, "name": "offsets_committed", "offsets": named, "success": success})


def consumers_of(group: Any) -> JavaConsumers:
    return JavaConsumers(group)
