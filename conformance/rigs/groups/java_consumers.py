"""The release's own Java consumer as a member of a group: `VerifiableConsumer` of its tools, read by the lines that it writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from conformance.core.checks import PremiseClaim, premise
from conformance.core.waiting import Settled
from conformance.rigs.groups.three_brokers import RoutedGroup
from fixtures.cluster.config import BROKER_PORT
from history.readings import Assigned, Owned
from protocol.words import say

SHARED_WITHIN = 60.0
"""Seconds in which Java consumers must share all partitions: each learns what it gets by one of its heartbeats, of which it sends
one in 5 s, and hands it to its application in a later poll."""


class LinePartition(msgspec.Struct, frozen=True):
    """A partition in a line; `offset` only where it was committed."""

    topic: str
    partition: int
    offset: int = -1


class ConsumerLine(msgspec.Struct, frozen=True):
    """A line of the consumer. `timestamp` in milliseconds since 1970, by the clock of this host."""

    timestamp: int
    name: str
    partitions: tuple[LinePartition, ...] = ()
    offsets: tuple[LinePartition, ...] = ()
    success: bool = True


class JavaConsumer:
    """One consumer of the consumer protocol. It commits what it has read after each poll.

    It owns a partition from the line that assigns it to the one that revokes it, which it writes before it acknowledges that.
    """

    def __init__(self, group: RoutedGroup) -> None:
        self.group = group
        self.name = group.bench.fresh_name("java")
        self.lines: list[ConsumerLine] = []
        self.member_id = ""
        self._end = 0
        brokers = ",".join(f"{name}:{BROKER_PORT}" for name in group.bench.brokers)
        self.started = group.bench.start_java_consumer(
            self.name, "--bootstrap-server", brokers, "--topic", group.topic.name, "--group-id", group.name,
            "--group-protocol", "CONSUMER",
        )  # fmt: skip

    @property
    def could_run(self) -> PremiseClaim:
        """The premise that the release's tools have the consumer."""
        return premise(not self.started.missing, f"the release's tools: {self.started.missing}")

    def read(self) -> None:
        """Read what it has told since."""
        found = self.group.bench.read_java_consumer(self.name, self._end)
        self._end = found.end
        self.lines += [msgspec.json.decode(line, type=ConsumerLine) for line in found.lines if line.startswith("{")]

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that it has, as far as it was read."""
        return self.ownerships()[-1][2] if self.ownerships() else frozenset()

    def ownerships(self) -> list[tuple[int, Literal["assigned", "revoked"], frozenset[int]]]:
        """Return what it has after each line about that, with the line's timestamp."""
        has, found = frozenset[int](), list[tuple[int, Literal["assigned", "revoked"], frozenset[int]]]()
        for line in self.lines:
            named = frozenset(one.partition for one in line.partitions)
            if line.name == "partitions_assigned":
                has |= named
                found.append((line.timestamp, "assigned", has))
            elif line.name == "partitions_revoked":
                has -= named
                found.append((line.timestamp, "revoked", has))
        return found

    def commits(self) -> dict[int, tuple[int, int]]:
        """Return the offset that it last committed for each partition, after the timestamp of that line."""
        accepted = (line for line in self.lines if line.name == "offsets_committed" and line.success)
        return {one.partition: (line.timestamp, one.offset) for line in accepted for one in line.offsets}

    def leave(self) -> None:
        """Let it leave the group, and wait until it says that it has. Raises Overdue."""
        self.group.bench.signal_java_consumer(self.name, "TERM")
        self.group.bench.eventually(self._has_ended, f"{self.name} shut down", SHARED_WITHIN)

    def _has_ended(self) -> bool:
        self.read()
        return any(line.name == "shutdown_complete" for line in self.lines)

    @property
    def is_running(self) -> bool:
        return self.group.bench.signal_java_consumer(self.name, "0").code == 0

    def kill(self) -> None:
        """End its process, if it still runs."""
        if not self.started.missing:
            self.group.bench.signal_java_consumer(self.name, "KILL")


class JavaConsumers:
    """The Java consumers of one group."""

    def __init__(self, group: RoutedGroup) -> None:
        self.group = group
        self.all: list[JavaConsumer] = []
        self.present: list[JavaConsumer] = []

    def start(self) -> JavaConsumer:
        """Start one more."""
        self.all.append(JavaConsumer(self.group))
        self.present.append(self.all[-1])
        return self.all[-1]

    def leave(self) -> None:
        """Let the first one leave."""
        self.present.pop(0).leave()

    def share(self) -> Settled:
        """Return whether those that are present share all partitions in time, by what they tell and by the description."""
        met = self.group.bench.wait.becomes_true(
            self._is_shared, f"Java consumers that share {self.group.topic.name}", SHARED_WITHIN
        )
        self._learn_member_id()
        return met

    @property
    def are_running(self) -> PremiseClaim:
        """The premise that none has ended by itself, for which no coordinator is to blame."""
        ended = [one.name for one in self.present if not one.is_running]
        return premise(not ended, f"the Java consumers run; ended: {say(ended)}")

    def _learn_member_id(self) -> None:
        """Take the id that no other one has for that of the newest one: the lines do not tell it."""
        known = {one.member_id for one in self.all}
        for member in self.group.describe().members:
            if member.member_id not in known:
                self.all[-1].member_id = member.member_id

    def _is_shared(self) -> bool:
        for one in self.present:
            one.read()
        owned = sorted(partition for one in self.present for partition in one.partitions)
        return owned == list(range(self.group.partitions)) and all(one.partitions for one in self.present)

    def has_committed(self, end: int) -> Settled:
        """Return whether they have told that the offset `end` is committed for each partition."""
        return self.group.bench.wait.becomes_true(
            lambda: self._has_committed(end), f"offset {end} committed by Java consumers", SHARED_WITHIN
        )

    def _has_committed(self, end: int) -> bool:
        for one in self.present:
            one.read()
        return self.commits() == dict.fromkeys(range(self.group.partitions), end)

    def commits(self) -> dict[int, int]:
        """Return the offset that any of them last committed for each partition, as they were told."""
        newest: dict[int, tuple[int, int]] = {}
        for one in self.all:
            for partition, commit in one.commits().items():
                newest[partition] = max(newest.get(partition, commit), commit)
        return {partition: offset for partition, (_, offset) in newest.items()}

    def tell_ownerships(self) -> None:
        """Record which partitions each of them had, in the order of their clocks: all of them have this host's."""
        lines = [(at, how == "assigned", how, one, has) for one in self.all for at, how, has in one.ownerships()]
        for _, _, how, one, has in sorted(lines, key=lambda line: line[:2]):
            self._tell(one, Owned(self.group.name, how, one.member_id), has)

    def _tell(self, one: JavaConsumer, request: Owned, has: frozenset[int]) -> None:
        answer = Assigned(tuple((self.group.topic.name, partition) for partition in sorted(has)))
        self.group.bench.tape.call(one.name, request.op, msgspec.to_builtins(request), Assigned, lambda: answer)

    def __str__(self) -> str:
        return say({one.name: sorted(one.partitions) for one in self.present})


@contextmanager
def java_consumers(group: RoutedGroup) -> Iterator[JavaConsumers]:
    """Yield the Java consumers of a group, none at first; none of them runs afterwards."""
    made = JavaConsumers(group)
    try:
        yield made
    finally:
        for one in made.present:
            one.kill()
