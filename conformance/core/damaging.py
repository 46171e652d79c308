"""Damage to a named broker's disk at a point in a schedule, recorded on the tape, so that a stored history needs no cluster.

The faults are those of the catalogue; the schedule chooses the exact batch from which a power loss cuts the log.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from conformance.core.faulting import record_fault
from fixtures.cluster.node import ClusterNode
from fixtures.disk.checkpoint import EPOCHS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from fixtures.disk.held import held_replicas
from fixtures.disk.log_dirs import log_dir_of, path_in_log_dir
from fixtures.disk.producers import is_whole, snapshot_name, snapshot_offsets
from fixtures.disk.replicas import Replica, read_offsets, read_replica
from fixtures.disk.volume import on_volume, remove_command, truncate_command, write_command
from fixtures.faults.base.fault import Fault, NothingToDamage
from fixtures.faults.kinds.batches import CutTailAbove, cut_tail
from fixtures.faults.kinds.damage import Place, batch_places
from fixtures.faults.kinds.disk import FailedDirectory, fail_directory, is_directory
from fixtures.faults.kinds.files import (
    OldEpochCheckpoint,
    RemoveEpochCheckpoint,
    RemoveRebuiltFile,
    RemoveReplica,
    RemoveWatermarkCheckpoint,
    TornProducerSnapshot,
)
from fixtures.tape import Tape
from history.events import Phase
from history.readings import HeldReplica
from protocol.errors import KitError
from protocol.words import say


class CutLog(msgspec.Struct, frozen=True):
    """The log end offset before and after the cut, read back from disk, and whether half a batch follows."""

    before: int
    after: int
    torn: bool = False


class Checkpoints(msgspec.Struct, frozen=True):
    """A broker's checkpointed offsets of a partition; None if its files lack it."""

    high_watermark: int | None
    log_start: int | None
    recovery_point: int | None = None
    """The offset below which segments count as flushed: log recovery begins with the segment that contains it."""


class Snapshots(msgspec.Struct, frozen=True):
    """The offsets of the producer snapshots on disk."""

    offsets: tuple[int, ...]


class ChangeResult(msgspec.Struct, frozen=True):
    """The existence of a file or directory before and after a change, and the content that was written to it, if any."""

    before: bool
    after: bool
    content: bytes | None = None


class Disk:
    """One partition (`topic-0`), or one of several log directories, on one broker's disk.

    Each method says whether the broker may run. Damage raises NothingToDamage if the broker has not written the file beside
    the replica.
    """

    def __init__(self, tape: Tape, name: str, partition: str, node: Callable[[], ClusterNode]) -> None:
        self._tape = tape
        self._name = name
        self._partition = partition
        self._node = node

    # --- looking

    def read_replica(self) -> HeldReplica:
        """Return the replica on disk; the broker may run."""

        def read() -> HeldReplica:
            [found] = held_replicas({self._partition: [self._node()]}).replicas
            return found

        return self._tape.call(self._name, "disk", {"partition": self._partition}, HeldReplica, read)

    def checkpoints(self) -> Checkpoints:
        """Return the checkpointed high watermark, log start offset and recovery point, from which the broker starts after a
        crash."""

        def read() -> Checkpoints:
            node, files = self._node(), (HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS)
            log_dir = log_dir_of(node, self._partition)
            return Checkpoints(*(read_offsets(node, name, log_dir).get(self._partition) for name in files))

        return self._tape.call(self._name, "checkpoints", {"partition": self._partition}, Checkpoints, read)

    def snapshots(self) -> Snapshots:
        def read() -> Snapshots:
            return Snapshots(snapshot_offsets(read_replica(self._node(), self._partition).files))

        return self._tape.call(self._name, "snapshots", {"partition": self._partition}, Snapshots, read)

    # --- damage, while the broker is down

    def cut_log(self, offset: int, *, torn: bool = False) -> CutLog:
        """Cut off the batch at `offset` and all later ones, as if power had failed before they reached the disk.

        With `torn`, half of that batch remains.
        """

        def cut_now() -> CutLog:
            node = self._down()
            before = read_replica(node, self._partition)
            on_volume(node, *cut_tail(before, _batch_at(before, offset), torn=torn), within=before.log_dir)
            after = read_replica(node, self._partition)
            return CutLog(before.log_end, after.log_end, bool(after.segments and after.segments[-1].torn))

        fault = CutTailAbove(role=self._name, torn=torn)
        self._inject(fault, {"offset": offset})
        request = {"partition": self._partition, "offset": offset} | ({"torn": True} if torn else {})
        found = self._tape.call(self._name, "cut", request, CutLog, cut_now)
        seen = found.after == offset and found.torn == torn
        self._witness(fault, seen, {"log end": [found.before, found.after], "torn": found.torn})
        return found

    def remove_epoch_checkpoint(self) -> ChangeResult:
        """Remove leader-epoch-checkpoint."""
        return self._lose(RemoveEpochCheckpoint(role=self._name), f"{self._partition}/{EPOCHS}")

    def remove_snapshots(self, *, above: int = -1) -> ChangeResult:
        """Remove the producer snapshots at offsets above `above`, by default all."""

        def lose_now() -> ChangeResult:
            node = self._down()
            replica = read_replica(node, self._partition)
            wanted = [one for one in snapshot_offsets(replica.files) if one > above]
            files = (f"{self._partition}/{snapshot_name(one)}" for one in wanted)
            on_volume(node, remove_command(*files), within=replica.log_dir)
            left = snapshot_offsets(read_replica(node, self._partition).files)
            return ChangeResult(bool(wanted), any(one > above for one in left))

        fault = RemoveRebuiltFile(role=self._name, file="producer-snapshots")
        self._inject(fault, {"above": above})
        found = self._tape.call(self._name, "remove", {"path": f"{self._partition}/snapshots"}, ChangeResult, lose_now)
        self._require_written(fault, found, f"a producer snapshot above {above}")
        self._witness(fault, not found.after, {})
        return found

    def tear_snapshot(self, offset: int) -> ChangeResult:
        """Cut a producer snapshot in half, as if the rest had never reached the disk."""
        path = f"{self._partition}/{snapshot_name(offset)}"

        def tear_now() -> ChangeResult:
            node = self._down()
            place = self._place(node, path)
            if not self._is_written(node, place):
                return ChangeResult(False, False)
            whole = node.read_file(place)
            on_volume(node, truncate_command(place, len(whole) // 2))
            return ChangeResult(True, True, node.read_file(place))

        fault = TornProducerSnapshot(role=self._name)
        self._inject(fault, {"path": path})
        found = self._tape.call(self._name, "tear", {"path": path}, ChangeResult, tear_now)
        self._require_written(fault, found, path)
        self._witness(fault, found.content is not None and not is_whole(found.content), {})
        return found

    def remove_watermarks(self) -> ChangeResult:
        """Remove replication-offset-checkpoint, so that the broker knows no high watermark."""
        return self._lose(RemoveWatermarkCheckpoint(role=self._name), HIGH_WATERMARKS)

    def remove_replica(self) -> ChangeResult:
        """Remove the replica's whole directory."""
        return self._lose(RemoveReplica(role=self._name), self._partition)

    def fail_directory(self) -> ChangeResult:
        """Replace the directory by a file while the broker runs, so that all writes to it fail."""

        def fail_now() -> ChangeResult:
            node, path = self._node(), self._partition
            before = node.exists(f"{path}/meta.properties")
            fail_directory(node, path)
            return ChangeResult(before, is_directory(node, path))

        fault = FailedDirectory(role=self._name)
        self._inject(fault, {})
        found = self._tape.call(self._name, "fail", {"path": self._partition}, ChangeResult, fail_now)
        self._witness(fault, found.before and not found.after, {})
        return found

    def restore_epochs(self, content: bytes) -> ChangeResult:
        """Restore an earlier leader-epoch-checkpoint."""
        path = f"{self._partition}/{EPOCHS}"

        def put_now() -> ChangeResult:
            node = self._down()
            place = self._place(node, path)
            before = node.exists(place)
            on_volume(node, write_command(place, content))
            return ChangeResult(before, True, node.read_file(place))

        fault = OldEpochCheckpoint(role=self._name)
        self._inject(fault, {"content": content.decode()})
        found = self._tape.call(self._name, "put", {"path": path, "content": content}, ChangeResult, put_now)
        self._witness(fault, found.content == content, {})
        return found

    def _lose(self, fault: Fault, path: str) -> ChangeResult:
        def lose_now() -> ChangeResult:
            node = self._down()
            place = self._place(node, path)
            before = self._is_written(node, place)
            on_volume(node, remove_command(place))
            return ChangeResult(before, node.exists(place))

        self._inject(fault, {"path": path})
        found = self._tape.call(self._name, "remove", {"path": path}, ChangeResult, lose_now)
        self._require_written(fault, found, path)
        self._witness(fault, not found.after, {})
        return found

    # --- parts

    def _place(self, node: ClusterNode, path: str) -> str:
        """Return the path, below the data directory, of a file in the partition's log directory."""
        return path_in_log_dir(log_dir_of(node, self._partition), path)

    def _is_written(self, node: ClusterNode, place: str) -> bool:
        """True if the file is there. Raises KitError if the broker has no replica of the partition, which a check damages only
        where there is one."""
        if not node.exists(self._place(node, self._partition)):
            raise KitError(f"{self._name} has no replica of {self._partition}")
        return node.exists(place)

    def _down(self) -> ClusterNode:
        node = self._node()
        if node.state() != "exited":
            raise KitError(f"{self._name} is {node.state()}: its disk is damaged while it is down")
        return node

    def _inject(self, fault: Fault, detail: dict[str, Any]) -> None:
        self._record(fault, "inject", detail)

    def _witness(self, fault: Fault, met: bool, detail: dict[str, Any]) -> None:
        if not met:
            raise KitError(f"{fault.name} on {self._name} does not show on its disk: {say(detail)}")
        self._record(fault, "witness", detail)

    def _require_written(self, fault: Fault, found: ChangeResult, what: str) -> None:
        """Raise NothingToDamage if there was no file; the fault is over then."""
        if not found.before:
            self._record(fault, "heal", {"never written": what})
            raise NothingToDamage(f"{fault.name}: {self._name} has not written {what}")

    def _record(self, fault: Fault, phase: Phase, detail: dict[str, Any]) -> None:
        about = {"partition": self._partition, **detail}
        record_fault(self._tape, fault, phase, node=self._name, detail=about)


def _batch_at(replica: Replica, offset: int) -> Place:
    found = [place for place in batch_places(replica, range(offset, replica.log_end)) if place[1].base_offset == offset]
    if not found:
        raise KitError(f"no batch of {replica.directory} on {replica.node} begins at {offset}: nothing to cut there")
    return found[0]
