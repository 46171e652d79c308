"""The disk of a broker that is down, damaged where a schedule says; through its tape, so that a stored history needs no cluster.

The fault lab damages what it finds at a role; a schedule knows the very batch that a power loss took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fixtures.cluster.node import Node
from fixtures.disk.checkpoint import EPOCHS, HIGH_WATERMARKS, LOG_STARTS
from fixtures.disk.held import HeldReplica, held
from fixtures.disk.replicas import Replica, read_offsets, read_replica
from fixtures.disk.volume import move, on_volume, remove, write
from fixtures.errors import KitError
from fixtures.faults.kinds.damage import Place, places
from fixtures.faults.kinds.disk import cut_tail
from fixtures.tape import Tape
from history.events import Phase


class Cut(msgspec.Struct, frozen=True):
    """Where a log ended before and after the cut, read back from disk; and whether half a batch follows."""

    before: int
    after: int
    torn: bool = False


class Checkpoints(msgspec.Struct, frozen=True):
    """What a broker's checkpoint files say of one partition; None where they do not name it."""

    high_watermark: int | None
    log_start: int | None


class Changed(msgspec.Struct, frozen=True):
    """Whether a file or directory was seen to be there before and after; and the content that was put there, if any."""

    before: bool
    after: bool
    content: bytes | None = None


class Disk:
    """One partition (`topic-0`), or one log directory of several, on the disk of one broker.

    Its methods say what they need of the broker.
    """

    def __init__(self, tape: Tape, name: str, partition: str, node: Callable[[], Node]) -> None:
        self._tape = tape
        self._name = name
        self._partition = partition
        self._node = node

    # --- looking

    def holds(self) -> HeldReplica:
        """The replica as it is on disk, whether the broker runs or not."""

        def read() -> HeldReplica:
            [found] = held([self._node()], [self._partition]).replicas
            return found

        return self._tape.call(self._name, "disk", {"partition": self._partition}, HeldReplica, read)

    def checkpoints(self) -> Checkpoints:
        """High watermark and log start as they would be known after a crash."""

        def read() -> Checkpoints:
            marks, starts = (read_offsets(self._node(), name) for name in (HIGH_WATERMARKS, LOG_STARTS))
            return Checkpoints(marks.get(self._partition), starts.get(self._partition))

        return self._tape.call(self._name, "checkpoints", {"partition": self._partition}, Checkpoints, read)

    # --- damage, while the broker is down

    def cut(self, offset: int, *, torn: bool = False) -> Cut:
        """A power loss after a kill: the batch that begins at `offset`, and all after it, never reached the disk.

        Where it is `torn`, half of that batch did.
        """

        def done() -> Cut:
            node = self._down()
            before = read_replica(node, self._partition)
            on_volume(node, *cut_tail(before, _batch_at(before, offset), torn=torn))
            after = read_replica(node, self._partition)
            return Cut(before.log_end, after.log_end, bool(after.segments and after.segments[-1].torn))

        self._phase("cut-tail-above", "inject", {"offset": offset})
        request = {"partition": self._partition, "offset": offset} | ({"torn": True} if torn else {})
        found = self._tape.call(self._name, "cut", request, Cut, done)
        seen = found.after == offset and found.torn == torn
        self._seen("cut-tail-above", seen, {"log end": [found.before, found.after], "torn": found.torn})
        return found

    def lose_epochs(self) -> Changed:
        """leader-epoch-checkpoint is gone."""
        return self._lose("remove-epoch-checkpoint", f"{self._partition}/{EPOCHS}")

    def lose_watermarks(self) -> Changed:
        """replication-offset-checkpoint is gone: no replica of the broker knows how much of it is committed."""
        return self._lose("remove-watermark-checkpoint", HIGH_WATERMARKS)

    def lose(self) -> Changed:
        """The replica's whole directory is gone."""
        return self._lose("wipe-disk", self._partition)

    def fail(self) -> Changed:
        """While the broker runs: the directory is a file from now on, so that whatever is written to it fails."""

        def done() -> Changed:
            node, path = self._node(), self._partition
            before = node.exists(f"{path}/meta.properties")
            # Moved first: what the broker makes in a directory while it is being removed keeps it from being so.
            aside = f"{path}.aside"
            found = on_volume(node, move(path, aside), write(path, b""), remove(aside), f"test -d {path} || echo gone")
            return Changed(before, found.strip() != "gone")

        self._phase("failed-directory", "inject", {})
        found = self._tape.call(self._name, "fail", {"path": self._partition}, Changed, done)
        self._seen("failed-directory", found.before and not found.after, {})
        return found

    def put_epochs(self, content: bytes) -> Changed:
        """leader-epoch-checkpoint is what it was at some time before."""
        path = f"{self._partition}/{EPOCHS}"

        def done() -> Changed:
            node = self._down()
            before = node.exists(path)
            on_volume(node, write(path, content))
            return Changed(before, True, node.read_file(path))

        self._phase("old-epoch-checkpoint", "inject", {"content": content.decode()})
        found = self._tape.call(self._name, "put", {"path": path, "content": content}, Changed, done)
        self._seen("old-epoch-checkpoint", found.content == content, {})
        return found

    def _lose(self, fault: str, path: str) -> Changed:
        def done() -> Changed:
            node = self._down()
            before = node.exists(path)
            on_volume(node, remove(path))
            return Changed(before, node.exists(path))

        self._phase(fault, "inject", {"path": path})
        found = self._tape.call(self._name, "remove", {"path": path}, Changed, done)
        self._seen(fault, found.before and not found.after, {})
        return found

    # --- what it is told with

    def _down(self) -> Node:
        node = self._node()
        if node.state() != "exited":
            raise KitError(f"{self._name} is {node.state()}: its disk is damaged while it is down")
        return node

    def _seen(self, fault: str, met: bool, detail: dict[str, Any]) -> None:
        if not met:
            raise KitError(f"{fault} on {self._name} does not show on its disk: {detail}")
        self._phase(fault, "witness", detail)

    def _phase(self, fault: str, phase: Phase, detail: dict[str, Any]) -> None:
        told = {"partition": self._partition, **detail}
        self._tape.fault(fault, phase, role=self._name, node=self._name, detail=told)


def _batch_at(replica: Replica, offset: int) -> Place:
    found = [place for place in places(replica, range(offset, replica.log_end)) if place[1].base_offset == offset]
    if not found:
        raise KitError(f"no batch of {replica.directory} on {replica.node} begins at {offset}: nothing to cut there")
    return found[0]
