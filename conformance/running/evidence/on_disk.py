"""Files from the nodes' disks for the evidence: copies, and descriptions of their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fixtures.cluster.config import INDEXES
from fixtures.disk.checkpoint import MalformedFile
from fixtures.disk.log_dirs import path_in_log_dir, replica_in
from fixtures.disk.metadata_log import metadata_log_of
from fixtures.disk.replicas import Replica, log_start_in, replica_of
from fixtures.disk.segments import Segment, StoredBatch
from fixtures.disk.transactions import state_text
from fixtures.disk.volume import copy_log_dirs
from protocol.cluster import CoordinatorType
from protocol.coordinators import LOGS
from protocol.records import Record

if TYPE_CHECKING:
    from fixtures.cluster import KRaftCluster

DescribeRecord: TypeAlias = Callable[[Record], str]
"""A function that describes a record."""


def replicas(
    cluster: KRaftCluster, folder: Path, partitions: Sequence[str], about: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Copy each broker's replicas to `folder`/<broker>/; return a description of them, and the missing replicas.

    In a coordinator's log only batches whose keys contain one of `about` are described.
    """
    brokers = [node for node in cluster.nodes.values() if node.member.is_broker]
    lines: list[str] = []
    lacking: list[str] = []
    for name, files in copy_log_dirs(brokers, *partitions).items():
        _write_files(folder / name, files)
        for partition in partitions:
            _, inside = replica_in(files, partition)
            lines += _replica_lines(name, partition, files, [one.encode() for one in about]) if inside else []
            lacking += [] if inside else [f"the replica of {partition} on {name}: it has no such directory"]
    return lines, lacking


def copy_controllers(cluster: KRaftCluster, folder: Path, directory: str) -> tuple[list[str], list[str]]:
    """Copy each controller's quorum-state and metadata log; return a description of them, and the missing logs."""
    nodes = [node for node in cluster.nodes.values() if node.member.is_controller]
    lines: list[str] = []
    lacking: list[str] = []
    for name, files in copy_log_dirs(nodes, directory).items():
        _write_files(folder / name, files)
        _, inside = replica_in(files, directory)
        lines += _controller_lines(name, inside) if inside else []
        lacking += [] if inside else [f"the metadata log of {name}: it has no such directory"]
    return lines, lacking


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        if not path.endswith(INDEXES):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


def _replica_lines(node: str, partition: str, files: Mapping[str, bytes], about: Sequence[bytes]) -> Iterator[str]:
    log_dir, inside = replica_in(files, partition)
    try:
        replica = replica_of(node, partition, inside, log_start_in(files, log_dir, partition))
        yield f"{node} {path_in_log_dir(log_dir, partition)}: {replica.log_start} to {replica.log_end}; {_epochs_text(replica)}"
    except MalformedFile as error:
        yield f"{node} {partition}: {error}"
        return
    words = _transaction_text if partition.startswith(f"{LOGS[CoordinatorType.TRANSACTION]}-") else _record_text
    for segment in replica.segments:
        yield from _segment_lines(segment, words, about)


def _controller_lines(node: str, inside: Mapping[str, bytes]) -> Iterator[str]:
    yield f"{node} quorum-state: {inside.get('quorum-state', b'not there').decode(errors='replace').strip()}"
    log = metadata_log_of(node, inside)
    yield from (f"{node} snapshot at offset {id.end_offset}, epoch {id.epoch}" for id in log.snapshots)
    for segment in log.segments:
        yield from _segment_lines(segment)


def _epochs_text(replica: Replica) -> str:
    if replica.epoch_file is None:
        return "no leader-epoch-checkpoint"
    return "leader-epoch-checkpoint " + (
        ", ".join(f"{e.epoch} from {e.start_offset}" for e in replica.epochs) or "empty"
    )


def _record_text(record: Record) -> str:
    return "null" if record.value is None else repr(record.value[:60])[1:]


def _transaction_text(record: Record) -> str:
    try:
        return state_text(record)
    except MalformedFile as error:
        return str(error)


def _control_text(record: Record) -> str:
    return "control" if record.control_type is None else record.control_type.name


def _segment_lines(
    segment: Segment, words: DescribeRecord = _record_text, about: Sequence[bytes] = ()
) -> Iterator[str]:
    yield f"    {segment.name}.log, {segment.size} bytes"
    shown = [batch for batch in segment.batches if not about or _names_any(batch, about)]
    for batch in shown:
        yield f"      {_batch_text(batch, words)}"
    if others := len(segment.batches) - len(shown):
        yield f"      and {others} of others"
    if segment.torn is not None:
        yield f"      then {segment.torn.size} bytes that are no batch: {segment.torn.why}"


def _names_any(batch: StoredBatch, about: Sequence[bytes]) -> bool:
    return any(name in (record.key or b"") for record in batch.records() for name in about)


def _batch_text(batch: StoredBatch, words: DescribeRecord) -> str:
    crc = f"CRC {batch.crc:08x}" if batch.crc_valid else f"CRC {batch.crc:08x} IS WRONG"
    owner = f", producer {batch.producer_id} epoch {batch.producer_epoch}" if batch.producer_id >= 0 else ""
    values = " ".join(_control_text(record) if batch.control else words(record) for record in batch.records())
    return f"{batch.base_offset}-{batch.last_offset} of epoch {batch.leader_epoch}, {crc}{owner}: {values}"
