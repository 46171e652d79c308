"""Clients of librdkafka that copy records in transactions, as members of one group (KIP-447)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from conformance.rigs.groups.copies import Copying
from fixtures.librdkafka import GroupProtocol
from history.readings import Assigned, CopyAct, CopyStep, Owned

SHARED_WITHIN = 15.0
"""Seconds after which clients are no longer awaited to share their partitions: some of their heartbeats, one in 5 s."""
COPIED_WITHIN = 60.0
"""Seconds after which clients are no longer awaited to copy all records: more than their transactions' and requests' timeouts."""


class Copier:
    """One client. Its ownerships are on the tape after each of its steps."""

    def __init__(self, copying: Copying, protocol: GroupProtocol) -> None:
        self._group = copying.group
        self._bench = copying.group.bench
        self.name = self._bench.fresh_name("copier")
        self.partitions: frozenset[int] = frozenset()
        self.ends: dict[int, int] = {}
        """By partition, the offset after the last record that it copied."""
        names = (self._group.name, protocol, self._group.topic.name, copying.copies.name)
        self.last = self._take(self._bench.start_copying(self.name, *names))

    def read(self) -> None:
        self._step("read")

    def begin(self) -> None:
        """Begin to copy the next record, if one has arrived."""
        self._step("begin")

    def end(self) -> None:
        """Commit what it began."""
        copied = self.last.copied
        self._step("end")
        if copied is not None and not self.last.trouble:
            self.ends[copied[0]] = copied[1] + 1

    def copy(self) -> None:
        """Copy the next record, if one has arrived."""
        self.begin()
        self.end()

    def leave(self) -> None:
        self._step("leave")

    def _step(self, do: CopyAct) -> None:
        self.last = self._take(self._bench.copy_records(self.name, do))

    def _take(self, step: CopyStep) -> CopyStep:
        for change in step.changes:
            self._tell(Owned(self._group.name, change.how, change.member_id), Assigned(change.partitions))
            self.partitions = frozenset(partition for _, partition in change.partitions)
        return step

    def _tell(self, request: Owned, has: Assigned) -> None:
        self._bench.tape.call(self.name, request.op, msgspec.to_builtins(request), Assigned, lambda: has)


class Copiers:
    """The clients of a group that copy its records."""

    def __init__(self, copying: Copying, protocol: GroupProtocol) -> None:
        self.copying = copying
        self._protocol: GroupProtocol = protocol
        self._all: list[Copier] = []
        self._present: list[Copier] = []

    @property
    def each_copied(self) -> bool:
        """True if each client was told that a record which it copied is committed."""
        return all(one.ends for one in self._all)

    def start(self) -> Copier:
        """Start one more."""
        self._all.append(Copier(self.copying, self._protocol))
        self._present.append(self._all[-1])
        return self._all[-1]

    def leave(self, one: Copier) -> None:
        """Let one leave the group."""
        self._present.remove(one)
        one.leave()

    def share(self) -> None:
        """Let all read until they share the partitions, or until it takes too long, which breaks nothing."""
        self._wait(self._is_shared, "clients that share the partitions", SHARED_WITHIN)

    def copy(self, one: Copier, count: int) -> None:
        """Let one copy this many records, unless it has none or takes too long, while the others read."""
        ends = sum(one.ends.values())

        def has_copied() -> bool:
            one.copy()
            for other in self._present:
                other.read()
            return not one.partitions or sum(one.ends.values()) >= ends + count

        self._wait(has_copied, f"{count} records copied by {one.name}", SHARED_WITHIN)

    def copy_all(self) -> None:
        """Let all copy until all records are copied, or until it takes too long; then let all leave, with nothing open."""
        self._wait(self._have_copied_all, "records that are all copied", COPIED_WITHIN)
        for one in [*self._present]:
            self.leave(one)
        self._wait(self._have_nothing_open, "clients without an open transaction", COPIED_WITHIN)

    def _is_shared(self) -> bool:
        for one in self._present:
            one.read()
        shared = sorted(partition for one in self._present for partition in one.partitions)
        return shared == list(range(self.copying.group.partitions)) and all(one.partitions for one in self._present)

    def _have_copied_all(self) -> bool:
        for one in self._present:
            one.copy()
        return self.copying.committed_offsets() == self.copying.ends

    def _have_nothing_open(self) -> bool:
        for one in self._all:
            one.end()
        return all(one.last.copied is None and not one.last.trouble for one in self._all)

    def _wait(self, done: Callable[[], bool], what: str, within: float) -> None:
        self.copying.group.bench.wait.becomes_true(done, what, within)
